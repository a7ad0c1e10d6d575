"""First and second derivatives of every function of numbers, where formulas meet, by differences.

Draws hardly ever hit a tie, a zero or a threshold; this asks at them. What is asked: the slope of
the value, and of each first derivative, by central differences of what effax itself computes, at a
grid of such points. Where the slopes on the left and on the right differ there is a kink, where
they are very large a jump, and nothing is asked; a NaN is no silent error, and is not asked either.
"""

import inspect
import warnings
from itertools import product

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import lax, nn
from effax.scipy import special, stats

pytestmark = pytest.mark.slow

STEP = 1e-4
POINTS = {
    1: (-20.0, -3.0, -2.0, -1.0, -0.5, 0.0, 0.25, 0.5, 0.75, 1.0, 2.0, 3.0, 6.0, 8.0, 20.0),
    2: (-2.0, -1.0, -0.5, 0.0, 0.25, 0.5, 1.0, 2.0, 3.0, 5.0),
    3: (0.25, 0.5, 1.0, 2.0),
}
LEFT_AS_THEY_ARE = {
    "stop_gradient": "has no derivative",
    "expn": "its order is a whole number",
    "poisson.logpmf poisson.pmf": "the logarithm between whole numbers is -inf",
    "binom.logpmf binom.pmf comb": "choices of 0 things end at 0",
}
KNOWN = frozenset(name for names in LEFT_AS_THEY_ARE for name in names.split())
LEFT_OUT = {"nextafter", "spacing", "print", "create_token", "infeed", "outfeed"}
OF_MORE = {"betabinom", "dirichlet", "multinomial"}  # of more numbers than are asked, or of vectors
MODULES = {"numpy": jnp, "lax": lax, "nn": nn, "special": special} | {
    name: getattr(stats, name)
    for name in stats.__all__
    if name not in OF_MORE and inspect.ismodule(getattr(stats, name))
}


def counts(function):
    """For how many numbers a function may be called."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ()
    placed = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = sum(p.default is p.empty for p in placed)
    return [n for n in POINTS if needed <= n <= len(placed)]


def is_of_numbers(function, n):
    """Whether the function takes n numbers to a real number."""
    try:
        found = effax.eval_shape(function, *[np.float64(0.3 + 0.2 * i) for i in range(n)])
    except Exception:
        return False
    return getattr(found, "shape", None) == () and found.dtype == np.float64


def is_known(derivative, point):
    """Whether there is a derivative: by some numbers there is none, and effax says so."""
    try:
        effax.eval_shape(derivative, *point)
    except (TypeError, ValueError, NotImplementedError):
        return False
    return True


def complaints(function, n):
    """The derivatives that are not those of differences, as texts."""
    points = np.array(list(product(POINTS[n], repeat=n)))
    steps = STEP * np.eye(n)

    def lanes(f):
        mapped = effax.jit(effax.vmap(f))
        return lambda at: np.asarray(mapped(*at.T))

    def compare(f, slope, i, name):
        middle, before, after = (lanes(f)(points + t) for t in (0, -steps[i], steps[i]))
        left, right = (middle - before) / STEP, (after - middle) / STEP
        found, wanted = lanes(slope)(points), (left + right) / 2
        scale = np.maximum(1, np.maximum(abs(wanted), abs(middle)))
        smooth = np.isfinite(wanted) & np.isfinite(found) & (abs(left - right) < 1e-2 * scale)
        smooth &= abs(wanted) < 0.05 / STEP
        bad = smooth & ~(abs(found - wanted) <= 1e-3 * scale + abs(left - right))
        for k in np.nonzero(bad)[0][:2]:
            yield f"{name} at {tuple(points[k].tolist())}: {found[k]} instead of {wanted[k]}"

    for i in range(n):
        first = effax.grad(function, i)
        if not is_known(first, points[0]):
            continue
        yield from compare(function, first, i, f"d{i}")
        for j in range(n):
            second = effax.grad(first, j)
            if is_known(second, points[0]):
                yield from compare(first, second, j, f"d{i} d{j}")


@pytest.mark.parametrize("module", MODULES)
def test_derivatives_where_formulas_meet(module):
    found, asked = [], 0
    names = [n for n in dir(MODULES[module]) if n not in LEFT_OUT and not n.startswith("_")]
    with effax.enable_x64(True), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for name in names:
            function = getattr(MODULES[module], name)
            if not callable(function) or isinstance(function, type):
                continue
            for n in counts(function):
                if (n == 3 and module in ("numpy", "lax", "nn")) or not is_of_numbers(function, n):
                    continue
                asked += 1
                if name not in KNOWN and f"{module}.{name}" not in KNOWN:
                    found += [f"{name}: {text}" for text in complaints(function, n)]
    assert not found, "\n".join(found)
    assert asked, f"{module} has no functions of numbers"
