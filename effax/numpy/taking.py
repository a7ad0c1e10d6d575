"""Taking elements from an array by arrays of indices, and putting them into it."""

from __future__ import annotations

from typing import Any

import numpy as np

from effax.eager.whole import whole
from effax.effects.rows import indexing, shape
from effax.effects.rows.indexing import GatherDimensionNumbers, GatherScatterMode
from effax.effects.types import int32, int64, is_integer, position_dtype, typeof
from effax.effects.value import Array, ArrayLike
from effax.keys.decorators import moves_keys
from effax.lax.gathering import fill_number
from effax.lax.slicing import from_front, position
from effax.numpy.indexing import update
from effax.operands.arguments import (
    broadcast,
    canonical_axis,
    cast,
    check_arrays,
    common_shape,
    refuse_out,
    zeros_as,
)
from effax.operands.promoting import array, held

Mode = str | GatherScatterMode | None


def index_dtype(index: Any, length: int) -> Any:
    """The dtype in which to count: int64 for indices of 64 bits and long axes, else int32."""
    return int64 if typeof(index).dtype.itemsize == 8 else position_dtype(length)


def _counts(dtype: Any) -> bool:
    """Whether positions may have this dtype: integers of any width, and Booleans as 0 and 1."""
    return is_integer(dtype) or dtype == np.bool_


def _wrapped(indices: Any, length: int) -> Any:
    """Indices modulo the length of the axis."""
    from effax.numpy.arithmetic import remainder

    given, dtype = typeof(indices).dtype, np.dtype(index_dtype(indices, length))
    # Unsigned ones that a signed dtype of their width can't hold are divided as they are.
    own = given if given.kind == "u" and given.itemsize >= dtype.itemsize else dtype
    return cast(remainder(cast(indices, own), position(length, own)), dtype)


@whole("axis", "mode", "unique_indices", "indices_are_sorted", "fill_value")
def _take(
    a: ArrayLike,
    indices: ArrayLike,
    axis: int | None,
    mode: str | None,
    unique_indices: bool,
    indices_are_sorted: bool,
    fill_value: Any,
) -> Array:
    a, indices = array(a), array(indices)
    if typeof(indices).dtype.kind not in "iu":  # XLA takes no Booleans and no four bits
        indices = cast(indices, int32)
    if axis is None:
        a, axis = shape.reshape(a, shape=(typeof(a).size,)), 0
    lengths, rows = typeof(a).shape, typeof(indices).shape
    n = lengths[axis]
    result = (*lengths[:axis], *rows, *lengths[axis + 1 :])
    if n == 0 and 0 not in rows:
        raise IndexError("Cannot do a non-empty jnp.take() from an empty axis.")
    if 0 in result:
        return zeros_as(a, result)
    if mode == "wrap":
        indices, how = _wrapped(indices, n), GatherScatterMode.PROMISE_IN_BOUNDS
    elif mode == "clip":
        how = GatherScatterMode.CLIP
    else:
        indices = from_front(indices, n, True, index_dtype(indices, n))
        how = GatherScatterMode.FILL_OR_DROP
    dims = GatherDimensionNumbers(
        (*range(axis), *range(axis + len(rows), len(result))), (axis,), (axis,)
    )
    return indexing.gather(
        a,
        shape.expand_dims(indices, (len(rows),)),
        dimension_numbers=dims,
        slice_sizes=tuple(1 if i == axis else k for i, k in enumerate(lengths)),
        mode=how,
        fill_value=fill_value,
        indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices,
    )


