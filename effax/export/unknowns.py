"""The unknowns of an exported function: solved for from the shapes of the arguments of a call."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, Final

import attrs

from effax.api.compiling.dimensions import Atom, Dimension, Length, length_of, value_of
from effax.effects.errors import (
    ExportError,
    SymbolicShapeError,
)
from effax.effects.types import ShapedArray
from effax.effects.value import is_symbolic, surely

LARGEST: Final = 2**31 - 1
"""The largest number that an unknown may be: programs count positions in 32 bits."""


@attrs.frozen(slots=True)
class Place:
    """An axis of an operand whose length is symbolic."""

    operand: int
    axis: int
    length: Dimension


@attrs.frozen(slots=True)
class Solution(Place):
    """An equation for an unknown: the length of the place is `factor * unknown + rest`."""

    name: str
    factor: int
    rest: Length
    """An integer, or an expression of unknowns that were solved for before."""


@attrs.frozen(slots=True, eq=False)
class Unknowns:
    """The unknowns in the types of an exported function's arguments, and what decides them."""

    scope: Any
    types: tuple[ShapedArray, ...]
    steps: tuple[Place, ...]
    """The places in the order in which they are read: solutions, and places to be compared."""

    @property
    def solutions(self) -> tuple[Solution, ...]:
        """The steps that decide an unknown."""
        return tuple([s for s in self.steps if isinstance(s, Solution)])

    @classmethod
    def of(
        cls,
        name: str,
        types: Sequence[ShapedArray],
        named: Callable[[int], str] = "operand {}".format,
    ) -> Unknowns | None:
        """Return the unknowns in the types of arguments; None where no length is symbolic.

        Args:
          name: the name of the function, for messages.
          types: the types of the arguments.
          named: what an argument is called in messages.

        Raises:
          ExportError: for lengths of several scopes, and constraints that a call can't check.
          SymbolicShapeError: for an unknown that the shapes do not decide.
        """
        places = _places(types)
        if not places:
            return None
        scope = places[0].length.scope
        check_scopes(name, types, named)
        steps, left = _steps(places)
        found = {s.name for s in steps if isinstance(s, Solution)}
        if left:
            open = sorted(set().union(*(x.length.unknowns() for x in left)) - found)
            unprocessed = [
                f"'{x.length}' for dimension size {named(x.operand)}.shape[{x.axis}]" for x in left
            ]
            raise SymbolicShapeError(
                f"Cannot solve for values of dimension variables {{{', '.join(map(repr, open))}}}. "
                "We can only solve linear uni-variate constraints. "
                f"{_specifications(types, named)} Unprocessed specifications: "
                f"{', '.join(unprocessed)}. export of {name}: give an axis the unknown itself as "
                "its length, so that a call decides it"
            )
        free = sorted(scope.linked(found))
        if free:
            raise SymbolicShapeError(
                f"export of {name}: the constraints {scope} compare {', '.join(sorted(found))} "
                f"with {', '.join(free)}, but the shapes of the arguments do not have the latter, "
                "so that a call could not be checked; leave these constraints out"
            )
        return cls(scope, tuple(types), tuple(steps))

    def numbers(
        self, shapes: Sequence[tuple[Length, ...]], named: Callable[[int], str]
    ) -> dict[str, Length]:
        """Return what the shapes of a call's arguments give the unknowns.

        Numbers, or lengths of another function that is being exported. Then all that is checked
        must hold whatever these lengths will be.

        Args:
          shapes: the shapes; each has as many axes as its type.
          named: what an argument is called in messages.

        Raises:
          ExportError: for shapes that no numbers of 1 or more give, or that violate a constraint.
        """
        numbers: dict[str, Length] = {}
        obtained: list[str] = []

        def refused(found: str, what: str = "polymorphic shapes specification") -> ExportError:
            known = ", ".join(obtained)
            known = f" Obtained dimension variables: {known}, which do not fit." if known else ""
            return ExportError(
                f"Input shapes do not match the {what}. {found} "
                f"{_specifications(self.types, named)}{known} Give arguments of other lengths"
            )

        for s in self.steps:
            size, place = shapes[s.operand][s.axis], f"{named(s.operand)}.shape[{s.axis}]"
            if not isinstance(s, Solution):
                wanted = value_of(s.length, numbers)
                if size != wanted:
                    raise refused(
                        f"Found inconsistency between dimension size {place} (= {size}) and the "
                        f"specification '{s.length}' (= {wanted})."
                    )
                continue
            number, left = divmod(size - value_of(s.rest, numbers), s.factor)
            if left != 0:
                raise refused(
                    f"Division had remainder {left} when computing the value of '{s.name}'."
                )
            obtained.append(
                f"'{s.name}' = {number} from specification '{s.length}' for dimension {place} "
                f"(= {size})"
            )
            if not surely(partial(operator.ge, number, 1)):
                raise refused(f"Expected value >= 1 for dimension variable '{s.name}'.")
            if isinstance(number, int) and number > LARGEST:
                raise refused(f"The dimension variable '{s.name}' must be at most {LARGEST}.")
            numbers[s.name] = number
        replaced = self.scope.replaced(numbers.keys())
        known = {**numbers, **{name: value_of(n, numbers) for name, n in replaced}}
        for text, compare, *sides in self.scope.comparisons(known.keys()):
            left, right = (value_of(x, known) for x in sides)
            if not surely(partial(compare, left, right)):
                relation = "equal" if compare is operator.eq else "greater or equal"
                found = right - left if compare is operator.le else left - right
                raise refused(
                    f"Expected '{self.scope.differences[text]}' to be {relation} to 0, but found "
                    f"{found}.",
                    f"symbolic shape constraint {text}",
                )
        return numbers

    def shape(self, type: ShapedArray, numbers: Mapping[str, Length]) -> tuple[Length, ...]:
        """Return the shape of a type where the unknowns are these numbers or lengths."""
        return tuple(value_of(n, numbers) for n in type.shape)

    def results(
        self, out_types: Sequence[ShapedArray], operands: Sequence[ShapedArray]
    ) -> tuple[ShapedArray, ...]:
        """Return the types of results for operands of these types."""
        numbers = self.numbers([t.shape for t in operands], "operand {}".format)
        return tuple(t.update(shape=self.shape(t, numbers)) for t in out_types)


