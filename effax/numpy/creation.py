"""Arrays from nothing: of one value, of a shape like another's, and of even spacing."""

from __future__ import annotations

from typing import Any, SupportsIndex

import numpy as np

from effax.api.placing.output_sharding import placed
from effax.backends.xla.array import Array, asarray
from effax.backends.xla.buffer import put
from effax.eager.whole import opened, remembered, whole
from effax.effects import config
from effax.effects.handler import bottom, current
from effax.effects.interning import keep
from effax.effects.mesh import placing_mesh
from effax.effects.rows import shape
from effax.effects.types import (
    canonical_shape,
    default_float,
    float0,
    is_bool,
    is_complex,
    typeof,
    user_dtype,
)
from effax.effects.value import ArrayLike, DeviceLike, DTypeLike, OutSharding, Shape, Value
from effax.keys.decorators import fills_keys
from effax.numpy.conversion import number_of
from effax.operands.arguments import (
    beside,
    broadcast,
    cast,
    check_arrays,
    common_shape,
    device_array,
    on_device,
)
from effax.operands.promoting import array as array_of

SMALL = 1 << 16  # elements; smaller arrays come from the host rather than from an executable
_KEPT, _REMEMBERED = 4096, 256  # elements of an array, and arrays, that are kept on the host


def constant(host: np.ndarray[Any, Any], device: Any = None) -> Array:
    """An array whose contents are known now."""
    return device_array(host) if device is None else on_device(asarray(host), device)


def filled(lengths: tuple[int, ...], value: Any, dtype: Any, device: Any = None) -> Any:
    """An array of one Python number everywhere."""
    eager = current.get() is bottom and placing_mesh() is None
    if eager and np.prod(lengths, dtype=object) <= SMALL:
        return constant(np.full(lengths, value, dtype), device)
    result = shape.full(lengths, value, dtype)
    return on_device(result, device)


_hosts: dict[Any, Any] = remembered()


def _everywhere(name: str, value: int, lengths: Any, dtype: Any, device: Any) -> Any:
    """An array of one number everywhere; how small ones are made is remembered."""
    if dtype is float0:  # tangents of integers have neither elements nor a fill value
        return np.zeros(_shape(name, lengths), float0)
    if device is not None or current.get() is not bottom or config.guarded:
        return filled(_shape(name, lengths, dtype), value, _dtype(name, dtype), device)
    kinds = tuple(map(type, lengths)) if type(lengths) is tuple else type(lengths)
    key: Any = None
    try:  # compare classes too, since 2 == 2.0 == True
        key = config.trace_key(), value, lengths, kinds, dtype
        found = _hosts.get(key)
    except TypeError:
        key = found = None
    if found is None:
        made = filled(_shape(name, lengths, dtype), value, _dtype(name, dtype))
        # A dtype that is converted must warn each time, so it is not kept.
        if key is not None and made.size <= _KEPT and _is(dtype, made.dtype):
            kept = np.full(made.shape, value, made.dtype), made.spec
            keep(_hosts, key, kept, _REMEMBERED)
        return made
    host, spec = found
    return Array(put(host, spec.type, spec.placement), spec)


def _is(asked: Any, dtype: Any) -> bool:
    try:
        return asked is None or bool(np.dtype(asked) == dtype)
    except TypeError:
        return False


def _dtype(name: str, dtype: Any) -> Any:
    return default_float() if dtype is None else user_dtype(dtype, name)


def _shape(name: str, lengths: Any, dtype: Any = None) -> tuple[int, ...]:
    if isinstance(dtype, int) and not isinstance(dtype, bool):
        raise TypeError(
            f"Cannot interpret '{dtype}' as a data type: the second argument of jnp.{name} is the "
            f"dtype. A shape of several lengths is one tuple, jnp.{name}(({lengths}, {dtype}))"
        )
    return canonical_shape(lengths)


@fills_keys
@placed
def zeros(
    shape: SupportsIndex | Shape,
    dtype: DTypeLike | None = None,
    *,
    device: DeviceLike = None,
    out_sharding: OutSharding = None,
) -> Value:
    """Return an array of zeros.

    Args:
      shape: the shape of the result.
      dtype: the dtype of the result; by default the default floating dtype.
      device: where to put the result; by default the default device.
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    >>> zeros((2, 3)).shape
    (2, 3)
    """
    return _everywhere("zeros", 0, shape, dtype, device)


@fills_keys
@placed
def ones(
    shape: SupportsIndex | Shape,
    dtype: DTypeLike | None = None,
    *,
    device: DeviceLike = None,
    out_sharding: OutSharding = None,
) -> Value:
    """Return an array of ones.

    Args:
      shape: the shape of the result.
      dtype: the dtype of the result; by default the default floating dtype.
      device: where to put the result; by default the default device.
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    >>> ones(3, dtype="int32").tolist()
    [1, 1, 1]
    """
    return _everywhere("ones", 1, shape, dtype, device)


@fills_keys
@placed
def empty(
    shape: SupportsIndex | Shape,
    dtype: DTypeLike | None = None,
    *,
    device: DeviceLike = None,
    out_sharding: OutSharding = None,
) -> Value:
    """Return an array of zeros: XLA has no arrays without contents.

    Args:
      shape: the shape of the result.
      dtype: the dtype of the result; by default the default floating dtype.
      device: where to put the result; by default the default device.
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    >>> empty(2).tolist()
    [0.0, 0.0]
    """
    return _everywhere("empty", 0, shape, dtype, device)


def _check_fits(name: str, value: Any, dtype: Any) -> None:
    """Raises `TypeError` for a complex number that is to be a real one, but not a Boolean."""
    if isinstance(value, complex) and not is_complex(dtype) and not is_bool(dtype):
        raise TypeError(f"{name}: {dtype} holds real numbers only, got {value}")


