"""Comparisons by NumPy."""

from __future__ import annotations

import numpy as np

from effax.backends.reference.elementwise import Array, wide
from effax.backends.reference.table import rule
from effax.effects.rows import comparison
from effax.effects.types import is_float

rule(comparison.eq)(wide(np.equal))
rule(comparison.ne)(wide(np.not_equal))
rule(comparison.lt)(wide(np.less))
rule(comparison.le)(wide(np.less_equal))
rule(comparison.gt)(wide(np.greater))
rule(comparison.ge)(wide(np.greater_equal))


def total_order(x: Array) -> Array:
    """Integers in the order of the floats' total order: negative floats have their bits turned."""
    if not is_float(x.dtype):
        return x
    bits = x.view(f"i{x.dtype.itemsize}")
    return np.where(bits < 0, np.iinfo(bits.dtype).max ^ bits, bits)


@rule(comparison.eq_to)
def reference_eq_to(x: Array, y: Array) -> Array:
    return total_order(x) == total_order(y)


@rule(comparison.lt_to)
def reference_lt_to(x: Array, y: Array) -> Array:
    return total_order(x) < total_order(y)


@rule(comparison.le_to)
def reference_le_to(x: Array, y: Array) -> Array:
    return total_order(x) <= total_order(y)
