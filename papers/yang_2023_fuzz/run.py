"""Fuzzing the derivatives of `effax.numpy`: output, forward, reverse and second order.

Prints claim, measurement and verdict, over a sample of the functions, compiled too; `--large` takes
all, evaluated by the reference. NumPy is the oracle of outputs and, by its differences, of first
derivatives. `--refused` prints what is refused.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import attrs
import numpy as np

import effax
import effax.numpy as jnp
from effax.backends.reference.evaluate import interpret
from effax.effects.errors import EffaxError
from effax.extend import find_effect
from effax.interpreters.jvp.dual import JVP

NOT_FUNCTIONS = {
    *("empty", "empty_like", "einsum_path", "array_repr", "array_str"),
    *("load", "save", "savez", "fromfile", "frombuffer", "fromstring", "from_dlpack", "fromiter"),
    *("get_printoptions", "printoptions", "set_printoptions"),
    *("fill_diagonal", "place", "put", "put_along_axis"),
    *(
        "apply_along_axis",
        "apply_over_axes",
        "fromfunction",
        "frompyfunc",
        "piecewise",
        "vectorize",
    ),
}
"""Files, printing, memory that nobody has written, functions of functions, and what writes."""

Arrays = Sequence[Any]
H = 1e-6

CALLS: dict[str, tuple[int, Callable[..., Any]]] = {
    "f(x)": (1, lambda f, np, x: f(x)),
    "f(x, y)": (2, lambda f, np, x, y: f(x, y)),
    "f(x, y, z)": (3, lambda f, np, x, y, z: f(x, y, z)),
    "f((x, y))": (2, lambda f, np, x, y: f((x, y))),
    "f(x, axis=0)": (1, lambda f, np, x: f(x, axis=0)),
    "f(x, axis=-1)": (1, lambda f, np, x: f(x, axis=-1)),
    "f(x, 1)": (1, lambda f, np, x: f(x, 1)),
    "f(x, 1, 0)": (1, lambda f, np, x: f(x, 1, 0)),
    "f(x, 0.3)": (1, lambda f, np, x: f(x, 0.3)),
    "f(x, (3, -1))": (1, lambda f, np, x: f(x, (3, -1))),
    "f(x, (2, 3, 3))": (1, lambda f, np, x: f(x, (2, 3, 3))),
    "f(x, [0, 2, 1])": (1, lambda f, np, x: f(x, np.array([0, 2, 1]))),
    "f(x > 0.5, y)": (2, lambda f, np, x, y: f(x > 0.5, y)),
    "f(x > 0.5, y, z)": (3, lambda f, np, x, y, z: f(x > 0.5, y, z)),
    "f('ij,kj', x, y)": (2, lambda f, np, x, y: f("ij,kj", x, y)),
    "f('i,i', x, y)": (2, lambda f, np, x, y: f("i,i", x, y)),
}
"""The forms of a call, each with its number of arrays and the function that makes it."""

UFUNC_CALLS = {
    1: {"f(x)"},
    2: {"f(x, y)", "f(x, 1)", "f(x, 0.3)", "f(x, [0, 2, 1])", "f(x > 0.5, y)"},
}
"""The forms without NumPy's argument `out`, which effax refuses."""

SHAPES = ((3,), (3, 3), (2, 3))


@attrs.frozen
class Case:
    """A function, a way to call it, and arrays."""

    name: str
    call: str
    arrays: tuple[Any, ...]

    def of(self, library: Any) -> Callable[..., tuple[Any, ...]]:
        """The function as one of the arrays alone, in NumPy or in effax.numpy; results as tuples."""
        function, call = getattr(library, self.name), CALLS[self.call][1]

        def f(*arrays: Any) -> tuple[Any, ...]:
            given = [x.copy() for x in arrays] if library is np else arrays  # a third is written
            return tuple(effax.tree.leaves(call(function, library, *given)))

        return f

    def __str__(self) -> str:
        shapes = ", ".join(str(x.shape) for x in self.arrays)
        return f"{self.name} as {self.call} of {shapes}"


def surface() -> list[str]:
    """The functions that NumPy has, too."""
    names = [n for n in dir(jnp) if not n.startswith("_") and n not in NOT_FUNCTIONS]
    pairs = ((n, getattr(jnp, n), getattr(np, n, None)) for n in names)
    return [n for n, f, g in pairs if callable(f) and callable(g) and not isinstance(f, type)]