@moves_keys()
@whole("axis", "out", "mode", "unique_indices", "indices_are_sorted", "fill_value", reads=True)
def take(
    a: ArrayLike,
    indices: ArrayLike,
    axis: int | None = None,
    out: None = None,
    mode: str | None = None,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    fill_value: ArrayLike | None = None,
) -> Array:
    """Return the elements at given positions along an axis.

    Args:
      a: the array.
      indices: integers, of any shape; truth values are 0 and 1.
      axis: the axis; None for the array read as a vector.
      out: must be None: arrays can't be written to.
      mode: what a position outside gives: 'fill' (the default) `fill_value`, 'clip' the nearest
        element, 'wrap' counts round.
      unique_indices, indices_are_sorted: promises that let the compiler write faster code; results
        are undefined where they are broken.
      fill_value: by default NaN, or the extreme of an integer dtype.

    Raises:
      IndexError: for an axis without elements.

    >>> import effax.numpy as jnp
    >>> jnp.take(jnp.array([1.0, 2.0, 3.0]), jnp.array([2, 0, 5]))
    Array([ 3.,  1., nan], dtype=float32)
    """
    refuse_out("take", out)
    check_arrays("take", a, indices)
    if not _counts(typeof(indices).dtype):
        raise ValueError(f"take: indices must have an integer type, got {typeof(indices).dtype}")
    if mode == "raise":
        raise NotImplementedError(
            "The 'raise' mode to jnp.take is not supported; see checkify for index errors."
        )
    if mode not in (None, "fill", "wrap", "clip"):
        raise ValueError(f"Invalid mode '{mode}' for np.take")
    if axis is not None:
        axis = canonical_axis(axis, typeof(a).ndim)
    if isinstance(indices, np.ndarray):
        indices = held(indices, typeof(a).size if axis is None else typeof(a).shape[axis])
    return _take(
        a,
        indices,
        axis,
        mode,
        bool(unique_indices),
        bool(indices_are_sorted),
        fill_number(fill_value),
    )


@whole("axis", "mode", "fill_value", "wrap")
def _take_along_axis(
    arr: ArrayLike, indices: ArrayLike, axis: int, mode: Any, fill_value: Any, wrap: bool
) -> Array:
    """Axes in which both are long are batching axes; an index axis of length 1 takes all."""
    lengths, rows = typeof(arr).shape, typeof(indices).shape
    ndim = len(lengths)
    # An axis of length 1 that is broadcast against the indices is not a slice axis.
    gone = tuple(i for i in range(ndim) if i != axis and lengths[i] == 1 and rows[i] != 1)
    whole_axes = tuple(i for i in range(ndim) if i != axis and rows[i] == 1)
    paired = tuple(i for i in range(ndim) if i != axis and i not in gone and i not in whole_axes)
    for i in paired:
        if lengths[i] != rows[i]:
            raise ValueError(
                f"take_along_axis: axis {i} of the array {typeof(arr).str_short()} and of the "
                f"indices {typeof(indices).str_short()} must agree or be 1"
            )
    result = tuple(
        rows[i] if i == axis else max(lengths[i], rows[i]) if 0 not in (lengths[i], rows[i]) else 0
        for i in range(ndim)
    )
    if 0 in result:
        return zeros_as(arr, result)
    if lengths[axis] == 0:
        raise IndexError("take_along_axis: cannot take from an axis without elements")
    in_array = [i for i in range(ndim) if i not in gone]
    in_rows = [i for i in range(ndim) if i not in whole_axes]
    indices = from_front(indices, lengths[axis], wrap, index_dtype(indices, lengths[axis]))
    rows_shape = tuple(rows[i] for i in in_rows)
    indices = shape.reshape(indices, shape=(*rows_shape, 1))
    place = in_array.index(axis)
    dims = GatherDimensionNumbers(
        offset_dims=whole_axes,
        collapsed_slice_dims=(place,),
        start_index_map=(place,),
        operand_batching_dims=tuple(in_array.index(i) for i in paired),
        start_indices_batching_dims=tuple(in_rows.index(i) for i in paired),
    )
    if gone:
        arr = shape.squeeze(arr, gone)
    return indexing.gather(
        arr,
        indices,
        dimension_numbers=dims,
        slice_sizes=tuple(lengths[i] if i in whole_axes else 1 for i in in_array),
        mode=mode,
        fill_value=fill_value,
        indices_are_sorted=False,
        unique_indices=False,
    )


