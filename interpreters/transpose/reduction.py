"""Transposition of reductions: the one that is linear is the sum."""

from __future__ import annotations

from typing import Any

from effax.effects.rows import reduction, shape
from effax.interpreters.transpose.linear import Linear, unary


@unary(reduction.reduce_sum)
def reduce_sum_transpose(ct: Any, x: Linear, *, axes: tuple[int, ...]) -> Any:
    """Every element has had the same part in the sum."""
    kept = tuple(i for i in range(x.ndim) if i not in axes)
    return shape.broadcast_in_dim(ct, shape=x.shape, dims=kept)
