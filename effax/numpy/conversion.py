"""Making arrays of what is given: `array`, `asarray`, and changes of dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from effax.backends.xla.array import Array, device_put
from effax.backends.xla.array import asarray as device_array
from effax.effects import conversion, elementwise, shape
from effax.effects.effect import LITERALS
from effax.effects.handler import bottom, current
from effax.effects.types import canonical_dtype, is_bool, is_complex, is_inexact, typeof, user_dtype
from effax.effects.value import Value
from effax.numpy.arguments import cast
from effax.numpy.operands import asarray as operand


def array(
    object: Any,
    dtype: Any = None,
    copy: bool = True,
    order: str | None = "K",
    ndmin: int = 0,
    *,
    device: Any = None,
) -> Any:
    """An array of an array-like: a number, an array, or nested lists of them.

    Args:
      object: what to make an array of; lists may hold traced values.
      dtype: of the elements; by default as the elements say, with 64 bits made 32 unless x64 is
        on. A Python number alone keeps a weak type.
      copy: accepted for NumPy's sake: arrays are immutable.
      order: "C", "A" or "K"; the layout is XLA's.
      ndmin: the least number of axes; new ones are put in front.
      device: where to put the result, by default the default device.

    Raises:
      TypeError: for what is no array-like.

    >>> import effax.numpy as jnp
    >>> jnp.array([[1, 2], [3, 4]], dtype=jnp.float32)
    Array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    if order not in (None, "C", "A", "K"):
        raise NotImplementedError(f"array: order={order!r} is not supported; layouts are XLA's")
    if object is None:
        raise ValueError("None is not a valid value for jnp.array")
    wanted = None if dtype is None else user_dtype(dtype, "array")
    result = _value(object, wanted)
    if wanted is not None:
        result = cast(result, wanted)
    elif isinstance(object, (list, tuple)) and typeof(result).weak_type:
        result = cast(result, typeof(result).dtype, weak_type=True)
    if ndmin > result.ndim:
        result = shape.reshape(result, shape=(1,) * (ndmin - result.ndim) + result.shape)
    return result if device is None else device_put(result, device)


def _value(x: Any, wanted: Any) -> Any:
    """The elements of an array-like, as a value."""
    if isinstance(x, Value):
        return x
    if hasattr(x, "__jax_array__"):
        return x.__jax_array__()
    if type(x) in LITERALS:
        return _number(x, wanted)
    if isinstance(x, (list, tuple)) and not x:
        return device_array(np.zeros(0, canonical_dtype(float)))
    if not isinstance(x, (list, tuple, np.ndarray, np.generic)) and (
        isinstance(x, (str, bytes, dict, set)) or not _is_arraylike(x)
    ):
        raise TypeError(f"Value {x!r} of type {type(x)} is not a valid array-like")
    found = operand(x, "array")
    if isinstance(found, Value):
        return found
    host = np.asarray(found)
    if host.dtype == object:
        if None in host.reshape(-1).tolist():
            raise ValueError("None is not a valid value for jnp.array")
        raise TypeError(f"Value {x!r} with dtype object is not a valid array type")
    if isinstance(x, (list, tuple)):
        # Python numbers become the dtype at once, by NumPy's rules of what does not fit into it.
        host = np.asarray(x, canonical_dtype(host.dtype) if wanted is None else wanted)
    return device_array(host)


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
            raise TypeError(f"{x} is complex, and can't be made a {wanted}")
        if kind_fits and current.get() is bottom:
            return device_array(x, type_.update(dtype=wanted, weak_type=False))
        if kind_fits:
            return conversion.convert_element_type(x, dtype=wanted, weak_type=False)
    if current.get() is bottom:
        return device_array(x)
    return conversion.convert_element_type(x, dtype=type_.dtype, weak_type=type_.weak_type)


def _is_arraylike(x: Any) -> bool:
    return hasattr(x, "__array__") or hasattr(x, "__array_interface__") or isinstance(x, memoryview)


def asarray(
    a: Any,
    dtype: Any = None,
    order: str | None = None,
    *,
    copy: bool | None = None,
    device: Any = None,
) -> Any:
    """An array of an array-like; see `array`.

    >>> import effax.numpy as jnp
    >>> jnp.asarray([1.0, 2.0])
    Array([1., 2.], dtype=float32)
    """
    if copy is False and not isinstance(a, Value):
        raise ValueError("asarray: copy=False, but a host value must be copied to a device")
    return array(a, dtype, copy=bool(copy), order=order, device=device)


def copy(a: Any, order: str | None = None) -> Any:
    """A copy of an array, of memory of its own.

    >>> import effax.numpy as jnp
    >>> jnp.copy(jnp.ones(2))
    Array([1., 1.], dtype=float32)
    """
    value = array(a)
    return elementwise.copy(value)


def astype(x: Any, dtype: Any, /, *, copy: bool = False, device: Any = None) -> Any:
    """The array with another dtype; complex numbers lose their imaginary part with a warning.

    >>> import effax.numpy as jnp
    >>> jnp.astype(jnp.array([1.7, -1.7]), jnp.int32)
    Array([ 1, -1], dtype=int32)
    """
    value = x if isinstance(x, Value) else array(x)
    wanted = user_dtype(float if dtype is None else dtype, "astype")
    if is_complex(value.dtype) and not is_complex(wanted):
        from effax.effects.comparison import ne
        from effax.effects.complex import real

        if wanted == np.bool_:
            return ne(value, value.dtype.type(0))
        value = real(value)
    if is_inexact(value.dtype) and wanted == np.bool_:
        from effax.effects.comparison import ne

        return ne(value, 0.0)
    result = cast(value, wanted)
    if copy and result is value and isinstance(value, Array):
        result = elementwise.copy(value)
    return result if device is None else device_put(result, device)
