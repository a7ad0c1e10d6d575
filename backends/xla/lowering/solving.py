"""Linear systems: the program that solves them, called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from effax.backends.xla.lowering.control import lower_call
from effax.backends.xla.lowering.writer import Name, Writer, rule
from effax.effects.program import Program
from effax.effects.rows import solving
from effax.effects.rows.solving import Counts, sections
from effax.effects.types import ShapedArray


@rule(solving.linear_solve)
def lower_linear_solve(
    w: Writer,
    types: Sequence[ShapedArray],
    *operands: Name,
    solve: Program,
    consts: Counts,
    **programs: Any,
) -> list[Name]:
    parts = sections(operands, consts)
    return lower_call(w, types, *parts[2], *parts[4], program=solve)
