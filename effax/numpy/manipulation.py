"""Shapes: the same elements under other axes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, SupportsIndex, cast, overload

import numpy as np

from effax.api.placing.output_sharding import placed
from effax.eager.whole import whole
from effax.effects.rows import shape as effects
from effax.effects.types import canonical_shape
from effax.effects.value import Array, ArrayLike, Axis, OutSharding, Shape
from effax.keys.decorators import moves_keys
from effax.operands.arguments import (
    broadcast,
    canonical_axes,
    canonical_axis,
    check_arrays,
    common_shape,
    concrete_int,
    listed,
    shape_of,
)
from effax.operands.promoting import array as array_of


def _wanted_shape(lengths: Any, given: tuple[int, ...]) -> tuple[int, ...]:
    """A shape with one -1 in it, completed; raises `TypeError` where sizes differ."""
    wanted = [concrete_int(n, "the length of an axis") for n in listed(lengths)]
    size = prod(given)
    if wanted.count(-1) > 1:
        raise TypeError(f"reshape: only one length can be -1, got {tuple(wanted)}")
    if -1 in wanted:
        known = prod(n for n in wanted if n != -1)
        if known == 0 or size % known:
            raise TypeError(
                f"cannot reshape array of shape {given} (size {size}) into shape "
                f"{tuple(wanted)} because the product of specified axis sizes ({known}) does not "
                f"evenly divide {size}"
            )
        wanted[wanted.index(-1)] = size // known
    result = canonical_shape(wanted)
    if prod(result) != size:
        raise TypeError(
            f"cannot reshape array of shape {given} (size {size}) into shape {result} "
            f"(size {prod(result)})"
        )
    return result


@moves_keys()
@placed
@whole("shape", "order")
def reshape_values(
    a: ArrayLike,
    shape: SupportsIndex | Shape,
    order: str = "C",
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Return `reshape(a, shape, order)` as an `Array`, also of a NumPy array."""
    check_arrays("reshape", a)
    given = shape_of(a)
    wanted = _wanted_shape(shape, given)
    if order == "C":
        return effects.reshape(a, shape=wanted)
    if order == "F":
        turned = effects.transpose(a, permutation=tuple(range(len(given)))[::-1])
        turned = effects.reshape(turned, shape=wanted[::-1])
        return effects.transpose(turned, permutation=tuple(range(len(wanted)))[::-1])
    if order == "A":
        raise NotImplementedError("np.reshape order=A is not implemented.")
    raise ValueError(f"Unexpected value for 'order' argument: {order}.")


def reshape(
    a: ArrayLike,
    shape: SupportsIndex | Shape,
    order: str = "C",
    *,
    copy: bool | None = None,
    out_sharding: OutSharding = None,
) -> Array:
    """Return the elements in another shape.

    A NumPy array gives a NumPy array, as in JAX, so its values can be read while a function is
    traced.

    Args:
      a: array_like.
      shape: the shape of the result; one length may be -1, and follows from the others.
      order: "C" (the last axis changes fastest) or "F" (the first axis changes fastest).
      copy: ignored: arrays are immutable, so that a copy makes no difference.
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    >>> reshape(np.arange(6), (2, -1)).shape
    (2, 3)
    """
    if isinstance(a, np.ndarray | np.generic) and out_sharding is None:
        kept: Any = a
        return cast(Array, kept.reshape(shape, order=order))
    return reshape_values(a, shape, order, out_sharding=out_sharding)


@moves_keys()
@placed
@whole("order")
def ravel(a: ArrayLike, order: str = "C", *, out_sharding: OutSharding = None) -> Array:
    """Return the elements along one axis.

    Args:
      a: array_like.
      order: "C" (the last axis changes fastest) or "F" (the first axis changes fastest).
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    >>> ravel(np.ones((2, 3))).shape
    (6,)
    """
    check_arrays("ravel", a)
    if order == "K":
        raise NotImplementedError("Ravel not implemented for order='K'.")
    return reshape_values(a, -1, order)


@moves_keys()
@whole("axes")
def transpose(a: ArrayLike, axes: Sequence[int] | None = None) -> Array:
    """Return the array with its axes in another order.

    Args:
      a: array_like.
      axes: the axes of `a` in their new order, negative ones counting from the end; by default
        reversed.

    >>> transpose(np.ones((2, 3, 4)), (1, 2, 0)).shape
    (3, 4, 2)
    """
    check_arrays("transpose", a)
    ndim = len(shape_of(a))
    if axes is None:
        order = tuple(range(ndim))[::-1]
    else:
        order = tuple(canonical_axis(i, ndim) for i in axes)
    return effects.transpose(a, permutation=order)


