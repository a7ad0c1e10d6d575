"""Transposes of linear algebra: triangular systems are linear in their right side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from effax.effects.rows import linalg
from effax.interpreters.transpose.linear import rule


@rule(linalg.triangular_solve, fixed=(0,))
def triangular_solve_transpose(
    ct: Any, a: Any, b: Any, *, transpose_a: bool, **attributes: Any
) -> Sequence[Any]:
    """The system of the transposed matrix."""
    return None, linalg.triangular_solve(a, ct, transpose_a=not transpose_a, **attributes)
