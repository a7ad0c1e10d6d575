"""Asking about arrays and dtypes, and reading and printing them: no arithmetic."""

from __future__ import annotations

import operator
import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import numpy as np

from effax.eager.whole import opening
from effax.effects import dtypes
from effax.effects import promotion as lattice
from effax.effects.types import as_dtype, typeof
from effax.effects.value import Array, ArrayLike, DTypeLike, Value

ComplexWarning = np.exceptions.ComplexWarning
finfo = dtypes.finfo
iinfo = dtypes.iinfo
get_printoptions = np.get_printoptions
set_printoptions = np.set_printoptions
printoptions = np.printoptions

_KINDS: Final[dict[str, Callable[[Any], bool]]] = {
    "bool": dtypes.is_bool,
    "signed integer": dtypes.is_signed,
    "unsigned integer": dtypes.is_unsigned,
    "integral": dtypes.is_integer,
    "real floating": dtypes.is_float,
    "complex floating": dtypes.is_complex,
    "numeric": lambda d: dtypes.is_integer(d) or dtypes.is_inexact(d),
}


def promote_types(a: DTypeLike, b: DTypeLike) -> np.dtype[Any]:
    """Return the dtype in which two meet, by JAX's lattice.

    Args:
      a, b: dtypes, or what stands for one, such as `float` and "int32".

    >>> import effax.numpy as jnp
    >>> jnp.promote_types("int32", "bfloat16")
    dtype(bfloat16)
    """
    return lattice.promote_types(a, b)


def result_type(*args: Any) -> np.dtype[Any]:
    """Return the dtype that an operation on these arrays, dtypes and numbers has.

    Args:
      *args: arrays, dtypes and numbers; the dtype of Python's numbers is weak.

    >>> import effax.numpy as jnp
    >>> jnp.result_type(jnp.int8(1), 2.0)
    dtype('float32')
    """
    return lattice.result_type(*args)


def issubdtype(arg1: DTypeLike, arg2: DTypeLike) -> bool:
    """Return whether a dtype is below another, or below an abstract one such as `jnp.floating`.

    Args:
      arg1: the dtype, or abstract dtype, to ask about.
      arg2: the dtype, or abstract dtype, to look for above it.

    >>> import effax.numpy as jnp
    >>> jnp.issubdtype(jnp.bfloat16, jnp.floating)
    True
    """
    return bool(dtypes.issubdtype(arg1, arg2))


def isdtype(dtype: DTypeLike, kind: Any) -> bool:
    """Return whether a dtype is of a kind of the array API standard, or is another dtype.

    Args:
      dtype: the dtype to ask about.
      kind: the name of a kind ("bool", "integral", "real floating", ...), a dtype, or a tuple of
        them.

    Raises:
      ValueError: for a kind that the standard does not have.

    >>> import effax.numpy as jnp
    >>> jnp.isdtype(jnp.int8, "integral"), jnp.isdtype(jnp.int8, ("bool", jnp.float32))
    (True, False)
    """
    wanted = kind if isinstance(kind, tuple) else (kind,)
    found = as_dtype(dtype)
    # A list, so that a kind that does not exist is refused after one that fits too.
    return any([k is not None and _is_of_kind(found, k) for k in wanted])


def _is_of_kind(dtype: Any, kind: Any) -> bool:
    if isinstance(kind, str) and kind in _KINDS:
        return bool(_KINDS[kind](dtype))
    return bool(_dtype_of_kind(kind) == dtype)


def _dtype_of_kind(kind: Any) -> Any:
    """The dtype that stands for a kind of itself alone, perhaps by its name."""
    try:
        return as_dtype(kind)
    except TypeError:
        if not isinstance(kind, str):
            raise
        raise ValueError(
            f"isdtype: unrecognized {kind=!r}; the kinds are {sorted(_KINDS)}, and dtypes"
        ) from None