@moves_keys()
@whole("axes")
def permute_dims(a: ArrayLike, /, axes: tuple[int, ...]) -> Array:
    """Return the array with its axes in another order.

    Args:
      a: array_like.
      axes: a permutation of the axes of `a`; negative ones count from the end.

    Raises:
      TypeError: where `axes` is not a permutation.

    >>> permute_dims(np.ones((2, 3, 4)), (1, 2, 0)).shape
    (3, 4, 2)
    """
    check_arrays("permute_dims", a)
    ndim = len(shape_of(a))
    if sorted(n + ndim if n < 0 else n for n in axes) != list(range(ndim)):
        raise TypeError(f"permute_dims: {axes} is not a permutation of {ndim} axes")
    return transpose(a, axes)


@moves_keys()
@whole()
def matrix_transpose(x: ArrayLike, /) -> Array:
    """Return the array with its last two axes exchanged.

    Args:
      x: array_like, (..., m, n).

    >>> matrix_transpose(np.ones((5, 2, 3))).shape
    (5, 3, 2)
    """
    check_arrays("matrix_transpose", x)
    ndim = len(shape_of(x))
    if ndim < 2:
        raise ValueError(
            f"x must be at least two-dimensional for matrix_transpose; got ndim={ndim}"
        )
    return swapaxes(x, -1, -2)


@moves_keys()
@whole("axis1", "axis2")
def swapaxes(a: ArrayLike, axis1: int, axis2: int) -> Array:
    """Return the array with two axes exchanged.

    Args:
      a: array_like.
      axis1, axis2: the axes to exchange; negative ones count from the end.

    >>> swapaxes(np.ones((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """
    check_arrays("swapaxes", a)
    ndim = len(shape_of(a))
    order = list(range(ndim))
    i, j = canonical_axis(axis1, ndim), canonical_axis(axis2, ndim)
    order[i], order[j] = order[j], order[i]
    return effects.transpose(a, permutation=tuple(order))


