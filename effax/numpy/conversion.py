"""Making arrays of what is given: `array`, `asarray`, and changes of dtype."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from effax.api.placing.output_sharding import placed
from effax.backends.xla.array import Array
from effax.effects.dtypes import is_integer
from effax.effects.effect import LITERALS
from effax.effects.handler import Carrier, bottom, current
from effax.effects.rows import conversion, elementwise, shape
from effax.effects.types import float0, is_bool, is_complex, is_inexact, typeof, user_dtype
from effax.effects.value import ArrayLike, DeviceLike, DTypeLike, OutSharding, Value
from effax.keys.decorators import converts_keys, moves_keys
from effax.operands.arguments import cast, converted_on_device, device_array
from effax.operands.promoting import arraylike


@converts_keys
@placed
def array(
    object: Any,
    dtype: DTypeLike | None = None,
    copy: bool = True,
    order: str | None = "K",
    ndmin: int = 0,
    *,
    device: DeviceLike = None,
    out_sharding: OutSharding = None,
) -> Value:
    """Make an array from an array-like: a number, an array, or nested lists of them.

    Args:
      object: what to make an array of; lists may hold traced values.
      dtype: of the elements; by default as the elements say, with 64 bits made 32 unless x64 is
        on. A Python number alone keeps a weak type.
      copy: whether the result has memory of its own. Without a copy it may share the buffer of
        `object`, and is deleted with it where that is donated.
      order: "C", "A" or "K"; the layout is XLA's.
      ndmin: the least number of axes; new ones are put in front.
      device: where to put the result, by default the default device.
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    Raises:
      TypeError: for what is no array-like.

    >>> import effax.numpy as jnp
    >>> jnp.array([[1, 2], [3, 4]], dtype=jnp.float32)
    Array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    return _array(object, dtype, copy, order, ndmin, device)


def _array(
    object: Any,
    dtype: DTypeLike | None = None,
    copy: bool | None = True,
    order: str | None = "K",
    ndmin: int = 0,
    device: DeviceLike = None,
) -> Value:
    """`array` of what is no array of keys."""
    if order not in (None, "C", "A", "K"):
        raise NotImplementedError(f"array: order={order!r} is not supported; XLA chooses layouts")
    if object is None:
        raise ValueError("None is not a valid value for jnp.array")
    if dtype is None and type(object) is np.ndarray and object.dtype is float0:
        nothing: Any = object  # no device holds arrays without elements
        return nothing.copy() if copy else nothing
    wanted = None if dtype is None else user_dtype(dtype, "array")
    result = _value(object, wanted)
    if wanted is not None:
        if is_complex(typeof(result).dtype) and not (is_complex(wanted) or is_bool(wanted)):
            warnings.warn(
                "Casting complex values to real discards the imaginary part",
                np.exceptions.ComplexWarning,
                stacklevel=3,
            )
        result = cast(result, wanted)
    if ndmin > result.ndim:
        result = shape.reshape(result, shape=(1,) * (ndmin - result.ndim) + result.shape)
    result = converted_on_device(result, device, "array")
    return _unshared(result, object) if copy else result


def _unshared(result: Any, given: Any) -> Any:
    """The result in a buffer of its own, so that it outlives a donation of the array given.

    A carrier is copied too: what it carries may lie in the buffer of an array.
    """
    if given is result and isinstance(given, Carrier):
        return elementwise.copy(result)
    if isinstance(given, Array) and isinstance(result, Array) and given.buffer is result.buffer:
        return elementwise.copy(result)
    return result


def _value(x: Any, wanted: Any) -> Any:
    """The elements of an array-like, as a value."""
    if isinstance(x, Value):
        return x
    if type(x) in LITERALS:
        return _number(x, wanted)
    if wanted is not None and is_text(x):
        x = np.asarray(x, wanted)
    if type(x) is np.ndarray or isinstance(x, np.generic):
        return device_array(x)
    from effax.operands.nested import leaf, stacked

    if isinstance(x, list | tuple):
        found = stacked(x, "array", wanted)
    else:
        found = leaf(x, "array")
        if type(found) in LITERALS:
            return _number(found, wanted)
    return found if isinstance(found, Value) else device_array(found)


def is_text(x: Any) -> bool:
    """Whether a value is a text, or holds texts, which NumPy reads as numbers of a given dtype.

    >>> is_text("2"), is_text(np.array(["2"])), is_text(2)
    (True, True, False)
    """
    if isinstance(x, np.ndarray | np.generic):
        return x.dtype.kind in "SU"
    return isinstance(x, str | bytes)


