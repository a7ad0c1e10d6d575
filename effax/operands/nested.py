"""Array-likes that are not arrays: nested lists, buffers, sequences, and subclasses of numbers."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from effax.effects.effect import LITERALS
from effax.effects.promotion import lattice_result
from effax.effects.rows import shape
from effax.effects.rows.conversion import convert_element_type
from effax.effects.types import DType, default_float, typeof
from effax.effects.value import Value, is_symbolic_length

_LISTS: Final = frozenset({list, tuple})
_TEXTS: Final = frozenset({str, bytes, np.str_, np.bytes_})  # NumPy reads numbers in them
_FEW: Final = 16  # operands of one concatenation: XLA is slow to compile one of thousands


def is_nested(x: Any) -> bool:
    """Whether a value is a list or tuple, of subclasses too."""
    return isinstance(x, list | tuple)


def stacked(x: Any, name: str, dtype: DType | None = None) -> Any:
    """The array of a nested list: a value if one of its leaves is, else an array of NumPy.

    Without `dtype` it is the one in which the leaves meet by promotion, so that `[int8(1), 2]` has
    int8. The result is never weak. Raises `TypeError` for leaves that are no array-likes,
    `ValueError` for `None`, and one of both for rows of different shapes.
    """
    kinds = _kinds(x)
    if kinds <= LITERALS or (dtype is not None and kinds <= LITERALS | _TEXTS):
        return np.asarray(x, _met([kind() for kind in kinds]) if dtype is None else dtype)
    leaves: list[Any] = []
    x = _opened(x, name, leaves)
    if dtype is None:
        dtype = _met(leaves)
    if any(isinstance(leaf, Value) for leaf in leaves):
        return _joined(x, name, dtype)
    return np.asarray(x, dtype)


def _kinds(x: Any) -> set[type]:
    """The classes of the leaves of a nested list of exact lists and tuples.

    Rows are walked by `map`, so that a list of a million Python numbers costs no Python loop.
    """
    kinds = set(map(type, x))
    if kinds <= _LISTS:
        return set().union(*map(_kinds, x))
    return kinds


def _met(leaves: list[Any]) -> DType:
    return lattice_result([typeof(y) for y in leaves])[0] if leaves else default_float()


def _opened(x: Any, name: str, leaves: list[Any]) -> Any:
    """The nested list with leaves that `typeof` knows, which are also collected."""
    if is_nested(x):
        return [_opened(y, name, leaves) for y in x]
    found = leaf(x, name)
    leaves.append(found)
    return found


def leaf(x: Any, name: str) -> Any:
    """An array-like that is no list, as a value, an array or scalar of NumPy, or a Python number.

    What offers `__jax_array__`, `__array__` or a buffer is opened; sequences (`range`, `deque`)
    are read by NumPy. Raises `ValueError` for `None`, and `TypeError` for what is no array-like.
    """
    if isinstance(x, Value | np.generic) or type(x) in LITERALS:
        return x
    if is_symbolic_length(x):
        return convert_element_type(x, dtype=typeof(x).dtype, weak_type=True)
    if isinstance(x, np.ndarray):
        return _numeric(x, x)
    if hasattr(x, "__jax_array__"):
        return leaf(x.__jax_array__(), name)
    if isinstance(x, int):
        return int(x)
    if isinstance(x, float):
        return float(x)
    if isinstance(x, complex):
        return complex(x)
    if x is None:
        raise ValueError(f"None is not a valid value for jnp.{name}")
    if isinstance(x, str | bytes):
        raise _refused(x)
    return _numeric(np.asarray(x), x)


def _numeric(host: np.ndarray[Any, Any], x: Any) -> np.ndarray[Any, Any]:
    """The array of NumPy, made of an array-like x, if its elements are numbers."""
    try:
        typeof(host)
    except TypeError:
        raise _refused(x) from None
    return host


def _refused(x: Any) -> TypeError:
    what = f"with dtype {x.dtype}" if isinstance(x, np.ndarray) else f"of type {type(x)}"
    return TypeError(
        f"Value {str(x)!r} {what} is not a valid effax array type: arrays hold numbers and Booleans"
    )


def _joined(x: Any, name: str, dtype: DType) -> Any:
    """The rows of an opened nested list, each converted to the dtype, joined along a new axis."""
    if not is_nested(x):
        return convert_element_type(x, dtype=dtype, weak_type=False)
    if not _holds_values(x):
        return convert_element_type(np.asarray(x, dtype), dtype=dtype, weak_type=False)
    rows = [shape.expand_dims(_joined(y, name, dtype), (0,)) for y in x]
    lengths = {typeof(y).shape for y in rows}
    if len(lengths) > 1:
        raise TypeError(f"{name}: rows of a list have different shapes: {sorted(lengths)}")
    while len(rows) > 1:
        rows = [shape.concatenate(*rows[i : i + _FEW], axis=0) for i in range(0, len(rows), _FEW)]
    return rows[0]


def _holds_values(x: Any) -> bool:
    return any(_holds_values(y) if is_nested(y) else isinstance(y, Value) for y in x)
