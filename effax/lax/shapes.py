"""Shapes in `lax`: arrays moved, joined, chosen from and converted. Nothing is promoted."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Collection, Sequence
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from effax.api.placing.output_sharding import placed
from effax.eager.calls import as_values
from effax.eager.whole import whole
from effax.effects.cuts import check_whole
from effax.effects.promotion import dtype_and_weakness
from effax.effects.rows import conversion, selection, shape
from effax.effects.tree import tree_flatten, tree_unflatten
from effax.effects.types import (
    ShapedArray,
    bool_,
    canonical_shape,
    is_bool,
    is_integer,
    typeof,
)
from effax.effects.value import Array, ArrayLike, OutSharding, Shape, Value, length
from effax.interpreters.composites.barrier import barrier
from effax.keys.decorators import moves_keys
from effax.operands.arguments import BroadcastError, common_shape, known_index, listed
from effax.operands.promoting import asarray


def repeated(x: ArrayLike, lengths: Sequence[int]) -> Any:
    """A value repeated to a shape; axes are aligned from the last, as in NumPy."""
    given, wanted = typeof(x).shape, tuple(lengths)
    if given == wanted:
        return x
    first = len(wanted) - len(given)
    return shape.broadcast_in_dim(x, shape=wanted, dims=tuple(range(first, len(wanted))))


def axis_of(axis: Any, ndim: int) -> int:
    """An axis counted from the front.

    Raises `ValueError` where there is no such axis.
    """
    number = operator.index(axis)
    if not -ndim <= number < ndim:
        raise ValueError(f"axis {number} is out of bounds for array of dimension {ndim}")
    return number % ndim


def _axes(axes: Any, ndim: int) -> tuple[int, ...]:
    given = listed(axes)
    found = tuple(axis_of(a, ndim) for a in given)
    if len(set(found)) != len(found):
        raise ValueError(f"dimensions must not repeat an axis, got {tuple(given)}")
    return found


@moves_keys()
@placed
def broadcast(
    operand: ArrayLike, sizes: Sequence[int], *, out_sharding: OutSharding = None
) -> Array:
    """Repeat an array along new first axes.

    Args:
      operand: array_like.
      sizes: the lengths of the new axes, which come first.
      out_sharding: the sharding of the result, or its spec over the mesh in context.

    >>> import effax.lax as lax
    >>> lax.broadcast(1.0, (2,))
    Array([1., 1.], dtype=float32, weak_type=True)
    """
    if not isinstance(sizes, Collection | np.ndarray):
        raise TypeError(f"broadcast: sizes must be a sequence of integers, got {sizes!r}")
    given = typeof(operand).shape
    lengths = canonical_shape(sizes)
    if not lengths and isinstance(operand, Value):
        return operand
    return broadcasted(
        operand, lengths + given, tuple(range(len(lengths), len(lengths) + len(given)))
    )


def broadcasted(x: ArrayLike, lengths: tuple[int, ...], dims: tuple[int, ...]) -> Array:
    """An array repeated to a shape, whose axes `dims` are its own."""
    return shape.broadcast_in_dim(x, shape=lengths, dims=dims)


@moves_keys()
@placed
def broadcast_in_dim(
    operand: ArrayLike,
    shape: Shape,
    broadcast_dimensions: Sequence[int],
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Broadcast an array to a larger shape; axis i becomes axis `broadcast_dimensions[i]`.

    Args:
      operand: array_like.
      shape: the shape of the result.
      broadcast_dimensions: the axis of the result for each axis of the operand, whose length is the
        same or 1.
      out_sharding: the sharding of the result, or its spec over the mesh in context.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.broadcast_in_dim(jnp.arange(2), (2, 2), (0,))
    Array([[0, 0], [1, 1]], dtype=int32)
    """
    dims = tuple(operator.index(d) for d in broadcast_dimensions)
    order = tuple(sorted(range(len(dims)), key=dims.__getitem__))
    if list(order) != list(range(len(dims))) and len(dims) == typeof(operand).ndim:
        operand, dims = transpose(operand, order), tuple(sorted(dims))
    return broadcasted(operand, canonical_shape(shape), dims)