def number_of(x: Any, wanted: Any) -> Any:
    """A Python integer as a NumPy scalar of a dtype, which may hold more than the default one does.

    Anything else stays as it is. Raises `OverflowError` for an integer that the dtype can't hold.
    """
    return np.array(x, wanted)[()] if type(x) is int and wanted is not None else x


def _number(x: Any, wanted: Any) -> Any:
    if type(x) is int and wanted is not None:
        held = number_of(x, wanted)
        if current.get() is bottom:
            return device_array(np.asarray(held))
        return conversion.convert_element_type(held, dtype=wanted, weak_type=False)
    type_ = typeof(x)
    if wanted is not None:
        kind_fits = is_complex(wanted) or not isinstance(x, complex)
        if not kind_fits and not is_bool(wanted):
            raise TypeError(f"can't convert the complex number {x} to {wanted}")
        if kind_fits and current.get() is bottom:
            return device_array(x, type_.update(dtype=wanted, weak_type=False))
        if kind_fits:
            if isinstance(x, float) and is_integer(wanted):
                int(x)  # raises for NaN and infinities, as it does eagerly
            return conversion.convert_element_type(x, dtype=wanted, weak_type=False)
    if current.get() is bottom:
        return device_array(x)
    return conversion.convert_element_type(x, dtype=type_.dtype, weak_type=type_.weak_type)


@converts_keys
@placed
def asarray(
    a: Any,
    dtype: DTypeLike | None = None,
    order: str | None = None,
    *,
    copy: bool | None = None,
    device: DeviceLike = None,
    out_sharding: OutSharding = None,
) -> Value:
    """Return an array of an array-like, without a copy where that is possible.

    Args:
      a: a number, an array, or nested lists of them.
      dtype: the dtype of the result; by default as for `array`.
      order: "C", "A" or "K"; the layout is XLA's.
      copy: whether the result has memory of its own; None is as False.
      device: where to put the result; by default an array stays where it is.
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    >>> import effax.numpy as jnp
    >>> jnp.asarray([1.0, 2.0])
    Array([1., 2.], dtype=float32)
    """
    return _array(a, dtype, bool(copy), order, device=device)


@moves_keys()
def copy(a: ArrayLike, order: str | None = None) -> Value:
    """Return a copy of an array, with memory of its own.

    Args:
      a: array_like.
      order: None, "C", "A" or "K", which are the same: the layout is XLA's.

    Raises:
      NotImplementedError: for another order.

    >>> import effax.numpy as jnp
    >>> jnp.copy(jnp.ones(2))
    Array([1., 1.], dtype=float32)
    """
    (a,) = arraylike("copy", a)
    return elementwise.copy(_array(a, copy=False, order=order))


@converts_keys
def astype(
    x: ArrayLike, dtype: DTypeLike | None, /, *, copy: bool = False, device: DeviceLike = None
) -> Value:
    """Return the array with another dtype; complex numbers may lose their imaginary part.

    Args:
      x: array_like.
      dtype: the dtype of the result; None for the default floating dtype. A real one drops
        imaginary parts, with a warning.
      copy: whether the result has memory of its own even if the dtype is the same.
      device: where to put the result; by default an array stays where it is.

    >>> import effax.numpy as jnp
    >>> jnp.astype(jnp.array([1.7, -1.7]), jnp.int32)
    Array([ 1, -1], dtype=int32)
    """
    (x,) = arraylike("astype", x)
    value = _array(x, copy=False)
    wanted = user_dtype(float if dtype is None else dtype, "astype")
    if is_inexact(value.dtype) and is_bool(wanted):
        from effax.effects.rows.comparison import ne

        found = cast(ne(value, 0j if is_complex(value.dtype) else 0.0), wanted)
        return converted_on_device(found, device, "astype")
    if is_complex(value.dtype) and not is_complex(wanted):
        from effax.effects.rows.complex import real

        warnings.warn(
            "Casting from complex to real dtypes drops the imaginary part, and will be refused; "
            "take a part with jnp.real or jnp.imag",
            DeprecationWarning,
            stacklevel=3,
        )
        value = real(value)
    result = cast(value, wanted)
    if copy and result is value and isinstance(value, Array):
        result = elementwise.copy(value)
    return converted_on_device(result, device, "astype")
