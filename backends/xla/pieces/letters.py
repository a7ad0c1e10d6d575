"""Equations as letters: equal where effects, attributes and types are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from effax.effects.program import Equation, Program, Variable
from effax.effects.provenance import tags_of

Letters = npt.NDArray[np.int64]


class Alphabet:
    """The letters of some equations, as numbers."""

    def __init__(self) -> None:
        self._letters: dict[Equation, int] = {}
        self._numbers: dict[Any, int] = {}
        self._structures: dict[Program, int] = {}

    def spell(self, equations: Sequence[Equation]) -> Letters:
        """Return the letters of equations, in order."""
        return np.array([self.letter(e) for e in equations], np.int64)

    def letter(self, e: Equation) -> int:
        """The letter of an equation; one of its own where it performs something in order."""
        found = self._letters.get(e)
        if found is None:
            found = self._letters[e] = self._number(object() if e.row else self._spelled(e))
        return found

    def _spelled(self, e: Equation) -> Any:
        """A key of an equation."""
        attributes = tuple([(name, self._key(x)) for name, x in e.attributes.items()])
        key = (*kind(e), attributes, tags_of(e.scope))
        try:
            hash(key)
        except TypeError:  # an attribute that can't be compared
            return object()
        return key

    def _number(self, key: Any) -> int:
        return self._numbers.setdefault(key, len(self._numbers))

    def _key(self, value: Any) -> Any:
        if type(value) is tuple:
            return tuple(map(self._key, value))
        return self._structure(value) if type(value) is Program else exact(value)

    def _structure(self, program: Program) -> Any:
        """A key of a program: its letters, and the flow of its values."""
        found = self._structures.get(program)
        if found is None:
            places: dict[Any, int] = {x: i for i, x in enumerate(program.inputs)}

            def where(x: Any) -> Any:
                return places[x] if type(x) is Variable else (exact(x.value), x.type)

            key: list[Any] = [program.in_types]
            for e in program.equations:
                key.append((self.letter(e), tuple(map(where, e.inputs))))
                for x in e.outputs:
                    places[x] = len(places)
            key.append(tuple(map(where, program.outputs)))
            found = self._structures[program] = self._number(tuple(key))
        return Program, found


def kind(e: Equation) -> tuple[Any, ...]:
    """The effect of an equation and its types, without attributes."""
    return e.effect, tuple([x.type for x in e.inputs]), tuple([x.type for x in e.outputs])


def exact(value: Any) -> Any:
    """A key of a value, in which 1, 1.0 and True differ, and 0.0 and -0.0."""
    if isinstance(value, float | complex | np.inexact):
        return type(value), repr(value)
    return type(value), value
