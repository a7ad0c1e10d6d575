"""An estimate of what XLA's fusions repeat, and of what they keep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from effax.backends.xla.pieces.keeping import Step
from effax.effects.program import Equation, Program

ELEMENTWISE: Final = frozenset(
    {"elementwise", "comparison", "logical", "selection", "conversion", "transcendental"}
)
"""The families of effects that are fused into what uses them."""
MOVES: Final = frozenset({"broadcast_in_dim", "reshape", "expand_dims", "squeeze", "iota"})
"""Effects that do no more than place elements."""
_CUTS: Final = frozenset({"slice", "pad", "transpose", "rev", "concatenate"})
_DEAR: Final = frozenset({"div", "rem", "sqrt", "rsqrt", "cbrt", "pow"})


def is_cheap(e: Equation) -> bool:
    """Whether XLA would rather do an operation again than keep its result."""
    if len(e.outputs) != 1 or e.effect.name in _DEAR or e.effect.family == "transcendental":
        return False
    return e.effect.family in ELEMENTWISE or e.effect.name in MOVES


class Fusions:
    """The fusions that XLA would make of a program.

    An operation is repeated in each fusion that uses it, unless it is dear and used several times.
    The results of the others are kept.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        equations = program.equations
        uses = Counter(x for e in equations for x in set(e.inputs))
        needed: set[Any] = set(program.outputs)
        for e in equations:
            if not _is_fused(e) and e.effect.family != "reduction":
                needed.update(e.inputs)
        self.repeated = {
            e.outputs[0]: e
            for e in equations
            if _is_fused(e) and (is_cheap(e) or e.effect.name in _CUTS or uses[e.outputs[0]] == 1)
        }
        self.ends = [
            e
            for e in equations
            if not (e.outputs and e.outputs[0] in self.repeated and needed.isdisjoint(e.outputs))
        ]

    def growth(self, most: float) -> float:
        """The operations in the fusions, for each operation in the program; at most `most`.

        Within a fusion an operation is repeated wherever its elements are placed in another way.
        """
        length = len(self.program.equations)
        total, places, enough = 0, _Places(), most * length
        for e in self.ends:
            fuses = _is_fused(e) or e.effect.family == "reduction"
            total += self._operations(e, places, enough - total) if fuses else 1
            if total >= enough:
                return most
        return total / max(1, length)

    def _operations(self, end: Equation, places: _Places, enough: float) -> int:
        seen = {(end.outputs[0], 0)}
        left = [(end, 0)]
        while left and len(seen) < enough:
            e, place = left.pop()
            for i, x in enumerate(e.inputs):
                if x in self.repeated:
                    there = x, places.of_operand(e, i, place)
                    if there not in seen:
                        seen.add(there)
                        left.append((self.repeated[x], there[1]))
        return len(seen)

    def steps(self) -> Iterator[Step]:
        """The fusions in order: the values that each reads, and those that it gives."""
        kept = {x for e in self.ends for x in e.outputs}
        for end in self.ends:
            reads, left = set(), [end]
            seen: set[Any] = set()
            while left:
                for x in left.pop().inputs:
                    if x in kept:
                        reads.add(x)
                    elif x in self.repeated and x not in seen:
                        seen.add(x)
                        left.append(self.repeated[x])
            yield reads, end.outputs


class _Places:
    """Numbers for the ways in which elements are placed: the operations that move them."""

    def __init__(self) -> None:
        self.moves: dict[Any, str] = {}
        self.known: dict[Any, int] = {}

    def of_operand(self, e: Equation, i: int, place: int) -> int:
        """The place of an operand's elements, for that of the elements of the result."""
        name = e.effect.name
        if name not in MOVES and name not in _CUTS:
            return place
        move = self.moves.get(e.outputs[0])
        if move is None:
            move = f"{name} {e.attributes} {[x.type for x in e.inputs]}"
            self.moves[e.outputs[0]] = move
        key = place, move, i if name == "concatenate" else 0
        return self.known.setdefault(key, len(self.known) + 1)


def _is_fused(e: Equation) -> bool:
    return len(e.outputs) == 1 and (
        e.effect.family in ELEMENTWISE or e.effect.name in MOVES or e.effect.name in _CUTS
    )
