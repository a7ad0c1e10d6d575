"""Slices at known and at computed places, as `lax` has them: nothing is broadcast here."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from effax.eager.whole import whole
from effax.effects.rows import comparison, elementwise, indexing, selection, shape
from effax.effects.rows.conversion import convert_element_type
from effax.effects.rows.indexing import GatherDimensionNumbers as GatherDimensionNumbers
from effax.effects.rows.indexing import GatherScatterMode as GatherScatterMode
from effax.effects.rows.indexing import ScatterDimensionNumbers as ScatterDimensionNumbers
from effax.effects.types import int32, int64, is_integer, position_dtype, typeof
from effax.effects.value import Array, ArrayLike, is_symbolic_length, length
from effax.keys.decorators import moves_keys

Mode = str | GatherScatterMode | None


def axis_of(axis: int, ndim: int) -> int:
    """An axis counted from the front; negative ones count from the end.

    Raises `IndexError` where the array has no such axis.
    """
    axis = operator.index(axis)
    if not -ndim <= axis < ndim:
        raise IndexError(f"axis {axis} is out of bounds for array of dimension {ndim}")
    return axis + ndim if axis < 0 else axis


def ints(values: Any) -> tuple[int, ...]:
    """Python integers for what counts as such; symbolic lengths stand for themselves."""
    return tuple(map(length, values))


@whole("start_indices", "limit_indices", "strides")
def _slice(
    operand: ArrayLike,
    start_indices: tuple[int, ...],
    limit_indices: tuple[int, ...],
    strides: tuple[int, ...] | None,
) -> Array:
    return shape.slice(operand, start=start_indices, limit=limit_indices, strides=strides)


@moves_keys()
def slice(
    operand: ArrayLike,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None = None,
) -> Array:
    """Return the box of an array between start and limit, every `strides`-th element of it.

    Raises `TypeError` where the box does not lie inside the array.

    Args:
      operand: array_like.
      start_indices: the first position along each axis.
      limit_indices: the position after the last along each axis.
      strides: the step along each axis; 1 by default.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.slice(jnp.arange(10), (2,), (9,), (3,))
    Array([2, 5, 8], dtype=int32)
    """
    steps = None if strides is None else ints(strides)
    return _slice(operand, ints(start_indices), ints(limit_indices), steps)


@moves_keys()
def slice_in_dim(
    operand: ArrayLike,
    start_index: int | None,
    limit_index: int | None,
    stride: int = 1,
    axis: int = 0,
) -> Array:
    """Return a slice along one axis; negative bounds count from the end.

    Args:
      operand: array_like.
      start_index: the first position; None for 0.
      limit_index: the position after the last; None for the length of the axis.
      stride: the step.
      axis: the axis to slice; negative ones count from the end.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.slice_in_dim(jnp.arange(5), 1, -1)
    Array([1, 2, 3], dtype=int32)
    """
    lengths = typeof(operand).shape
    axis = axis_of(axis, len(lengths))
    n = lengths[axis]
    start = 0 if start_index is None else length(start_index)
    limit = n if limit_index is None else length(limit_index)
    starts, limits, strides = [0] * len(lengths), list(lengths), [1] * len(lengths)
    starts[axis] = start + n if start < 0 else start
    limits[axis] = limit + n if limit < 0 else limit
    strides[axis] = operator.index(stride)
    return slice(operand, starts, limits, strides)


@moves_keys()
def index_in_dim(operand: ArrayLike, index: int, axis: int = 0, keepdims: bool = True) -> Array:
    """Return one position along an axis, known beforehand.

    Raises `IndexError` for a position outside the axis.

    Args:
      operand: array_like.
      index: the position, a Python integer; negative ones count from the end.
      axis: the axis; negative ones count from the end.
      keepdims: whether the axis stays, with length 1.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.index_in_dim(jnp.arange(6).reshape(2, 3), -1, axis=1, keepdims=False)
    Array([2, 5], dtype=int32)
    """
    index = length(index)
    lengths = typeof(operand).shape
    axis = axis_of(axis, len(lengths))
    n = lengths[axis]
    at = index + n if index < 0 else index
    if not 0 <= at < n:
        raise IndexError(f"index {index} is out of bounds for axis {axis} of size {n}")
    result = slice_in_dim(operand, at, at + 1, 1, axis)
    return result if keepdims else _squeeze(result, axis)


@whole("axis")
def _squeeze(operand: Array, axis: int) -> Array:
    return shape.squeeze(operand, (axis,))


def _common_index_dtype(starts: Sequence[Any], lengths: Sequence[int]) -> Any:
    types = [typeof(s) for s in starts]
    strong = {t.dtype for t in types if not t.weak_type}
    if not all(is_integer(t.dtype) for t in types) or len(strong) > 1:
        listed = ", ".join(t.dtype.name for t in types)
        raise TypeError(
            f"index arguments to dynamic_slice must be integers of the same type, got: {listed}"
        )
    wide = next((d for d in strong if d.kind == "u" and d.itemsize >= 4), None)
    if wide is not None:
        return wide
    arrays = [t.dtype for s, t in zip(starts, types, strict=True) if not isinstance(s, int)]
    return int64 if any(d.itemsize == 8 for d in arrays) else position_dtype(*lengths)


def as_starts(starts: Any, lengths: Sequence[int], wrap: bool | Sequence[bool]) -> list[Any]:
    """Start indices as scalars of one dtype, negative ones counted from the end where `wrap`.

    Raises `ValueError` where their number is not that of the axes, `TypeError` where they are no
    integers or of several dtypes (Python's take the others').
    """
    if not isinstance(starts, (tuple, list)):
        n = typeof(starts).shape
        if len(n) != 1:
            raise ValueError(f"Slice indices must be a 1D sequence, got {n}")
        starts = [shape.squeeze(shape.slice_axis(starts, 0, i, i + 1), (0,)) for i in range(n[0])]
    if len(starts) != len(lengths):
        raise ValueError(
            "Length of slice indices must match number of operand dimensions "
            f"({len(starts)} vs {tuple(lengths)})"
        )
    wraps = [wrap] * len(starts) if isinstance(wrap, bool) else list(wrap)
    dtype = _common_index_dtype(starts, lengths)
    return [as_start(s, n, w, dtype) for s, n, w in zip(starts, lengths, wraps, strict=True)]


def as_start(start: Any, length: int, wrap: bool, dtype: Any) -> Any:
    """One start index as a scalar of that dtype, counted from the front."""
    if isinstance(start, (int, np.integer)) and not isinstance(start, np.bool_):
        start = int(start)
        limits = np.iinfo(dtype)
        start = start + length if start < 0 else start
        if is_symbolic_length(start):
            return shape.scalar(start, dtype)
        return position(min(max(start, int(limits.min)), int(limits.max)), dtype)
    return from_front(start, length, wrap, dtype)


def position(value: int, dtype: Any) -> Any:
    """A known position as a scalar; one of int64 is computed, and so is one without x64 too."""
    if dtype != int64:
        return shape.scalar(value, dtype)
    return elementwise.add(convert_element_type(shape.scalar(0, int32), dtype=int64), value)


def from_front(index: Any, length: int, wrap: bool, dtype: Any) -> Any:
    """Indices in that dtype, negative ones counted from the end where `wrap`.

    Unsigned ones that the dtype can't hold stay past the end: they are cut to its largest number.
    """
    given = typeof(index).dtype
    if given.kind == "u":
        if np.dtype(dtype).kind != "u" and given.itemsize >= np.dtype(dtype).itemsize:
            index = elementwise.min(index, int(np.iinfo(dtype).max))
        return index if given == dtype else convert_element_type(index, dtype=dtype)
    signed = dtype if np.dtype(dtype).kind != "u" else np.dtype(f"i{np.dtype(dtype).itemsize}")
    if given != signed:
        index = convert_element_type(index, dtype=signed)
    if wrap:
        below = comparison.lt(index, 0)
        size: Any = length
        if is_symbolic_length(length):
            size = shape.full(typeof(index).shape, length, signed)
        index = selection.select_n(below, index, elementwise.add(index, size))
    return index if signed == dtype else convert_element_type(index, dtype=dtype)


@whole("slice_sizes", "wrap")
def _dynamic_slice(operand: ArrayLike, starts: Any, slice_sizes: Any, wrap: Any) -> Array:
    lengths = typeof(operand).shape
    return indexing.dynamic_slice(operand, *as_starts(starts, lengths, wrap), sizes=slice_sizes)


def _negative(allow: bool | Sequence[bool], starts: Any) -> bool | tuple[bool, ...]:
    """Return which starts may be negative, in a hashable form.

    Raises `ValueError` where a Python integer is and may not.
    """
    given = starts if isinstance(starts, tuple | list) else ()
    allowed = [allow] * len(given) if isinstance(allow, bool) else list(allow)
    for start, may in zip(given, allowed, strict=False):
        if isinstance(start, int | np.integer) and start < 0 and not may:
            raise ValueError(f"Index {start} is out of bounds if allow_negative_indices=False")
    return allow if isinstance(allow, bool) else tuple(allow)


def _held(starts: Any, operand: Any) -> Any:
    """Start indices as they are; known ones of a long axis in 64 bits."""
    lengths = typeof(operand).shape
    if position_dtype(*lengths) == int32 or not isinstance(starts, tuple | list):
        return starts
    from effax.operands.promoting import positions_array

    n = max(lengths)
    return [
        positions_array(np.asarray(s), n) if isinstance(s, int | np.integer) else s for s in starts
    ]


@moves_keys()
def dynamic_slice(
    operand: ArrayLike,
    start_indices: ArrayLike | Sequence[ArrayLike],
    slice_sizes: Sequence[int],
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Array:
    """Return the part of an array of a known size, at a place known only at run time.

    Args:
      operand: the array.
      start_indices: where the part begins, an integer scalar for each axis. Starts are moved so
        that the whole part lies inside.
      slice_sizes: its shape.
      allow_negative_indices: whether negative starts count from the end.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.dynamic_slice(jnp.arange(5), (3,), (3,))
    Array([2, 3, 4], dtype=int32)
    """
    return _dynamic_slice(
        operand,
        _held(start_indices, operand),
        ints(slice_sizes),
        _negative(allow_negative_indices, start_indices),
    )


@whole("wrap")
def _dynamic_update_slice(operand: ArrayLike, update: ArrayLike, starts: Any, wrap: Any) -> Array:
    return indexing.dynamic_update_slice(
        operand, update, *as_starts(starts, typeof(operand).shape, wrap)
    )


@moves_keys("operand", "update")
def dynamic_update_slice(
    operand: ArrayLike,
    update: ArrayLike,
    start_indices: ArrayLike | Sequence[ArrayLike],
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Array:
    """Replace a part of an array, at a place known only at run time.

    Starts are moved so that the whole update lies inside.

    Args:
      operand: array_like.
      update: array_like of the operand's dtype and rank, not longer along any axis.
      start_indices: the first position of the update, an integer scalar for each axis.
      allow_negative_indices: whether negative starts count from the end: one Boolean, or one for
        each axis.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.dynamic_update_slice(jnp.zeros(5), jnp.ones(2), (1,))
    Array([0., 1., 1., 0., 0.], dtype=float32)
    """
    return _dynamic_update_slice(
        operand,
        update,
        _held(start_indices, operand),
        _negative(allow_negative_indices, start_indices),
    )


def _starts_along(operand: Any, start: Any, axis: int) -> tuple[int, list[Any]]:
    ndim = len(typeof(operand).shape)
    axis = axis_of(axis, ndim)
    starts: list[Any] = [0] * ndim
    starts[axis] = start
    return axis, starts


@moves_keys()
def dynamic_slice_in_dim(
    operand: ArrayLike,
    start_index: ArrayLike,
    slice_size: int,
    axis: int = 0,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """Slice one axis at a place known only at run time; see `dynamic_slice`.

    Args:
      operand: array_like.
      start_index: the first position, an integer scalar.
      slice_size: the length of the part.
      axis: the axis to slice; negative ones count from the end.
      allow_negative_indices: whether negative starts count from the end.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.dynamic_slice_in_dim(jnp.arange(5), 1, 3)
    Array([1, 2, 3], dtype=int32)
    """
    axis, starts = _starts_along(operand, start_index, axis)
    sizes = list(typeof(operand).shape)
    sizes[axis] = length(slice_size)
    return dynamic_slice(operand, starts, sizes, allow_negative_indices=allow_negative_indices)


@moves_keys()
def dynamic_index_in_dim(
    operand: ArrayLike,
    index: ArrayLike,
    axis: int = 0,
    keepdims: bool = True,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """Return one position along an axis, known only at run time.

    Args:
      operand: array_like.
      index: the position, an integer scalar.
      axis: the axis; negative ones count from the end.
      keepdims: whether the axis stays, with length 1.
      allow_negative_indices: whether a negative index counts from the end.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.dynamic_index_in_dim(jnp.arange(5), 2, keepdims=False)
    Array(2, dtype=int32)
    """
    result = dynamic_slice_in_dim(
        operand, index, 1, axis, allow_negative_indices=allow_negative_indices
    )
    return result if keepdims else _squeeze(result, axis_of(axis, len(typeof(operand).shape)))


@moves_keys("operand", "update")
def dynamic_update_slice_in_dim(
    operand: ArrayLike,
    update: ArrayLike,
    start_index: ArrayLike,
    axis: int,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """Replace a part of one axis, at a place known only at run time.

    Args:
      operand: array_like.
      update: array_like of the operand's dtype and rank, not longer along any axis.
      start_index: the first position of the update, an integer scalar.
      axis: the axis; negative ones count from the end.
      allow_negative_indices: whether negative starts count from the end.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.dynamic_update_slice_in_dim(jnp.zeros(4), jnp.ones(2), 2, axis=0)
    Array([0., 0., 1., 1.], dtype=float32)
    """
    _, starts = _starts_along(operand, start_index, axis)
    return dynamic_update_slice(
        operand, update, starts, allow_negative_indices=allow_negative_indices
    )


@moves_keys("operand", "update")
@whole("axis", "allow_negative_indices")
def dynamic_update_index_in_dim(
    operand: ArrayLike,
    update: ArrayLike,
    index: ArrayLike,
    axis: int,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """Replace one position along an axis, known only at run time.

    Args:
      operand: array_like.
      update: array_like of the operand's dtype, with or without the axis.
      index: the position, an integer scalar.
      axis: the axis; negative ones count from the end.
      allow_negative_indices: whether a negative index counts from the end.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.dynamic_update_index_in_dim(jnp.zeros(3), 5.0, 1, axis=0)
    Array([0., 5., 0.], dtype=float32)
    """
    lengths = typeof(operand).shape
    axis = axis_of(axis, len(lengths))
    if len(typeof(update).shape) != len(lengths):
        update = shape.expand_dims(update, (axis,))
    return dynamic_update_slice_in_dim(
        operand, update, index, axis, allow_negative_indices=allow_negative_indices
    )
