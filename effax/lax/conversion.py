"""Conversions between dtypes."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from effax.eager.calls import as_values
from effax.effects.rows import conversion
from effax.effects.types import (
    bool_,
    is_complex,
    is_extended,
    is_integer,
    typeof,
    user_dtype,
)
from effax.effects.value import Array, ArrayLike, DTypeLike, Value
from effax.keys.decorators import converts_keys
from effax.operands.arguments import known_index
from effax.operands.promoting import asarray


@converts_keys
def convert_element_type(operand: ArrayLike, new_dtype: Any) -> Array:
    """Convert an array to another dtype; the result is never weakly typed.

    Raises `ValueError` where no dtype is given, and `TypeError` for a complex Python number that
    is to be real. Warns (`numpy.exceptions.ComplexWarning`) where a complex array becomes real.

    Args:
      operand: array_like.
      new_dtype: the dtype of the result.

    >>> import effax.lax as lax
    >>> lax.convert_element_type(1.7, "int32")
    Array(1, dtype=int32)
    """
    if new_dtype is None:
        raise ValueError("convert_element_type: a dtype must be given, not None")
    if type(operand) is int:
        operand = held(operand, user_dtype(new_dtype, "convert_element_type"))
    elif hasattr(operand, "__jax_array__"):
        operand = asarray(operand)
    given = typeof(operand)
    if is_extended(given.dtype) and new_dtype == given.dtype:
        return as_values(asarray(operand))
    wanted = user_dtype(new_dtype, "convert_element_type")
    if is_complex(given.dtype) and not is_complex(wanted) and wanted != bool_:
        if type(operand) is complex:
            raise TypeError(
                f"convert_element_type: can't convert the complex number {operand!r} to "
                f"{wanted.name}; take its real part, or make an array of it"
            )
        message = "Casting complex values to real discards the imaginary part"
        warnings.warn(message, np.exceptions.ComplexWarning, stacklevel=2)
    if given.dtype == wanted and not given.weak_type:
        if isinstance(operand, Value):
            return operand
        if isinstance(operand, np.ndarray):
            return as_values(asarray(operand))
    return conversion.convert_element_type(operand, dtype=wanted)


def held(x: Any, dtype: Any) -> Any:
    """A Python int too large for `int32` as a NumPy scalar of the dtype asked for.

    Raises `OverflowError` where that can't hold it either. Other values are returned unchanged.
    """
    if type(x) is not int or -(2**31) <= x < 2**31:
        return x
    try:
        return np.dtype(dtype).type(x if is_integer(dtype) or dtype == bool_ else float(x))
    except OverflowError:
        raise OverflowError(f"Python int {x} too large to convert to {dtype}") from None


def bitcast_convert_type(operand: ArrayLike, new_dtype: DTypeLike) -> Array:
    """Reinterpret the bits as another dtype.

    Args:
      operand: array_like.
      new_dtype: the dtype of the result. A narrower one adds a last axis; a wider one uses it up.

    >>> import effax.lax as lax
    >>> lax.bitcast_convert_type(1.0, "uint32")
    Array(1065353216, dtype=uint32)
    """
    return conversion.bitcast_convert_type(
        operand, dtype=user_dtype(new_dtype, "bitcast_convert_type")
    )


def reduce_precision(operand: ArrayLike, exponent_bits: int, mantissa_bits: int) -> Array:
    """Round to the floats that have a given number of bits; the dtype stays.

    Args:
      operand: array_like of floats.
      exponent_bits: the number of bits of the exponent, at least 1.
      mantissa_bits: the number of bits of the mantissa, at least 0.

    >>> import effax.lax as lax
    >>> lax.reduce_precision(1.1, 8, 1)
    Array(1., dtype=float32, weak_type=True)
    """
    return conversion.reduce_precision(
        operand,
        exponent_bits=known_index("reduce_precision", "exponent_bits", exponent_bits),
        mantissa_bits=known_index("reduce_precision", "mantissa_bits", mantissa_bits),
    )
