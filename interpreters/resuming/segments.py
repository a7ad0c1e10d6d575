"""A program cut at certain effects: what is done before each, and what is needed after it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import attrs

from effax.effects.effect import Effect
from effax.effects.program import Equation, Program, Variable
from effax.interpreters.functor.meanings import meaning
from effax.interpreters.stage import Staged


@attrs.frozen(slots=True, eq=False)
class Segment:
    """A stretch of a program up to an equation at which it is cut, or to the program's end.

    Inputs of `program` are the results of the cut before it, then the live variables; results are
    the operands of its own cut, then the variables that are live after that. The last segment has
    no equation, and its results are those of the whole.
    """

    program: Program
    equation: Equation | None


def mentions(program: Program, effects: frozenset[Effect]) -> frozenset[Effect]:
    """Find those of the effects that a program performs, in the programs inside it too."""
    key = "mentions", effects
    found: frozenset[Effect] | None = program.memo.get(key)
    if found is None:
        found = frozenset(e.effect for e in program.equations) & effects
        for e in program.equations:
            for inner in e.programs():
                found |= mentions(inner, effects)
        program.memo[key] = found
    return found


def mentioned(equation: Equation, effects: frozenset[Effect]) -> frozenset[Effect]:
    """Find those of the effects that an equation performs, in its programs too.

    So in what it is written out as, if that says that it performs effects.
    """
    found = frozenset((equation.effect,)) & effects
    if equation.effect.performs:
        written = meant(equation)
        if written is not None:
            found |= mentions(written.program, effects)
    return found.union(*(mentions(inner, effects) for inner in equation.programs()))


def meant(equation: Equation) -> Staged | None:
    """Write an equation out; None where nobody has said it."""
    types = [x.type for x in equation.inputs]
    return meaning(equation.effect, types, equation.attributes)


def segments(program: Program, effects: frozenset[Effect]) -> Sequence[Segment]:
    """The program cut at each equation that performs one of the effects."""
    key = "segments", effects
    found: Sequence[Segment] | None = program.memo.get(key)
    if found is None:
        found = program.memo[key] = _cut(program, effects)
    return found


def _cut(program: Program, effects: frozenset[Effect]) -> list[Segment]:
    """Walk backwards; `live` are the variables that what comes after the walk reads.

    Every segment's inputs start with the results of the cut before it, which are not live there.
    """
    parts: list[Segment] = []
    equations: list[Equation] = []
    results: Sequence[Any] = program.outputs
    ends: Equation | None = None
    live = _read(program.outputs)
    for e in reversed(program.equations):
        if not mentioned(e, effects):
            equations.append(e)
            live = _before(e, live)
            continue
        for x in e.outputs:
            live.pop(x, None)
        kept = list(live)
        parts.append(_segment([*e.outputs, *kept], equations, results, ends, program.name))
        equations, results, ends = [], [*e.inputs, *kept], e
        live = live | _read(e.inputs)
    parts.append(_segment(program.inputs, equations, results, ends, program.name))
    return parts[::-1]


def _segment(
    inputs: Sequence[Variable],
    equations: Sequence[Equation],
    results: Sequence[Any],
    ends: Equation | None,
    name: str,
) -> Segment:
    return Segment(Program(inputs, equations[::-1], results, name), ends)


def _read(atoms: Iterable[Any]) -> dict[Variable, None]:
    """The variables among atoms, in order: a dict serves as an ordered set."""
    return {x: None for x in atoms if type(x) is Variable}


def _before(e: Equation, live: dict[Variable, None]) -> dict[Variable, None]:
    for x in e.outputs:
        live.pop(x, None)
    return live | _read(e.inputs)
