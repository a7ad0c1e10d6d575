"""Sorting: elements in order, and where they were."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from effax.eager.whole import whole
from effax.effects.rows import elementwise, shape, sorting
from effax.effects.types import (
    default_int,
    default_position_dtype,
    position_dtype,
    typeof,
    user_dtype,
)
from effax.effects.value import Array, ArrayLike, DTypeLike, is_symbolic_length
from effax.numpy.joining import concatenate
from effax.numpy.manipulation import ravel
from effax.operands.arguments import (
    broadcast,
    canonical_axis,
    cast,
    check_arrays,
    concrete_int,
    shape_of,
)


def _refuse_order(name: str, kind: Any, order: Any) -> None:
    if order is not None:
        raise TypeError(f"'order' argument to {name} is not supported.")
    if kind is not None:
        raise TypeError(
            f"'kind' argument to {name} is not supported. Use stable=True or stable=False to "
            "specify whether the sort should be stable."
        )


def _along(a: Any, axis: int | None) -> tuple[Any, int]:
    if axis is None:
        return ravel(a), 0
    return a, canonical_axis(axis, len(shape_of(a)))


@whole("axis", "kind", "order", "stable", "descending")
def sort(
    a: ArrayLike,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
) -> Array:
    """Return the elements in ascending order along an axis. NaN comes last.

    Args:
      a: array_like.
      axis: the axis; None for the flattened array. Negative ones count from the end.
      kind: must be None: `stable` says how to sort.
      order: must be None: there are no arrays with fields.
      stable: whether equal elements stay in their order.
      descending: whether to reverse the order, with NaN first.

    >>> import numpy as np
    >>> sort(np.array([3, 1, 2])).tolist()
    [1, 2, 3]
    """
    check_arrays("sort", a)
    _refuse_order("sort", kind, order)
    a, axis = _along(a, axis)
    (result,) = sorting.sort(a, dimension=axis, is_stable=bool(stable), num_keys=1)
    return shape.rev(result, dims=(axis,)) if descending else result


@whole("axis", "kind", "order", "stable", "descending", "dtype")
def argsort(
    a: ArrayLike,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
    dtype: DTypeLike | None = None,
) -> Array:
    """Return the positions that put the elements in ascending order along an axis. NaN comes last.

    Args:
      a: array_like.
      axis: the axis; None for the flattened array. Negative ones count from the end.
      kind: must be None: `stable` says how to sort.
      order: must be None: there are no arrays with fields.
      stable: whether equal elements stay in their order.
      descending: whether to sort in descending order, with NaN first.
      dtype: the dtype of the positions; by default int32 (int64 with x64).

    Raises:
      OverflowError: for an axis with more positions than `dtype` has integers.

    >>> import numpy as np
    >>> argsort(np.array([3, 1, 2])).tolist()
    [1, 2, 0]
    """
    check_arrays("argsort", a)
    _refuse_order("argsort", kind, order)
    a, axis = _along(a, axis)
    places = order_of(a, axis, stable, descending)
    if dtype is None:
        return places
    last, wanted = shape_of(a)[axis] - 1, user_dtype(dtype, "argsort")
    if last > 0 and int(np.array(last).astype(wanted)) != last:
        raise OverflowError(f"argsort: {wanted} can't hold the positions up to {last}")
    return cast(places, wanted)


def order_of(a: Any, axis: int, stable: bool = True, descending: bool = False) -> Any:
    """The positions that sort an array along an axis; equal elements stay in their order."""
    lengths = shape_of(a)
    dtype = default_position_dtype(lengths[axis])
    positions = shape.iota(dtype=dtype, shape=lengths, dimension=axis)
    if descending:
        # Sort the reversed array and reverse the result, so that equal elements keep their order.
        a, positions = shape.rev(a, dims=(axis,)), shape.rev(positions, dims=(axis,))
    _, places = sorting.sort(a, positions, dimension=axis, is_stable=bool(stable), num_keys=1)
    return shape.rev(places, dims=(axis,)) if descending else places


@whole("axis")
def lexsort(keys: ArrayLike | Sequence[ArrayLike], axis: int = -1) -> Array:
    """Return the positions that sort by several keys, the last of which counts most.

    Args:
      keys: arrays of one shape, or an array of them along its first axis.
      axis: the axis of each key to sort along; negative ones count from the end.

    >>> import numpy as np
    >>> lexsort((np.array([1, 0, 1]), np.array([0, 0, -1]))).tolist()
    [2, 1, 0]
    """
    if isinstance(keys, list | tuple):
        check_arrays("lexsort", *keys)
        columns: Sequence[Any] = keys
    else:
        check_arrays("lexsort", keys)
        rows = shape_of(keys)[0]
        columns = [shape.squeeze(shape.slice_axis(keys, 0, i, i + 1), (0,)) for i in range(rows)]
    if not columns:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    lengths = shape_of(columns[0])
    if any(shape_of(k) != lengths for k in columns):
        raise ValueError("all keys need to be the same shape")
    if not lengths:
        return shape.full((), 0, default_int())
    axis = canonical_axis(axis, len(lengths))
    positions = shape.iota(dtype=default_int(), shape=lengths, dimension=axis)
    return sorting.sort(
        *reversed(columns), positions, dimension=axis, is_stable=True, num_keys=len(columns)
    )[-1]


def _checked_kth(kth: Any, length: int) -> int:
    number = concrete_int(kth, "kth")
    if not -length <= number < length:
        raise ValueError(f"kth(={number}) out of bounds ({length})")
    return number


@whole("kth", "axis")
def partition(a: ArrayLike, kth: int, axis: int = -1) -> Array:
    """Return an array with the element of place `kth` where sorting would put it.

    Smaller ones come before it, larger ones after.

    Args:
      a: array_like.
      kth: the place, an int; a negative one counts from the end.
      axis: the axis; negative ones count from the end.

    >>> import numpy as np
    >>> partition(np.array([3, 1, 2]), 1).tolist()[1]
    2
    """
    check_arrays("partition", a)
    axis = canonical_axis(axis, len(shape_of(a)))
    _checked_kth(kth, shape_of(a)[axis])
    # XLA has no selection that is faster than its sort.
    return sorting.sort(a, dimension=axis, is_stable=True, num_keys=1)[0]


@whole("kth", "axis")
def argpartition(a: ArrayLike, kth: int, axis: int = -1) -> Array:
    """Return the positions that partition an array around its element of place `kth`.

    Args:
      a: array_like.
      kth: the place, an int; a negative one counts from the end.
      axis: the axis; negative ones count from the end.

    >>> import numpy as np
    >>> argpartition(np.array([3, 1, 2]), 1).tolist()[1]
    2
    """
    check_arrays("argpartition", a)
    axis = canonical_axis(axis, len(shape_of(a)))
    _checked_kth(kth, shape_of(a)[axis])
    return cast(order_of(a, axis), position_dtype(shape_of(a)[axis]))


@whole()
def sort_complex(a: ArrayLike) -> Array:
    """Return the elements in order along the last axis, as complex numbers.

    Args:
      a: array_like of at least one axis.

    >>> import numpy as np
    >>> sort_complex(np.array([2, 1])).tolist()
    [(1+0j), (2+0j)]
    """
    from effax.effects.types import complex_dtype, inexact_dtype

    check_arrays("sort_complex", a)
    (result,) = sorting.sort(a, dimension=len(shape_of(a)) - 1, is_stable=True, num_keys=1)
    return cast(result, complex_dtype(inexact_dtype(typeof(a).dtype)))


_METHODS = ("scan", "scan_unrolled", "sort", "compare_all")


@whole("side", "method")
def searchsorted(
    a: ArrayLike,
    v: ArrayLike,
    side: str = "left",
    sorter: ArrayLike | None = None,
    *,
    method: str = "scan",
) -> Array:
    """Return insertion points for elements in a sorted vector.

    Args:
      a: array_like, a vector in ascending order.
      v: array_like, the elements to insert.
      side: "left" to insert before equal elements, "right" after them.
      sorter: positions that put `a` in ascending order, if it isn't.
      method: "scan" and "scan_unrolled" search by bisection, "compare_all" compares with every
        element, "sort" sorts both together. The result is the same.

    Returns:
      integers of the shape of `v`.

    >>> import numpy as np
    >>> searchsorted(np.array([1, 2, 2, 3]), 2).tolist()
    1
    """
    from effax.operands.arguments import pick
    from effax.operands.promoting import promote_dtypes

    check_arrays("searchsorted", a, v, *(() if sorter is None else (sorter,)))
    if side not in ("left", "right"):
        raise ValueError(
            f"{side!r} is an invalid value for keyword 'side'. Expected one of ['left', 'right']."
        )
    if method not in _METHODS:
        raise ValueError(
            f"{method!r} is an invalid value for keyword 'method'. Expected one of {_METHODS}."
        )
    if len(shape_of(a)) != 1:
        raise ValueError("a should be 1-dimensional")
    a, v = promote_dtypes(a, v)
    if sorter is not None:
        a = pick(a, sorter, 0)
    n = shape_of(a)[0]
    if n == 0:
        return shape.full(shape_of(v), 0, position_dtype())
    if method == "compare_all":
        return _by_comparing(a, v, side)
    if method == "sort":
        return _by_sorting(a, v, side)
    return _by_bisection(a, v, side, method == "scan_unrolled")


def _behind(element: Any, v: Any, side: str) -> Any:
    """Whether v belongs behind an element of the vector."""
    return sorting.before([element], [v], or_equal=side == "right")


def _by_comparing(a: Any, v: Any, side: str) -> Any:
    """Count the elements that v belongs behind."""
    from effax.effects.rows.reduction import reduce_sum

    n, lengths = shape_of(a)[0], shape_of(v)
    table = (*lengths, n)
    elements = shape.broadcast_in_dim(a, shape=table, dims=(len(lengths),))
    values = shape.broadcast_in_dim(v, shape=table, dims=tuple(range(len(lengths))))
    behind = _behind(elements, values, side)
    return reduce_sum(cast(behind, position_dtype(n)), axes=(len(lengths),))


def _by_sorting(a: Any, v: Any, side: str) -> Any:
    """Sorted together, equal values on the right side; what is before each less its own kind."""
    flat = ravel(v)
    n, m = shape_of(a)[0], shape_of(flat)[0]
    both = (flat, a) if side == "left" else (a, flat)
    places = order_of(concatenate(list(both)), 0)
    ranks = order_of(places, 0)
    start = 0 if side == "left" else n
    own = order_of(order_of(flat, 0), 0)
    result = elementwise.sub(shape.slice_axis(ranks, 0, start, start + m), own)
    return cast(shape.reshape(result, shape=shape_of(v)), position_dtype(n))


def _by_bisection(a: Any, v: Any, side: str, unrolled: bool) -> Any:
    """The range in which each place lies, halved until its end is the place.

    Each value belongs behind the element at the start of its range, as soon as that is not 0.
    """
    from effax.effects.rows import logical, selection
    from effax.lax.control import fori_loop
    from effax.operands.arguments import pick

    n, lengths = shape_of(a)[0], shape_of(v)

    def halve(_: Any, bounds: Any) -> Any:
        low, high = bounds
        # The sum of the two may overflow an int32, but their difference can't.
        half = logical.shift_right_logical(elementwise.sub(high, low), 1)
        middle = elementwise.add(low, half)
        behind = _behind(pick(a, middle, 0), v, side)
        return selection.select_n(behind, low, middle), selection.select_n(behind, middle, high)

    # A range that starts at 0 loses at least half of its places each time, until none is left.
    dtype = position_dtype(n)
    if is_symbolic_length(n):
        steps = elementwise.sub(8 * dtype.itemsize, logical.clz(cast(n, dtype)))
        unrolled = False
    else:
        steps = n.bit_length()
    bounds = tuple(broadcast(cast(x, dtype), lengths) for x in (0, n))
    if unrolled:
        for i in range(steps):
            bounds = halve(i, bounds)
    else:
        bounds = fori_loop(0, steps, halve, bounds)
    return bounds[1]
