"""Bits, and what every sampler checks: shapes, dtypes, parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from effax import lax
from effax import numpy as jnp
from effax.api.placing.output_sharding import placed
from effax.eager.whole import whole
from effax.effects.promotion import TypePromotionError, result_type
from effax.effects.types import (
    DType,
    canonical_shape,
    default_uint,
    is_complex,
    is_float,
    is_integer,
    is_unsigned,
    typeof,
    uint8,
    uint16,
    uint32,
    uint64,
    user_dtype,
)
from effax.effects.value import Array, ArrayLike, DTypeLike, OutSharding, Shape, is_symbolic
from effax.keys.arrays import DEFAULT, KeyArray
from effax.random.generators import GENERATORS
from effax.random.keys import words_of

UNSIGNED: Final = {8: uint8, 16: uint16, 32: uint32, 64: uint64}
"""The unsigned dtype of each width."""


def random_bits(words: Any, width: int, shape: tuple[int, ...]) -> Any:
    """Random unsigned integers of 8, 16, 32 or 64 bits."""
    typed = type(words) is KeyArray
    generator = GENERATORS[words.implementation if typed else DEFAULT]
    return generator.bits(words.words if typed else words, shape, UNSIGNED[width])


@whole("width", "shape")
def _bits(words: Any, width: int, shape: tuple[int, ...]) -> Any:
    return random_bits(words, width, shape)


@placed
def bits(
    key: ArrayLike,
    shape: Shape = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Draw random bits, as unsigned integers.

    Args:
      key: a random key (or its words).
      shape: the shape of the result.
      dtype: the unsigned dtype of the result; by default uint32 (uint64 with x64).
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    Raises:
      ValueError: for a dtype that is not an unsigned integer's.

    >>> from effax import random
    >>> random.bits(random.key(0), (2,)).tolist()
    [4070199207, 4202968722]
    >>> random.bits(random.key(0), (4,), "uint8").tolist()
    [167, 146, 40, 53]
    """
    words = words_of("bits", key)
    asked = default_uint() if dtype is None else user_dtype(dtype, "bits")
    if not is_unsigned(asked) or asked.itemsize * 8 not in UNSIGNED:
        raise ValueError(f"dtype argument to `bits` must be an unsigned int dtype, got {asked}")
    return _bits(words, width=asked.itemsize * 8, shape=canonical_shape(shape))


def float_dtype(
    function: str, dtype: Any, inexact: bool = False, given: Sequence[Any] = ()
) -> DType:
    """The dtype of a sampler's floats: the default one for None.

    Raises `ValueError` for other dtypes than floats (or complex ones, where they are let in), and
    `TypePromotionError` for a parameter among `given` that would lose something in it.
    """
    asked = user_dtype(float if dtype is None else dtype, function)
    if not (is_float(asked) or (inexact and asked.kind == "c")):
        kinds = "a float or complex" if inexact else "a float"
        raise ValueError(f"dtype argument to `{function}` must be {kinds} dtype, got {asked}")
    for x in given:
        if typeof(x).dtype != asked and result_type(x, asked) != asked:
            raise TypePromotionError(
                f"In arguments to {function}, cannot safely cast argument of type "
                f"{typeof(x).dtype} to {asked}; convert it, or ask for samples of its dtype"
            )
    return asked


def int_dtype(function: str, dtype: Any, error: type[Exception] = ValueError) -> DType:
    """The dtype of a sampler's integers: the default one for None."""
    asked = user_dtype(int if dtype is None else dtype, function)
    if not is_integer(asked):
        raise error(f"dtype argument to `{function}` must be an int dtype, got {asked}")
    return asked


def shape_of(x: Any) -> tuple[int, ...]:
    """The shape of an array-like."""
    return tuple(x.shape) if hasattr(x, "shape") else np.shape(x)


def result_shape(function: str, shape: Any, *parameters: tuple[int, ...]) -> tuple[int, ...]:
    """The shape asked for, or that of the parameters broadcast together if none was.

    Raises `ValueError` where the parameters do not broadcast to the shape.
    """
    asked = () if shape is None else canonical_shape(shape)
    shapes = (asked, *parameters)
    symbolic = any(map(is_symbolic, shapes))
    found = lax.broadcast_shapes(*shapes) if symbolic else np.broadcast_shapes(*shapes)
    if shape is None:
        return found
    if found != asked:
        raise ValueError(
            f"{function}: the parameters must broadcast to shape={asked}, but together they have "
            f"the shape {found}"
        )
    return asked


def parameter(x: Any, dtype: DType) -> Any:
    """Convert a parameter of a sampler to the dtype of the samples.

    Raises `TypeError` for a complex parameter of real samples.
    """
    if is_complex(typeof(x).dtype) and not is_complex(dtype):
        raise TypeError(
            f"the samples have the dtype {dtype}, but a parameter has {typeof(x).dtype}, and its "
            "imaginary part would be lost; pass its real part (jnp.real)"
        )
    return lax.convert_element_type(x, dtype)


def spread(x: Any, shape: tuple[int, ...], dtype: DType) -> Any:
    """Convert a parameter of a sampler, and broadcast it to the shape of the samples."""
    return jnp.broadcast_to(parameter(x, dtype), shape)
