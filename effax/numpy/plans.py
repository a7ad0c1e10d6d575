"""Plans for indexing: by boxes, by slices, or as a gather (and, mirrored, a scatter)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from effax.effects.rows import elementwise, shape
from effax.effects.rows.indexing import GatherDimensionNumbers, GatherScatterMode, gather
from effax.effects.types import int32, int64, position_dtype, typeof
from effax.effects.value import Array, is_symbolic, is_symbolic_length, surely
from effax.lax.slicing import from_front, position
from effax.numpy.index_parts import Fixed, Indices, Moving, New, Span, Truth
from effax.operands.arguments import broadcast, cast, common_shape


def without_slices(entries: Sequence[Any]) -> list[Any]:
    """The index that is left when its slices have been read: whole axes in their place."""
    return [Span(0, e.length, 1, True) if type(e) is Span else e for e in entries]


def is_box(entries: Sequence[Any], mode: GatherScatterMode | None, reading: bool) -> bool:
    """Whether the index is a box, which slices read and write without a gather or a scatter.

    A box that may lie partly outside is one where the mode moves it inside, as slices do: for
    reading the default does.
    """
    clips = mode is GatherScatterMode.CLIP or (
        mode is GatherScatterMode.PROMISE_IN_BOUNDS or (reading and mode is None)
    )
    for e in entries:
        kind = type(e)
        if kind is Truth or (kind is Indices and (e.ndim or not clips)):
            return False
        if kind in (Fixed, Moving) and not (e.inside or clips):
            return False
        if kind is Span and not reading and e.step not in (1, -1) and not _at_most_one(e.length):
            return False
    return True


class IndexBox(NamedTuple):
    """A box in terms of the array's axes: its starts (ints or values), lengths, and the rest."""

    starts: list[Any]
    sizes: list[int]
    reversed: tuple[int, ...]
    shape: tuple[int, ...]


def box_of(
    lengths: Sequence[int], entries: Sequence[Any], values: Sequence[Any], wrap: bool
) -> IndexBox:
    """The box an index names, apart from the steps of slices."""
    given = iter(values)
    starts: list[Any] = []
    sizes: list[int] = []
    flipped: list[int] = []
    result: list[int] = []
    for e in entries:
        axis = len(starts)
        match e:
            case New():
                result.append(1)
                continue
            case Span(start, count, step, _):
                some = is_symbolic_length(count) or count
                starts.append(start if step > 0 else start + (count - 1) * step if some else 0)
                sizes.append(count)
                result.append(count)
                if step < 0:
                    flipped.append(axis)
            case Fixed(at, _):
                starts.append(at)
                sizes.append(1)
            case Moving():
                starts.append(next(given))
                sizes.append(1)
            case _:
                if lengths[axis] == 0:
                    raise IndexError(f"index is out of bounds for axis {axis} with size 0")
                starts.append(_front(next(given), lengths[axis], wrap))
                sizes.append(1)
    return IndexBox(starts, sizes, tuple(flipped), tuple(result))


def _front(index: Any, length: int, wrap: bool) -> Any:
    wide = typeof(index).dtype.itemsize == 8
    return from_front(index, length, wrap, int64 if wide else position_dtype(length))


def same_dtype(starts: Sequence[Any], lengths: Sequence[int]) -> list[Any]:
    """Start indices, ints among them, as scalars of one dtype."""
    wide = any(not isinstance(s, int) and typeof(s).dtype == int64 for s in starts)
    dtype = int64 if wide else position_dtype(*lengths)
    return [position(s, dtype) if isinstance(s, int) else cast(s, dtype) for s in starts]


def _stepped(start: int, count: int, step: int, length: int) -> Any:
    """The positions that a slice of an axis of that length names, in a vector."""
    dtype = position_dtype(length)
    if dtype == int32 and not is_symbolic((start, count, step)):
        return np.arange(start, start + count * step, step, dtype=np.int32)
    steps = shape.iota(dtype=dtype, shape=(count,), dimension=0)
    start, step = cast(start, dtype), cast(step, dtype)
    return elementwise.add(
        elementwise.mul(steps, broadcast(step, (count,))), broadcast(start, (count,))
    )


def _at_most_one(count: Any) -> bool:
    """Whether a slice names one position at most; False where that depends on a length."""
    return surely(lambda: count <= 1)


def _surely_within(low: Any, limit: Any, length: Any) -> bool:
    """Whether `low:limit` lies on an axis of that length, whatever symbolic lengths are."""
    return surely(lambda: 0 <= low <= limit <= length)


def read_slices(x: Array, entries: Sequence[Any]) -> Array:
    """The array with its axes sliced as the slices say; integers and arrays take whole axes."""
    lengths = typeof(x).shape
    spans = [e if type(e) is Span else None for e in entries if type(e) not in (New, Truth)]
    if all(s is None or s.whole for s in spans):
        return x
    bounds = []
    apart: list[int] = []  # axes of which only the positions are known, not that they lie inside
    for axis, (s, n) in enumerate(zip(spans, lengths, strict=True)):
        if s is None or s.whole:
            bounds.append((0, n, 1))
        elif not is_symbolic_length(s.length) and not s.length:
            bounds.append((0, 0, 1))
        else:
            last = s.start + (s.length - 1) * s.step
            low, high, by = (s.start, last, s.step) if s.step > 0 else (last, s.start, -s.step)
            if not is_symbolic((low, high, by)) or _surely_within(low, high + 1, n):
                bounds.append((low, high + 1, by))
            else:
                bounds.append((0, n, 1))
                apart.append(axis)
    starts, limits, strides = zip(*bounds, strict=True)
    if (starts, limits, strides) != ((0,) * len(lengths), lengths, (1,) * len(lengths)):
        stepped = None if set(strides) == {1} else strides
        x = shape.slice(x, start=starts, limit=limits, strides=stepped)
    backward = [i for i, s in enumerate(spans) if s is not None and s.step < 0]
    flipped = tuple(i for i in backward if i not in apart)
    x = shape.rev(x, dims=flipped) if flipped else x
    for axis in apart:
        x = _read_positions(x, axis, spans[axis])
    return x


