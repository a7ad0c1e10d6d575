"""Joining and splitting: arrays put together along an axis, and taken apart again."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from effax.eager.whole import is_iterable, opening, whole
from effax.effects.cuts import check_whole
from effax.effects.errors import ConcretizationTypeError
from effax.effects.handler import Carrier
from effax.effects.rows import shape as effects
from effax.effects.types import typeof
from effax.effects.value import Array, ArrayLike, DTypeLike, Value, greatest, smallest
from effax.keys.decorators import moves_keys
from effax.numpy.manipulation import atleast_1d, atleast_2d, atleast_3d, ravel, reshape_values
from effax.operands.arguments import (
    asked_dtype,
    canonical_axis,
    cast,
    check_arrays,
    concrete_int,
    refuse_out,
    shape_of,
)
from effax.operands.promoting import array, promote_dtypes


def _sequence(name: str, arrays: Any) -> list[Any]:
    """The arrays to be joined: those in a list, a deque, `d.values()`, or the rows of one."""
    if is_iterable(arrays):
        arrays = list(arrays)
    if isinstance(arrays, list | tuple):
        check_arrays(name, *arrays)
        return list(arrays)
    check_arrays(name, arrays)
    lengths = shape_of(arrays)
    if not lengths:
        raise TypeError(f"{name}: expected a sequence of arrays, got one scalar")
    rows = (effects.slice_axis(arrays, 0, i, i + 1) for i in range(lengths[0]))
    return [effects.squeeze(r, (0,)) for r in rows]


def _one_list(arrays: Any) -> str:
    """Say how to pass several arrays, where one stands in the place of all."""
    return "" if isinstance(arrays, list | tuple) else " Pass all arrays as one list, [a, b]."


def _require_one_axis(name: str, arrays: Any, axis: Any) -> None:
    """Raise `TypeError` where a second array stands in the place of the axis."""
    if isinstance(axis, Value | np.ndarray) and axis.ndim:
        raise TypeError(
            f"{name}: the axis must be an integer, got an array {typeof(axis).str_short()}."
            + _one_list(arrays)
        )


def _lifted(name: str, given: Sequence[Any], lifted: Sequence[Any], axis: int, dtype: Any) -> Array:
    """Join arrays that were given with fewer axes, which messages then show."""
    try:
        return concatenate(lifted, axis, dtype)
    except TypeError:
        shapes = [shape_of(x)[:axis] + shape_of(x)[axis + 1 :] for x in lifted]
        other = next((i for i, s in enumerate(shapes) if s != shapes[0]), None)
        if other is None:
            raise
        one, two = (_as_lifted(given[i], lifted[i]) for i in (0, other))
        raise TypeError(
            "Cannot concatenate arrays with shapes that differ in dimensions other than the one "
            f"being concatenated: {name} joins along axis {axis}, got {one} and {two}"
        ) from None


def _as_lifted(given: Any, lifted: Any) -> str:
    one, other = typeof(given).str_short(), typeof(lifted).str_short()
    return one if one == other else f"{one} as {other}"


def _with_dtype(name: str, arrays: Sequence[Any], dtype: Any) -> list[Any]:
    kind = asked_dtype(name, dtype)
    return list(promote_dtypes(*arrays)) if kind is None else [cast(x, kind) for x in arrays]


@moves_keys()
@whole("axis", "dtype")
def concatenate(
    arrays: ArrayLike | Sequence[ArrayLike], axis: int | None = 0, dtype: DTypeLike | None = None
) -> Array:
    """Join arrays along an axis that they have.

    Args:
      arrays: a sequence of array_like, or one array, whose rows are joined; their lengths agree
        along the other axes.
      axis: the axis to join along, negative ones counting from the end; None to flatten first.
      dtype: the dtype of the result; by default that to which the arrays promote.

    >>> concatenate([np.ones(2), np.zeros(1)]).tolist()
    [1.0, 1.0, 0.0]
    """
    xs = _sequence("concatenate", arrays)
    if not xs:
        raise ValueError("Need at least one array to concatenate.")
    if axis is None:
        xs, axis = [ravel(x) for x in xs], 0
    ndim = len(shape_of(xs[0]))
    if ndim == 0:
        raise ValueError("Zero-dimensional arrays cannot be concatenated." + _one_list(arrays))
    _require_one_axis("concatenate", arrays, axis)
    return effects.concatenate(
        *_with_dtype("concatenate", xs, dtype), axis=canonical_axis(axis, ndim)
    )


@moves_keys()
@whole("axis")
def concat(arrays: Sequence[ArrayLike], /, *, axis: int | None = 0) -> Array:
    """Join arrays along an axis that they have: `concatenate` in the array API standard.

    Args:
      arrays: a sequence of array_like; their lengths agree along the other axes.
      axis: the axis to join along, negative ones counting from the end; None to flatten first.

    >>> concat([np.ones(2), np.zeros(1)]).shape
    (3,)
    """
    return concatenate(arrays, axis)


@moves_keys()
@whole("axis", "dtype")
def stack(
    arrays: ArrayLike | Sequence[ArrayLike],
    axis: int = 0,
    out: None = None,
    dtype: DTypeLike | None = None,
) -> Array:
    """Join arrays along a new axis.

    Args:
      arrays: a sequence of array_like of one shape, or one array, whose rows are joined.
      axis: the place of the new axis in the result; negative ones count from the end.
      out: must be None: arrays can't be written to.
      dtype: the dtype of the result; by default that to which the arrays promote.

    >>> stack([np.ones(2), np.zeros(2)], axis=1).shape
    (2, 2)
    """
    refuse_out("stack", out)
    xs = _sequence("stack", arrays)
    if not xs:
        raise ValueError("Need at least one array to stack.")
    lengths = shape_of(xs[0])
    if any(shape_of(x) != lengths for x in xs):
        shown = ", ".join(str(shape_of(x)) for x in xs)
        raise ValueError(f"All input arrays must have the same shape. Got {shown}.")
    _require_one_axis("stack", arrays, axis)
    axis = canonical_axis(axis, len(lengths) + 1)
    rows = [effects.expand_dims(x, (axis,)) for x in _with_dtype("stack", xs, dtype)]
    return effects.concatenate(*rows, axis=axis)


@moves_keys()
@whole("dtype")
def vstack(tup: ArrayLike | Sequence[ArrayLike], dtype: DTypeLike | None = None) -> Array:
    """Join arrays one under the other, along the first axis; vectors are rows.

    Args:
      tup: a sequence of array_like, or one array, whose rows are joined.
      dtype: the dtype of the result; by default that to which the arrays promote.

    >>> vstack([np.ones(3), np.zeros((2, 3))]).shape
    (3, 3)
    """
    xs = _sequence("vstack", tup)
    return _lifted("vstack", xs, [atleast_2d(x) for x in xs], 0, dtype)


@moves_keys()
@whole("dtype")
def hstack(tup: ArrayLike | Sequence[ArrayLike], dtype: DTypeLike | None = None) -> Array:
    """Join arrays side by side, along the second axis; vectors one after the other.

    Args:
      tup: a sequence of array_like, or one array, whose rows are joined.
      dtype: the dtype of the result; by default that to which the arrays promote.

    >>> hstack([np.ones((2, 1)), np.zeros((2, 3))]).shape
    (2, 4)
    """
    xs = [atleast_1d(x) for x in _sequence("hstack", tup)]
    return concatenate(xs, 0 if xs and len(shape_of(xs[0])) == 1 else 1, dtype)


@moves_keys()
@whole("dtype")
def dstack(tup: ArrayLike | Sequence[ArrayLike], dtype: DTypeLike | None = None) -> Array:
    """Join arrays one behind the other, along the third axis.

    Args:
      tup: a sequence of array_like, or one array, whose rows are joined.
      dtype: the dtype of the result; by default that to which the arrays promote.

    >>> dstack([np.ones((2, 3)), np.zeros((2, 3))]).shape
    (2, 3, 2)
    """
    xs = _sequence("dstack", tup)
    return _lifted("dstack", xs, [atleast_3d(x) for x in xs], 2, dtype)


@moves_keys()
@whole()
def column_stack(tup: ArrayLike | Sequence[ArrayLike]) -> Array:
    """Join vectors as columns, and matrices side by side.

    Args:
      tup: a sequence of array_like, or one array, whose rows are joined.

    >>> column_stack([np.ones(2), np.zeros((2, 3))]).shape
    (2, 4)
    """
    columns = []
    for x in _sequence("column_stack", tup):
        lengths = shape_of(x)
        columns.append(x if len(lengths) > 1 else reshape_values(x, (prod(lengths), 1)))
    return concatenate(columns, 1)


@moves_keys()
@whole()
def block(arrays: ArrayLike | Sequence[ArrayLike]) -> Array:
    """Join nested lists of arrays, along as many of the last axes as lists are nested.

    Args:
      arrays: an array_like, or nested lists of them, all of one depth.

    >>> block([[np.ones((2, 2)), np.zeros((2, 1))]]).shape
    (2, 3)
    """
    if not isinstance(arrays, list | tuple):
        check_arrays("block", arrays)
        return array(arrays)
    return _block(arrays)[0]


def _block(arrays: Any) -> tuple[Any, int]:
    if isinstance(arrays, tuple):
        raise ValueError("block: expected nested lists, got a tuple, whose depth is ambiguous")
    if not isinstance(arrays, list):
        check_arrays("block", arrays)
        return atleast_1d(arrays), 1
    if not arrays:
        raise ValueError("List at arrays cannot be empty")
    parts, depths = zip(*map(_block, arrays), strict=True)
    if len(set(depths)) != 1:
        raise ValueError("block: List depths are mismatched")
    depth = depths[0]
    ndim = max(depth, *(len(shape_of(x)) for x in parts))
    wide = [broadcast_rank(x, ndim) for x in parts]
    return concatenate(wide, -depth), depth + 1


def broadcast_rank(x: Any, ndim: int) -> Any:
    """The array with axes of length 1 in front, so that it has at least `ndim`."""
    return effects.expand_dims(x, range(max(0, ndim - len(shape_of(x)))))


def _places(indices: Any) -> tuple[int, ...] | int:
    """Return the places to split at, known now: a number of parts, or the places themselves."""
    listed = isinstance(indices, list | tuple)
    # NumPy can't say the shape of a list that holds traced values.
    if not indices if listed else np.shape(indices) == (0,):
        return ()
    parts = indices if listed else [indices]
    known = [x.concrete() if isinstance(x, Carrier) else x for x in parts]
    unknown = [part for x, part in zip(known, parts, strict=True) if x is None and part is not None]
    if unknown:
        raise ConcretizationTypeError(
            "Abstract tracer value encountered where concrete value is expected. split: the shapes "
            "of the parts depend on indices_or_sections, which must be known while tracing. "
            f"{unknown[0].why_unknown()}"
        )
    indices = known if listed else known[0]
    if np.ndim(indices) == 0:
        whole_number = typeof(indices).dtype.kind == "f" and float(indices).is_integer()
        return int(indices) if whole_number else concrete_int(indices, "the number of sections")
    return tuple(concrete_int(i, "the index to split at") for i in np.asarray(indices).tolist())


def _split(name: str, ary: Any, indices_or_sections: Any, axis: Any) -> list[Any]:
    check_arrays(name, ary)
    lengths = shape_of(ary)
    axis = canonical_axis(axis, len(lengths))
    size = lengths[axis]
    places = _places(indices_or_sections)
    if isinstance(places, int):
        if places < 0:
            raise ValueError(f"{name}: the number of sections must be positive, got {places}")
        if not places:
            raise ZeroDivisionError(f"{name}: the number of sections must be positive, got 0")
        each, more = divmod(size, places)
        widths = [each + 1] * more + [each] * (places - more)
        if more and name != "array_split":
            shown = ", ".join(map(str, widths[:6])) + (", ..." if places > 6 else "")
            raise ValueError(
                f"{name}: array split does not result in an equal division: {size} elements along "
                f"axis {axis} in {places} sections leave {more}. Use array_split for parts of the "
                f"lengths {shown}, or give the indices to split at"
            )
        ends = [sum(widths[: i + 1]) for i in range(places)]
        places = tuple(ends[:-1])
    bounds = tuple(smallest(p + size if p < 0 else p, size) for p in places)
    bounds = tuple(greatest(p, 0) for p in bounds)
    return _parts(ary, bounds, axis)


@whole("bounds", "axis")
def _parts(ary: Any, bounds: tuple[int, ...], axis: int) -> list[Any]:
    size = shape_of(ary)[axis]
    pairs = list(zip((0, *bounds), (*bounds, size), strict=True))
    sizes = tuple([greatest(b - a, 0) for a, b in pairs])
    check_whole(typeof(ary), axis, f"split on sharded dims into {sizes} is not possible", sizes)
    return [effects.slice_axis(ary, axis, a, greatest(a, b)) for a, b in pairs]


@moves_keys()
@opening
def split(
    ary: ArrayLike, indices_or_sections: ArrayLike | Sequence[int], axis: int = 0
) -> list[Array]:
    """Return the parts of an array along an axis: equal ones, or cut at given places.

    Args:
      ary: array_like.
      indices_or_sections: the number of equal parts, or a sequence of the indices to cut at; known
        while tracing.
      axis: the axis to split; negative ones count from the end.

    Raises:
      ValueError: where the length of the axis is no multiple of the number of parts.

    >>> [x.tolist() for x in split(np.arange(4), 2)]
    [[0, 1], [2, 3]]
    """
    return _split("split", ary, indices_or_sections, axis)


@moves_keys()
@opening
def array_split(
    ary: ArrayLike, indices_or_sections: ArrayLike | Sequence[int], axis: int = 0
) -> list[Array]:
    """Return the parts of an array along an axis, the first ones longer where they can't be equal.

    Args:
      ary: array_like.
      indices_or_sections: the number of parts, or a sequence of the indices to cut at; known while
        tracing.
      axis: the axis to split; negative ones count from the end.

    >>> [x.tolist() for x in array_split(np.arange(3), 2)]
    [[0, 1], [2]]
    """
    return _split("array_split", ary, indices_or_sections, axis)


@moves_keys()
@opening
def vsplit(ary: ArrayLike, indices_or_sections: ArrayLike | Sequence[int]) -> list[Array]:
    """Return the parts of an array along the first axis, as `split` does.

    Args:
      ary: array_like.
      indices_or_sections: the number of equal parts, or a sequence of the indices to cut at.

    >>> [x.shape for x in vsplit(np.ones((4, 2)), 2)]
    [(2, 2), (2, 2)]
    """
    return _split("vsplit", ary, indices_or_sections, 0)


@moves_keys()
@opening
def hsplit(ary: ArrayLike, indices_or_sections: ArrayLike | Sequence[int]) -> list[Array]:
    """Return the parts of an array along the second axis (the first of a vector), as `split` does.

    Args:
      ary: array_like.
      indices_or_sections: the number of equal parts, or a sequence of the indices to cut at.

    >>> [x.shape for x in hsplit(np.ones((2, 4)), 2)]
    [(2, 2), (2, 2)]
    """
    check_arrays("hsplit", ary)
    return _split("hsplit", ary, indices_or_sections, 0 if len(shape_of(ary)) == 1 else 1)


@moves_keys()
@opening
def dsplit(ary: ArrayLike, indices_or_sections: ArrayLike | Sequence[int]) -> list[Array]:
    """Return the parts of an array along the third axis, as `split` does.

    Args:
      ary: array_like, of at least three axes.
      indices_or_sections: the number of equal parts, or a sequence of the indices to cut at.

    >>> [x.shape for x in dsplit(np.ones((1, 1, 4)), 2)]
    [(1, 1, 2), (1, 1, 2)]
    """
    return _split("dsplit", ary, indices_or_sections, 2)


@moves_keys()
@whole("axis")
def unstack(x: ArrayLike, /, *, axis: int = 0) -> tuple[Array, ...]:
    """Return the arrays that make up an array along an axis, which they lack.

    Args:
      x: array_like, of at least one axis.
      axis: the axis to take apart; negative ones count from the end.

    >>> [y.tolist() for y in unstack(np.array([[1, 2], [3, 4]]))]
    [[1, 2], [3, 4]]
    """
    check_arrays("unstack", x)
    lengths = shape_of(x)
    if not lengths:
        raise ValueError(
            "Unstack requires arrays with rank > 0, however a scalar array was passed."
        )
    axis = canonical_axis(axis, len(lengths))
    told = f"unstack operand cannot be sharded on the unstacking axis {axis}"
    check_whole(typeof(x), axis, told)
    return tuple(
        effects.squeeze(effects.slice_axis(x, axis, i, i + 1), (axis,))
        for i in range(lengths[axis])
    )


@moves_keys("arr", "values")
@whole("axis")
def append(arr: ArrayLike, values: ArrayLike, axis: int | None = None) -> Array:
    """Return the array with values joined to its end.

    Args:
      arr: array_like.
      values: array_like, of as many axes as `arr` unless `axis` is None.
      axis: the axis to join along, negative ones counting from the end; None to flatten first.

    >>> append(np.ones(2), np.zeros(1)).tolist()
    [1.0, 1.0, 0.0]
    """
    check_arrays("append", arr, values)
    return concatenate([arr, values], axis)