@moves_keys()
@whole("axis", "mode", "fill_value", "wrap_negative_indices", reads=True)
def take_along_axis(
    arr: ArrayLike,
    indices: ArrayLike,
    axis: int | None = -1,
    mode: Mode = None,
    fill_value: ArrayLike | None = None,
    *,
    wrap_negative_indices: bool | None = None,
) -> Array:
    """Return the elements of each vector along an axis at positions in a vector of the indices.

    Args:
      arr: the array.
      indices: integers; as many axes as the array, the others broadcast to its own.
      axis: the axis; None for the array read as a vector.
      mode: what a position outside gives: 'fill' (the default) `fill_value`, 'clip' the nearest.
      fill_value: by default NaN, or the extreme of an integer dtype.
      wrap_negative_indices: whether negative positions count from the end; if False they are
        outside.

    Raises:
      TypeError: for indices that are not integers.
      ValueError: where shapes don't fit.

    >>> import effax.numpy as jnp
    >>> x = jnp.array([[5, 3, 4], [2, 7, 6]])
    >>> jnp.take_along_axis(x, jnp.array([[1], [0]]), axis=1)
    Array([[3],
           [2]], dtype=int32)
    """
    check_arrays("take_along_axis", arr, indices)
    if not is_integer(typeof(indices).dtype):
        raise TypeError(
            f"take_along_axis indices must be of integer type, got {typeof(indices).dtype}"
        )
    arr, indices = array(arr), array(indices)
    ndim = typeof(indices).ndim
    if axis is None:
        if ndim != 1:
            raise ValueError(
                "take_along_axis indices must be 1D if axis=None, "
                f"got shape {typeof(indices).shape}"
            )
        arr, axis = _flat(arr), 0
    if ndim != typeof(arr).ndim:
        raise ValueError(
            "indices and arr must have the same number of dimensions; "
            f"{ndim} vs. {typeof(arr).ndim}"
        )
    wrap = wrap_negative_indices is not False
    return _take_along_axis(
        arr,
        indices,
        canonical_axis(axis, ndim),
        GatherScatterMode.from_any(mode),
        fill_number(fill_value),
        wrap,
    )


@whole()
def _flat(x: ArrayLike) -> Array:
    return shape.reshape(array(x), shape=(typeof(x).size,))


@whole("lengths")
def _unflat(x: Array, lengths: tuple[int, ...]) -> Array:
    return shape.reshape(x, shape=lengths)


def _refuse_inplace(name: str, inplace: bool) -> None:
    if inplace:
        raise ValueError(
            f"jnp.{name} cannot modify arrays in-place, because arrays of effax are immutable. "
            "Pass inplace=False to instead return an updated array."
        )


@moves_keys("arr", "values")
@whole("axis", "inplace", "mode")
def put_along_axis(
    arr: ArrayLike,
    indices: ArrayLike,
    values: ArrayLike,
    axis: int | None,
    inplace: bool = True,
    *,
    mode: Mode = None,
) -> Array:
    """Return a copy with values put where `take_along_axis` would take them.

    Args:
      arr: array_like.
      indices: array_like of integers, with as many axes as `arr`.
      values: array_like, broadcast to the shape of `indices`.
      axis: the axis; None for the flattened array. Negative ones count from the end.
      inplace: must be False: effax arrays are immutable, and the result is a new array.
      mode: the treatment of positions outside, as for `.at[...]`; by default they are dropped.

    Raises:
      ValueError: unless `inplace=False` is given, and where shapes don't fit.

    >>> import effax.numpy as jnp
    >>> x = jnp.array([[10, 30, 20], [60, 40, 50]])
    >>> jnp.put_along_axis(x, jnp.array([[1], [0]]), 99, axis=1, inplace=False)
    Array([[10, 99, 20],
           [99, 40, 50]], dtype=int32)
    """
    _refuse_inplace("put_along_axis", inplace)
    check_arrays("put_along_axis", arr, indices, values)
    lengths = typeof(arr).shape
    arr = array(arr)
    if axis is None:
        arr, axis = _flat(arr), 0
    type, rows = typeof(arr), typeof(indices).shape
    if type.ndim != len(rows):
        raise ValueError(
            "put_along_axis arguments 'arr' and 'indices' must have same ndim. Got "
            f"arr.ndim={type.ndim} and indices.ndim={len(rows)}."
        )
    given = typeof(values).shape
    if common_shape(given, rows) != rows:
        raise ValueError(
            "put_along_axis argument 'values' must be broadcastable to 'indices'. Got "
            f"values.shape={given} and indices.shape={rows}."
        )
    at = canonical_axis(axis, type.ndim)
    open_mesh: list[Any] = list(np.indices(type.shape, dtype=np.int32, sparse=True))
    open_mesh[at] = indices
    updated = update(arr, tuple(open_mesh), _spread(values, rows), "set", mode=mode)
    return updated if type.shape == lengths else _unflat(updated, lengths)


