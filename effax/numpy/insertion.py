"""Elements deleted and inserted along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from effax.eager.whole import opening, whole
from effax.effects.errors import ConcretizationTypeError
from effax.effects.handler import Carrier
from effax.effects.rows import comparison, elementwise, selection
from effax.effects.rows import shape as effects
from effax.effects.types import (
    int32,
    is_integer,
    typeof,
)
from effax.effects.value import (
    Array,
    ArrayLike,
    is_symbolic_length,
)
from effax.keys.decorators import moves_keys
from effax.numpy.arranging import flat_along, length_along, picked_along
from effax.numpy.creation import constant
from effax.numpy.joining import concatenate
from effax.numpy.manipulation import moveaxis, ravel, reshape_values
from effax.operands.arguments import (
    FAR,
    bounded,
    broadcast,
    canonical_axis,
    cast,
    check_arrays,
    combine,
    number_of_elements,
    pick,
    shape_of,
)


@moves_keys()
@opening
def delete(
    arr: ArrayLike,
    obj: ArrayLike | Sequence[int] | slice,
    axis: int | None = None,
    *,
    assume_unique_indices: bool = False,
) -> Array:
    """Return the array without the elements at some positions.

    Args:
      arr: array_like.
      obj: an integer, a slice, an array or sequence of positions, or a Boolean mask. An integer may
        be traced, and so may an array of positions with `assume_unique_indices`.
      axis: the axis to delete along; None for the flattened array.
      assume_unique_indices: promise that all positions are different.

    >>> delete(np.arange(4), 1).tolist()
    [0, 2, 3]
    """
    check_arrays("delete", arr)
    n, axis = length_along(arr, axis)
    if isinstance(obj, list | tuple):
        from effax.numpy.conversion import asarray as made

        obj = made(obj) if obj else np.zeros(0, np.int32)
    if is_symbolic_length(n):
        return _delete_unknown(arr, _places_of_unknown(obj, n), axis)
    if isinstance(obj, slice):
        kept = np.delete(np.arange(n), obj)
    elif isinstance(obj, Carrier):
        if len(obj.shape) and not assume_unique_indices:
            raise ConcretizationTypeError(
                "delete: the number of different positions, and so the length of the result, is "
                "not known while tracing; pass assume_unique_indices=True if all are different"
            )
        if not is_integer(typeof(obj).dtype):
            raise ConcretizationTypeError(
                f"delete: while tracing, positions must be integers, got {typeof(obj).dtype}; of a "
                "Boolean mask the length of the result is not known"
            )
        return _delete_unknown(arr, obj, axis)
    else:
        check_arrays("delete", arr, obj)
        places: Any = _known_places(obj)
        if not places.shape:
            # An error of both classes, JAX's and NumPy's.
            places = np.asarray(canonical_axis(places, n))
        kept = np.delete(np.arange(n), places)
    runs = np.split(kept, np.flatnonzero(np.diff(kept) != 1) + 1)
    if isinstance(arr, Carrier) and len(kept) and len(runs) <= _RUNS:
        # In a program slices cost nothing; outside, each position would compile another.
        moved, where = flat_along(arr, axis)
        ends = [(int(run[0]), int(run[-1]) + 1) for run in runs]
        return concatenate([effects.slice_axis(moved, where, *each) for each in ends], where)
    return picked_along(arr, constant(kept.astype(np.int32)), axis)


def _places_of_unknown(obj: Any, n: Any) -> Any:
    """Different positions along an axis of a symbolic length, as `delete` takes them."""
    places = None if isinstance(obj, slice | Carrier) else _known_places(obj)
    if places is None or not is_integer(places.dtype) or len({*(places < 0).flat}) > 1:
        raise ConcretizationTypeError(
            f"delete: the axis has the symbolic length {n}, so that positions must be known "
            f"integers, none of them or all negative, but obj is {obj!r}"
        )
    places = np.unique(places)
    for place in places.tolist():
        canonical_axis(place, n)  # raises where it is not surely one of them
    return constant(places.astype(np.int32))


def _from_front(places: Any, n: Any) -> Any:
    """Positions of int32, of which negative ones count from the end of an axis of length n."""
    ahead = combine(elementwise.add, places, number_of_elements(n, int32))
    return selection.select_n(comparison.lt(places, 0), places, ahead)


def _far(n: Any) -> int:
    """The position for what is beyond the end of an axis of length n."""
    return np.iinfo(np.int32).max if is_symbolic_length(n) else max(n, FAR)


_RUNS = 8
"""The largest number of parts that `delete` puts together instead of picking elements."""


def _known_places(obj: Any) -> np.ndarray[Any, Any]:
    """Positions, or a mask, on the host; narrow ones as int32: NumPy knows none of four bits."""
    places = np.asarray(obj)
    narrow = is_integer(places.dtype) and places.dtype.itemsize < 4
    return places.astype(np.int32) if narrow else places


@whole("axis")
def _delete_unknown(arr: Any, places: Any, axis: int | None) -> Any:
    """Each kept element moves up by the number of places before it: found by sorting those."""
    (arr, axis), places = flat_along(arr, axis), ravel(places)
    n, count = shape_of(arr)[axis], shape_of(places)[0]
    places = bounded(places, high=_far(n))
    places = _from_front(places, n)
    from effax.effects.rows.sorting import sort

    (ordered,) = sort(places, dimension=0, is_stable=True, num_keys=1)
    earlier = effects.iota(dtype=int32, shape=(count,), dimension=0)
    shifted = elementwise.sub(ordered, earlier)
    kept = effects.iota(dtype=int32, shape=(n - count,), dimension=0)
    before = combine(
        comparison.ge, effects.expand_dims(kept, (1,)), effects.expand_dims(shifted, (0,))
    )
    from effax.effects.rows.reduction import reduce_sum

    return pick(arr, elementwise.add(kept, reduce_sum(cast(before, int32), axes=(1,))), axis)


@moves_keys("arr", "values")
@opening
def insert(
    arr: ArrayLike,
    obj: ArrayLike | Sequence[int] | slice,
    values: ArrayLike,
    axis: int | None = None,
) -> Array:
    """Return the array with values put in before some positions.

    Args:
      arr: array_like.
      obj: an integer, a slice or positions, before which to insert.
      values: array_like, cast to the dtype of `arr` and broadcast to the inserted elements.
      axis: the axis to insert along; None for the flattened array.

    Raises:
      ValueError: for positions that are no integers.

    >>> insert(np.arange(3), 1, 9).tolist()
    [0, 9, 1, 2]
    """
    check_arrays("insert", arr, 0 if isinstance(obj, slice | list) else obj, values)
    n, axis = length_along(arr, axis)
    if isinstance(obj, slice):
        obj = np.arange(*obj.indices(n))
    elif isinstance(obj, list | tuple):
        obj = np.asarray(obj) if obj else np.zeros(0, np.int32)
    scalar = isinstance(obj, int) or len(np.shape(obj)) == 0
    if not is_integer(typeof(obj).dtype):
        raise ValueError(f"insert: positions must be integers, got {typeof(obj).dtype}")
    if not isinstance(obj, Carrier):
        # Beyond the array is at its end.
        ends = np.clip(np.ravel(_known_places(obj)), -FAR, _far(n))
        obj = constant(ends.astype(np.int32))
    return _insert(arr, obj, values, axis, scalar)


@whole("axis", "scalar")
def _insert(arr: Any, places: Any, values: Any, axis: int | None, scalar: bool) -> Any:
    """Old and new elements are sorted by where they go: before the element they are put before."""
    arr, axis = flat_along(arr, axis)
    values = cast(values, typeof(arr).dtype, typeof(arr).weak_type)
    lengths = shape_of(arr)
    n = lengths[axis]
    places = bounded(ravel(places), high=_far(n))
    places = _from_front(places, n)
    rows = values if len(shape_of(values)) else reshape_values(values, (1,))
    if scalar:
        # A single position: all values are inserted there, along the first axis of the result.
        rows = effects.reshape(
            rows, shape=(1,) * (len(lengths) - len(shape_of(rows))) + shape_of(rows)
        )
        rows = moveaxis(rows, 0, axis)
    count = shape_of(places)[0]
    if scalar:
        count = shape_of(rows)[axis]
    wanted = tuple(count if i == axis else m for i, m in enumerate(lengths))
    rows = broadcast(rows, wanted)
    from effax.effects.rows.sorting import sort

    keys = effects.concatenate(
        broadcast(places, (count,)), effects.iota(dtype=int32, shape=(n,), dimension=0), axis=0
    )
    order = effects.iota(dtype=int32, shape=(count + n,), dimension=0)
    _, order = sort(keys, order, dimension=0, is_stable=True, num_keys=1)
    return pick(effects.concatenate(rows, arr, axis=axis), order, axis)
