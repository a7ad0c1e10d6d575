"""Python numbers with a dtype, by the names of JAX's private module `literals`.

Traces by JAX's protocol are given them for the numbers that a program writes among arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from effax.backends.xla.array import Array, asarray


class _Typed:
    """A number with a dtype, of which functions make an array of that dtype."""

    dtype: np.dtype[Any]

    def __new__(cls, value: Any, dtype: Any) -> Any:
        """Make one of a value."""
        number: Any = super().__new__(cls, value)  # type: ignore[call-arg]
        number.dtype = np.dtype(dtype)
        return number

    def __jax_array__(self) -> Array:
        return asarray(np.asarray(plain(self), self.dtype))


class TypedInt(_Typed, int):
    """An int with a dtype."""


class TypedFloat(_Typed, float):
    """A float with a dtype."""


class TypedComplex(_Typed, complex):
    """A complex number with a dtype."""


class TypedNdArray:
    """JAX's NumPy arrays with weak dtypes: nothing is an instance."""


def typed(number: Any, dtype: Any) -> Any:
    """Return a Python number with a dtype, of the class for the dtype's elements.

    >>> typed(3, "float16"), typed(3, "float16").dtype
    (3.0, dtype('float16'))
    """
    kind = np.dtype(dtype).kind
    if kind == "b":
        return asarray(bool(number))
    return {"c": TypedComplex, "i": TypedInt, "u": TypedInt}.get(kind, TypedFloat)(number, dtype)


def plain(number: Any) -> Any:
    """Return the number without its dtype.

    >>> type(plain(TypedInt(3, "int8")))
    <class 'int'>
    """
    kind = next(k for k in (int, float, complex) if isinstance(number, k))
    return kind(number)
