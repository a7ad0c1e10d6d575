"""Arrays from what is no array: functions, buffers, text, and arrays of other libraries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from effax.effects.types import canonical_shape, user_dtype
from effax.effects.value import Array, DeviceLike, DTypeLike, Shape
from effax.numpy.creation import constant
from effax.numpy.even_spacing import arange
from effax.operands.arguments import cast


def fromfunction(
    function: Callable[..., Any], shape: Shape, *, dtype: DTypeLike = float, **kwargs: Any
) -> Array:
    """Return the array of the values of a function of indices, at each place of a shape.

    The function is called once, on all indices along each axis by `vmap`.

    Args:
      function: a function of one index for each axis.
      shape: the shape over which the indices run.
      dtype: the dtype of the indices; None for the default integer.
      **kwargs: further arguments of `function`, the same for each place.

    >>> fromfunction(lambda i, j: i + 2 * j, (2, 2), dtype=int).tolist()
    [[0, 2], [1, 3]]
    """
    from effax.api.mapping.vmap import vmap

    lengths = canonical_shape(shape)
    kind = None if dtype is None else user_dtype(dtype, "fromfunction")

    def bound(*indices: Any) -> Any:
        return function(*indices, **kwargs)

    mapped = bound
    for i in reversed(range(len(lengths))):
        axes = [0 if j == i else None for j in range(len(lengths))]
        mapped = vmap(mapped, in_axes=tuple(axes))
    indices = map(arange, lengths)
    return mapped(*(indices if kind is None else (cast(x, kind) for x in indices)))


def frombuffer(buffer: Any, dtype: DTypeLike = float, count: int = -1, offset: int = 0) -> Array:
    """Return the vector of the numbers in a buffer's bytes.

    Args:
      buffer: an object with the buffer interface, such as `bytes`.
      dtype: the dtype of the numbers in the buffer.
      count: how many numbers to read; -1 for all.
      offset: the byte to start at.

    >>> frombuffer(bytes([1, 2]), dtype="uint8").tolist()
    [1, 2]
    """
    return constant(np.frombuffer(buffer, np.dtype(dtype), count, offset))


def fromiter(*_: Any, **__: Any) -> NoReturn:
    """Refuse, as JAX does: it uses up an iterator; call `numpy.fromiter` and then `asarray`.

    Args:
      *_, **__: ignored.

    Raises:
      NotImplementedError: always.
    """
    raise NotImplementedError(
        "fromiter() is not supported because it uses up an iterator, a side effect; use "
        "numpy.fromiter and then asarray"
    )


def fromfile(*_: Any, **__: Any) -> NoReturn:
    """Refuse, as JAX does: reading is a side effect; call `numpy.fromfile` and then `asarray`.

    Args:
      *_, **__: ignored.

    Raises:
      NotImplementedError: always.
    """
    raise NotImplementedError(
        "fromfile() is not supported because it reads a file, a side effect; use numpy.fromfile "
        "and then asarray"
    )


def fromstring(string: str, dtype: DTypeLike = float, count: int = -1, *, sep: str) -> Array:
    """Return the vector of the numbers written in a text.

    Args:
      string: the text.
      dtype: the dtype of the numbers.
      count: how many numbers to read; -1 for all.
      sep: the text between two numbers.

    >>> fromstring("1 2", dtype=int, sep=" ").tolist()
    [1, 2]
    """
    return constant(np.fromstring(string, np.dtype(dtype), count, sep=sep))


def from_dlpack(x: Any, /, *, device: DeviceLike = None, copy: bool | None = None) -> Array:
    """Return an array from one of another library, over DLPack.

    Args:
      x: an array with `__dlpack__` and `__dlpack_device__`.
      device: where to put the result; by default the device of `x`.
      copy: True to copy always, None only where memory can't be shared; False to raise `ValueError`
        instead of copying.

    >>> import numpy
    >>> from_dlpack(numpy.ones(2, numpy.float32)).tolist()
    [1.0, 1.0]
    """
    from effax.backends.xla.dlpack import from_dlpack as imported

    where: Any = device
    return imported(x, where, copy=copy)


__all__ = [
    "from_dlpack",
    "frombuffer",
    "fromfile",
    "fromfunction",
    "fromiter",
    "fromstring",
]
