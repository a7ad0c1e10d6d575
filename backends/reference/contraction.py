"""Contraction by `numpy.einsum`, one letter per axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from effax.backends.reference.table import rule
from effax.effects.rows import contraction
from effax.effects.rows.contraction import free_dims, outer_axes

Array = np.ndarray[Any, Any]


def accumulated(x: Array, preferred: Any) -> Array:
    """An operand in the precision in which products are summed."""
    if preferred is not None and np.dtype(preferred).kind in "iufc":
        x = x.astype(np.promote_types(x.dtype, preferred) if x.dtype.kind in "iufcb" else preferred)
    narrow_float = x.dtype.kind == "V" or x.dtype.name in ("float16", "bfloat16")
    return x.astype(np.float32) if narrow_float else x


@rule(contraction.dot_general)
def dot_general_reference(
    lhs: Array,
    rhs: Array,
    *,
    dimension_numbers: Any,
    precision: Any,
    preferred_element_type: Any,
) -> Array:
    (lc, rc), (lb, rb) = dimension_numbers
    left = list(range(lhs.ndim))
    right = list(range(lhs.ndim, lhs.ndim + rhs.ndim))
    for i, j in zip((*lc, *lb), (*rc, *rb), strict=True):
        right[j] = left[i]
    out = [
        *(left[i] for i in lb),
        *(left[i] for i in free_dims(lhs.ndim, lc, lb)),
        *(right[j] for j in free_dims(rhs.ndim, rc, rb)),
    ]
    x, y = accumulated(lhs, preferred_element_type), accumulated(rhs, preferred_element_type)
    return np.asarray(np.einsum(x, left, y, right, out))


@rule(contraction.ragged_dot_general)
def ragged_dot_general_reference(
    lhs: Array,
    rhs: Array,
    group_sizes: Array,
    *,
    dimension_numbers: Any,
    ragged: int,
    group: tuple[int, ...],
    **attributes: Any,
) -> Array:
    """A product for each group, of what belongs to it, with zeros elsewhere."""
    (lc, rc), (lb, rb) = dimension_numbers
    axes = (*outer_axes(lhs.ndim, ragged, lc, lb), ragged)
    sizes = np.broadcast_to(
        group_sizes, (*(lhs.shape[i] for i in axes[:-1]), group_sizes.shape[-1])
    )
    ends = np.cumsum(sizes, -1)
    at = np.arange(lhs.shape[ragged])
    order = sorted(range(len(axes)), key=axes.__getitem__)
    lengths = [lhs.shape[i] if i in axes else 1 for i in range(lhs.ndim)]
    if group:
        rc, rb = (tuple(i - (i > group[0]) for i in axes) for axes in (rc, rb))
    numbers = (lc, rc), (lb, rb)
    products = []
    for g in range(sizes.shape[-1]):
        start, end = (ends - sizes)[..., g, None], ends[..., g, None]
        inside = ((at >= start) & (at < end)).transpose(order).reshape(lengths)
        of_one = rhs.take(g, group[0]) if group else rhs
        own = np.where(inside, lhs, np.zeros_like(lhs))
        products.append(dot_general_reference(own, of_one, dimension_numbers=numbers, **attributes))
    found = np.stack(products)
    return np.asarray(found.sum(0, dtype=found.dtype) if group else found)
