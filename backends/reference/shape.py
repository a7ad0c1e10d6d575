"""Shape effects by NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from effax.backends.reference.table import rule
from effax.effects.rows import shape

Array = np.ndarray[Any, Any]


@rule(shape.broadcast_in_dim)
def reference_broadcast_in_dim(x: Array, *, shape: tuple[int, ...], dims: Any) -> Array:
    lengths = [1] * len(shape)
    for n, d in zip(x.shape, dims, strict=True):
        lengths[d] = n
    return np.broadcast_to(x.reshape(lengths), shape)


@rule(shape.transpose)
def reference_transpose(x: Array, *, permutation: tuple[int, ...]) -> Array:
    return np.transpose(x, permutation)


@rule(shape.reshape)
def reference_reshape(x: Array, *, shape: tuple[int, ...]) -> Array:
    return np.reshape(x, shape)


@rule(shape.concatenate)
def reference_concatenate(*xs: Array, axis: int) -> Array:
    return np.concatenate(xs, axis)


@rule(shape.pad)
def reference_pad(x: Array, value: Array, *, config: shape.Config) -> Array:
    widened = tuple((max(lo, 0), max(hi, 0), k) for lo, hi, k in config)
    lengths = [shape.padded_length(n, c) for n, c in zip(x.shape, widened, strict=True)]
    padded = np.full(lengths, value, x.dtype)
    inside = tuple(
        slice(lo, lo + n + max(n - 1, 0) * k, k + 1)
        for n, (lo, _, k) in zip(x.shape, widened, strict=True)
    )
    padded[inside] = x
    kept = tuple(
        slice(max(-lo, 0), n - max(-hi, 0)) for n, (lo, hi, _) in zip(lengths, config, strict=True)
    )
    return padded[kept]


@rule(shape.rev)
def reference_rev(x: Array, *, dims: tuple[int, ...]) -> Array:
    return np.flip(x, dims)


@rule(shape.slice)
def reference_slice(x: Array, *, start: Any, limit: Any, strides: Any = None) -> Array:
    steps = strides or (1,) * x.ndim
    return x[tuple(map(slice, start, limit, steps))]


@rule(shape.dimension_as_value)
def reference_dimension_as_value(*, length: int, dtype: Any, weak_type: bool) -> Array:
    return np.asarray(length, dtype)


@rule(shape.iota)
def reference_iota(*, dtype: Any, shape: tuple[int, ...], dimension: int) -> Array:
    lengths = [-1 if i == dimension else 1 for i in range(len(shape))]
    return np.broadcast_to(np.arange(shape[dimension]).astype(dtype).reshape(lengths), shape)
