"""Laws: two ways of computing something, and how they must agree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import attrs
import numpy as np

from effax.effects.errors import EffaxError
from effax.effects.tree import tree_flatten
from effax.effects.types import is_float, is_inexact
from effax.laws.generate import arguments, edge_arguments
from effax.laws.sketch import Sketch

CLOSE: Final = "≈"
SAME: Final = "="
ROUGH: Final = "~"
_TOLERANCE: Final = {CLOSE: (1e-7, 2e-4), ROUGH: (1e-4, 5e-2), SAME: (0.0, 0.0)}
"""The largest relative difference for each relation, in float64 and in narrower floats."""


NOTHING: Final = Sketch((), (), ())
"""The program without inputs and results, where a law needs none."""


@attrs.frozen(eq=False)
class Case:
    """The subject of a law: a program `f`, a program `g` that composes with it, and numbers.

    `loop` gives values of the types that it takes. `lift` brings an array into the world that the
    law is evaluated in: the reference's, or the compiler's. With `edges`, all numbers are of those
    where rules change.
    """

    f: Sketch
    g: Sketch = NOTHING
    loop: Sketch = NOTHING
    seed: int = 0
    lift: Callable[[Any], Any] = np.asarray
    edges: bool = False

    def arrays(self, sketch: Sketch, shift: int = 0) -> list[np.ndarray[Any, Any]]:
        """Arguments for a program, as NumPy's arrays."""
        return (edge_arguments if self.edges else arguments)(sketch, self.seed + 1000 * shift)

    def values(self, sketch: Sketch, shift: int = 0) -> list[Any]:
        """Arguments for a program; another `shift` gives others."""
        return [self.lift(x) for x in self.arrays(sketch, shift)]

    @property
    def args(self) -> list[Any]:
        """Arguments for `f`."""
        return self.values(self.f)

    def directions(self, shift: int = 1) -> list[Any]:
        """Tangents for the arguments of `f`."""
        return self.values(self.f, shift)

    def cotangents(self, shift: int = 2) -> tuple[Any, ...]:
        """Cotangents for the results of `f`."""
        generator = np.random.default_rng(self.seed + 1000 * shift)
        types = self.f.program().out_types
        drawn = [generator.uniform(-1, 1, t.shape).astype(t.dtype) for t in types]
        return tuple(self.lift(x) for x in drawn)

    def batch(self, n: int = 3, shift: int = 0) -> list[Any]:
        """Arguments for `n` calls of `f`, stacked along a new first axis."""
        rows = [attrs.evolve(self, seed=self.seed + i) for i in range(n)]
        calls = [row.arrays(self.f, shift) for row in rows]
        return [self.lift(np.stack(xs)) for xs in zip(*calls, strict=True)]

    def text(self) -> str:
        """The programs and the arguments, as Python that runs."""
        lines = [self.f.text()]
        for name, sketch in (("g", self.g), ("loop", self.loop)):
            if sketch is not NOTHING:
                body = attrs.evolve(sketch, name=name).text().split("\n\n\n")[-1]
                lines.append(f"\n\n{body}")
        arrays = self.arrays(self.f)
        values = [f"np.array({x.tolist()!r}, {x.dtype.name!r})" for x in arrays]
        lines.append(f"\n\nargs = [{', '.join(values)}]")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"seed {self.seed}\n{self.text()}"


Sides = Callable[[Case], tuple[Any, Any]]


@attrs.frozen(eq=False)
class Law:
    """A named equation between two computations.

    `sides(case)` gives both. `needs` says what a case has: "g" (a program that fits behind `f`),
    "loop" (one whose results are as its inputs), "no while" (it can be differentiated backwards),
    "mixed" (integers and Booleans may be among its inputs, and empty arrays), "text" (its text says
    all of it: it holds no Python functions), "branches" (`g` is another program of the types of
    `loop`). An `exact` law holds where programs jump, too: both sides compute the same there.
    """

    name: str
    sides: Sides
    relation: str = CLOSE
    needs: frozenset[str] = frozenset()
    exact: bool = False

    @property
    def identifier(self) -> str:
        """The name of the function that states the law."""
        return self.sides.__name__


