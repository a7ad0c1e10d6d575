"""Contraction by `numpy.einsum`, one letter per axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from effax.backends.reference.table import rule
from effax.effects.rows import contraction
from effax.effects.rows.contraction import free_dims

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