def can_cast(from_: ArrayLike | DTypeLike, to: DTypeLike, casting: str = "safe") -> bool:
    """Return whether a dtype can be converted to another under one of NumPy's casting rules.

    Args:
      from_: the dtype to convert, or an array that has it.
      to: the dtype to convert to.
      casting: the rule: "no", "equiv", "safe", "same_kind" or "unsafe".

    >>> import effax.numpy as jnp
    >>> jnp.can_cast("int32", "float64"), jnp.can_cast("float32", "int32")
    (True, False)
    """
    given, wanted = _host_dtype(from_), _host_dtype(to)
    return bool(np.can_cast(given, wanted, casting=casting))  # type: ignore[arg-type]


def _host_dtype(x: Any) -> np.dtype[Any]:
    """NumPy's dtype for a Python type, of 64 bits; any other as it is."""
    return np.dtype(x) if x in (int, float, complex) else as_dtype(x)


def isscalar(element: Any) -> bool:
    """Return whether a value is a number, or an array without axes.

    Args:
      element: any value.

    >>> import effax.numpy as jnp
    >>> jnp.isscalar(1.0), jnp.isscalar(jnp.ones(2))
    (True, False)
    """
    if isinstance(element, (np.ndarray, Value)):
        return np.ndim(element) == 0 if isinstance(element, np.ndarray) else element.ndim == 0
    if hasattr(element, "__jax_array__"):
        return isscalar(element.__jax_array__())
    return bool(np.isscalar(element))


def iterable(y: Any) -> bool:
    """Return whether a value can be iterated over.

    Args:
      y: any value.

    >>> import effax.numpy as jnp
    >>> jnp.iterable(jnp.ones(2)), jnp.iterable(1.0)
    (True, False)
    """
    return bool(getattr(y, "ndim", 1)) and bool(np.iterable(y))


def shape(a: ArrayLike | None) -> tuple[int, ...]:
    """Return the lengths of an array's axes.

    Args:
      a: array_like; None is deprecated.

    >>> import effax.numpy as jnp
    >>> jnp.shape([[1, 2, 3]])
    (1, 3)
    """
    lengths = getattr(a, "shape", None)  # of keys and of a sparse matrix too
    if type(lengths) is tuple:
        return lengths
    if a is None:
        warnings.warn(
            "None is not an array; its shape () is deprecated", DeprecationWarning, stacklevel=3
        )
        return ()
    return _shape_of_others(a)


@opening
def _shape_of_others(a: Any) -> tuple[int, ...]:
    return np.shape(a) if isinstance(a, (list, tuple)) else typeof(a).shape


def ndim(a: Any) -> int:
    """Return the number of an array's axes.

    Args:
      a: array_like.

    >>> import effax.numpy as jnp
    >>> jnp.ndim(jnp.ones((2, 3)))
    2
    """
    return len(shape(a))


def size(a: Any, axis: int | Sequence[int] | None = None) -> int:
    """Return the number of elements, along some axes or all.

    Args:
      a: array_like.
      axis: the axis or axes whose lengths are multiplied; None for all.

    >>> import effax.numpy as jnp
    >>> jnp.size(jnp.ones((2, 3))), jnp.size(jnp.ones((2, 3)), 1)
    (6, 3)
    """
    lengths = shape(a)
    axes = range(len(lengths)) if axis is None else axis if isinstance(axis, Iterable) else (axis,)
    total, seen = 1, set()
    for i in map(operator.index, axes):
        if not -len(lengths) <= i < len(lengths):
            raise ValueError(f"axis {i} is out of bounds for an array of {len(lengths)} axes")
        if i % len(lengths) in seen:
            raise ValueError(f"size: repeated axis {i} in {axis}")
        seen.add(i % len(lengths))
        total *= lengths[i]
    return total


