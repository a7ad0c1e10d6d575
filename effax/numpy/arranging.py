"""Arranging: elements reversed, rolled, repeated, left out and put in."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, SupportsIndex

import numpy as np

from effax.api.placing.output_sharding import placed
from effax.eager.calls import as_values
from effax.eager.whole import opening, whole
from effax.effects.cuts import check_whole
from effax.effects.errors import ConcretizationTypeError, why_unknown
from effax.effects.handler import Carrier
from effax.effects.rows import comparison, elementwise, indexing, selection
from effax.effects.rows import shape as effects
from effax.effects.types import (
    bit_width,
    canonical_shape,
    default_int,
    int32,
    is_integer,
    position_dtype,
    typeof,
)
from effax.effects.value import (
    Array,
    ArrayLike,
    Axis,
    OutSharding,
    Shape,
    is_symbolic,
    is_symbolic_length,
)
from effax.keys.decorators import moves_keys
from effax.numpy.creation import constant
from effax.numpy.manipulation import ravel, reshape_values
from effax.operands.arguments import (
    broadcast,
    canonical_axes,
    canonical_axis,
    cast,
    check_arrays,
    combine,
    concrete_int,
    listed,
    number_of_elements,
    pick,
    shape_of,
    zeros_as,
)
from effax.operands.promoting import array, asarray


@moves_keys()
@whole("axis")
def flip(m: ArrayLike, axis: Axis = None) -> Array:
    """Return the elements in opposite order along some axes.

    Args:
      m: array_like.
      axis: the axis or axes to reverse; None for all.

    >>> flip(np.arange(3)).tolist()
    [2, 1, 0]
    """
    check_arrays("flip", m)
    return effects.rev(m, dims=canonical_axes(axis, len(shape_of(m))))


@moves_keys()
def fliplr(m: ArrayLike) -> Array:
    """Return the columns in opposite order: axis 1 is reversed.

    Args:
      m: array_like, of at least two axes.

    >>> fliplr(np.arange(4).reshape(2, 2)).tolist()
    [[1, 0], [3, 2]]
    """
    return flip(m, 1)


@moves_keys()
def flipud(m: ArrayLike) -> Array:
    """Return the rows in opposite order: axis 0 is reversed.

    Args:
      m: array_like, of at least one axis.

    >>> flipud(np.arange(4).reshape(2, 2)).tolist()
    [[2, 3], [0, 1]]
    """
    return flip(m, 0)


@moves_keys()
@whole("k", "axes")
def rot90(m: ArrayLike, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Array:
    """Return the array turned by quarter turns.

    Args:
      m: array_like, of at least two axes.
      k: the number of quarter turns.
      axes: the two axes to turn, from the first towards the second.

    >>> rot90(np.array([[1, 2], [3, 4]])).tolist()
    [[2, 4], [1, 3]]
    """
    check_arrays("rot90", m)
    ndim = len(shape_of(m))
    axes = listed(axes)
    if len(axes) != 2:
        raise ValueError(f"rot90: axes must be two axes, got {axes}")
    if ndim < 2:
        raise ValueError(
            "rot90 requires its first argument to have ndim at least two, but got first argument "
            f"of shape {shape_of(m)}"
        )
    first, second = (canonical_axis(a, ndim) for a in axes)
    if first == second:
        raise ValueError("Axes must be different")
    order = list(range(ndim))
    order[first], order[second] = second, first
    turns = concrete_int(k, "the number of quarter turns") % 4
    if turns == 0:
        return array(m)
    if turns == 2:
        return effects.rev(m, dims=(first, second))
    if turns == 1:
        return effects.transpose(effects.rev(m, dims=(second,)), permutation=tuple(order))
    return effects.rev(effects.transpose(m, permutation=tuple(order)), dims=(second,))


@moves_keys()
@opening
def roll(a: ArrayLike, shift: ArrayLike | Sequence[int], axis: Axis = None) -> Array:
    """Return the elements moved along axes; those that leave at one end come in at the other.

    Args:
      a: array_like.
      shift: an integer, or one for each axis; positive ones move towards higher indices.
      axis: the axis or axes to move along; None for the flattened array, whose shape is restored.

    >>> roll(np.arange(4), 1).tolist()
    [3, 0, 1, 2]
    """
    check_arrays("roll", a)
    if axis is not None and type(axis) is not int:
        axis = listed(axis)
    if not (type(shift) is int or hasattr(shift, "ndim")):
        shift = listed(shift)
    if type(shift) is int or (isinstance(shift, tuple) and all(map(_is_length, shift))):
        return _roll_static(a, shift, axis)
    # Each keeps its dtype: in a common one of 32 bits the largest of uint32 would be others.
    shifts: tuple[Any, ...] = (shift,)
    most = 1
    if isinstance(shift, tuple):
        shifts, most = shift, 0
    if any(np.ndim(x) > most for x in shifts):
        raise ValueError(f"roll: shift must be a number or a vector of numbers, got {shift}")
    return _roll_dynamic(a, shifts, axis)


def _is_length(n: Any) -> bool:
    return type(n) is int or is_symbolic_length(n)


@whole("shift", "axis")
def _roll_static(a: Any, shift: Any, axis: Any) -> Any:
    lengths = shape_of(a)
    if axis is None:
        if isinstance(shift, tuple):
            shift = sum(shift)
        return reshape_values(_rolled(ravel(a), [(0, shift)]), lengths)
    return _rolled(a, _shifts(shift, axis, len(lengths)))


def _shifts(shift: Any, axis: Any, ndim: int) -> list[tuple[int, Any]]:
    shifts = shift if isinstance(shift, tuple) else (shift,)
    axes = [canonical_axis(i, ndim) for i in (axis if isinstance(axis, tuple) else (axis,))]
    if len(shifts) == 1:
        shifts = shifts * len(axes)
    elif len(axes) == 1:
        axes = axes * len(shifts)
    if len(shifts) != len(axes):
        raise ValueError(f"roll: {len(shifts)} shifts for {len(axes)} axes")
    return list(zip(axes, shifts, strict=True))


def _rolled(a: Any, shifts: Sequence[tuple[int, int]]) -> Any:
    for axis, shift in shifts:
        n = shape_of(a)[axis]
        at = -shift % n if n else 0
        if is_symbolic_length(at) or at:
            parts = effects.slice_axis(a, axis, at, n), effects.slice_axis(a, axis, 0, at)
            a = effects.concatenate(*parts, axis=axis)
    return a


@whole("axis")
def _roll_dynamic(a: Any, shifts: tuple[Any, ...], axis: Any) -> Any:
    """Shifts are numbers or vectors of them, each of its own dtype."""
    shifts = tuple(_single(x, i) for x in shifts for i in range(prod(shape_of(x))))
    if axis is None:
        flat = ravel(a)
        for shift in shifts:
            flat = _rolled_by(flat, shift, 0)
        return reshape_values(flat, shape_of(a))
    for along, shift in _shifts(shifts, axis, len(shape_of(a))):
        a = _rolled_by(a, shift, along)
    return a


def _single(x: Any, i: int) -> Any:
    """One element of an array."""
    return effects.squeeze(effects.slice_axis(ravel(x), 0, i, i + 1), (0,))


def _rolled_by(a: Any, shift: Any, axis: int) -> Any:
    n = shape_of(a)[axis]
    if n == 0:
        return a
    counting = position_dtype(n)
    # Narrow integers can't hold n, and unsigned ones can't hold negative shifts. A float loses its
    # fraction, as in NumPy.
    if not is_integer(typeof(shift).dtype):
        shift = cast(shift, default_int())
    if bit_width(typeof(shift).dtype) < bit_width(counting):
        shift = cast(shift, counting)
    number = number_of_elements(n, counting)
    rest = cast(
        combine(elementwise.rem, shift, number_of_elements(n, typeof(shift).dtype)), counting
    )
    places = elementwise.sub(
        effects.iota(dtype=counting, shape=(n,), dimension=0), broadcast(rest, (n,))
    )
    places = selection.select_n(
        comparison.lt(places, 0), places, combine(elementwise.add, places, number)
    )
    places = selection.select_n(
        combine(comparison.ge, places, number), places, combine(elementwise.sub, places, number)
    )
    return pick(a, places, axis)


@moves_keys()
@opening
def tile(A: ArrayLike, reps: SupportsIndex | Sequence[SupportsIndex]) -> Array:  # noqa: N803  (NumPy's name)
    """Return the array repeated as a whole.

    Args:
      A: array_like.
      reps: the number of repetitions along each axis, or along the last one. Axes of length 1 are
        put in front where there are more numbers than axes.

    >>> tile(np.arange(2), (2, 2)).tolist()
    [[0, 1, 0, 1], [0, 1, 0, 1]]
    """
    check_arrays("tile", A)
    return _tile(A, tuple(concrete_int(r, "the number of repetitions") for r in listed(reps)))


@whole("reps")
def _tile(a: Any, reps: tuple[int, ...]) -> Any:
    lengths = shape_of(a)
    ndim = max(len(lengths), len(reps))
    lengths = (1,) * (ndim - len(lengths)) + lengths
    reps = (1,) * (ndim - len(reps)) + reps
    for i, count in enumerate(reps[ndim - len(shape_of(a)) :]):
        if count != 1:
            told = f"Operand cannot be sharded on dimension {i} when the tiling is non-trivial"
            check_whole(typeof(a), i, told)
    pairs = tuple(n for pair in zip(reps, lengths, strict=True) for n in pair)
    wide = effects.broadcast_in_dim(
        effects.reshape(a, shape=lengths), shape=pairs, dims=tuple(range(1, 2 * ndim, 2))
    )
    return effects.reshape(wide, shape=tuple(n * r for n, r in zip(lengths, reps, strict=True)))


@moves_keys()
@placed
@opening
def repeat(
    a: ArrayLike,
    repeats: ArrayLike,
    axis: int | None = None,
    *,
    total_repeat_length: int | None = None,
    out_sharding: OutSharding = None,
) -> Array:
    """Return each element repeated, all equally often or each by a number of its own.

    Args:
      a: array_like.
      repeats: an integer, or a vector of one for each element along the axis.
      axis: the axis to repeat along; None for the flattened array.
      total_repeat_length: the length of the result along the axis; it is cut there, or filled up
        with the last element. Needed where `repeats` is traced.
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    >>> repeat(np.arange(3), np.array([1, 0, 2])).tolist()
    [0, 2, 2]
    """
    check_arrays("repeat", a, repeats)
    n, axis = length_along(a, axis)
    if isinstance(repeats, Carrier) or total_repeat_length is not None:
        if total_repeat_length is None:
            raise ConcretizationTypeError(
                "repeat: when jit-compiling or transforming jnp.repeat, the total number of "
                "repeats must be static: it is the length of the result. To fix this, pass "
                "`total_repeat_length`, or integers known while tracing for `repeats`. "
                f"{why_unknown(repeats)}"
            )
        return _repeat_unknown(a, repeats, axis, total_repeat_length)
    counts = np.asarray(repeats)
    if counts.dtype != np.bool_ and not is_integer(counts.dtype):
        raise TypeError(f"repeat: repeats must be integers, not {counts.dtype}")
    if counts.size == 1:
        return _repeat_equally(a, int(counts.reshape(())), axis)
    if counts.ndim != 1:
        raise ValueError("repeat: repeats must be an integer or a vector of them")
    if counts.shape[0] != n:
        raise ValueError(f"repeat: {counts.shape[0]} repeats for an axis of length {n}")
    places = np.repeat(np.arange(counts.shape[0]), counts)
    return picked_along(a, constant(places.astype(np.int32)), axis)


def length_along(a: Any, axis: int | None) -> tuple[int, int | None]:
    """The length of an axis counted from the front; of the flattened array for None."""
    lengths = shape_of(a)
    if axis is None:
        return prod(lengths), None
    found = canonical_axis(axis, max(len(lengths), 1))
    return (lengths or (1,))[found], found


def flat_along(a: Any, axis: int | None) -> tuple[Any, int]:
    """An array and an axis of it; the flattened array and its only one for None."""
    if axis is None or not shape_of(a):
        return ravel(a), 0
    return a, axis


@whole("axis")
def picked_along(a: Any, places: Any, axis: int | None) -> Any:
    """The elements at positions along an axis, or of the flattened array."""
    a, axis = flat_along(a, axis)
    return pick(a, places, axis)


@whole("count", "axis")
def _repeat_equally(a: Any, count: int, axis: int | None) -> Any:
    a, axis = flat_along(a, axis)
    lengths = shape_of(a)
    wide = effects.broadcast_in_dim(
        a,
        shape=(*lengths[: axis + 1], count, *lengths[axis + 1 :]),
        dims=tuple(i for i in range(len(lengths) + 1) if i != axis + 1),
    )
    return effects.reshape(
        wide, shape=(*lengths[:axis], lengths[axis] * count, *lengths[axis + 1 :])
    )


@whole("axis", "total")
def _repeat_unknown(a: Any, repeats: Any, axis: int | None, total: int) -> Any:
    """Repeat elements an unknown number of times: mark the start of each; running sums give
    indices.
    """
    from effax.effects.rows.cumulative import cumsum

    a, axis = flat_along(a, axis)
    n = shape_of(a)[axis]
    counts = broadcast(cast(repeats, int32), (n,))
    if not n and total:
        return a  # as in JAX, there is nothing to repeat
    ends = cumsum(counts, axis=0, reverse=False)
    marks = indexing.scatter_add(
        effects.full((total,), 0, int32),
        effects.expand_dims(ends, (1,)),
        effects.full((n,), 1, int32),
        dimension_numbers=indexing.ScatterDimensionNumbers((), (0,), (0,)),
        mode=indexing.GatherScatterMode.FILL_OR_DROP,
        indices_are_sorted=True,
        unique_indices=False,
    )
    return pick(a, cumsum(marks, axis=0, reverse=False), axis)


@moves_keys()
@whole("new_shape")
def resize(a: ArrayLike, new_shape: Shape) -> Array:
    """Return the elements, from the beginning again as often as needed, in a new shape.

    Args:
      a: array_like.
      new_shape: the shape of the result. It is all zeros where `a` is empty.

    >>> resize(np.arange(3), (2, 2)).tolist()
    [[0, 1], [2, 0]]
    """
    check_arrays("resize", a)
    asked = listed(new_shape)
    if any(n < 0 for n in asked):
        raise ValueError("all elements of `new_shape` must be non-negative")
    lengths = canonical_shape(asked)
    size, given = prod(lengths), prod(shape_of(a))
    if size == 0 or given == 0:
        return zeros_as(a, lengths)
    if is_symbolic((size, given)):  # whether enough are laid end to end is hard to decide
        places = effects.iota(dtype=position_dtype(given), shape=(size,), dimension=0)
        turns = combine(elementwise.rem, places, cast(given, typeof(places).dtype))
        return effects.reshape(pick(ravel(a), turns, 0), shape=lengths)
    flat = _tile(ravel(a), (-(-size // given),))
    return effects.reshape(effects.slice_axis(flat, 0, 0, size), shape=lengths)


@opening
def trim_zeros(filt: ArrayLike, trim: str = "fb", axis: Axis = None) -> Array:
    """Return the array without the zeros at the ends of axes.

    Args:
      filt: array_like, which must not be traced: the lengths depend on its elements.
      trim: "f" to trim the front, "b" the back, "fb" both.
      axis: the axis or axes to trim; None for all.

    >>> trim_zeros(np.array([0, 1, 0])).tolist()
    [1]
    >>> trim_zeros(np.array([[0, 0], [0, 3]]), axis=0).tolist()
    [[0, 3]]
    """
    check_arrays("trim_zeros", filt)
    if not isinstance(trim, str):
        raise TypeError(f"trim_zeros: trim must be 'f', 'b' or both, not {trim!r}")
    if isinstance(filt, Carrier):
        raise ConcretizationTypeError(
            filt, "trim_zeros: the length of the result depends on the elements."
        )
    ends = trim.lower()
    lengths = shape_of(filt)
    places = np.nonzero(np.asarray(filt))
    for i in canonical_axes(axis, len(lengths)):
        some = places[i].size > 0
        first = (int(places[i].min()) if some else lengths[i]) if "f" in ends else 0
        last = (int(places[i].max()) + 1 if some else first) if "b" in ends else lengths[i]
        filt = effects.slice_axis(filt, i, first, last)
    return as_values(asarray(filt))
