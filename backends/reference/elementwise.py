"""Arithmetic by NumPy."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from effax.backends.reference.table import rule
from effax.effects.rows import elementwise
from effax.effects.types import is_complex, is_float, is_integer, is_unsigned

Array = np.ndarray[Any, Any]


def wide(function: Callable[..., Any]) -> Callable[..., Array]:
    """The function computed in float32 for narrower floats, and without NumPy's warnings."""

    @wraps(function)
    def widened(*xs: Array, **attributes: Any) -> Array:
        operands = [
            x.astype(np.float32) if is_float(x.dtype) and x.dtype.itemsize < 4 else x for x in xs
        ]
        with np.errstate(all="ignore"):
            return np.asarray(function(*operands, **attributes))

    return widened


@wide
def quotient(x: Array, y: Array) -> Array:
    """x / y; for integers rounded towards zero, with XLA's answers where there is none."""
    if not is_integer(x.dtype):
        return np.divide(x, y)
    safe = np.where(y == 0, np.ones_like(y), y)
    floor = np.floor_divide(x, safe)
    inexact = np.multiply(floor, safe) != x
    rounded = floor + (inexact & ((x < 0) != (safe < 0))).astype(x.dtype)
    nothing = np.iinfo(x.dtype).max if is_unsigned(x.dtype) else -1
    return np.where(y == 0, np.full_like(x, nothing), rounded)


@wide
def remainder(x: Array, y: Array) -> Array:
    """`x - y * trunc(x / y)`; x itself for integers where y is zero."""
    if not is_integer(x.dtype):
        return np.fmod(x, y)
    return np.where(y == 0, x, np.fmod(x, np.where(y == 0, np.ones_like(y), y)))


rule(elementwise.add)(wide(np.add))
rule(elementwise.mul)(wide(np.multiply))
rule(elementwise.sub)(wide(np.subtract))
rule(elementwise.neg)(wide(np.negative))
rule(elementwise.div)(quotient)
rule(elementwise.rem)(remainder)
rule(elementwise.max)(wide(np.maximum))
rule(elementwise.min)(wide(np.minimum))
rule(elementwise.abs)(wide(np.abs))
rule(elementwise.square)(wide(np.square))
rule(elementwise.sqrt)(wide(np.sqrt))
rule(elementwise.rsqrt)(wide(lambda x: 1 / np.sqrt(x)))
rule(elementwise.cbrt)(wide(np.cbrt))
rule(elementwise.floor)(wide(np.floor))
rule(elementwise.ceil)(wide(np.ceil))
rule(elementwise.is_finite)(wide(np.isfinite))


@rule(elementwise.copy, elementwise.stop_gradient)
def reference_identity(x: Array) -> Array:
    return x


@rule(elementwise.nextafter)
def reference_nextafter(x: Array, y: Array) -> Array:
    return np.nextafter(x, y)


@rule(elementwise.sign)
@wide
def reference_sign(x: Array) -> Array:
    if not is_complex(x.dtype):
        return np.sign(x)
    size = np.abs(x)
    return np.where(size == 0, x, x / np.where(size == 0, 1, size))


@rule(elementwise.round)
@wide
def reference_round(x: Array, *, rounding_method: int = 0) -> Array:
    if rounding_method:
        return np.rint(x)
    whole = np.trunc(x)
    return np.where(np.abs(x - whole) >= 0.5, whole + np.copysign(1, x), whole)


@rule(elementwise.pow)
@wide
def reference_pow(x: Array, y: Array) -> Array:
    return np.power(x, y.astype(x.dtype))


@rule(elementwise.integer_pow)
@wide
def reference_integer_pow(x: Array, *, y: int) -> Array:
    result = np.ones_like(x)
    for _ in range(abs(y)):
        result = result * x
    return 1 / result if y < 0 else result
