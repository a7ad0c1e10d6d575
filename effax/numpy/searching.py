"""Searching: the places of elements that are true, and the elements there.

How many there are depends on values. Outside transforms they are counted first; inside one the
caller says by `size` how long the result is to be.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from effax.eager.whole import whole
from effax.effects.errors import ConcretizationTypeError
from effax.effects.handler import Carrier
from effax.effects.rows import comparison, cumulative, elementwise, indexing, selection, shape
from effax.effects.types import default_position_dtype, position_dtype, typeof
from effax.effects.value import Array, ArrayLike, greatest
from effax.keys.decorators import moves_keys
from effax.numpy.joining import stack
from effax.numpy.manipulation import ravel
from effax.numpy.reductions import sum, truth
from effax.operands.arguments import (
    broadcast,
    canonical_axis,
    cast,
    check_arrays,
    combine,
    concrete_int,
    number_of_elements,
    pick,
    shape_of,
)
from effax.operands.promoting import positions_array, promote_dtypes


def known_count(name: str, number: Any, size: Any) -> int:
    """Return the length of a result: the caller's, or the number counted if that is known.

    Raises `ConcretizationTypeError` where it is neither.
    """
    if size is not None:
        return concrete_int(size, f"the size argument of {name}")
    if isinstance(number, Carrier):
        or_where = ", or use jnp.where with three arguments" if name in _OF_MASKS else ""
        raise ConcretizationTypeError(
            f"The size argument of jnp.{name} must be statically specified to use jnp.{name} "
            "within transformations: how many elements there are, and so the shape of the result, "
            f"depends on values that are not known. Write jnp.{name}(..., size=n)"
            f"{or_where}. {number.why_unknown()}"
        )
    return int(number)


_OF_MASKS = frozenset(["where", "nonzero", "argwhere", "flatnonzero", "extract", "compress"])
"""Functions that select by a mask, which jnp.where with three arguments may replace."""


@whole("size")
def places(mask: Any, size: int, fill: Any = 0) -> Any:
    """The first `size` positions in a vector that are true, then `fill`."""
    n = shape_of(mask)[0]
    kind = default_position_dtype(n)
    before = cumulative.cumsum(cast(mask, kind), axis=0, reverse=False)
    target = selection.select_n(mask, shape.full((n,), size, kind), elementwise.sub(before, 1))
    return indexing.scatter(
        broadcast(cast(fill, kind), (size,)),
        shape.expand_dims(target, (1,)),
        shape.iota(dtype=kind, shape=(n,), dimension=0),
        dimension_numbers=indexing.ScatterDimensionNumbers((), (0,), (0,)),
        mode=indexing.GatherScatterMode.FILL_OR_DROP,
        indices_are_sorted=False,
        unique_indices=False,
    )


@whole()
def _mask(a: Any) -> tuple[Any, Any]:
    """Whether each element is other than zero, in a vector; and how many are."""
    mask = nonzero_mask(a)
    return ravel(mask), sum(mask)


def nonzero_mask(a: Any) -> Any:
    """Whether each element is other than zero."""
    type = typeof(a)
    if type.dtype == np.bool_:
        return a
    return comparison.ne(a, shape.full(type.shape, 0, type.dtype))


@whole("size", given="size")
def nonzero(
    a: ArrayLike,
    *,
    size: int | None = None,
    fill_value: ArrayLike | tuple[ArrayLike, ...] | None = None,
) -> tuple[Array, ...]:
    """Return the positions of the elements that are not zero, one vector for each axis.

    Args:
      a: array_like of at least one axis.
      size: the length of each vector: cut there, or filled up. Under a transform it is needed.
      fill_value: the position to fill up with, or one for each axis; by default 0.

    >>> [x.tolist() for x in nonzero(np.array([[0, 3], [4, 0]]))]
    [[0, 1], [1, 0]]
    """
    check_arrays("nonzero", a)
    lengths = shape_of(a)
    if not lengths:
        raise ValueError(
            "Calling nonzero on 0d arrays is not allowed. "
            "Use jnp.atleast_1d(scalar).nonzero() instead."
        )
    if isinstance(fill_value, list | tuple):
        if len(fill_value) != len(lengths):
            raise ValueError(
                f"fill_value must be a scalar or have one entry for each of {len(lengths)} axes"
            )
        fills: Sequence[Any] = fill_value
    else:
        fills = [0 if fill_value is None else fill_value] * len(lengths)
    if position_dtype(typeof(a).size) != position_dtype() and not isinstance(a, Carrier):
        return _counted_by_numpy(a, fills, size)
    mask, number = _mask(a)
    count = known_count("nonzero", number, size)
    return tuple(_unravelled(mask, number, tuple(fills), lengths, count))


def _counted_by_numpy(a: Any, fills: Sequence[Any], size: int | None) -> tuple[Any, ...]:
    """The same of so many elements that 64 bits count them: XLA would need 16 bytes for each."""
    found = np.asarray(a).nonzero()
    if size is not None:
        rest = max(0, size - len(found[0]))
        found = tuple(
            np.pad(x[:size], (0, rest), constant_values=fill)
            for x, fill in zip(found, fills, strict=True)
        )
    return tuple(map(positions_array, found, shape_of(a)))


@whole("lengths", "size")
def _unravelled(
    mask: Any, number: Any, fills: Sequence[Any], lengths: tuple[int, ...], size: int
) -> list[Any]:
    flat = places(mask, size)
    kind = typeof(flat).dtype
    there = comparison.lt(
        shape.iota(dtype=kind, shape=(size,), dimension=0), broadcast(cast(number, kind), (size,))
    )
    results, stride = [], 1
    for n, fill in zip(reversed(lengths), reversed(fills), strict=True):
        stride, n = greatest(stride, 1), greatest(n, 1)
        position = combine(elementwise.div, flat, number_of_elements(stride, kind))
        position = combine(elementwise.rem, position, number_of_elements(n, kind))
        # Where nothing is found room for, no fill promotes the places.
        padding, position = promote_dtypes(fill if size else 0, position)
        padding = broadcast(padding, (size,))
        results.append(selection.select_n(there, padding, position))
        stride *= n
    return results[::-1]


@whole("size", given="size")
def flatnonzero(
    a: ArrayLike,
    *,
    size: int | None = None,
    fill_value: ArrayLike | tuple[ArrayLike, ...] | None = None,
) -> Array:
    """Return the positions of the elements that are not zero, in the flattened array.

    Args:
      a: array_like.
      size: the length of the result: cut there, or filled up. Under a transform it is needed.
      fill_value: the position to fill up with; by default 0.

    >>> flatnonzero(np.array([[0, 3], [4, 0]])).tolist()
    [1, 2]
    """
    check_arrays("flatnonzero", a)
    return nonzero(ravel(a), size=size, fill_value=fill_value)[0]


@whole("size", given="size")
def argwhere(
    a: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> Array:
    """Return the positions of the elements that are not zero, one row for each.

    Args:
      a: array_like.
      size: the number of rows: cut there, or filled up. Under a transform it is needed.
      fill_value: the position to fill up with; by default 0.

    >>> argwhere(np.array([[0, 3], [4, 0]])).tolist()
    [[0, 1], [1, 0]]
    """
    check_arrays("argwhere", a)
    if not shape_of(a):
        rows = nonzero(shape.reshape(a, shape=(1,)), size=size, fill_value=fill_value)[0]
        return shape.slice_axis(shape.reshape(rows, shape=(*shape_of(rows), 1)), 1, 0, 0)
    return stack(list(nonzero(a, size=size, fill_value=fill_value)), axis=1)


@moves_keys("arr")
@whole("size", given="size")
def extract(
    condition: ArrayLike, arr: ArrayLike, *, size: int | None = None, fill_value: ArrayLike = 0
) -> Array:
    """Return the elements where a condition is true, in a vector.

    Args:
      condition: array_like, flattened; read as by `any`.
      arr: array_like, flattened.
      size: the length of the result: cut there, or filled up. Under a transform it is needed.
      fill_value: the element to fill up with.

    >>> extract(np.array([True, False, True]), np.array([1, 2, 3])).tolist()
    [1, 3]
    """
    check_arrays("extract", condition, arr)
    return compress(ravel(condition), ravel(arr), size=size, fill_value=fill_value)


@moves_keys("a")
@whole("axis", "out", "size", given="size")
def compress(
    condition: ArrayLike,
    a: ArrayLike,
    axis: int | None = None,
    out: None = None,
    *,
    size: int | None = None,
    fill_value: ArrayLike = 0,
) -> Array:
    """Return the slices along an axis where a vector of conditions is true.

    Args:
      condition: array_like, a vector, which may be shorter than the axis; read as by `any`.
      a: array_like.
      axis: the axis; None for the flattened array. Negative ones count from the end.
      out: must be None: arrays can't be written to.
      size: the number of slices: cut there, or filled up. Under a transform it is needed.
      fill_value: the element to fill up with.

    >>> compress(np.array([False, True]), np.array([[1, 2], [3, 4]]), axis=0).tolist()
    [[3, 4]]
    """
    from effax.operands.arguments import refuse_out

    refuse_out("compress", out)
    check_arrays("compress", condition, a)
    if len(shape_of(condition)) != 1:
        raise ValueError("condition must be a 1D array")
    if axis is None:
        a, axis = ravel(a), 0
    axis = canonical_axis(axis, len(shape_of(a)))
    return _compressed(condition, a, axis, size, fill_value)


def _compressed(condition: Any, a: Any, axis: int, size: Any, fill_value: Any) -> Any:
    n, m = shape_of(a)[axis], shape_of(condition)[0]
    mask, number = _mask(truth(condition))
    if m > n:
        extra = shape.slice_axis(mask, 0, n, m)
        if not isinstance(extra, Carrier) and np.asarray(extra).any():
            raise ValueError("condition contains entries that are out of bounds")
        mask, number = _mask(shape.slice_axis(mask, 0, 0, n))
    elif m < n:
        a = shape.slice_axis(a, axis, 0, m)
    count = known_count("compress", number, size)
    if count > shape_of(a)[axis]:
        raise ValueError(
            f"size must not be greater than the array's axis; got {size=} for {shape_of(a)[axis]}"
        )
    if size is None:
        return pick(a, places(mask, count), axis)
    return _slices(a, mask, number, fill_value, axis, count)


@whole("axis", "size")
def _slices(a: Any, mask: Any, number: Any, fill: Any, axis: int, size: int) -> Any:
    taken = pick(a, places(mask, size), axis)
    type = typeof(taken)
    there = comparison.lt(
        shape.iota(dtype=position_dtype(size), shape=type.shape, dimension=axis),
        broadcast(cast(number, position_dtype(size)), type.shape),
    )
    return selection.select_n(there, broadcast(cast(fill, type.dtype), type.shape), taken)
