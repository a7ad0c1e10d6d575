"""Computing again, in a branch that is seldom taken, what is not kept for it.

An array that a branch mentions has to be there when it is reached, and breaks up the loop that it
would be a step of. Where the branch is all that asks for it, the elementwise equations that lead to
it are written into the branch instead, from arrays that are there anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from effax.backends.xla.lowering.writer import Name, Writer
from effax.effects.program import Equation, Program, Variable
from effax.effects.rows.check import detect

_FAMILIES: Final = frozenset(
    {"elementwise", "transcendental", "comparison", "logical", "selection", "conversion"}
)


def _is_a_step(e: Equation) -> bool:
    """Whether an equation may be a step of a loop over elements."""
    return e.effect.family in _FAMILIES and not e.effect.multiple and not e.row


def _steps(program: Program) -> dict[Variable, int]:
    """Find the loops that compute arrays of which one step at a time is read, never the whole."""
    found: dict[Variable, int] | None = program.memo.get(_steps)
    if found is None:
        found = {e.outputs[0]: i for i, e in enumerate(program.equations) if _is_a_step(e)}
        whole = [*program.outputs]
        for e in program.equations:
            if e.effect is detect:
                covered = e.attributes["covered"]
                whole += [x for x, c in zip(e.inputs, covered, strict=True) if not c]
            elif not _is_a_step(e):
                whole += e.inputs
        for x in whole:
            found.pop(x, None)
        program.memo[_steps] = found
    return found


def again(w: Writer, wanted: Sequence[Any]) -> Callable[[], list[Name]]:
    """Return a writer that computes variables of the current program again, as far as needed."""
    program, names = w.program, w.names
    steps, equations = _steps(program), program.equations
    places: set[int] = set()
    inputs: dict[Variable, None] = {}
    left = list(wanted)
    while left:
        x = left.pop()
        if type(x) is not Variable:
            continue
        place = steps.get(x)
        if place is None:
            inputs[x] = None
        elif place not in places:
            places.add(place)
            left += equations[place].inputs
    replayed = Program([*inputs], [equations[i] for i in sorted(places)], wanted, program.name)

    def write() -> list[Name]:
        plainly, w.plainly = w.plainly, True
        results = w.body(replayed, [names[x] for x in inputs])
        w.plainly = plainly
        return results

    return write