@moves_keys()
def broadcast_to_rank(x: ArrayLike, rank: int) -> Array:
    """Add leading axes of length 1, up to a number of axes.

    Args:
      x: array_like.
      rank: the number of axes of the result, at least that of `x`.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.broadcast_to_rank(jnp.arange(2), 2).shape
    (1, 2)
    """
    given = typeof(x).shape
    if len(given) == rank:
        return as_values(asarray(x))
    return shape.reshape(x, shape=(1,) * (rank - len(given)) + given)


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """Return the shape to which all of some shapes broadcast.

    Raises `ValueError` where there is none.

    Args:
      *shapes: shapes, as sequences of integers.

    >>> import effax.lax as lax
    >>> lax.broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    given = [canonical_shape(s) for s in shapes]
    rank = max((len(s) for s in given), default=0)
    result = []
    for column in zip(*((1,) * (rank - len(s)) + s for s in given), strict=True):
        lengths = {n for n in column if n != 1}
        if len(lengths) > 1:
            raise ValueError(f"Incompatible shapes for broadcasting: shapes={list(given)}")
        result.append(lengths.pop() if lengths else 1)
    return tuple(result)


def broadcast_like(arr: ArrayLike, like_arr: ArrayLike) -> Array:
    """Repeat an array to the shape of another.

    Raises `ValueError` where it does not fit in.

    Args:
      arr: array_like.
      like_arr: array_like; only its shape matters.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.broadcast_like(1.0, jnp.zeros(2))
    Array([1., 1.], dtype=float32, weak_type=True)
    """
    given, wanted = typeof(arr).shape, typeof(like_arr).shape
    if broadcast_shapes(given, wanted) != wanted:
        raise ValueError(f"broadcast_like: can't broadcast shape {given} to {wanted}")
    return as_values(asarray(repeated(arr, wanted)))


@moves_keys()
@placed
def reshape(
    operand: ArrayLike,
    new_sizes: Shape,
    dimensions: Sequence[int] | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Return the elements in another shape, read in row-major order of `dimensions`.

    Args:
      operand: array_like.
      new_sizes: the shape of the result, without negative lengths.
      dimensions: the order in which the axes are read; by default that of the operand.
      out_sharding: the sharding of the result, or its spec over the mesh in context.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.reshape(jnp.arange(4), (2, 2))
    Array([[0, 1], [2, 3]], dtype=int32)
    """
    if dimensions is not None:
        operand = transpose(operand, dimensions)
    lengths = canonical_shape(new_sizes)
    if lengths == typeof(operand).shape and isinstance(operand, Value):
        return operand
    return shape.reshape(operand, shape=lengths)


@moves_keys()
def transpose(operand: ArrayLike, permutation: Sequence[int]) -> Array:
    """Permute the axes.

    Args:
      operand: array_like.
      permutation: the axis of the operand for each axis of the result.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.transpose(jnp.zeros((2, 3)), (1, 0)).shape
    (3, 2)
    """
    order = tuple(operator.index(i) for i in permutation)
    if order == tuple(range(len(order))) == tuple(range(typeof(operand).ndim)) and isinstance(
        operand, Value
    ):
        return operand
    return shape.transpose(operand, permutation=order)


@moves_keys()
def rev(operand: ArrayLike, dimensions: Sequence[int]) -> Array:
    """Reverse the order of the elements along some axes.

    Args:
      operand: array_like.
      dimensions: the axes to reverse, counted from the front.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.rev(jnp.arange(3), (0,))
    Array([2, 1, 0], dtype=int32)
    """
    return shape.rev(operand, dims=tuple(operator.index(d) for d in dimensions))


@moves_keys()
def expand_dims(array: ArrayLike, dimensions: Sequence[int]) -> Array:
    """Insert axes of length 1.

    Args:
      array: array_like.
      dimensions: the positions of the new axes in the result; negative ones count from the end.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.expand_dims(jnp.arange(3), (0, -1)).shape
    (1, 3, 1)
    """
    given = typeof(array)
    places = listed(dimensions)
    return shape.expand_dims(array, _axes(places, given.ndim + len(places)))