def drawn(name: str, seed: int) -> Iterator[Case]:
    """Calls of a function that NumPy takes, and answers with numbers, floats among them."""
    generator = np.random.default_rng([seed, *name.encode()])
    ufunc = getattr(np, name)
    calls = UFUNC_CALLS[ufunc.nin] if isinstance(ufunc, np.ufunc) else CALLS
    for call, (n, _) in CALLS.items():
        if call not in calls:
            continue
        for shape in SHAPES:
            # Elements are apart, so that a step changes no order; and nowhere in particular.
            grid = generator.permutation(np.linspace(0.11, 0.93, n * int(np.prod(shape))))
            grid = grid + generator.uniform(0, 0.3 / grid.size, grid.size)
            case = Case(name, call, tuple(grid.reshape(n, *shape)))
            try:
                found = case.of(np)(*case.arrays)
                kinds = {np.asarray(y).dtype.kind for y in found}
                finite = all(np.isfinite(y).all() for y in found)
            except Exception:  # whatever NumPy does not take is no case
                continue
            if finite and kinds & set("f") and kinds <= set("fiub"):
                yield case


# --------------------------------------------------------------------------------- the oracles


def agree(one: Arrays, other: Arrays, tolerance: float) -> bool:
    """Whether arrays have equal shapes, and elements that are close."""
    return len(one) == len(other) and all(
        np.shape(x) == np.shape(y) and np.allclose(x, y, tolerance, tolerance, equal_nan=True)
        for x, y in zip(one, other, strict=True)
    )


def moved(case: Case, direction: Arrays, h: float) -> list[Any]:
    """Arrays a step away."""
    return [x + h * u for x, u in zip(case.arrays, direction, strict=True)]


def output(case: Case, compiled: bool) -> bool:
    """The value is NumPy's: alone, beside a tangent, before a pull back, and compiled."""
    f, expected = case.of(jnp), case.of(np)(*case.arrays)
    xs = case.arrays
    ways = [
        interpret(f)(*xs),
        interpret(lambda *a: effax.jvp(f, a, a)[0])(*xs),
        interpret(lambda *a: effax.vjp(f, *a)[0])(*xs),
    ]
    if compiled:
        ways.append(effax.jit(f)(*xs))
    return all(agree(ys, expected, 1e-9) for ys in ways)


def forward(case: Case, u: Arrays) -> bool:
    """The tangent is the difference of NumPy's values."""
    f, g = case.of(jnp), case.of(np)
    tangents = interpret(lambda xs, us: effax.jvp(f, xs, us)[1])(case.arrays, tuple(u))
    ahead, behind = (g(*moved(case, u, h)) for h in (H, -H))
    found = [
        (t if t.dtype.kind == "f" else np.zeros(t.shape), (a - b) / (2 * H))
        for t, a, b in zip(tangents, ahead, behind, strict=True)
        if np.asarray(a).dtype.kind == "f"  # counts are floats for one, integers for the other
    ]
    return agree([t for t, _ in found], [d for _, d in found], 2e-5)


def scalar(case: Case) -> Callable[..., Any]:
    """The results weighed and added."""
    f = case.of(jnp)

    def total(*xs: Any) -> Any:
        ys = [y for y in f(*xs) if jnp.issubdtype(jnp.result_type(y), jnp.floating)]
        return sum(jnp.sum(y * jnp.cos(jnp.arange(1.0, y.size + 1)).reshape(y.shape)) for y in ys)

    return total


def gradients(case: Case, xs: Arrays) -> list[Any]:
    """The gradient of that, by reverse mode."""
    places = tuple(range(len(case.arrays)))
    return [np.asarray(g) for g in interpret(effax.grad(scalar(case), places))(*xs)]


def reverse(case: Case, u: Arrays) -> bool:
    """The gradient is the adjoint of the tangent."""
    gradient = gradients(case, case.arrays)
    pushed = interpret(lambda xs, us: effax.jvp(scalar(case), xs, us)[1])(case.arrays, tuple(u))
    return agree(
        [np.asarray(pushed)], [sum(np.vdot(g, t) for g, t in zip(gradient, u, strict=True))], 1e-8
    )


def second(case: Case, u: Arrays) -> bool:
    """The gradient's tangent is the difference of gradients."""
    places = tuple(range(len(case.arrays)))
    gradient = effax.grad(scalar(case), places)
    curved = interpret(lambda xs, us: effax.jvp(gradient, xs, us)[1])(case.arrays, tuple(u))
    ahead, behind = (gradients(case, moved(case, u, h)) for h in (H, -H))
    return agree(
        list(curved), [(a - b) / (2 * H) for a, b in zip(ahead, behind, strict=True)], 2e-4
    )


@attrs.define
class Found:
    """The oracles' answers to all cases."""

    functions: dict[str, set[str]] = attrs.field(factory=dict)
    asked: Counter[str] = attrs.field(factory=Counter)
    different: dict[str, list[str]] = attrs.field(factory=dict)
    known: set[str] = attrs.field(factory=set)
    refused: list[tuple[Case, str, str]] = attrs.field(factory=list)

    def ask(self, case: Case, compiled: bool) -> None:
        """All oracles, about one case."""
        generator = np.random.default_rng(1)
        u = [generator.uniform(-1, 1, x.shape) for x in case.arrays]
        oracles: dict[str, Callable[[], bool]] = {
            "output": lambda: output(case, compiled),
            "forward": lambda: forward(case, u),
            "reverse": lambda: reverse(case, u),
            "second": lambda: second(case, u),
        }
        for oracle, holds in oracles.items():
            try:
                held = holds()
            except (EffaxError, TypeError, ValueError, NotImplementedError) as error:
                first = (str(error).splitlines() or [""])[0]
                self.refused.append((case, oracle, f"{type(error).__name__}: {first}"))
                break
            self.asked[oracle] += 1
            self.functions.setdefault(oracle, set()).add(case.name)
            meant = known(case) if oracle in ("output", "forward") else None
            if not held and meant:
                self.known.add(meant)
            elif not held:
                self.different.setdefault(oracle, []).append(str(case))