@whole("lengths")
def _spread(values: ArrayLike, lengths: tuple[int, ...]) -> Array:
    return broadcast(array(values), lengths)


@whole("size")
def _tiled(values: Array, size: int) -> Array:
    """A vector repeated, or cut, to that size."""
    n = typeof(values).size
    if n < size:
        values = shape.concatenate(*[values] * -(-size // n), axis=0)
    return shape.slice_axis(values, 0, 0, size)


@whole("mode", "inplace")
def put(
    a: ArrayLike, ind: ArrayLike, v: ArrayLike, mode: str | None = None, *, inplace: bool = True
) -> Array:
    """Return a copy with values put at positions of the flattened array.

    Args:
      a: array_like.
      ind: array_like of integers, the positions.
      v: array_like, the values: repeated or cut to the number of positions.
      mode: "clip" moves positions outside to the nearest, negative ones to the first, and "wrap"
        counts round; by default negative positions count from the end, and others outside are moved
        to the nearest.
      inplace: must be False: effax arrays are immutable, and the result is a new array.

    Raises:
      ValueError: unless `inplace=False` is given, and for an unknown mode.

    >>> import effax.numpy as jnp
    >>> jnp.put(jnp.zeros(5, int), jnp.array([0, 2]), jnp.array([10, 20]), inplace=False)
    Array([10,  0, 20,  0,  0], dtype=int32)
    """
    from effax.numpy.choosing import clip

    _refuse_inplace("put", inplace)
    check_arrays("put", a, ind, v)
    type = typeof(a)
    if mode == "raise":
        raise NotImplementedError("The 'raise' mode to jnp.put is not supported.")
    if mode not in (None, "clip", "wrap"):
        raise ValueError(f"mode should be one of 'wrap' or 'clip'; got {mode=}")
    if not type.size or not typeof(ind).size or not typeof(v).size:
        return array(a)
    if not _counts(typeof(ind).dtype):
        raise TypeError(f"put: ind must be integers, got {typeof(ind).dtype}")
    places, values = _flat(ind), _tiled(_flat(v), typeof(ind).size)
    if mode == "wrap":
        places = _wrapped(places, type.size)
    else:  # counted in a wide dtype: eight bits may not hold the size
        places = from_front(places, type.size, mode is None, index_dtype(places, type.size))
        places = clip(places, 0, type.size - 1)
    return _unflat(update(_flat(a), places, values, "set", mode="drop"), type.shape)


@whole("inplace")
def place(arr: ArrayLike, mask: ArrayLike, vals: ArrayLike, *, inplace: bool = True) -> Array:
    """Return a copy with values, in order and repeated, put where a mask is true.

    Args:
      arr: array_like.
      mask: array_like, of as many elements as `arr`; of numbers, those other than 0 are true.
      vals: array_like, the values, at least one.
      inplace: must be False: effax arrays are immutable, and the result is a new array.

    Raises:
      ValueError: unless `inplace=False` is given, where sizes differ, and without values.

    >>> import effax.numpy as jnp
    >>> jnp.place(jnp.zeros(5, int), jnp.arange(5) > 2, jnp.array([1, 2]), inplace=False)
    Array([0, 0, 0, 1, 2], dtype=int32)
    """
    _refuse_inplace("place", inplace)
    check_arrays("place", arr, mask, vals)
    type = typeof(arr)
    if type.size != typeof(mask).size:
        raise ValueError("place: arr and mask must be the same size")
    if not typeof(vals).size:
        raise ValueError("Cannot place values from an empty array")
    if not type.size:
        return array(arr)
    from effax.numpy.searching import nonzero

    (places,) = nonzero(_flat(mask), size=type.size, fill_value=type.size)
    values = _tiled(_flat(vals), type.size)
    return _unflat(update(_flat(arr), places, values, "set", mode="drop"), type.shape)