@moves_keys()
def squeeze(array: ArrayLike, dimensions: Sequence[int]) -> Array:
    """Remove some axes of length 1.

    Raises `ValueError` where one of the axes has another length.

    Args:
      array: array_like.
      dimensions: the axes to remove; negative ones count from the end.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.squeeze(jnp.zeros((1, 3)), (0,)).shape
    (3,)
    """
    given = typeof(array)
    axes = _axes(dimensions, given.ndim)
    if any(given.shape[a] != 1 for a in axes):
        raise ValueError(
            "cannot select an axis to squeeze out which has size not equal to one, got "
            f"shape={given.shape} and dimensions={tuple(dimensions)}"
        )
    return shape.squeeze(array, axes)


@moves_keys()
def collapse(operand: ArrayLike, start_dimension: int, stop_dimension: int | None = None) -> Array:
    """Merge a range of axes into one.

    Args:
      operand: array_like.
      start_dimension: the first axis of the range; negative ones count from the end.
      stop_dimension: the axis after the last; None for all that follow.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.collapse(jnp.zeros((2, 3, 4)), 1, 3).shape
    (2, 12)
    """
    lengths = typeof(operand).shape
    start, stop, _ = slice(start_dimension, stop_dimension).indices(len(lengths))
    if stop < start:
        raise ValueError(f"collapse: dimensions {start} to {stop} are in the wrong order")
    middle = (prod(lengths[start:stop]),)
    return shape.reshape(operand, shape=lengths[:start] + middle + lengths[stop:])


@moves_keys()
def concatenate(operands: Array | Sequence[ArrayLike], dimension: int) -> Array:
    """Join arrays along an axis.

    Args:
      operands: arrays of one dtype, whose shapes differ along `dimension` only.
      dimension: the axis to join along, counted from the front.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.concatenate([jnp.arange(2), jnp.arange(2)], 0)
    Array([0, 1, 0, 1], dtype=int32)
    """
    parts = list(operands)
    if not parts:
        raise ValueError("concatenate requires a non-empty sequences of arrays")
    return shape.concatenate(*parts, axis=operator.index(dimension))


@moves_keys()
@whole("axis")
def stack(operands: Sequence[ArrayLike], axis: int = 0) -> Array:
    """Join arrays along a new axis.

    Args:
      operands: arrays of one shape and dtype, at least one.
      axis: the position of the new axis in the result; negative ones count from the end.

    >>> import effax.lax as lax
    >>> lax.stack([1.0, 2.0])
    Array([1., 2.], dtype=float32, weak_type=True)
    """
    at = axis_of(axis, typeof(operands[0]).ndim + 1)
    return shape.concatenate(*(shape.expand_dims(x, (at,)) for x in operands), axis=at)


@moves_keys()
@whole("axis")
def unstack(x: ArrayLike, axis: int = 0) -> tuple[Array, ...]:
    """Return the slices along an axis, as a tuple.

    Args:
      x: array_like.
      axis: the axis to take apart; negative ones count from the end.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> len(lax.unstack(jnp.zeros((3, 2))))
    3
    """
    at = axis_of(axis, typeof(x).ndim)
    rows = (shape.slice_axis(x, at, i, i + 1) for i in range(typeof(x).shape[at]))
    return tuple(shape.squeeze(row, (at,)) for row in rows)


@moves_keys()
@whole("sizes", "axis")
def split(operand: ArrayLike, sizes: Sequence[int], axis: int = 0) -> list[Array]:
    """Split an array into parts of given lengths along an axis.

    Raises `ValueError` where a length is negative, or they do not add up to that of the axis.

    Args:
      operand: array_like.
      sizes: the lengths of the parts, which add up to that of the axis.
      axis: the axis to split; negative ones count from the end.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.split(jnp.arange(3), (1, 2))
    [Array([0], dtype=int32), Array([1, 2], dtype=int32)]
    """
    given = typeof(operand)
    at = axis_of(axis, given.ndim)
    sizes = [known_index("split", "sizes", n) for n in sizes]
    if any(n < 0 for n in sizes):
        raise ValueError(f"Sizes passed to split must be nonnegative, got {tuple(sizes)}")
    if sum(sizes) != given.shape[at]:
        raise ValueError(
            f"Sum of sizes {sum(sizes)} must be equal to the size of axis {at} of the operand of "
            f"lax.split, {given.shape[at]}; got {tuple(sizes)}"
        )
    check_whole(given, at, f"split on sharded dims into {tuple(sizes)} is not possible", sizes)
    bounds = [sum(sizes[:i]) for i in range(len(sizes) + 1)]
    return [shape.slice_axis(operand, at, a, b) for a, b in pairwise(bounds)]


