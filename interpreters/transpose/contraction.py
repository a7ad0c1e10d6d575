"""Transposition of the contraction family: the cotangent contracted with the other operand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from effax.effects import contraction, conversion, shape
from effax.effects.contraction import free_dims
from effax.effects.types import typeof
from effax.interpreters.transpose.linear import Linear, is_linear, rule, value_type


def _share(
    ct: Any,
    x: Linear,
    other: Any,
    contracted: tuple[tuple[int, ...], tuple[int, ...]],
    batch: tuple[tuple[int, ...], tuple[int, ...]],
    first: bool,
    precision: Any,
    preferred_element_type: Any,
) -> Any:
    """The cotangent of one operand, its axes in order.

    `contracted` and `batch` name the operand's axes before those of `other`; `first` says whether
    it was the left one.
    """
    (xc, yc), (xb, yb) = contracted, batch
    x_free = free_dims(x.ndim, xc, xb)
    other_type = value_type(other)
    y_free = free_dims(other_type.ndim, yc, yb)
    in_ct = tuple(range(len(xb)))
    start = len(xb) + (len(x_free) if first else 0)
    y_in_ct = tuple(range(start, start + len(y_free)))
    if typeof(ct).dtype != other_type.dtype:
        other = conversion.convert_element_type(other, dtype=typeof(ct).dtype)
    # With the cotangent on the side where the result's axes are met in order.
    out = contraction.dot_general(
        ct,
        other,
        dimension_numbers=((y_in_ct, y_free), (in_ct, yb)),
        precision=precision if first else contraction.swapped(precision),
        preferred_element_type=preferred_element_type,
    )
    # Its axes: batch, the operand's free ones, and the contracted ones in the other's order.
    by_other = [xc[yc.index(j)] for j in sorted(yc)]
    have = (*xb, *x_free, *by_other)
    order = tuple(have.index(i) for i in range(x.ndim))
    if order != tuple(range(x.ndim)):
        out = shape.transpose(out, permutation=order)
    if typeof(out).dtype != x.dtype:
        out = conversion.convert_element_type(out, dtype=x.dtype)
    return out


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
