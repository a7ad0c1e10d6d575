"""Arrays of one value, and of indices."""

from __future__ import annotations

import operator
from typing import Any

from effax.api.placing.output_sharding import placed
from effax.eager.whole import whole
from effax.effects.rows import conversion
from effax.effects.types import (
    bool_,
    canonical_dtype,
    canonical_shape,
    default_float,
    typeof,
    user_dtype,
)
from effax.effects.value import Array, ArrayLike, DTypeLike, OutSharding, Shape
from effax.keys.decorators import fills_keys
from effax.lax.conversion import held
from effax.lax.shapes import broadcasted
from effax.operands.arguments import beside, on_device


@fills_keys
def full(
    shape: Shape, fill_value: ArrayLike, dtype: DTypeLike | None = None, *, sharding: Any = None
) -> Array:
    """Return an array of one value everywhere, with the sharding if there is one.

    Raises `TypeError` where the value is not a scalar.

    Args:
      shape: the shape of the result.
      fill_value: a scalar.
      dtype: the dtype of the result; by default that of `fill_value`.
      sharding: the sharding of the result, or a device.

    >>> import effax.lax as lax
    >>> lax.full((2,), 7, "float32")
    Array([7., 7.], dtype=float32)
    """
    if dtype is not None:
        fill_value = held(fill_value, user_dtype(dtype, "full"))
    given = typeof(fill_value)
    if given.shape:
        raise TypeError(
            f"full must be called with scalar fill_value, got fill_value.shape {given.shape}."
        )
    weak = dtype is None and given.weak_type
    wanted = given.dtype if dtype is None else user_dtype(dtype, "full")
    return on_device(_filled(fill_value, canonical_shape(shape), wanted, weak), sharding)


@whole("lengths", "dtype", "weak")
def _filled(value: ArrayLike, lengths: tuple[int, ...], dtype: Any, weak: bool) -> Array:
    given = typeof(value)
    if given.dtype != dtype or given.weak_type != weak:
        value = conversion.convert_element_type(value, dtype=dtype, weak_type=weak)
    return broadcasted(value, lengths, ())


@fills_keys
def full_like(
    x: Any,
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    shape: Shape | None = None,
    sharding: Any = None,
) -> Array:
    """Return an array like another, of one value everywhere, on its devices if it was put there.

    Args:
      x: array_like, or an object with `shape` and `dtype`.
      fill_value: a scalar.
      dtype: the dtype of the result; by default that of `x`.
      shape: the shape of the result; by default that of `x`.
      sharding: the sharding of the result, or a device; by default that of `x`.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.full_like(jnp.zeros(2), 3)
    Array([3., 3.], dtype=float32)
    """
    like = x if hasattr(x, "shape") and hasattr(x, "dtype") else typeof(x)
    lengths = like.shape if shape is None else canonical_shape(shape)
    weak = dtype is None and getattr(like, "weak_type", False)
    wanted = canonical_dtype(like.dtype) if dtype is None else dtype
    if weak:
        result = _filled(held(fill_value, wanted), tuple(lengths), wanted, True)
    else:
        result = full(lengths, fill_value, wanted)
    if sharding is not None:
        return on_device(result, sharding)
    return beside(result, x)


@fills_keys
@placed
def empty(shape: Any, dtype: Any, *, out_sharding: OutSharding = None) -> Array:
    """Return an array of unspecified elements; here they are zeros.

    Args:
      shape: the shape of the result.
      dtype: the dtype of the result; None for the default one of floats.
      out_sharding: the sharding of the result, or its spec over the mesh in context.

    >>> import effax.lax as lax
    >>> lax.empty((2,), "int32")
    Array([0, 0], dtype=int32)
    """
    return full(shape, 0, default_float() if dtype is None else dtype)


def iota(dtype: DTypeLike, size: int) -> Array:
    """Return 0, 1, 2, ... up to but not including `size`.

    Args:
      dtype: a dtype of numbers.
      size: the number of elements.

    >>> import effax.lax as lax
    >>> lax.iota("int32", 3)
    Array([0, 1, 2], dtype=int32)
    """
    return broadcasted_iota(dtype, (size,), 0)


@placed
def broadcasted_iota(
    dtype: DTypeLike, shape: Shape, dimension: int, *, out_sharding: OutSharding = None
) -> Array:
    """Return an array whose elements are their own positions along one axis.

    Args:
      dtype: a dtype of numbers.
      shape: the shape of the result.
      dimension: the axis along which to count, counted from the front.
      out_sharding: the sharding of the result, or its spec over the mesh in context.

    >>> import effax.lax as lax
    >>> lax.broadcasted_iota("int32", (2, 2), 1)
    Array([[0, 1], [0, 1]], dtype=int32)
    """
    from effax.effects.rows.shape import iota as effect

    lengths = canonical_shape(shape)
    wanted = user_dtype(dtype, "iota")
    if wanted == bool_:
        raise TypeError("iota: dtype must be a dtype of numbers, got bool")
    if not 0 <= dimension < len(lengths):
        raise ValueError(
            f"iota dimension must be between 0 and len(shape), got {dimension} for {lengths}"
        )
    return effect(dtype=wanted, shape=lengths, dimension=operator.index(dimension))
