"""Batching of the contraction family."""

from __future__ import annotations

from typing import Any

from effax.effects.rows import contraction, shape
from effax.effects.types import typeof
from effax.interpreters.batch.batched import Batch, rule


def _shifted(axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(a + 1 for a in axes)


@rule(contraction.dot_general)
def dot_general_batch(
    handler: Batch,
    values: list[Any],
    batched: list[bool],
    *,
    dimension_numbers: Any,
    **attributes: Any,
) -> Any:
    """With both batched, one more batch axis; with one, one more free axis, its first."""
    (lc, rc), (lb, rb) = dimension_numbers
    left, right = batched
    if left:
        lc, lb = _shifted(lc), _shifted(lb)
    if right:
        rc, rb = _shifted(rc), _shifted(rb)
    if left and right:
        lb, rb = (0, *lb), (0, *rb)
    out = contraction.dot_general(*values, dimension_numbers=((lc, rc), (lb, rb)), **attributes)
    if left and right:
        return out, True
    ndim = typeof(out).ndim
    at = len(lb) if left else len(lb) + typeof(values[0]).ndim - len(lb) - len(lc)
    if at:
        rest = (i for i in range(ndim) if i != at)
        out = shape.transpose(out, permutation=(at, *rest))
    return out, True