LAWS: Final[dict[str, Law]] = {}
"""Every law, by the name of the function that states it."""


def law(name: str, relation: str = CLOSE, needs: str = "") -> Callable[[Sides], Sides]:
    """State a law: the decorated function computes both sides for a case.

    Args:
      name: the law as an equation, for reports.
      relation: how the sides agree: "≈" closely, "~" roughly, "=" exactly.
      needs: what a case must have, separated by commas; see `Law`.
    """

    def state(sides: Sides) -> Sides:
        wanted = frozenset(filter(None, (n.strip() for n in needs.split(","))))
        stated = Law(name, sides, relation, wanted)
        LAWS[stated.identifier] = stated
        return sides

    return state


class Violation(AssertionError):  # noqa: N818
    """The two sides of a law differ."""


class NotDefined(EffaxError):  # noqa: N818
    """A side of the law says nothing about this case."""


def compare(lhs: Any, rhs: Any, relation: str, to_array: Callable[[Any], Any]) -> None:
    """Raise `Violation` unless two trees agree in structure, shapes, dtypes and numbers."""
    left, left_tree = tree_flatten(lhs)
    right, right_tree = tree_flatten(rhs)
    if left_tree != right_tree:
        raise Violation(f"structures differ: {left_tree} and {right_tree}")
    for i, (x, y) in enumerate(zip(left, right, strict=True)):
        if isinstance(x, str):
            if x != y:
                raise Violation(f"texts differ:\n{x}\n\n{y}")
            continue
        _compare_arrays(i, to_array(x), to_array(y), relation)


def _compare_arrays(i: int, x: Any, y: Any, relation: str) -> None:
    if x.shape != y.shape or x.dtype != y.dtype:
        raise Violation(f"result {i}: {x.dtype}{x.shape} and {y.dtype}{y.shape}")
    if not is_inexact(x.dtype):
        if not np.array_equal(x, y):
            raise Violation(f"result {i}:\n{x}\nand\n{y}")
        return
    wide, narrow = _TOLERANCE[relation]
    tolerance = wide if x.dtype.itemsize >= 8 and is_float(x.dtype) else narrow
    finite = [np.abs(z[np.isfinite(z)]).max(initial=0.0) for z in (x, y)]
    scale = 1.0 + max(finite)
    if not np.allclose(x, y, rtol=0, atol=tolerance * scale, equal_nan=True):
        raise Violation(f"result {i}:\n{x}\nand\n{y}")


def flat(results: Any) -> tuple[Any, ...]:
    """The leaves of a function's results: what most sides of laws compare."""
    return tuple(tree_flatten(results)[0])


def total(xs: Sequence[Any]) -> Any:
    """The sum of all elements of all arrays: a scalar function of a program's results."""
    from effax.effects.rows import elementwise, reduction
    from effax.effects.types import typeof

    result = None
    for x in xs:
        n = typeof(x).ndim
        one = reduction.reduce_sum(x, axes=tuple(range(n))) if n else x
        result = one if result is None else elementwise.add(result, one)
    return result


def dot(xs: Sequence[Any], ys: Sequence[Any]) -> Any:
    """The inner product of two lists of arrays."""
    from effax.effects.rows import elementwise

    return total([elementwise.mul(x, y) for x, y in zip(xs, ys, strict=True)])


def along(xs: Sequence[Any], us: Sequence[Any], a: float, b: float) -> list[Any]:
    """`a * x + b * u` for each pair."""
    from effax.effects.rows import elementwise

    return [
        elementwise.add(elementwise.mul(x, a), elementwise.mul(u, b))
        for x, u in zip(xs, us, strict=True)
    ]
