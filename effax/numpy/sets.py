"""Sets: the different elements of arrays, and what arrays have in common."""

from __future__ import annotations

from math import prod
from typing import Any, Literal, overload

from effax.eager.whole import whole
from effax.effects.rows import comparison, elementwise, logical, selection, shape
from effax.effects.rows.sorting import sort
from effax.effects.types import bool_, int32, is_complex, is_inexact, typeof
from effax.effects.value import Array, ArrayLike, greatest, is_symbolic_length, smallest, surely
from effax.numpy.joining import concatenate
from effax.numpy.manipulation import ravel, reshape_values
from effax.numpy.reductions import sum
from effax.numpy.searching import known_count, places
from effax.numpy.sorting import searchsorted
from effax.numpy.uniqueness import in_order, unique
from effax.operands.arguments import (
    broadcast,
    cast,
    check_arrays,
    pick,
    shape_of,
    strong,
)
from effax.operands.promoting import may_be_beyond, promote_dtypes


@whole("size", given="size")
def union1d(
    ar1: ArrayLike, ar2: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> Array:
    """Return the different elements of two arrays, in order.

    Args:
      ar1, ar2: array_like, flattened.
      size: the length of the result: cut there, or filled up. Under a transform it is needed.
      fill_value: the element to fill up with; by default the smallest.

    >>> import numpy as np
    >>> union1d(np.array([1, 2]), np.array([2, 3])).tolist()
    [1, 2, 3]
    """
    check_arrays("union1d", ar1, ar2)
    both = concatenate([ravel(ar1), ravel(ar2)])
    return unique(both, size=size, fill_value=fill_value)


@whole("invert", "method")
def isin(
    element: ArrayLike,
    test_elements: ArrayLike,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    method: str = "auto",
) -> Array:
    """Return whether each element is among others; NaN is not.

    Args:
      element: array_like; the result has its shape.
      test_elements: array_like, the others.
      assume_unique: ignored; the result is the same.
      invert: whether to return the opposite: whether each element is not among the others.
      method: "compare_all", "binary_search", "sort", or "auto" to choose. The result is the same.

    >>> import numpy as np
    >>> isin(np.array([1, 2, 3]), np.array([2])).tolist()
    [False, True, False]
    """
    check_arrays("isin", element, test_elements)
    if method not in ("auto", "compare_all", "binary_search", "sort"):
        raise ValueError(
            f"invalid method={method!r}; expected one of "
            "['auto', 'compare_all', 'binary_search', 'sort']"
        )
    others = ravel(test_elements)
    if may_be_beyond(others, element):
        others = strong(others)  # so that 300 is not taken for 44 among uint8
    x, others = promote_dtypes(element, others)
    n, m = prod(shape_of(x)), shape_of(others)[0]
    if n == 0 or m == 0:
        return shape.full(shape_of(x), invert, "bool")
    # Of a symbolic length that may be 0 there may be nothing to search.
    few = not surely(lambda: m >= 1) if is_symbolic_length(m) else m < 64
    if method == "compare_all" or (method == "auto" and (few or is_complex(typeof(x).dtype))):
        found = _among_all(x, others)
    else:
        (ordered,) = sort(others, dimension=0, is_stable=True, num_keys=1)
        near = searchsorted(ordered, x, method="scan")
        found = comparison.eq(pick(ordered, near, 0), x)
    return strong(logical.not_(found) if invert else found)


def _among_all(x: Any, others: Any) -> Any:
    from effax.effects.rows.reduction import reduce_or

    lengths, m = shape_of(x), shape_of(others)[0]
    table = (*lengths, m)
    one = shape.broadcast_in_dim(x, shape=table, dims=tuple(range(len(lengths))))
    other = shape.broadcast_in_dim(others, shape=table, dims=(len(lengths),))
    return reduce_or(comparison.eq(one, other), axes=(len(lengths),))


def _chosen(values: Any, mask: Any, size: Any, fill_value: Any, name: str) -> Any:
    """The elements where a mask is true, filled up with `fill_value`, or with the first of them,
    0 if there are none."""
    number = sum(mask)
    count = known_count(name, number, size)
    if not shape_of(values)[0]:
        filler, values = promote_dtypes(0 if fill_value is None else fill_value, values)
        weak = typeof(filler).weak_type and typeof(values).weak_type
        return broadcast(cast(filler, typeof(filler).dtype, weak), (count,))
    return _filled(values, mask, number, fill_value, count)


@whole("size")
def _filled(values: Any, mask: Any, number: Any, fill: Any, size: int) -> Any:
    found = places(mask, size)
    taken = pick(values, found, 0)
    there = comparison.lt(
        shape.iota(dtype=int32, shape=(size,), dimension=0), broadcast(cast(number, int32), (size,))
    )
    if fill is None:
        if not size:
            return taken
        first = shape.slice_axis(there, 0, 0, 1), shape.slice_axis(taken, 0, 0, 1)
        nothing = shape.full((1,), 0, typeof(taken).dtype)
        padding = broadcast(selection.select_n(first[0], nothing, first[1]), (size,))
    else:
        fill, taken = promote_dtypes(fill, taken)
        padding = broadcast(fill, (size,))
    return selection.select_n(there, padding, taken)


@whole("assume_unique", "size", given="size")
def setdiff1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array:
    """Return the different elements of one array that are not in another, in order.

    Args:
      ar1, ar2: array_like, flattened.
      assume_unique: whether to keep the elements of `ar1` as they are, not sorted and with any
        repetitions.
      size: the length of the result: cut there, or filled up. Under a transform it is needed.
      fill_value: the element to fill up with; by default 0.

    >>> import numpy as np
    >>> setdiff1d(np.array([3, 2, 1]), np.array([2])).tolist()
    [1, 3]
    """
    check_arrays("setdiff1d", ar1, ar2)
    values = ravel(ar1)
    given = typeof(values)
    weak = given.weak_type and fill_value is None
    fill_value = 0 if fill_value is None else fill_value
    if assume_unique:
        mask = isin(values, ar2, invert=True)
    else:
        ordered, new, _, _ = in_order(reshape_values(values, (-1, 1)), True)
        values = ravel(ordered)
        mask = _both(new, isin(values, ar2, invert=True))
    result = _chosen(values, mask, size, fill_value, "setdiff1d")
    return cast(result, given.dtype, weak)


@whole()
def _both(one: Any, other: Any) -> Any:
    return logical.and_(one, other)


@whole("assume_unique", "size", given="size")
def setxor1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array:
    """Return the elements that are in just one of two arrays, in order.

    Args:
      ar1, ar2: array_like, flattened.
      assume_unique: whether neither array has an element twice; those that come twice in all are
        then left out without asking in which array they are.
      size: the length of the result: cut there, or filled up. Under a transform it is needed.
      fill_value: the element to fill up with; by default the first of the result, or 0.

    >>> import numpy as np
    >>> setxor1d(np.array([1, 2]), np.array([2, 3])).tolist()
    [1, 3]
    """
    check_arrays("setxor1d", ar1, ar2)
    values, mask = (_lone_ones if assume_unique else _odd_ones)(ravel(ar1), ravel(ar2))
    return _chosen(values if size is None else strong(values), mask, size, fill_value, "setxor1d")


@whole()
def _lone_ones(one: Any, other: Any) -> tuple[Any, Any]:
    """All elements in order; true where one differs from both of its neighbours."""
    one, other = promote_dtypes(one, other)
    both = shape.concatenate(one, other, axis=0)
    (values,) = sort(both, dimension=0, is_stable=True, num_keys=1)
    n = shape_of(values)[0]
    edge = shape.full((smallest(n, 1),), True, bool_)
    starts, pairs = (0, smallest(n, 1)), greatest(n - 1, 0)
    left, right = (shape.slice_axis(values, 0, i, pairs + i) for i in starts)
    differs = shape.concatenate(edge, comparison.ne(left, right), edge, axis=0)
    before, after = (shape.slice_axis(differs, 0, i, n + i) for i in starts)
    return values, logical.and_(before, after)


@whole()
def _odd_ones(one: Any, other: Any) -> tuple[Any, Any]:
    """All elements in order; true where one is the first of its kind and is in one array only.

    A NaN is in its array only, one for each array that has any, as NumPy has it.
    """
    one, other = promote_dtypes(one, other)
    n, m = shape_of(one)[0], shape_of(other)[0]
    source = shape.concatenate(shape.full((n,), 0, int32), shape.full((m,), 1, int32), axis=0)
    both = shape.concatenate(one, other, axis=0)
    values, source = sort(both, source, dimension=0, is_stable=True, num_keys=1)
    first = searchsorted(values, values, side="left")
    last = elementwise.sub(searchsorted(values, values, side="right"), 1)
    same = comparison.eq(pick(source, first, 0), pick(source, last, 0))
    positions = shape.iota(dtype=int32, shape=(n + m,), dimension=0)
    is_first = comparison.eq(first, positions)
    mask = logical.and_(same, is_first)
    if is_inexact(typeof(values).dtype):
        before = pick(source, elementwise.max(elementwise.sub(positions, 1), 0), 0)
        of_its_array = logical.or_(is_first, comparison.ne(source, before))
        mask = logical.or_(mask, logical.and_(comparison.ne(values, values), of_its_array))
    return values, mask


@overload
def intersect1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = ...,
    return_indices: Literal[False] = ...,
    *,
    size: int | None = ...,
    fill_value: ArrayLike | None = ...,
) -> Array: ...
@overload
def intersect1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = ...,
    *,
    return_indices: Literal[True],
    size: int | None = ...,
    fill_value: ArrayLike | None = ...,
) -> tuple[Array, Array, Array]: ...
@overload
def intersect1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = ...,
    return_indices: bool = ...,
    *,
    size: int | None = ...,
    fill_value: ArrayLike | None = ...,
) -> Array | tuple[Array, Array, Array]: ...
@whole("assume_unique", "return_indices", "size", given="size")
def intersect1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    return_indices: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array | tuple[Array, Array, Array]:
    """Return the different elements that are in both arrays, in order.

    Args:
      ar1, ar2: array_like, flattened.
      assume_unique: ignored; the result is the same.
      return_indices: whether to return also the first position of each element in either array.
      size: the length of the result: cut there, or filled up. Under a transform it is needed.
      fill_value: the element to fill up with; by default the first of the result, or 0. Positions
        are filled up with the length of the array.

    >>> import numpy as np
    >>> intersect1d(np.array([3, 1, 2]), np.array([2, 3])).tolist()
    [2, 3]
    """
    check_arrays("intersect1d", ar1, ar2)
    one, other = promote_dtypes(ravel(ar1), ravel(ar2))
    both_weak = typeof(one).weak_type and typeof(other).weak_type
    ordered, new, _, order = in_order(reshape_values(one, (-1, 1)), True)
    values = ravel(ordered)
    mask = _both(new, isin(values, other))
    number = sum(mask)
    count = known_count("intersect1d", number, size)
    result = _chosen(values, mask, count, fill_value, "intersect1d")
    weak = size is None and shape_of(other)[0] > 0 and both_weak
    if fill_value is None:
        result = cast(result, typeof(one).dtype, weak)
    if not return_indices:
        return result
    first, second = _where_they_are(values, mask, number, order, other, count)
    return result, first, second


@whole("size")
def _where_they_are(
    values: Any, mask: Any, number: Any, order: Any, other: Any, size: int
) -> tuple[Any, Any]:
    """Positions in both arrays of the elements found; beyond them, the length of the array."""
    n, m = shape_of(values)[0], shape_of(other)[0]
    kind = typeof(order).dtype
    if not (n and m):
        return shape.full((size,), n, kind), shape.full((size,), m, kind)
    found = places(mask, size)
    there = comparison.lt(
        shape.iota(dtype=kind, shape=(size,), dimension=0), broadcast(cast(number, kind), (size,))
    )
    first = pick(order, found, 0)
    positions = shape.iota(dtype=kind, shape=(m,), dimension=0)
    ordered, where = sort(other, positions, dimension=0, is_stable=True, num_keys=1)
    second = pick(where, searchsorted(ordered, pick(values, found, 0)), 0)
    return (
        selection.select_n(there, shape.full((size,), n, kind), first),
        selection.select_n(there, shape.full((size,), m, kind), second),
    )
