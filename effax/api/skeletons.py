"""What `vjp` returns, parted into its residuals and a skeleton: so it is a node of pytrees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from effax.api.forward import Linearized
from effax.effects.effect import LITERALS
from effax.effects.program import Equation
from effax.interpreters.residual.record import Tape


@attrs.frozen(slots=True, eq=False)
class _Place:
    """Where a residual stands in an equation, by its number."""

    number: int


class Skeleton:
    """What `vjp` returns, without its residuals: each has a number, which stands in its places."""

    __slots__ = ("equations", "function", "handler", "inputs", "kind", "tangents")

    def __init__(self, f_vjp: Any) -> None:
        done = f_vjp._done
        self.kind = type(f_vjp)
        self.function = f_vjp._in_tree, f_vjp._out_tree, f_vjp._types, f_vjp._out_types
        self.handler = done.tape.handler
        self.inputs, self.tangents = done.inputs, done.tangents
        numbers: dict[int, int] = {}

        def place(x: Any) -> Any:
            if type(x) in LITERALS or done.tape.owns(x):
                return x
            return _Place(numbers.setdefault(id(x), len(numbers)))

        self.equations = [_with_inputs(e, map(place, e.inputs)) for e in done.tape.equations]

    def residuals(self, f_vjp: Any) -> list[Any]:
        """The residuals, by their numbers."""
        found = {}
        for e, own in zip(self.equations, f_vjp._done.tape.equations, strict=True):
            for p, x in zip(e.inputs, own.inputs, strict=True):
                if type(p) is _Place:
                    found[p.number] = x
        return [found[i] for i in range(len(found))]

    def filled(self, residuals: Sequence[Any]) -> Any:
        """The function with these residuals."""

        def value(x: Any) -> Any:
            return residuals[x.number] if type(x) is _Place else x

        equations = [_with_inputs(e, map(value, e.inputs)) for e in self.equations]
        done = object.__new__(Linearized)
        done.inputs, done.tangents = self.inputs, self.tangents
        done.primals, done.tape = [], Tape(self.handler, equations)
        made = object.__new__(self.kind)
        made._done, made._skeleton = done, self
        made._in_tree, made._out_tree, made._types, made._out_types = self.function
        return made


def _with_inputs(e: Equation, inputs: Any) -> Equation:
    return Equation(e.effect, list(inputs), e.attributes, e.outputs, e.frame, e.scope)


def flatten(f_vjp: Any) -> tuple[list[Any], Skeleton]:
    """The residuals of what `vjp` returns, and the rest of it."""
    if f_vjp._skeleton is None:
        f_vjp._skeleton = Skeleton(f_vjp)
    return f_vjp._skeleton.residuals(f_vjp), f_vjp._skeleton
