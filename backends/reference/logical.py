"""Booleans and bits by NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from effax.backends.reference.elementwise import Array
from effax.backends.reference.table import rule
from effax.effects.rows import logical

rule(logical.and_)(np.bitwise_and)
rule(logical.or_)(np.bitwise_or)
rule(logical.xor)(np.bitwise_xor)
rule(logical.not_)(np.invert)


def _unsigned(x: Array) -> Array:
    return x.view(f"u{x.dtype.itemsize}")


def _width(x: Array) -> int:
    return x.dtype.itemsize * 8


def _within(x: Array, y: Array) -> tuple[Array, Any]:
    """Shifts below the width of x, and which they are: a negative one counts as too large."""
    shift = _unsigned(y)
    return np.minimum(shift, _width(x) - 1).astype(x.dtype), shift < _width(x)


@rule(logical.shift_left)
def reference_shift_left(x: Array, y: Array) -> Array:
    shift, within = _within(x, y)
    return np.where(within, np.left_shift(x, shift), 0).astype(x.dtype)


@rule(logical.shift_right_logical)
def reference_shift_right_logical(x: Array, y: Array) -> Array:
    shift, within = _within(x, y)
    shifted = np.right_shift(_unsigned(x), _unsigned(shift)).view(x.dtype)
    return np.where(within, shifted, 0).astype(x.dtype)


@rule(logical.shift_right_arithmetic)
def reference_shift_right_arithmetic(x: Array, y: Array) -> Array:
    signed = x.view(f"i{x.dtype.itemsize}")
    shift, _ = _within(x, y)
    return np.right_shift(signed, shift.view(signed.dtype)).view(x.dtype)


@rule(logical.population_count)
def reference_population_count(x: Array) -> Array:
    bits = _unsigned(x)
    counts: Any = sum((bits >> k) & 1 for k in range(_width(x)))
    return counts.astype(x.dtype)


@rule(logical.clz)
def reference_clz(x: Array) -> Array:
    bits = _unsigned(x)
    return sum((bits >> k == 0).astype(x.dtype) for k in range(_width(x)))
