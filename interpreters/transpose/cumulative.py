"""Transposition of cumulative effects: the one that is linear is the sum."""

from __future__ import annotations

from typing import Any

from effax.effects.rows import cumulative
from effax.interpreters.transpose.linear import Linear, unary


@unary(cumulative.cumsum)
def cumsum_transpose(ct: Any, x: Linear, *, axis: int, reverse: bool) -> Any:
    """An element is in the sums from its place on: sum their cotangents from the other end."""
    return cumulative.cumsum(ct, axis=axis, reverse=not reverse)