@fills_keys
@placed
def full(
    shape: SupportsIndex | Shape,
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    *,
    device: DeviceLike = None,
    out_sharding: OutSharding = None,
) -> Value:
    """Return an array of one value everywhere.

    Args:
      shape: the shape of the result.
      fill_value: array_like, broadcast to the shape.
      dtype: the dtype of the result; by default that of `fill_value`.
      device: where to put the result; by default the default device.
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    >>> full((2, 2), 7).tolist()
    [[7, 7], [7, 7]]
    """
    wanted = None if dtype is None else user_dtype(dtype, "full")
    fill_value = number_of(fill_value, wanted)
    check_arrays("full", fill_value)
    lengths = _shape("full", shape)
    given = typeof(fill_value)
    if wanted is not None:
        _check_fits("full", fill_value, wanted)
    if given.ndim > len(lengths) or common_shape(given.shape, lengths) != lengths:
        raise ValueError(f"Incompatible shapes for broadcasting: {given.shape} and {lengths}")
    result = _spread(fill_value, lengths, wanted, False)
    return on_device(result, device)


@whole("lengths", "dtype", "weak")
def _spread(value: Any, lengths: tuple[int, ...], dtype: Any, weak: bool) -> Any:
    value = array_of(value)
    return broadcast(value if dtype is None else cast(value, dtype, weak), lengths)


def _like(name: str, a: Any, dtype: Any, lengths: Any) -> tuple[tuple[int, ...], Any, bool]:
    """Shape, dtype and weakness of what is like another array, or like anything with those."""
    if isinstance(a, Value | np.ndarray | np.generic) or not (
        hasattr(a, "shape") and hasattr(a, "dtype")
    ):
        a = opened(a)
        check_arrays(name, a)
        type = typeof(a)
        given, own, weak = type.shape, type.dtype, type.weak_type
    else:
        given, own, weak = tuple(a.shape), a.dtype, False
    if lengths is not None:
        given = canonical_shape(lengths)
    return given, own if dtype is None else user_dtype(dtype, name), weak and dtype is None


def _filled_like(name: str, a: Any, value: Any, dtype: Any, lengths: Any, device: Any) -> Any:
    wanted, kind, weak = _like(name, a, dtype, lengths)
    if kind == float0:
        return np.zeros(wanted, float0)
    result = filled(wanted, value, kind, device)
    result = cast(result, kind, True) if weak else result
    return beside(result, a) if device is None else result


@fills_keys
@placed
def zeros_like(
    a: ArrayLike,
    dtype: DTypeLike | None = None,
    shape: SupportsIndex | Shape | None = None,
    *,
    device: DeviceLike = None,
    out_sharding: OutSharding = None,
) -> Value:
    """Return zeros in the shape and dtype of an array.

    Args:
      a: array_like, or any object with a shape and a dtype.
      dtype: the dtype of the result; by default that of `a`.
      shape: the shape of the result; by default that of `a`.
      device: where to put the result; by default with `a`, if that is committed.
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    >>> zeros_like(ones((2, 2))).tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """
    return _filled_like("zeros_like", a, 0, dtype, shape, device)


@fills_keys
@placed
def ones_like(
    a: ArrayLike,
    dtype: DTypeLike | None = None,
    shape: SupportsIndex | Shape | None = None,
    *,
    device: DeviceLike = None,
    out_sharding: OutSharding = None,
) -> Value:
    """Return ones in the shape and dtype of an array.

    Args:
      a: array_like, or any object with a shape and a dtype.
      dtype: the dtype of the result; by default that of `a`.
      shape: the shape of the result; by default that of `a`.
      device: where to put the result; by default with `a`, if that is committed.
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    >>> ones_like(zeros(2), dtype=int).tolist()
    [1, 1]
    """
    return _filled_like("ones_like", a, 1, dtype, shape, device)


@fills_keys
def empty_like(
    prototype: ArrayLike,
    dtype: DTypeLike | None = None,
    shape: SupportsIndex | Shape | None = None,
    *,
    device: DeviceLike = None,
) -> Value:
    """Return zeros in the shape and dtype of an array.

    Args:
      prototype: array_like, or any object with a shape and a dtype.
      dtype: the dtype of the result; by default that of `prototype`.
      shape: the shape of the result; by default that of `prototype`.
      device: where to put the result; by default with `prototype`, if that is committed.

    >>> empty_like(ones(2)).shape
    (2,)
    """
    return _filled_like("empty_like", prototype, 0, dtype, shape, device)


@fills_keys
@placed
def full_like(
    a: ArrayLike,
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    shape: SupportsIndex | Shape | None = None,
    *,
    device: DeviceLike = None,
    out_sharding: OutSharding = None,
) -> Value:
    """Return one value everywhere, in the shape and dtype of an array.

    Args:
      a: array_like, or any object with a shape and a dtype.
      fill_value: array_like, broadcast to the shape.
      dtype: the dtype of the result; by default that of `a`.
      shape: the shape of the result; by default that of `a`.
      device: where to put the result; by default with `a`, if that is committed and `fill_value`
        is a number.
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    >>> full_like(zeros(2, "int32"), 3).tolist()
    [3, 3]
    """
    wanted, kind, weak = _like("full_like", a, dtype, shape)
    fill_value = number_of(opened(fill_value), kind)
    check_arrays("full_like", 0, fill_value)
    _check_fits("full_like", fill_value, kind)
    result = _spread(fill_value, wanted, kind, weak)
    if device is None and not typeof(fill_value).ndim:
        return beside(result, a)
    return on_device(result, device)
