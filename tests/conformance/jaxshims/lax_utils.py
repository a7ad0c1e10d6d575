"""jax._src.lax.utils."""

from __future__ import annotations

import numpy as np


def int_dtype_for_dim(d, *, signed):
    if signed:
        return np.dtype(np.int64 if d > np.iinfo(np.int32).max else np.int32)
    return np.dtype(np.uint64 if d > np.iinfo(np.uint32).max else np.uint32)


def int_dtype_for_shape(shape, *, signed):
    big = [d for d in shape if int_dtype_for_dim(d, signed=signed).itemsize == 8]
    return int_dtype_for_dim(max(big) if big else 0, signed=signed)