def array_repr(
    arr: Any,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
) -> str:
    """Return an array's `repr` as NumPy prints it.

    Args:
      arr: array_like.
      max_line_width: the characters of a line; by default as in `get_printoptions()`.
      precision: the digits after the point; by default as in `get_printoptions()`.
      suppress_small: whether numbers that round to 0 print as 0; by default as in
        `get_printoptions()`.

    >>> import effax.numpy as jnp
    >>> jnp.array_repr(jnp.arange(2))
    'array([0, 1], dtype=int32)'
    """
    return np.array_repr(np.asarray(arr), max_line_width, precision, suppress_small)


def array_str(
    a: Any,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
) -> str:
    """Return an array's `str` as NumPy prints it.

    Args:
      a: array_like.
      max_line_width: the characters of a line; by default as in `get_printoptions()`.
      precision: the digits after the point; by default as in `get_printoptions()`.
      suppress_small: whether numbers that round to 0 print as 0; by default as in
        `get_printoptions()`.

    >>> import effax.numpy as jnp
    >>> jnp.array_str(jnp.arange(2))
    '[0 1]'
    """
    return np.array_str(np.asarray(a), max_line_width, precision, suppress_small)


def save(file: str | os.PathLike[str] | Any, arr: Any, allow_pickle: bool = True) -> None:
    """Write an array to a file in NumPy's format.

    NumPy's format knows no dtypes of 8 bits or fewer but its own: of float8, int4, ... the file
    holds the bytes, and `np.load(file).view(dtype)` reads them.

    Args:
      file: a path, or a binary file that is open for writing.
      arr: array_like.
      allow_pickle: whether arrays of Python objects may be written, as pickles.

    >>> import io, effax.numpy as jnp
    >>> file = io.BytesIO()
    >>> jnp.save(file, jnp.arange(2))
    >>> _ = file.seek(0)
    >>> jnp.load(file).tolist()
    [0, 1]
    """
    np.save(file, _writable(arr), allow_pickle=allow_pickle)


def savez(file: str | os.PathLike[str] | Any, *args: Any, **kwds: Any) -> None:
    """Write arrays to one file in NumPy's format, by position or name.

    Args:
      file: a path, or a binary file that is open for writing.
      *args: arrays, named "arr_0", "arr_1", ... in the file.
      **kwds: arrays under the names that they get in the file.

    >>> import io, effax.numpy as jnp
    >>> file = io.BytesIO()
    >>> jnp.savez(file, x=jnp.arange(2))
    >>> _ = file.seek(0)
    >>> jnp.load(file)["x"].tolist()
    [0, 1]
    """
    named: dict[str, Any] = {k: _writable(v) for k, v in kwds.items()}
    np.savez(file, *map(_writable, args), **named)


def _writable(x: Any) -> np.ndarray[Any, Any]:
    """A NumPy array that a file can hold; NumPy can't read the name it writes for float8_e5m2."""
    found = np.asarray(x)
    return found.view("V1") if found.dtype.str == "<f1" else found


def load(file: str | os.PathLike[str] | Any, *args: Any, **kwargs: Any) -> Array:
    """Read an array that `save` wrote; of a file that `savez` wrote, NumPy's archive object.

    Elements of two bytes without a dtype are bfloat16.

    Args:
      file: a path, or a binary file that is open for reading.
      *args: further positional arguments of `numpy.load`.
      **kwargs: keyword arguments of `numpy.load`.

    Raises:
      TypeError: for elements of one byte without a dtype.

    >>> import io, effax.numpy as jnp
    >>> file = io.BytesIO()
    >>> jnp.save(file, jnp.arange(2))
    >>> _ = file.seek(0)
    >>> jnp.load(file)
    Array([0, 1], dtype=int32)
    """
    found = np.load(file, *args, **kwargs)
    if isinstance(found, np.ndarray):
        from effax.numpy.conversion import array

        if found.dtype == "V2":  # NumPy loads bfloat16 as this
            found = found.view(dtypes.bfloat16)
        if found.dtype == "V1":
            raise TypeError(
                "load: the file does not say the dtype of its one-byte elements (float8_e4m3fn, "
                "int4, ...); use jnp.asarray(np.load(file).view(dtype))"
            )
        return array(found)
    return found
