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
