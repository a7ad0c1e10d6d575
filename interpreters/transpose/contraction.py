"""Transposition of the contraction family: the cotangent contracted with the other operand."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from effax.effects.rows import contraction, conversion, shape
from effax.effects.rows.contraction import free_dims
from effax.effects.types import typeof
from effax.interpreters.transpose.linear import Linear, is_linear, rule, value_type

Pair = tuple[tuple[int, ...], tuple[int, ...]]


def _share(
    ct: Any,
    x: Linear,
    other: Any,
    contracted: Pair,
    batch: Pair,
    first: bool,
    precision: Any,
    preferred_element_type: Any,
) -> Any:
    """The cotangent of one operand, its axes in order.

    `contracted` and `batch` name the operand's axes before those of `other`; `first` says whether
    it was the left one.
    """
    other_type = value_type(other)
    dimension_numbers, order = _axes(x.ndim, other_type.ndim, contracted, batch, first)
    if typeof(ct).dtype != other_type.dtype:
        other = conversion.convert_element_type(other, dtype=typeof(ct).dtype)
    # The cotangent goes on the side that gives the result's axes in order.
    out = contraction.dot_general(
        ct,
        other,
        dimension_numbers=dimension_numbers,
        precision=precision if first else contraction.swapped(precision),
        preferred_element_type=preferred_element_type,
    )
    if order is not None:
        out = shape.transpose(x.laid(out, order), permutation=order)
    if typeof(out).dtype != x.dtype:
        out = conversion.convert_element_type(out, dtype=x.dtype)
    return out


@lru_cache(1024)
def _axes(ndim: int, other: int, contracted: Pair, batch: Pair, first: bool) -> tuple[Any, Any]:
    """Return the contracted axes, and the order of the result's axes (None: as they are)."""
    (xc, yc), (xb, yb) = contracted, batch
    x_free, y_free = free_dims(ndim, xc, xb), free_dims(other, yc, yb)
    in_ct = tuple(range(len(xb)))
    start = len(xb) + (len(x_free) if first else 0)
    y_in_ct = tuple(range(start, start + len(y_free)))
    # The result's axes: batch, the operand's free axes, the contracted ones in the other's order.
    by_other = [xc[yc.index(j)] for j in sorted(yc)]
    have = (*xb, *x_free, *by_other)
    order = tuple(have.index(i) for i in range(ndim))
    in_order = order == tuple(range(ndim))
    return ((y_in_ct, y_free), (in_ct, yb)), None if in_order else order


@rule(contraction.dot_general, one=True)
def dot_general_transpose(
    ct: Any,
    lhs: Any,
    rhs: Any,
    *,
    dimension_numbers: Any,
    precision: Any,
    preferred_element_type: Any,
) -> Sequence[Any]:
    (lc, rc), (lb, rb) = dimension_numbers
    if is_linear(lhs):
        share = _share(ct, lhs, rhs, (lc, rc), (lb, rb), True, precision, preferred_element_type)
        return share, None
    share = _share(ct, rhs, lhs, (rc, lc), (rb, lb), False, precision, preferred_element_type)
    return None, share


@rule(contraction.ragged_dot_general, fixed=(2,), one=True)
def ragged_dot_general_transpose(
    ct: Any,
    lhs: Any,
    rhs: Any,
    group_sizes: Any,
    *,
    dimension_numbers: Any,
    ragged: int,
    group: tuple[int, ...],
    precision: Any,
    preferred_element_type: Any,
) -> Sequence[Any]:
    """Ragged products again: an axis of groups that is free here is summed over there."""
    (lc, rc), batched = dimension_numbers
    if typeof(group_sizes).ndim > 1 and not group:
        # Sizes that differ along contracted axes have them in the order of lc. They are free in
        # the product below, so they must stand in this order in its operand.
        if is_linear(lhs):
            rhs, rc = _ascending(rhs, rc)
        else:
            ragged = sorted(lc)[lc.index(ragged)]
            lhs, lc = _ascending(lhs, lc)
    x = lhs if is_linear(lhs) else rhs
    turned = is_linear(lhs) and not group
    (one, two), dims, cut, groups, have = _ragged_share(
        ct, lhs, rhs, ((lc, rc), batched), ragged, group
    )
    out = contraction.ragged_dot_general(
        one,
        two,
        group_sizes,
        dimension_numbers=dims,
        ragged=cut,
        group=groups,
        precision=contraction.swapped(precision) if turned else precision,
        preferred_element_type=preferred_element_type,
    )
    order = tuple(have.index(i) for i in range(x.ndim))
    if order != tuple(range(x.ndim)):
        out = shape.transpose(x.laid(out, order), permutation=order)
    if typeof(out).dtype != x.dtype:
        out = conversion.convert_element_type(out, dtype=x.dtype)
    return (out, None, None) if is_linear(lhs) else (None, out, None)


def _ragged_share(
    ct: Any, lhs: Any, rhs: Any, dimension_numbers: Any, ragged: int, group: tuple[int, ...]
) -> Any:
    """The operands, axes, ragged axis and group axes of the product that is the cotangent of the
    operand that is linear, and the axes of this operand in the order in which the product has them.
    """
    (lc, rc), (lb, rb) = dimension_numbers
    lf = free_dims(value_type(lhs).ndim, lc, lb)
    rf = free_dims(value_type(rhs).ndim, (*group, *rc), rb)
    start = 0 if group else 1  # of the cotangent's axes; before them is that of the groups
    left, right = start + len(lb), start + len(lb) + len(lf)
    batch, lf_in_ct = tuple(range(start, left)), tuple(range(left, right))
    rf_in_ct = tuple(range(right, right + len(rf)))
    by_lc, by_rc = (
        tuple(other[own.index(i)] for i in sorted(own)) for own, other in ((lc, rc), (rc, lc))
    )
    if not is_linear(lhs):
        dims = (lf, lf_in_ct), (lb, batch)
        have = (*group, *rb, *by_lc, *rf)
        # The groups of a free axis are those of a contracted one here, and the other way round.
        return (lhs, ct), dims, ragged, () if group else (0,), have
    if group:
        dims = (rf_in_ct, rf), (batch, rb)
        return (ct, rhs), dims, lf_in_ct[lf.index(ragged)], group, (*lb, *lf, *by_rc)
    dims = (rf, rf_in_ct), (rb, batch)
    return (rhs, ct), dims, rc[lc.index(ragged)], (0,), (*lb, *by_rc, *lf)


def _ascending(x: Any, axes: tuple[int, ...]) -> tuple[Any, tuple[int, ...]]:
    """An array with some of its axes put in the order in which they are given, and their places."""
    places = tuple(sorted(axes))
    order = list(range(typeof(x).ndim))
    for place, axis in zip(places, axes, strict=True):
        order[place] = axis
    return shape.transpose(x, permutation=tuple(order)), places