_TILED = "Operand cannot be sharded on dimension {} when the tiling is non-trivial"


@moves_keys()
def tile(operand: ArrayLike, reps: Sequence[int]) -> Array:
    """Repeat an array along each of its axes.

    Args:
      operand: array_like.
      reps: the number of repetitions along each axis of the operand.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.tile(jnp.arange(2), (2,))
    Array([0, 1, 0, 1], dtype=int32)
    """
    counts = [operator.index(n) for n in reps]
    if len(counts) != typeof(operand).ndim or any(n < 0 for n in counts):
        raise TypeError(
            f"tile: reps must hold one count for each of the {typeof(operand).ndim} axes, none "
            f"negative; got {tuple(reps)}"
        )
    for axis, count in enumerate(counts):
        if count != 1:
            check_whole(typeof(operand), axis, _TILED.format(axis))
        if count == 0:
            operand = shape.slice_axis(operand, axis, 0, 0)
        elif count > 1:
            operand = shape.concatenate(*[operand] * count, axis=axis)
    return as_values(asarray(operand))


def pad(
    operand: ArrayLike, padding_value: ArrayLike, padding_config: Sequence[tuple[int, int, int]]
) -> Array:
    """Pad an array with a scalar: before, after and between its elements.

    Args:
      operand: array_like.
      padding_value: a scalar of the operand's dtype.
      padding_config: (low, high, interior) for each axis: how many are put before, after and
        between the elements. Negative low and high take elements away.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.pad(jnp.ones(2), 0.0, [(1, 0, 1)])
    Array([0., 1., 0., 1.], dtype=float32)
    """
    config = tuple(tuple(map(length, axis)) for axis in padding_config)
    return shape.pad(operand, padding_value, config=config)


@moves_keys("choicelist", "default", "on_true", "on_false")
def select(pred: ArrayLike, on_true: ArrayLike, on_false: ArrayLike) -> Array:
    """Choose elements of one array where the predicate is true, of the other where it is not.

    Args:
      pred: array_like of Booleans, a scalar or of the shape of the others.
      on_true, on_false: array_like, of one shape and dtype.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.select(jnp.array([True, False]), jnp.ones(2), jnp.zeros(2))
    Array([1., 0.], dtype=float32)
    """
    number = bool | int | float | complex
    if isinstance(on_true, number) != isinstance(on_false, number):
        _check_choices(typeof(pred), typeof(on_true), typeof(on_false))
    try:
        return select_n(pred, on_false, on_true)
    except TypeError as error:
        refused = error
    _check_choices(typeof(pred), typeof(on_true), typeof(on_false))
    raise refused


def _check_choices(pred: ShapedArray, yes: ShapedArray, no: ShapedArray) -> None:
    """Raise `TypeError` for operands of `select` that do not fit, in the order of its arguments.

    `select_n`, which has refused them, has them in another order.
    """
    found = f"got on_true {yes.str_short()} and on_false {no.str_short()}"
    advice = ""
    with contextlib.suppress(BroadcastError):
        common_shape(pred.shape, yes.shape, no.shape)
        advice = "; jnp.where is a similar function that broadcasts"
    if yes.shape != no.shape:
        raise TypeError(
            f"lax.select requires on_true and on_false to have the same shapes, {found}{advice}"
        )
    if yes.dtype != no.dtype:
        raise TypeError(
            f"lax.select requires arguments to have the same dtypes, {found}; convert one with "
            ".astype, or use jnp.where, which promotes"
        )
    if pred.shape not in ((), yes.shape):
        raise TypeError(
            "lax.select requires pred to be a scalar or to have the shape of on_true and on_false, "
            f"got pred {pred.str_short()} and on_true {yes.str_short()}{advice}"
        )
    if not (is_bool(pred.dtype) or is_integer(pred.dtype)):
        raise TypeError(
            "lax.select requires pred to be Boolean or an integer, got pred "
            f"{pred.str_short()}; write a comparison, such as pred != 0"
        )


