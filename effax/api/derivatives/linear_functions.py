"""Linear functions that `linearize`, `vjp` and `linear_transpose` return: nodes of pytrees.

Their leaves are the residuals; the rest is a skeleton. So they can leave a jitted function, be
stored by `scan`, and be mapped.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from effax.effects.effect import LITERALS
from effax.effects.program import Equation
from effax.effects.tree import registry
from effax.effects.types import ShapedArray, typeof
from effax.interpreters.residual.record import Tape


@attrs.frozen(slots=True, eq=False)
class _Place:
    """The position of a residual in an equation, by number."""

    number: int


class LinearFunction:
    """A recorded linear program, with the trees and types of its arguments and results,
    and the name of the function that it was made from."""

    __slots__ = ("_done", "_in_tree", "_name", "_out_tree", "_out_types", "_skeleton", "_types")

    def __init__(
        self, done: Any, types: Sequence[ShapedArray], in_tree: Any, out_tree: Any, name: str
    ) -> None:
        self._done = done
        self._name = name
        self._types = types
        self._in_tree = in_tree
        self._out_tree = out_tree
        self._out_types = [typeof(x) for x in done.primals]
        self._skeleton: Any = None

    def __init_subclass__(cls) -> None:
        registry.register_node(cls, _flatten, LinearSkeleton.filled)


class LinearSkeleton:
    """A linear function without its residuals: each has a number, which stands in its places."""

    __slots__ = ("done", "equations", "function", "handler", "inputs", "kind", "tangents")

    def __init__(self, linear: LinearFunction) -> None:
        done = linear._done
        self.kind = type(linear)
        trees = linear._in_tree, linear._out_tree
        self.function = *trees, linear._types, linear._out_types, linear._name
        self.done = type(done)
        self.handler, self.inputs = done.tape.handler, done.inputs
        numbers: dict[int, int] = {}

        def place(x: Any) -> Any:
            if x is None or type(x) in LITERALS or done.tape.owns(x):
                return x
            return _Place(numbers.setdefault(id(x), len(numbers)))

        self.equations = [_with_inputs(e, map(place, e.inputs)) for e in done.tape.equations]
        self.tangents = list(map(place, done.tangents))

    def residuals(self, linear: LinearFunction) -> list[Any]:
        """The residuals, by their numbers."""
        done = linear._done
        equations = zip(self.equations, done.tape.equations, strict=True)
        pairs = [pair for e, own in equations for pair in zip(e.inputs, own.inputs, strict=True)]
        pairs += zip(self.tangents, done.tangents, strict=True)
        found = {p.number: x for p, x in pairs if type(p) is _Place}
        return [found[i] for i in range(len(found))]

    def filled(self, residuals: Sequence[Any]) -> Any:
        """The function with these residuals."""

        def value(x: Any) -> Any:
            return residuals[x.number] if type(x) is _Place else x

        equations = [_with_inputs(e, map(value, e.inputs)) for e in self.equations]
        pairs = [(t, value(x)) for t, x in zip(self.function[3], self.tangents, strict=True)]
        made = object.__new__(self.kind)
        made._done = self.done.of(self.inputs, pairs, Tape(self.handler, equations))
        made._skeleton = self
        made._in_tree, made._out_tree, made._types, made._out_types, made._name = self.function
        return made


def _with_inputs(e: Equation, inputs: Any) -> Equation:
    return Equation(e.effect, list(inputs), e.attributes, e.outputs, e.frame, e.scope)


def _flatten(linear: LinearFunction) -> tuple[list[Any], LinearSkeleton]:
    """The residuals of a linear function, and the rest of it."""
    if linear._skeleton is None:
        linear._skeleton = LinearSkeleton(linear)
    return linear._skeleton.residuals(linear), linear._skeleton