def _read_positions(x: Array, axis: int, span: Any) -> Array:
    """The positions that a slice names along one axis, one by one."""
    lengths = typeof(x).shape
    positions = _stepped(span.start, span.length, span.step, lengths[axis])
    rest = tuple(i for i in range(len(lengths)) if i != axis)
    return gather(
        x,
        shape.expand_dims(positions, (1,)),
        dimension_numbers=GatherDimensionNumbers(rest, (axis,), (axis,)),
        slice_sizes=tuple(1 if i == axis else n for i, n in enumerate(lengths)),
        mode=GatherScatterMode.CLIP,
        fill_value=None,
        indices_are_sorted=span.step > 0,
        unique_indices=True,
    )


class GatherPlan(NamedTuple):
    """The gather, or scatter, that an index amounts to."""

    indices: Any
    dims: GatherDimensionNumbers
    sizes: tuple[int, ...]
    shape: tuple[int, ...]  # NumPy's, with the new axes
    bare_shape: tuple[int, ...]  # without them
    truths: tuple[int, ...]  # axes that scalar Booleans add to the array, first
    alone: bool  # there are no index arrays: places ascend, and none repeats


def planned(
    lengths: Sequence[int],
    entries: Sequence[Any],
    values: Sequence[Any],
    together: bool,
    wrap: bool,
    reading: bool = True,
) -> GatherPlan:
    """The gather that reads what an index names, or that of the scatter that writes there.

    Nothing can be read at computed places of an empty axis, which raises `IndexError`; what is
    written there falls outside.

    Integers count as index arrays once there is one; the axes of all of them, broadcast, come
    where the first stands, or first if they are not together.
    """
    given = iter(values)
    parts = [(e, next(given) if type(e) in (Moving, Indices) else None) for e in entries]
    advanced = any(type(e) is Truth or (type(e) is Indices and e.ndim) for e in entries)
    kinds = (Fixed, Moving, Indices, Truth) if advanced else ()
    block = _block_shape(parts) if advanced else ()
    first = next((i for i, e in enumerate(entries) if type(e) in kinds), -1)
    place = (first if together else 0) if advanced else -1
    # For each index component: the axis that it indexes, its value, and its batch axes.
    components: list[tuple[int, Any, tuple[int, ...]]] = []
    batch: list[int] = []
    result: list[int] = []
    bare: list[int] = []
    offset: list[int] = []
    collapsed: list[int] = []
    sizes: list[int] = []
    truths: list[int] = []
    own_lengths = iter(lengths)
    end = 0  # the end of the indexed block among the batch axes
    for i, (e, value) in enumerate(parts):
        if i == place:
            batch.extend(block)
            result.extend(block)
            bare.extend(block)
            end = len(batch)
        if type(e) is New:
            result.append(1)
            continue
        axis = len(sizes)
        n = 1 if type(e) is Truth else next(own_lengths)
        match e:
            case Span(start, count, step, everything):
                result.append(count)
                bare.append(count)
                if everything or step == 1 or _at_most_one(count):
                    offset.append(len(bare) - 1)
                    sizes.append(count)
                    if not everything:
                        components.append((axis, position(start, position_dtype(n)), ()))
                    continue
                components.append((axis, _stepped(start, count, step, n), (len(batch),)))
                batch.append(count)
            case Truth(truth):
                truths.append(axis)
                positions = np.arange(int(truth), dtype=np.int32)
                components.append((axis, positions, (end - 1,)))
            case Fixed(at, _):
                components.append((axis, position(at, position_dtype(n)), ()))
            case Moving():
                components.append((axis, value, ()))
            case _:
                if reading and n == 0 and 0 not in typeof(value).shape:
                    raise IndexError(f"index is out of bounds for axis {axis} with size 0")
                components.append((axis, _front(value, n, wrap), tuple(range(end - e.ndim, end))))
        collapsed.append(axis)
        sizes.append(1)
    dims = GatherDimensionNumbers(
        tuple(offset), tuple(collapsed), tuple(axis for axis, _, _ in components)
    )
    indices = _stacked([c[1:] for c in components], tuple(batch))
    alone = not advanced and all(type(e) is not Span or e.step > 0 for e in entries)
    return GatherPlan(indices, dims, tuple(sizes), tuple(result), tuple(bare), tuple(truths), alone)


def _block_shape(parts: Sequence[tuple[Any, Any]]) -> tuple[int, ...]:
    """The shape to which the index arrays are broadcast."""
    shapes = [
        (int(e.value),) if type(e) is Truth else typeof(value).shape
        for e, value in parts
        if type(e) in (Truth, Indices)
    ]
    try:
        if any(map(is_symbolic, shapes)):
            return common_shape(*shapes)
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise ValueError(f"Incompatible shapes for broadcasting: {tuple(shapes)}") from None


def _stacked(components: Sequence[tuple[Any, tuple[int, ...]]], batch: tuple[int, ...]) -> Array:
    """The components of all indices as one array, [*batch, components]."""
    dtype = int64 if any(typeof(value).dtype == int64 for value, _ in components) else int32
    columns = [
        shape.broadcast_in_dim(cast(value, dtype), shape=(*batch, 1), dims=dims)
        for value, dims in components
    ]
    return columns[0] if len(columns) == 1 else shape.concatenate(*columns, axis=len(batch))
