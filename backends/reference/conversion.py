"""Conversions by NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from effax.backends.reference.elementwise import Array
from effax.backends.reference.table import rule
from effax.effects.rows.conversion import (
    bitcast_convert_type,
    convert_element_type,
    reduce_precision,
)
from effax.effects.types import is_complex, is_float, is_integer


@rule(convert_element_type)
def reference_convert(x: Array, *, dtype: Any, weak_type: bool = False) -> Array:
    dtype = np.dtype(dtype)
    if is_complex(x.dtype) and not is_complex(dtype) and dtype.kind != "b":
        x = x.real
    if is_float(x.dtype) and is_integer(dtype):
        # XLA converts to the nearest representable integer, and NaN to zero.
        limits = np.iinfo(dtype)
        with np.errstate(all="ignore"):
            whole = np.trunc(x.astype(np.float64))
            inside = np.clip(np.nan_to_num(whole), float(limits.min), float(limits.max))
            result = inside.astype(dtype)
        result = np.where(whole >= float(limits.max), np.asarray(limits.max, dtype), result)
        return np.where(np.isnan(whole), np.asarray(0, dtype), result)
    with np.errstate(all="ignore"):
        return x.astype(dtype)


@rule(bitcast_convert_type)
def reference_bitcast(x: Array, *, dtype: Any) -> Array:
    dtype = np.dtype(dtype)
    x = np.asarray(x, order="C")  # np.ascontiguousarray would give a scalar an axis
    if x.dtype.itemsize == dtype.itemsize:
        return x.view(dtype).reshape(x.shape)
    if x.dtype.itemsize > dtype.itemsize:
        narrow = x.reshape((*x.shape, 1)).view(dtype)
        return narrow
    return x.view(dtype)[..., 0]


@rule(reduce_precision)
def reference_reduce_precision(x: Array, *, exponent_bits: int, mantissa_bits: int) -> Array:
    """Round the significand to even, and send what the exponent can't hold to zero or infinity."""
    wide = x.astype(np.float64)
    with np.errstate(all="ignore"):
        significand, exponent = np.frexp(wide)
        digits = mantissa_bits + 1
        rounded = np.ldexp(np.rint(np.ldexp(significand, digits)), exponent - digits)
        largest = 1 << (exponent_bits - 1)
        # The first power of two that is infinite, and the least normal number, of that format.
        beyond, tiny = np.ldexp(1.0, largest), np.ldexp(1.0, 2 - largest)
    size = np.abs(rounded)
    rounded = np.where(size >= beyond, np.copysign(np.inf, wide), rounded)
    rounded = np.where(size < tiny, np.copysign(0.0, wide), rounded)
    return np.where(np.isfinite(wide), rounded, wide).astype(x.dtype)
