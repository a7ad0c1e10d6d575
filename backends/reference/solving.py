"""Linear systems: the program that solves them, run."""

from __future__ import annotations

from typing import Any

import numpy as np

from effax.backends.reference.evaluate import run
from effax.backends.reference.table import rule
from effax.effects.program import Program
from effax.effects.rows import solving
from effax.effects.rows.solving import Counts, sections

Array = np.ndarray[Any, Any]


@rule(solving.linear_solve)
def reference_linear_solve(
    *operands: Array, solve: Program, consts: Counts, **programs: Any
) -> list[Array]:
    parts = sections(operands, consts)
    return run(solve, [*parts[2], *parts[4]])
