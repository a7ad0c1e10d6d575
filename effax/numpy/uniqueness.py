"""The different elements of an array."""

from __future__ import annotations

from math import prod
from typing import Any, Literal, NamedTuple, overload

import numpy as np

from effax.eager.whole import whole
from effax.effects.rows import (
    comparison,
    cumulative,
    elementwise,
    indexing,
    logical,
    selection,
    shape,
)
from effax.effects.rows.sorting import sort
from effax.effects.types import default_int, is_complex, is_inexact, typeof
from effax.effects.value import Array, ArrayLike
from effax.numpy.manipulation import moveaxis, ravel, reshape_values
from effax.numpy.reductions import sum
from effax.numpy.searching import known_count, places
from effax.operands.arguments import (
    broadcast,
    canonical_axis,
    cast,
    check_arrays,
    pick,
    shape_of,
    strong,
)


class UniqueAll(NamedTuple):
    """The results of `unique_all`."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCounts(NamedTuple):
    """The results of `unique_counts`."""

    values: Any
    counts: Any


class UniqueInverse(NamedTuple):
    """The results of `unique_inverse`."""

    values: Any
    inverse_indices: Any


@whole("equal_nan")
def in_order(rows: Any, equal_nan: bool) -> tuple[Any, Any, Any, Any]:
    """Rows in lexicographic order, which of them are new, how many are, and where rows were."""
    n, width = shape_of(rows)
    # Complex NaNs sort by their parts, far apart, so make all of them alike.
    if is_complex(typeof(rows).dtype):
        type = typeof(rows)
        rows = selection.select_n(
            comparison.ne(rows, rows), strong(rows), shape.full(type.shape, np.nan, type.dtype)
        )
    positions = shape.iota(dtype=default_int(), shape=(n,), dimension=0)
    if width == 0 or n == 0:
        new = comparison.lt(positions, 1)
        return rows, new, sum(new), positions
    columns = [shape.squeeze(shape.slice_axis(rows, 1, i, i + 1), (1,)) for i in range(width)]
    *columns, order = sort(*columns, positions, dimension=0, is_stable=True, num_keys=width)
    differs = None
    for c in columns:
        here, there = shape.slice_axis(c, 0, 1, n), shape.slice_axis(c, 0, 0, n - 1)
        other = comparison.ne(here, there)
        if equal_nan and is_inexact(typeof(c).dtype):
            both_nan = logical.and_(comparison.ne(here, here), comparison.ne(there, there))
            other = logical.and_(other, logical.not_(both_nan))
        differs = other if differs is None else logical.or_(differs, other)
    new = shape.concatenate(shape.full((1,), True, "bool"), differs, axis=0)
    ordered = shape.concatenate(*(shape.expand_dims(c, (1,)) for c in columns), axis=1)
    return ordered, new, sum(new), order


@whole("size", "inverse", "counts")
def _collected(
    ordered: Any,
    new: Any,
    number: Any,
    order: Any,
    fill: Any,
    size: int,
    inverse: bool,
    counts: bool,
) -> tuple[Any, Any, Any, Any]:
    """The new rows, filled up to `size`; where each was first; which each row is; how often."""
    n, width = shape_of(ordered)
    if not n and size and fill is None:
        raise ValueError(
            "unique: the array is empty, so size needs a fill_value to fill the result with"
        )
    kind = default_int()
    first = places(new, size)
    there = comparison.lt(
        shape.iota(dtype=kind, shape=(size,), dimension=0), broadcast(number, (size,))
    )
    if n:
        values = pick(ordered, first, 0)
        if fill is None:
            padding = broadcast(shape.slice_axis(ordered, 0, 0, 1), (size, width))
        else:
            # A fill value may be one number, or one for each element of a row.
            padding = broadcast(ravel(cast(fill, typeof(ordered).dtype)), (size, width))
        mask = shape.broadcast_in_dim(there, shape=(size, width), dims=(0,))
        values = selection.select_n(mask, padding, values)
        indices = pick(order, first, 0)
    else:
        padding = cast(0 if fill is None else fill, typeof(ordered).dtype)
        values = broadcast(padding, (size, width))
        indices = first
    which = how_often = None
    if inverse:
        rank = elementwise.sub(cumulative.cumsum(cast(new, kind), axis=0, reverse=False), 1)
        which = indexing.scatter(
            shape.full((n,), 0, kind),
            shape.expand_dims(order, (1,)),
            rank,
            dimension_numbers=indexing.ScatterDimensionNumbers((), (0,), (0,)),
            mode=indexing.GatherScatterMode.FILL_OR_DROP,
            indices_are_sorted=False,
            unique_indices=True,
        )
    if counts:
        starts = places(new, size + 1, n)
        ends = shape.slice_axis(starts, 0, 1, size + 1)
        how_often = elementwise.sub(ends, shape.slice_axis(starts, 0, 0, size))
    return values, indices, which, how_often


@overload
def unique(
    ar: ArrayLike,
    return_index: Literal[False] = ...,
    return_inverse: Literal[False] = ...,
    return_counts: Literal[False] = ...,
    axis: int | None = ...,
    *,
    equal_nan: bool = ...,
    size: int | None = ...,
    fill_value: ArrayLike | None = ...,
    sorted: bool = ...,
) -> Array: ...


@overload
def unique(
    ar: ArrayLike,
    *,
    return_index: Literal[True],
    return_inverse: Literal[False] = ...,
    return_counts: Literal[False] = ...,
    axis: int | None = ...,
    equal_nan: bool = ...,
    size: int | None = ...,
    fill_value: ArrayLike | None = ...,
    sorted: bool = ...,
) -> tuple[Array, Array]: ...


@overload
def unique(
    ar: ArrayLike,
    return_index: Literal[False] = ...,
    *,
    return_inverse: Literal[True],
    return_counts: Literal[False] = ...,
    axis: int | None = ...,
    equal_nan: bool = ...,
    size: int | None = ...,
    fill_value: ArrayLike | None = ...,
    sorted: bool = ...,
) -> tuple[Array, Array]: ...


@overload
def unique(
    ar: ArrayLike,
    return_index: Literal[False] = ...,
    return_inverse: Literal[False] = ...,
    *,
    return_counts: Literal[True],
    axis: int | None = ...,
    equal_nan: bool = ...,
    size: int | None = ...,
    fill_value: ArrayLike | None = ...,
    sorted: bool = ...,
) -> tuple[Array, Array]: ...


@overload
def unique(
    ar: ArrayLike,
    *,
    return_index: Literal[True],
    return_inverse: Literal[True],
    return_counts: Literal[True],
    axis: int | None = ...,
    equal_nan: bool = ...,
    size: int | None = ...,
    fill_value: ArrayLike | None = ...,
    sorted: bool = ...,
) -> tuple[Array, Array, Array, Array]: ...


@overload
def unique(
    ar: ArrayLike,
    return_index: bool = ...,
    return_inverse: bool = ...,
    return_counts: bool = ...,
    axis: int | None = ...,
    *,
    equal_nan: bool = ...,
    size: int | None = ...,
    fill_value: ArrayLike | None = ...,
    sorted: bool = ...,
) -> Array | tuple[Array, ...]: ...


@whole(
    *("return_index", "return_inverse", "return_counts", "axis", "equal_nan", "size", "sorted"),
    given="size",
)
def unique(
    ar: ArrayLike,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
    sorted: bool = True,
) -> Array | tuple[Array, ...]:
    """Return the different elements, or slices along an axis, in order.

    Args:
      ar: array_like.
      return_index: whether to return also the first position of each of them.
      return_inverse: whether to return also the place in the result of every element of `ar`.
      return_counts: whether to return also how often each of them occurs.
      axis: the axis of slices to compare; None for the elements of the flattened array.
      equal_nan: whether all NaN are one element.
      size: the length of the result: cut there, or filled up. Under a transform it is needed.
      fill_value: the element to fill up with; by default the smallest.
      sorted: ignored; the result is always sorted.

    >>> import numpy as np
    >>> unique(np.array([3, 1, 3])).tolist()
    [1, 3]
    """
    check_arrays("unique", ar)
    lengths = shape_of(ar)
    if axis is None:
        rows: Any = reshape_values(ar, (prod(lengths), 1))
        tail: tuple[int, ...] = ()
    else:
        axis = canonical_axis(axis, len(lengths))
        turned = moveaxis(ar, axis, 0)
        tail = shape_of(turned)[1:]
        rows = reshape_values(turned, (lengths[axis], prod(tail)))
    ordered, new, number, order = in_order(rows, equal_nan)
    count = known_count("unique", number, size)
    values, indices, which, how_often = _collected(
        ordered, new, number, order, fill_value, count, return_inverse, return_counts
    )
    values = reshape_values(values, (count, *tail))
    if axis is not None:
        values = moveaxis(values, 0, axis)
    results = [values]
    if return_index:
        results.append(indices)
    if return_inverse:
        results.append(reshape_values(which, lengths) if axis is None else which)
    if return_counts:
        results.append(how_often)
    return results[0] if len(results) == 1 else tuple(results)


@whole("size", given="size")
def unique_all(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> UniqueAll:
    """Return the different elements, their first positions, every element's place, and the counts.

    Args:
      x: array_like, flattened; each NaN is an element of its own.
      size: the length of the result: cut there, or filled up. Under a transform it is needed.
      fill_value: the element to fill up with; by default the smallest.

    >>> import numpy as np
    >>> unique_all(np.array([3, 1, 3])).counts.tolist()
    [1, 2]
    """
    check_arrays("unique_all", x)
    return UniqueAll(
        *unique(x, True, True, True, equal_nan=False, size=size, fill_value=fill_value)
    )


@whole("size", given="size")
def unique_counts(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> UniqueCounts:
    """Return the different elements, and how often each occurs.

    Args:
      x: array_like, flattened; each NaN is an element of its own.
      size: the length of the result: cut there, or filled up. Under a transform it is needed.
      fill_value: the element to fill up with; by default the smallest.

    >>> import numpy as np
    >>> unique_counts(np.array([3, 1, 3])).values.tolist()
    [1, 3]
    """
    check_arrays("unique_counts", x)
    return UniqueCounts(
        *unique(x, return_counts=True, equal_nan=False, size=size, fill_value=fill_value)
    )


@whole("size", given="size")
def unique_inverse(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> UniqueInverse:
    """Return the different elements, and every element's place among them.

    Args:
      x: array_like, flattened; each NaN is an element of its own.
      size: the length of the result: cut there, or filled up. Under a transform it is needed.
      fill_value: the element to fill up with; by default the smallest.

    >>> import numpy as np
    >>> unique_inverse(np.array([3, 1, 3])).inverse_indices.tolist()
    [1, 0, 1]
    """
    check_arrays("unique_inverse", x)
    return UniqueInverse(
        *unique(x, return_inverse=True, equal_nan=False, size=size, fill_value=fill_value)
    )


@whole("size", given="size")
def unique_values(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> Array:
    """Return the different elements.

    Args:
      x: array_like, flattened; each NaN is an element of its own.
      size: the length of the result: cut there, or filled up. Under a transform it is needed.
      fill_value: the element to fill up with; by default the smallest.

    >>> import numpy as np
    >>> unique_values(np.array([3, 1, 3])).tolist()
    [1, 3]
    """
    check_arrays("unique_values", x)
    return unique(x, equal_nan=False, size=size, fill_value=fill_value)