def scope_of(types: Sequence[ShapedArray]) -> Any:
    """Return the scope of the symbolic lengths in some types; None where there are none."""
    places = _places(types)
    return places[0].length.scope if places else None


def check_scopes(name: str, types: Sequence[Any], named: Callable[[int], str]) -> None:
    """Raise `ExportError` if the symbolic lengths of arguments are of several scopes.

    Args:
      name: the name of the function, for the message.
      types: the types of the arguments; of values without a shape, nothing is asked.
      named: what an argument is called in the message.
    """
    places = _places(types)
    for first, x in pairwise(places):
        if x.length.scope is not first.length.scope:
            raise ExportError(
                f"Invalid mixing of symbolic scopes when exporting {name}. Expected current (from "
                f"{named(first.operand)}) scope {first.length.scope} and found for '{x.length}' "
                f"({named(x.operand)}) scope {x.length.scope}; give symbolic_shape the same scope "
                "for all (scope=SymbolicScope())"
            )


def _places(types: Sequence[Any]) -> list[Place]:
    return [
        Place(i, axis, n)
        for i, t in enumerate(types)
        for axis, n in enumerate(getattr(t, "shape", ()))
        if isinstance(n, Dimension)
    ]


def _steps(places: Sequence[Place]) -> tuple[list[Place], list[Place]]:
    """The order in which places are read, and the places that do not help."""
    known: set[str] = set()
    steps: list[Place] = []
    left = list(places)
    while left:
        waiting = []
        for place in left:
            step = _step(place, known)
            if step is None:
                waiting.append(place)
                continue
            steps.append(step)
            known |= place.length.unknowns()
        if len(waiting) == len(left):
            break
        left = waiting
    return steps, left


def _step(place: Place, known: set[str]) -> Place | None:
    n = place.length
    new = n.unknowns() - known
    if len(new) != 1:
        return None if new else place
    (name,) = new
    factor = n.terms.get((Atom(name),), 0)
    rest = n - length_of({(Atom(name),): factor}, n.scope)
    if factor <= 0 or (isinstance(rest, Dimension) and name in rest.unknowns()):
        return None
    return Solution(place.operand, place.axis, n, name, factor, rest)


def _specifications(types: Sequence[ShapedArray], named: Callable[[int], str]) -> str:
    shapes = [f"{named(i)}.shape = {_text(t)}" for i, t in enumerate(types) if is_symbolic(t.shape)]
    return f"Using the following polymorphic shapes specifications: {', '.join(shapes)}."


def _text(type: ShapedArray) -> str:
    return f"({', '.join(map(str, type.shape))}{',' * (type.ndim == 1)})"
