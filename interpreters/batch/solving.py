"""Batching of linear systems: the four programs are batched, and remain a system."""

from __future__ import annotations

from typing import Any

from effax.effects.program import Program
from effax.effects.rows import solving
from effax.effects.rows.solving import Counts, sections
from effax.interpreters.batch.batched import BATCHED, Batch, repeat, rule
from effax.interpreters.functor.lifting import PLAIN, lift


@rule(solving.linear_solve)
def linear_solve_batch(
    handler: Batch, values: list[Any], batched: list[bool], *, consts: Counts, **programs: Any
) -> Any:
    """Right sides and results are all batched; of the rest, what is."""
    parts, flags = sections(values, consts), sections(batched, consts)
    b = [x if many else repeat(x, handler.size) for x, many in zip(parts[4], flags[4], strict=True)]
    size = len(b)
    operands: list[Any] = []
    counts: list[int] = []
    lifted: dict[str, Program | None] = {}
    for name, own, many in zip(consts._fields, parts, flags, strict=False):
        program = programs[name]
        captured: tuple[Any, ...] = ()
        if program is not None:
            modes = (*(BATCHED if m else PLAIN for m in many), *[BATCHED] * size)
            done = lift(program, handler, modes, out_modes=(BATCHED,) * len(program.outputs))
            program, captured = done.program, done.captured
        lifted[name] = program
        operands += [*captured, *own]
        counts.append(len(captured) + len(own))
    results = solving.linear_solve(*operands, *b, consts=Counts(*counts), **lifted)
    return results, [True] * len(results)