SAMPLE = ("arctan2", "cumprod", "einsum", "interp", "logaddexp", "median", "sort", "where")
KNOWN = {
    ("poly", "f(x)"): "of a matrix it is complex, by the type of eigenvalues",
    ("polydiv", ""): "leading zeros of the remainder stay",
    ("polymul", ""): "leading zeros stay",
    ("trapezoid", "x > 0.5"): "Booleans are numbers; NumPy's sum of them is or",
    ("histogram", "x > 0.5"): "edges of Booleans are float32",
    ("histogram_bin_edges", "x > 0.5"): "edges of Booleans are float32",
}
"""Differences from NumPy that are meant, as they are JAX's: of a function, called so."""


def known(case: Case) -> str | None:
    """Why outputs are not NumPy's, if that is meant."""
    for (name, part), why in KNOWN.items():
        if case.name == name and part in case.call:
            return f"{name}: {why}"
    return None


def fuzz(names: Sequence[str], seeds: int, compiled: bool) -> Found:
    """Ask the oracles about functions."""
    found = Found()
    with effax.enable_x64(True), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for name in names:
            for seed in range(seeds):
                for case in drawn(name, seed):
                    found.ask(case, compiled)
    return found


@contextmanager
def planted(name: str) -> Iterator[None]:
    """An error in forward mode, and with it in reverse mode: tangents of an effect are doubled."""
    effect = find_effect(name)
    right = JVP.rules[effect]

    def wrong(primals: Any, tangents: Any, **attributes: Any) -> Any:
        y, t = right(primals, tangents, **attributes)
        return y, (None if t is None else t + t)

    JVP.rules[effect] = wrong
    try:
        yield
    finally:
        JVP.rules[effect] = right


CLAIMS = {
    "output": "outputs are NumPy's, alone, under jvp, under vjp",
    "forward": "forward mode is the difference of NumPy's outputs",
    "reverse": "reverse mode is the adjoint of forward mode",
    "second": "forward mode of reverse mode is the difference of gradients",
}


def rows(
    names: Sequence[str] = SAMPLE, seeds: int = 1, compiled: bool = False
) -> Iterator[tuple[str, str, bool]]:
    """Claim, measurement, whether it holds."""
    found = fuzz(names, seeds, compiled)
    for oracle, claim in CLAIMS.items():
        different = found.different.get(oracle, [])
        told = f"; different: {'; '.join(different)}" if different else ""
        yield (
            claim,
            f"{len(found.functions.get(oracle, ()))} functions, {found.asked[oracle]} calls{told}",
            found.asked[oracle] > 0 and not different,
        )
    if "--refused" in sys.argv:
        print("\n".join(f"{case}, {oracle}: {error}" for case, oracle, error in found.refused))
    never = sorted({case.name for case, *_ in found.refused} - found.functions["output"])
    late = [
        str(case) for case, oracle, _ in found.refused if oracle != "output" and not known(case)
    ]
    yield (
        "what has an output has derivatives",
        f"{len(found.refused)} calls that NumPy takes are refused (all, of {len(never)} functions"
        f"{': ' if never else ''}{', '.join(never)}), {len(late)} of them only where "
        f"a derivative is asked for{': ' if late else ''}{'; '.join(late)}",
        not late,
    )
    with planted("sin"):
        wrong = fuzz(("sin",), 1, False).different
    yield (
        "and an error that is planted is found",
        f"a derivative of sin twice as large, by: {', '.join(sorted(wrong))}",
        "forward" in wrong and not fuzz(("sin",), 1, False).different,
    )
    if found.known:
        yield "outputs that differ are meant to", "; ".join(sorted(found.known)), True


def main() -> int:
    """Print the table; 1 if a claim does not hold."""
    names = surface()
    large = "--large" in sys.argv
    results = list(rows(names if large else SAMPLE, 3 if large else 1, not large))
    for claim, measurement, holds in results:
        print(f"{'PASS' if holds else 'FAIL'}  {claim}\n      {measurement}")
    print(
        f"NOTE  there are {len(names)} functions that NumPy has, too; of others no call was a case"
    )
    print(
        "NOTE  not reproduced: inputs mined from documentation and mutated; bugs in other libraries"
    )
    return 0 if all(holds for *_, holds in results) else 1


if __name__ == "__main__":
    raise SystemExit(main())
