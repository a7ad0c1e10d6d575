"""Dtypes: which there are, and in which of them values meet."""

from __future__ import annotations

from typing import Any

import ml_dtypes

from effax.effects.promotion import TypePromotionError as TypePromotionError
from effax.effects.promotion import promote_types as promote_types
from effax.effects.promotion import result_type as result_type
from effax.effects.types import bit_width as itemsize_bits
from effax.effects.types import (
    canonical_dtype,
    is_bool,
    is_complex,
    is_extended,
    is_float,
    is_integer,
    typeof,
)
from effax.effects.types import extended as extended
from effax.effects.types import finfo as finfo
from effax.effects.types import float0 as float0
from effax.effects.types import iinfo as iinfo
from effax.effects.types import issubdtype as issubdtype
from effax.effects.types import prng_key as prng_key

__all__ = [
    "TypePromotionError",
    "bfloat16",
    "canonicalize_dtype",
    "extended",
    "finfo",
    "float0",
    "iinfo",
    "issubdtype",
    "itemsize_bits",
    "prng_key",
    "promote_types",
    "result_type",
    "scalar_type_of",
]
__dir__ = __all__.copy

bfloat16 = ml_dtypes.bfloat16


def canonicalize_dtype(dtype: Any, allow_extended_dtype: bool = False) -> Any:
    """Return the dtype that arrays have where this one is asked for.

    Args:
      dtype: the dtype.
      allow_extended_dtype: whether a dtype of keys is returned as it is; else it is an error.

    >>> from effax import dtypes
    >>> dtypes.canonicalize_dtype("float64")
    dtype('float32')
    """
    if is_extended(dtype):
        if allow_extended_dtype:
            return dtype
        raise ValueError(f"canonicalize_dtype({dtype}) needs allow_extended_dtype=True")
    return canonical_dtype(dtype)


def scalar_type_of(x: Any) -> type:
    """Return the type of Python's numbers that a value is like.

    Args:
      x: an array or a number.

    >>> from effax import dtypes
    >>> dtypes.scalar_type_of(1.5)
    <class 'float'>
    """
    dtype = typeof(x).dtype
    kinds = {bool: is_bool, int: is_integer, float: is_float, complex: is_complex}
    for kind, belongs in kinds.items():
        if belongs(dtype):
            return kind
    raise TypeError(f"Invalid scalar value {x}")
