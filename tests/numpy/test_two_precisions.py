"""Every function of a few numbers, and its gradient, in float32 beside float64.

An oracle that nobody has to write: what a function makes of the same numbers in twice the
precision. A result in float32 may be NaN or infinite where a step overflowed, which is seen; it may
not be a finite number that is wrong. `KNOWN` says where it is, and why.
"""

import inspect
import warnings

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import lax, nn
from effax.scipy import special, stats

NUMBERS = np.array(
    [
        0,
        1e-10,
        -1e-10,
        1e-5,
        -1e-5,
        1e-3,
        -1e-3,
        0.1,
        -0.1,
        0.5,
        -0.5,
        0.9,
        0.999,
        1,
        -1,
        1.1,
        2,
        -2,
    ]
    + [2.5, -2.5, 3, 7, -7, 20, -20, 50, -50, 100, -100, 1e3, -1e3, 1e4, -1e4, 1e6, -1e6, 1e8],
    np.float32,
)
FEWER = np.array([0, 1e-10, 1e-3, 0.1, 0.5, 0.999, -1, 2, 2.5, 7, 50, 1e3, 1e4, 1e6], np.float32)
"""For functions of three."""
RELATIVE, ABSOLUTE = 2e-3, 1e-6

ROUNDED = "the answer hangs on the last bit of an operand, or on whether 1e8 - 1 is odd"
STEEP = "near a pole, a root or a maximum, where numbers that are nearly equal are subtracted"
SERIES = "terms of a series cancel; where no digit is right, the value is NaN"
TAIL = "a logarithm of what is 0 or 1 but for the precision"
KNOWN = {
    "numpy.spacing": "it is about its dtype",
    **dict.fromkeys(["d0 numpy.float_power", "d0 numpy.pow", "d0 numpy.power"], ROUNDED),
    **dict.fromkeys(["d0 lax.pow", "stats.bernoulli.ppf"], ROUNDED),
    **dict.fromkeys(["lax.polygamma", "d1 lax.zeta"], STEEP),
    **dict.fromkeys(
        [f"d{i} special.{f}" for i in (0, 1) for f in ("beta", "betaln", "poch")], STEEP
    ),
    **dict.fromkeys([f"{d}special.hyp1f1" for d in ("", "d0 ", "d1 ", "d2 ")], SERIES),
    **dict.fromkeys([f"d{i} stats.beta.logpdf" for i in (0, 1, 2)], STEEP),
    **dict.fromkeys(["d0 stats.beta.pdf", "d2 stats.beta.pdf", "stats.beta.sf"], STEEP),
    **dict.fromkeys(["stats.beta.logcdf", "stats.beta.logsf"], TAIL),
    **dict.fromkeys([f"d2 stats.binom.{f}" for f in ("pmf", "logpmf")], STEEP),
    **dict.fromkeys([f"d1 stats.{d}.logpmf" for d in ("geom", "nbinom")], STEEP),
    **dict.fromkeys(["stats.gamma.logpdf", "d1 stats.nbinom.pmf"], STEEP),
    "d1 stats.gennorm.logpdf": "a shape below 0",
    "d1 special.comb": "0 in the middle, of a number near 1e29",
    **dict.fromkeys(["stats.truncnorm.logpdf", "stats.truncnorm.pdf"], TAIL),
    **dict.fromkeys([f"d{i} stats.truncnorm.pdf" for i in (0, 1)], TAIL),
}
"""Results that are wrong in float32, and why: a value, or (`d1`) the slope by the second operand."""

PARTS = np.array([0, 1e-10, -1e-3, 0.1, -0.5, 0.999, -1, 2, -2.5, 7], np.float32)
COMPLEX = (PARTS[:, None] + 1j * PARTS).astype(np.complex64).ravel()


def functions():
    modules = {"numpy": jnp, "nn": nn, "lax": lax, "special": special}
    distributions = {f"stats.{n}": getattr(stats, n) for n in dir(stats)}
    modules |= {n: m for n, m in distributions.items() if inspect.ismodule(m)}
    for module, held in modules.items():
        for name in dir(held):
            f = getattr(held, name)
            if name.startswith("_") or name == "from_dlpack":  # which is of no numbers at all
                continue
            if callable(f) and not inspect.isclass(f):
                yield f"{module}.{name}", f


def arity(f, dtype=jnp.float32):
    """The count of numbers that a function takes, which gives one; 0 where it is none of these."""
    for n in (1, 2, 3):
        try:
            with warnings.catch_warnings(action="ignore"):
                out = effax.eval_shape(f, *[effax.ShapeDtypeStruct((), dtype)] * n)
        except (TypeError, ValueError, IndexError, NotImplementedError):
            continue  # whatever it is of, it is not of n numbers
        if getattr(out, "shape", None) == () and out.dtype in (dtype, jnp.float32):
            return n
    return 0


FUNCTIONS = {name: (f, arity(f)) for name, f in functions()}


def wrong(low, high):
    low, high = (np.asarray(x, np.complex128) for x in (low, high))
    with np.errstate(all="ignore"):
        apart = np.abs(low - high)
    near = (apart <= RELATIVE * np.abs(high)) | (apart < ABSOLUTE)
    return ~near & np.isfinite(low) & np.isfinite(high)


def both(f, operands):
    low = effax.vmap(f)(*operands)
    with effax.enable_x64(True):
        return low, effax.vmap(f)(*[x.astype(np.promote_types(x.dtype, float)) for x in operands])


def faults(f, n):
    """The places where float32 is wrong: "" or a derivative, operands, and both answers."""
    numbers = NUMBERS if n < 3 else FEWER
    operands = [x.ravel() for x in np.meshgrid(*[numbers] * n, indexing="ij")]
    answers = {"": both(lambda *x: f(*x), operands)}
    try:
        low, high = both(effax.grad(lambda *x: f(*x), argnums=tuple(range(n))), operands)
        answers |= {f"d{i} ": pair for i, pair in enumerate(zip(low, high, strict=True))}
    except (effax.errors.UnsupportedDerivativeError, TypeError, ValueError):
        pass  # it has none
    for which, (low, high) in answers.items():
        places = np.flatnonzero(wrong(low, high))
        if places.size:
            at = [[x[i].item() for x in operands] + [low[i].item(), high[i].item()] for i in places]
            yield which, at


def test_functions_are_found():
    assert sum(n > 0 for _, n in FUNCTIONS.values()) >= 358


@pytest.mark.parametrize("name", [name for name, (_, n) in FUNCTIONS.items() if n])
def test_float32_is_not_silently_wrong(name):
    found = {which + name: at for which, at in faults(*FUNCTIONS[name])}
    unknown = {what: at[:5] for what, at in found.items() if what not in KNOWN}
    assert not unknown
    known = {what for what in KNOWN if what.split()[-1] == name}
    assert known == found.keys(), "KNOWN has what is right now"


OF_COMPLEX = {
    name: f
    for name, (f, _) in FUNCTIONS.items()
    # On the cuts of distributions continued to complex numbers, zeros of both signs are summed.
    if not name.startswith("stats.") and arity(f, jnp.complex64) == 1
}


@pytest.mark.parametrize("name", OF_COMPLEX)
def test_complex64_is_not_silently_wrong(name):
    low, high = both(lambda z: OF_COMPLEX[name](z), [COMPLEX])
    places = np.flatnonzero(wrong(low, high))
    assert not [(COMPLEX[i], low[i].item(), high[i].item()) for i in places]
