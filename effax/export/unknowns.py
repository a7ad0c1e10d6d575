"""The unknowns of an exported function: solved for from the shapes of the arguments of a call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import attrs

from effax.api.compiling.dimensions import Atom, Dimension, Length, length_of, value_of
from effax.effects.errors import ExportError, SymbolicShapeError
from effax.effects.types import ShapedArray
from effax.effects.value import is_symbolic

LARGEST: Final = 2**31 - 1
"""The largest number that an unknown may be: programs count positions in 32 bits."""


@attrs.frozen(slots=True)
class Solution:
    """An equation for an unknown: an operand's axis has the length `factor * unknown + rest`."""

    name: str
    operand: int
    axis: int
    factor: int
    rest: Length
    """An integer, or an expression of unknowns that were solved for before."""


@attrs.frozen(slots=True, eq=False)
class Unknowns:
    """The unknowns in the types of an exported function's arguments, and what decides them."""

    scope: Any
    types: tuple[ShapedArray, ...]
    solutions: tuple[Solution, ...]

    @classmethod
    def of(cls, name: str, types: Sequence[ShapedArray]) -> Unknowns | None:
        """Return the unknowns in the types of arguments; None where no length is symbolic.

        Raises `ExportError` for lengths of several scopes, and `SymbolicShapeError` for an unknown
        that the shapes do not decide.
        """
        lengths = _lengths(types)
        scope = scope_of(types)
        if scope is None:
            return None
        if any(n.scope is not scope for n in lengths):
            raise ExportError(
                f"export of {name}: the symbolic lengths of the arguments are of different scopes; "
                "give symbolic_shape the same scope for all (scope=SymbolicScope())"
            )
        solutions = tuple(_solutions(types))
        found = {s.name for s in solutions}
        open = sorted(set().union(*(n.unknowns() for n in lengths)) - found)
        if open:
            raise SymbolicShapeError(
                f"export of {name}: a call would not decide the unknowns {', '.join(open)}: the "
                f"arguments have the lengths {', '.join(dict.fromkeys(map(str, lengths)))}, but "
                "none of these is linear in one unknown; give an axis the unknown itself as its "
                "length"
            )
        free = sorted(scope.linked(found))
        if free:
            raise SymbolicShapeError(
                f"export of {name}: the constraints {scope} compare {', '.join(sorted(found))} "
                f"with {', '.join(free)}, but the shapes of the arguments do not have the latter, "
                "so that a call could not be checked; leave these constraints out"
            )
        return cls(scope, tuple(types), solutions)

    def numbers(
        self, shapes: Sequence[tuple[int, ...]], place: Callable[[int], str]
    ) -> dict[str, int]:
        """Return the numbers that the shapes of a call's arguments give the unknowns.

        Args:
          shapes: the shapes; each has as many axes as its type.
          place: what an argument is called in messages.

        Raises:
          ExportError: for shapes that no numbers of 1 or more give, or that violate a constraint.
        """
        numbers: dict[str, int] = {}
        for s in self.solutions:
            size = shapes[s.operand][s.axis]
            number, left = divmod(size - value_of(s.rest, numbers), s.factor)
            if left or not 1 <= number <= LARGEST:
                raise ExportError(
                    f"Shape mismatch for {place(s.operand)}: axis {s.axis} has the symbolic length "
                    f"{self.types[s.operand].shape[s.axis]} and was called with {size}; {s.name} "
                    f"must be an integer from 1 to {LARGEST}"
                )
            numbers[s.name] = number
        for i, (t, shape) in enumerate(zip(self.types, shapes, strict=True)):
            wanted = self.shape(t, numbers)
            if wanted != tuple(shape):
                raise ExportError(
                    f"Shape mismatch for {place(i)}: expected {_text(t)}, which is {wanted} where "
                    f"{_values(numbers)}, and called with {tuple(shape)}"
                )
        violated = self.scope.violated(numbers)
        if violated is not None:
            raise ExportError(
                f"the arguments have lengths where {_values(numbers)}, which violates the "
                f"constraint {violated!r} that the function was exported with"
            )
        return numbers

    def shape(self, type: ShapedArray, numbers: Mapping[str, int]) -> tuple[int, ...]:
        """Return the shape of a type where the unknowns are these numbers."""
        return tuple(value_of(n, numbers) for n in type.shape)

    def results(
        self, out_types: Sequence[ShapedArray], operands: Sequence[ShapedArray]
    ) -> tuple[ShapedArray, ...]:
        """Return the types of results for operands of these types."""
        numbers = self.numbers([t.shape for t in operands], "operand {}".format)
        return tuple(t.update(shape=self.shape(t, numbers)) for t in out_types)


def scope_of(types: Sequence[ShapedArray]) -> Any:
    """Return the scope of the symbolic lengths in some types; None where there are none."""
    lengths = _lengths(types)
    return lengths[0].scope if lengths else None


def _lengths(types: Sequence[ShapedArray]) -> list[Dimension]:
    found: list[Any] = [n for t in types for n in t.shape]
    return [n for n in found if isinstance(n, Dimension)]


def _solutions(types: Sequence[ShapedArray]) -> Iterable[Solution]:
    known: set[str] = set()
    places: list[tuple[Any, int, int]] = [
        (n, i, axis) for i, t in enumerate(types) for axis, n in enumerate(t.shape)
    ]
    lengths = [place for place in places if isinstance(place[0], Dimension)]
    while True:
        for n, operand, axis in lengths:
            new = n.unknowns() - known
            if len(new) != 1:
                continue
            (name,) = new
            factor = n.terms.get((Atom(name),), 0)
            rest = n - length_of({(Atom(name),): factor}, n.scope)
            if factor > 0 and (not isinstance(rest, Dimension) or name not in rest.unknowns()):
                known.add(name)
                yield Solution(name, operand, axis, factor, rest)
                break
        else:
            return


def _text(type: ShapedArray) -> str:
    return f"({', '.join(map(str, type.shape))}{',' * (type.ndim == 1)})"


def _values(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"{name} = {n}" for name, n in numbers.items())


def refuse_symbolic(name: str, types: Sequence[ShapedArray]) -> None:
    """Raise `SymbolicShapeError` if a function is exported for operands that are symbolic."""
    for t in types:
        if is_symbolic(t.shape):
            raise SymbolicShapeError(
                f"the exported function {name} was called on {t.str_short()} while another "
                "function is exported, which is not supported; call it with arrays of known "
                "lengths"
            )
