"""Transposes of condensed forms: tridiagonal systems are linear in their right side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from effax.effects.rows import condensed, shape
from effax.effects.types import typeof
from effax.interpreters.transpose.linear import rule


@rule(condensed.tridiagonal_solve, fixed=(0, 1, 2))
def tridiagonal_solve_transpose(
    ct: Any, dl: Any, d: Any, du: Any, b: Any, **attributes: Any
) -> Sequence[Any]:
    """The system of the transposed matrix: the outer diagonals change places, one step along."""
    axis = typeof(d).ndim - 1
    n = typeof(d).shape[axis]
    below = shape.pad_axis(du, axis, 1, -1) if n else du
    above = shape.pad_axis(dl, axis, -1, 1) if n else dl
    return None, None, None, condensed.tridiagonal_solve(below, d, above, ct, **attributes)
