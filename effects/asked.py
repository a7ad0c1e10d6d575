"""The questions that a program leaves open: effect, types and line of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import attrs

from effax.effects.effect import Effect
from effax.effects.frames import describe
from effax.effects.types import ShapedArray


@attrs.frozen(slots=True)
class OpenQuestion:
    """An effect that a program performs, of operands and results of these types; and where.

    `name` is the entry of the row that it leaves: `Effect.row`, or "axis i" for a collective.
    """

    name: str
    effect: Effect
    operands: tuple[ShapedArray, ...]
    results: tuple[ShapedArray, ...]
    frame: Any = attrs.field(eq=False)

    @property
    def place(self) -> str:
        """The user's line that performs it."""
        return describe(self.frame)

    @property
    def signature(self) -> str:
        """The effect and its types: `draw(f32[]) -> u32[2]`."""
        ins, outs = ([t.str_short() for t in types] for types in (self.operands, self.results))
        given = outs[0] if len(outs) == 1 else f"({', '.join(outs)})"
        return f"{self.effect.name}({', '.join(ins)}) -> {given}"

    def __str__(self) -> str:
        return f"{self.signature} at {self.place}"


def asked_by(equations: Iterable[Any]) -> tuple[OpenQuestion, ...]:
    """List the questions of equations in order: each effect of the same types and line once."""
    found: dict[Any, OpenQuestion] = {}
    for e in equations:
        for one in _asked(e):
            found.setdefault((one.name, one.signature, one.frame), one)
    return tuple(found.values())


def _asked(e: Any) -> Iterator[OpenQuestion]:
    row = e.row
    if not row:
        return
    inner = [one for program in e.programs() for one in program.row.asked if one.name in row]
    yield from inner
    own = row - {one.name for one in inner} if e.effect.higher_order else row
    ins, outs = (tuple(x.type for x in atoms) for atoms in (e.inputs, e.outputs))
    for name in sorted(own):
        yield OpenQuestion(name, e.effect, ins, outs, e.frame)


answerers: Final[dict[str, dict[str, None]]] = {}
"""By the entry of a row: what answers it, as a user writes it."""


def answerer_of(name: str, known: dict[str, str]) -> str:
    """Return the wrapper that answers what a function leaves open."""
    if name in known:
        return known[name]
    found = list(answerers.get(name, ()))
    return " or ".join(found) if found else f"a handler that answers '{name}'"
