"""Reductions by NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from effax.backends.reference.table import rule
from effax.effects.program import Program
from effax.effects.rows import reduction
from effax.effects.types import is_float

Array = np.ndarray[Any, Any]


def widened(x: Array) -> Array:
    """Low-precision floats as float32: sums are computed wide and rounded once."""
    return x.astype(np.float32) if is_float(x.dtype) and x.dtype.itemsize < 4 else x


@rule(reduction.reduce_sum)
def reference_reduce_sum(x: Array, *, axes: tuple[int, ...]) -> Array:
    wide = widened(x)
    return np.sum(wide, axis=axes, dtype=wide.dtype)


@rule(reduction.reduce_prod)
def reference_reduce_prod(x: Array, *, axes: tuple[int, ...]) -> Array:
    wide = widened(x)
    return np.prod(wide, axis=axes, dtype=wide.dtype)


@rule(reduction.reduce_max)
def reference_reduce_max(x: Array, *, axes: tuple[int, ...]) -> Array:
    return np.max(x, axis=axes, initial=reduction.lowest(x.dtype))


@rule(reduction.reduce_min)
def reference_reduce_min(x: Array, *, axes: tuple[int, ...]) -> Array:
    return np.min(x, axis=axes, initial=reduction.highest(x.dtype))


@rule(reduction.reduce_and)
def reference_reduce_and(x: Array, *, axes: tuple[int, ...]) -> Array:
    return np.bitwise_and.reduce(x, axis=axes)


@rule(reduction.reduce_or)
def reference_reduce_or(x: Array, *, axes: tuple[int, ...]) -> Array:
    return np.bitwise_or.reduce(x, axis=axes)


@rule(reduction.reduce_xor)
def reference_reduce_xor(x: Array, *, axes: tuple[int, ...]) -> Array:
    return np.bitwise_xor.reduce(x, axis=axes)


@rule(reduction.argmax)
def reference_argmax(x: Array, *, axis: int, index_dtype: Any) -> Array:
    return np.argmax(widened(x), axis=axis).astype(index_dtype)


@rule(reduction.argmin)
def reference_argmin(x: Array, *, axis: int, index_dtype: Any) -> Array:
    return np.argmin(widened(x), axis=axis).astype(index_dtype)


@rule(reduction.reduce)
def reference_reduce(*operands: Array, body: Program, axes: tuple[int, ...]) -> Sequence[Array]:
    """One element after the other, from the initial values on."""
    n = len(operands) // 2
    xs, inits = operands[:n], operands[n:]
    kept = [i for i in range(xs[0].ndim) if i not in axes]
    rows = [np.transpose(x, (*kept, *axes)) for x in xs]
    lengths = rows[0].shape[: len(kept)]
    results = [np.empty(lengths, x.dtype) for x in xs]
    for lane in np.ndindex(*lengths):
        accumulated: Sequence[Any] = [np.asarray(i) for i in inits]
        for scalars in zip(*(r[lane].reshape(-1) for r in rows), strict=True):
            accumulated = fold(body, accumulated, scalars)
        for result, value in zip(results, accumulated, strict=True):
            result[lane] = np.asarray(value)
    return results


def fold(body: Program, accumulated: Sequence[Any], scalars: Sequence[Any]) -> Sequence[Array]:
    """One step of a fold by a program, evaluated by the reference itself."""
    from effax.backends.reference.evaluate import evaluate_program

    return evaluate_program(body, *accumulated, *map(np.asarray, scalars))
