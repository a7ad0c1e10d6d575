"""Batching of the contraction family."""

from __future__ import annotations

from typing import Any

from effax.effects.rows import contraction, shape
from effax.effects.rows.contraction import outer_axes
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


@rule(contraction.ragged_dot_general)
def ragged_dot_general_batch(
    handler: Batch,
    values: list[Any],
    batched: list[bool],
    *,
    dimension_numbers: Any,
    ragged: int,
    group: tuple[int, ...],
    **attributes: Any,
) -> Any:
    """One more free axis where one operand is batched, or one more batch axis.

    Sizes that differ between lanes do so along a batch axis, which both operands have then.
    """
    (lc, rc), (lb, rb) = dimension_numbers
    lhs, rhs, sizes = values
    left, right, several = batched
    own = outer_axes(typeof(lhs).ndim - left, ragged, lc, lb)
    if several and not (left and right):
        lhs, rhs = (x if b else handler.repeated(x) for x, b in ((lhs, left), (rhs, right)))
        left = right = True
    if left:
        lc, lb, own, ragged = _shifted(lc), _shifted(lb), _shifted(own), ragged + 1
    if right:
        rc, rb, group = _shifted(rc), _shifted(rb), _shifted(group)
    count = typeof(sizes).shape[-1]
    if left and right:
        lb, rb = (0, *lb), (0, *rb)
    outer = outer_axes(typeof(lhs).ndim, ragged, lc, lb)
    given = typeof(sizes).ndim
    if outer and (several or given > 1):
        lengths = (*(typeof(lhs).shape[i] for i in outer), count)
        have = ([0] if several else []) + ([*own] if given - several > 1 else [])
        dims = (*(outer.index(i) for i in have), len(outer))
        sizes = shape.broadcast_in_dim(sizes, shape=lengths, dims=dims)
    out = contraction.ragged_dot_general(
        lhs,
        rhs,
        sizes,
        dimension_numbers=((lc, rc), (lb, rb)),
        ragged=ragged,
        group=group,
        **attributes,
    )
    at = 0 if group else 1
    if not (left and right):
        free = 0 if left else typeof(lhs).ndim - len(lb) - len(lc)
        at += len(lb) + free
    return shape.move_axis(out, at, 0), True
