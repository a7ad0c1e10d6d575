"""Arrays of other libraries, by DLPack."""

from __future__ import annotations

from typing import Any

import numpy as np

from effax.backends.xla.dlpack import from_dlpack as _imported
from effax.effects.value import DTypeLike

__all__ = ["from_dlpack", "is_supported_dtype"]
__dir__ = __all__.copy

_SUPPORTED = frozenset(
    {
        "bool",
        *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
        *(f"float{bits}" for bits in (16, 32, 64)),
        "bfloat16",
        "complex64",
        "complex128",
    }
)


def from_dlpack(external_array: Any, device: Any = None, copy: bool | None = None) -> Any:
    """Return an array over the memory of another library's array, or a copy of it.

    Args:
      external_array: an object with `__dlpack__` and `__dlpack_device__`.
      device: where the result is to be; by default where the memory is.
      copy: True to copy; False to raise where a copy can't be avoided; None to copy if need be.

    Raises:
      TypeError: for objects without those methods, and dtypes that arrays can't have.
      ValueError: where `copy` is False and a copy can't be avoided.

    >>> import numpy
    >>> import effax.dlpack
    >>> effax.dlpack.from_dlpack(numpy.arange(3.0, dtype="float32"))
    Array([0., 1., 2.], dtype=float32)
    """
    if not hasattr(external_array, "__dlpack__") or not hasattr(
        external_array, "__dlpack_device__"
    ):
        raise TypeError(
            "The array passed to from_dlpack must have __dlpack__ and __dlpack_device__ methods; "
            f"got {type(external_array)}"
        )
    return _imported(external_array, device, copy=copy)


def is_supported_dtype(dtype: DTypeLike) -> bool:
    """Return whether DLPack can exchange arrays of a dtype.

    >>> import effax.dlpack
    >>> effax.dlpack.is_supported_dtype("float32"), effax.dlpack.is_supported_dtype("int4")
    (True, False)
    """
    return np.dtype(dtype).name in _SUPPORTED