@moves_keys("cases")
def select_n(which: ArrayLike, *cases: ArrayLike) -> Array:
    """Return `cases[which]`, element by element; `which` holds Booleans or integers.

    Args:
      which: array_like of Booleans or integers, a scalar or of the shape of the cases.
      *cases: array_like, of one shape and dtype; two at most where `which` is Boolean.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.select_n(jnp.array([0, 1]), jnp.zeros(2), jnp.ones(2))
    Array([0., 1.], dtype=float32)
    """
    given = typeof(which)
    if isinstance(which, bool | int):
        which = (np.bool_ if given.dtype == bool_ else np.int32)(which)
    if all(isinstance(c, bool | int | float | complex) for c in cases):
        types = [typeof(c) for c in cases]
        cases = tuple(
            conversion.convert_element_type(c, dtype=t.dtype, weak_type=t.weak_type)
            for c, t in zip(cases, types, strict=True)
        )
    return selection.select_n(which, *cases)


def clamp(min: ArrayLike, x: ArrayLike, max: ArrayLike) -> Array:
    """Limit x to an interval: x between the bounds, else the nearer bound.

    Args:
      min, max: the bounds, scalars or of the shape of `x`, in its dtype.
      x: array_like.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.clamp(0.0, jnp.array([-1.0, 0.5, 2.0]), 1.0)
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    if isinstance(x, bool | int | float):
        given = typeof(x)
        x = conversion.convert_element_type(x, dtype=given.dtype, weak_type=given.weak_type)
    return selection.clamp(min, x, max)


def optimization_barrier(operand: Any, /) -> Any:
    """Return the values themselves, computed before anything that uses one of them.

    XLA moves nothing across it, and fuses nothing, nor takes a float that was made narrow for what
    it was before. Derivatives and cotangents are behind barriers of their own.

    Args:
      operand: a pytree of arrays.

    >>> import effax.lax as lax
    >>> lax.optimization_barrier((1.0, 2.0))
    (Array(1., dtype=float32, weak_type=True), Array(2., dtype=float32, weak_type=True))
    """
    values, tree = tree_flatten(operand)
    if not values:
        return operand
    return tree_unflatten(tree, barrier(*values))


def dtype(x: Any) -> np.dtype[Any]:
    """Return the dtype of a value, or the one that a class, a name or a dtype stands for here.

    64 bits become 32 unless x64 is on. Raises `ValueError` for None, `TypeError` for what has none.

    Args:
      x: array_like; or a dtype, its name or a Python type.

    >>> import effax.lax as lax
    >>> lax.dtype(1.0), lax.dtype(int), lax.dtype("bfloat16")
    (dtype('float32'), dtype('int32'), dtype(bfloat16))
    """
    if x is None:
        raise ValueError("None has no dtype")
    return dtype_and_weakness(x)[0]


def shape_as_value(shape: Shape) -> Array | np.ndarray[Any, Any]:
    """Return a shape as an array of integers, for a known shape a NumPy array.

    Args:
      shape: a sequence of integers.

    >>> import effax.lax as lax
    >>> lax.shape_as_value((2, 3))
    array([2, 3], dtype=int32)
    """
    lengths = canonical_shape(shape)
    if lengths and all(isinstance(n, int) for n in lengths):
        return np.array(lengths, np.int32 if max(lengths) < 2**31 else np.int64)
    return _lengths(lengths)


@whole("lengths")
def _lengths(lengths: tuple[int, ...]) -> Array:
    if not lengths:
        return shape.full((0,), 0, np.int32)
    return shape.concatenate(*(shape.full((1,), n, np.int32) for n in lengths), axis=0)
