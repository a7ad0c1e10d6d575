"""Solving: linear systems given by programs, whose derivative is one more system."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from effax.effects.effect import Effect
from effax.effects.program import Program
from effax.effects.rows.control import match_types
from effax.effects.types import ShapedArray

FAMILY = "solving"


class Counts(NamedTuple):
    """The number of operands for each program, before those that all of them take."""

    matvec: int
    vecmat: int
    solve: int
    transpose_solve: int


def _linear_solve_type(
    *operands: ShapedArray,
    matvec: Program,
    vecmat: Program | None,
    solve: Program,
    transpose_solve: Program | None,
    consts: Counts,
) -> Sequence[ShapedArray]:
    b = operands[sum(consts) :]
    start = 0
    for name, program, count in zip(
        consts._fields, (matvec, vecmat, solve, transpose_solve), consts, strict=True
    ):
        if program is not None:
            own = operands[start : start + count]
            match_types(f"the operands of {name}", program.in_types, [*own, *b], cuts=False)
            solver = name in ("solve", "transpose_solve")
            given = program.out_types[: len(b)] if solver else program.out_types
            match_types(f"the results of {name}", b, given, cuts=False)
        start += count
    return [*b, *solve.out_types[len(b) :]]


linear_solve = Effect(
    "linear_solve", family=FAMILY, typing=_linear_solve_type, multiple=True, higher_order=True
)
"""`linear_solve(*operands, matvec, vecmat, solve, transpose_solve, consts)`.

x with `matvec(x) = b`, found by `solve(b)`, and what else that gives. The operands are those of
each program, as many as `consts` says, then b. `vecmat` and `transpose_solve` belong to the
transposed system, and are None where it is not known how to solve that.
"""


def sections(operands: Sequence[object], consts: Counts) -> tuple[list[object], ...]:
    """The operands of each of the four programs, and b."""
    parts, start = [], 0
    for count in consts:
        parts.append(list(operands[start : start + count]))
        start += count
    return (*parts, list(operands[start:]))