@moves_keys()
@whole("source", "destination")
def moveaxis(a: ArrayLike, source: int | Sequence[int], destination: int | Sequence[int]) -> Array:
    """Return the array with axes moved to other places; the others keep their order.

    Args:
      a: array_like.
      source: the axis or axes to move; negative ones count from the end.
      destination: their places in the result, as many as in `source`.

    >>> moveaxis(np.ones((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    check_arrays("moveaxis", a)
    ndim = len(shape_of(a))
    sources = [canonical_axis(i, ndim) for i in listed(source)]
    targets = [canonical_axis(i, ndim) for i in listed(destination)]
    if len(sources) != len(targets):
        raise ValueError(
            f"Inconsistent number of elements: {len(sources)} vs {len(targets)} axes to move"
        )
    if len(set(sources)) != len(sources) or len(set(targets)) != len(targets):
        raise ValueError(f"repeated axis in moveaxis: {source} to {destination}")
    order = [i for i in range(ndim) if i not in sources]
    for target, moved in sorted(zip(targets, sources, strict=True)):
        order.insert(target, moved)
    return effects.transpose(a, permutation=tuple(order))


@moves_keys()
@whole("axis", "start")
def rollaxis(a: ArrayLike, axis: int, start: int = 0) -> Array:
    """Return the array with an axis moved to before the place `start`.

    Args:
      a: array_like.
      axis: the axis to move; negative ones count from the end.
      start: the axis of `a` before which it goes; the number of axes for the end.

    >>> rollaxis(np.ones((2, 3, 4)), 2).shape
    (4, 2, 3)
    """
    check_arrays("rollaxis", a)
    ndim = len(shape_of(a))
    axis = canonical_axis(axis, ndim)
    if not -ndim <= start <= ndim:
        raise ValueError(f"start={start} must satisfy -{ndim}<=start<={ndim}")
    start = start + ndim if start < 0 else start
    return moveaxis(a, axis, start - 1 if axis < start else start)


@moves_keys()
@whole("axis")
def expand_dims(a: ArrayLike, axis: int | Sequence[int]) -> Array:
    """Return the array with new axes of length 1.

    Args:
      a: array_like.
      axis: the place or places of the new axes in the result; negative ones count from the end.

    >>> expand_dims(np.ones((2, 3)), (0, 3)).shape
    (1, 2, 3, 1)
    """
    check_arrays("expand_dims", a)
    places = listed(axis)
    ndim = len(shape_of(a)) + len(places)
    axes = [canonical_axis(i, ndim) for i in places]
    if len(set(axes)) != len(axes):
        raise ValueError(f"repeated axis in expand_dims: {axis}")
    return effects.expand_dims(a, axes)


@moves_keys()
@whole("axis")
def squeeze(a: ArrayLike, axis: Axis = None) -> Array:
    """Return the array without axes of length 1.

    Args:
      a: array_like.
      axis: the axis or axes to remove, of length 1; None for all of that length.

    >>> squeeze(np.ones((1, 3, 1)), 0).shape
    (3, 1)
    """
    check_arrays("squeeze", a)
    lengths = shape_of(a)
    if axis is None:
        axes: Sequence[int] = [i for i, n in enumerate(lengths) if n == 1]
    else:
        axes = canonical_axes(axis, len(lengths))
    if any(lengths[i] != 1 for i in axes):
        raise ValueError(
            "cannot select an axis to squeeze out which has size not equal to one, got "
            f"shape={lengths} and dimensions={tuple(axes)}"
        )
    return effects.squeeze(a, axes) if axes else array_of(a)


@moves_keys()
@placed
@whole("shape")
def broadcast_to(
    array: ArrayLike, shape: SupportsIndex | Shape, *, out_sharding: OutSharding = None
) -> Array:
    """Return the array repeated along axes of length 1 and along new ones, to a shape.

    Args:
      array: array_like.
      shape: the shape of the result.
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    >>> broadcast_to(np.arange(3), (2, 3)).tolist()
    [[0, 1, 2], [0, 1, 2]]
    """
    check_arrays("broadcast_to", array)
    wanted, given = canonical_shape(shape), shape_of(array)
    last = wanted[len(wanted) - len(given) :] if len(given) <= len(wanted) else ()
    if len(last) != len(given) or any(n not in (1, m) for n, m in zip(given, last, strict=True)):
        raise ValueError(
            f"Incompatible shapes for broadcasting: {given} and requested shape {wanted}"
        )
    return broadcast(array_of(array), wanted)


def broadcast_shapes(*shapes: SupportsIndex | Shape) -> tuple[int, ...]:
    """Return the shape to which all of these broadcast.

    Args:
      *shapes: tuples of lengths; an integer n is the shape (n,).

    >>> broadcast_shapes((2, 1), (3,), ())
    (2, 3)
    """
    return common_shape(*(canonical_shape(s) for s in shapes))


@moves_keys("args")
@whole()
def broadcast_arrays(*args: ArrayLike) -> list[Array]:
    """Return the arrays, broadcast to one shape.

    Args:
      *args: array_like.

    >>> [x.shape for x in broadcast_arrays(np.ones((2, 1)), np.ones(3))]
    [(2, 3), (2, 3)]
    """
    check_arrays("broadcast_arrays", *args)
    wanted = common_shape(*(shape_of(x) for x in args))
    return [broadcast(array_of(x), wanted) for x in args]


def _at_least(name: str, arys: Sequence[Any], axes: dict[int, tuple[int, ...]]) -> Any:
    """Arrays with axes added to those of few; one alone is returned as itself."""
    check_arrays(name, *arys)
    results = [effects.expand_dims(x, axes.get(len(shape_of(x)), ())) for x in arys]
    return results[0] if len(results) == 1 else results


@overload
def atleast_1d(ary: ArrayLike, /) -> Array: ...
@overload
def atleast_1d(*arys: ArrayLike) -> list[Array]: ...
@moves_keys("arys")
@whole()
def atleast_1d(*arys: ArrayLike) -> Array | list[Array]:
    """Return scalars as vectors of length 1, and other arrays as they are.

    Args:
      *arys: array_like; one alone gives an array, several a list.

    >>> atleast_1d(3.0).shape
    (1,)
    """
    return _at_least("atleast_1d", arys, {0: (0,)})


@overload
def atleast_2d(ary: ArrayLike, /) -> Array: ...
@overload
def atleast_2d(*arys: ArrayLike) -> list[Array]: ...
@moves_keys("arys")
@whole()
def atleast_2d(*arys: ArrayLike) -> Array | list[Array]:
    """Return scalars and vectors as matrices of one row, and other arrays as they are.

    Args:
      *arys: array_like; one alone gives an array, several a list.

    >>> atleast_2d(np.ones(3)).shape
    (1, 3)
    """
    return _at_least("atleast_2d", arys, {0: (0, 1), 1: (0,)})


@overload
def atleast_3d(ary: ArrayLike, /) -> Array: ...
@overload
def atleast_3d(*arys: ArrayLike) -> list[Array]: ...
@moves_keys("arys")
@whole()
def atleast_3d(*arys: ArrayLike) -> Array | list[Array]:
    """Return the arrays with axes of length 1 added until there are three.

    Args:
      *arys: array_like; one alone gives an array, several a list.

    >>> atleast_3d(np.ones(3)).shape, atleast_3d(np.ones((3, 4))).shape
    ((1, 3, 1), (3, 4, 1))
    """
    return _at_least("atleast_3d", arys, {0: (0, 1, 2), 1: (0, 2), 2: (2,)})
