"""`x[...]` and `x.at[...]`: NumPy's indexing, read and written, by slices, gathers and scatters."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from effax.effects import elementwise, indexing, selection, shape
from effax.effects.handler import bottom, current
from effax.effects.indexing import GatherDimensionNumbers, GatherScatterMode, scatter_dims
from effax.effects.promotion import lattice_result
from effax.effects.types import iinfo, int32, int64, typeof
from effax.effects.value import Value
from effax.lax.slicing import from_front, gather_mode
from effax.numpy.arguments import broadcast, cast
from effax.numpy.indices import Fixed, Indices, Moving, New, Skeleton, Span, Truth, is_mask, read
from effax.numpy.operands import asarray, promote_dtypes
from effax.whole import whole

Array = Any
Mode = str | GatherScatterMode | None


def getitem(x: Any, index: Any) -> Array:
    """`x[index]`, by NumPy's rules.

    Positions outside give the nearest element, as in JAX.

    Raises `IndexError` or `TypeError` for what is no index, `NonConcreteBooleanIndexError` for a
    traced mask.
    """
    skeleton, values = read(index, typeof(x).shape, current.get() is bottom)
    return _gather_with(x, values, skeleton)


class At:
    """What `x.at` is: `x.at[index]` names a part of the array, to be read or updated."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array

    def __getitem__(self, index: Any) -> IndexUpdateHelper:
        return IndexUpdateHelper(self.array, index)

    def __repr__(self) -> str:
        return f"At({self.array!r})"


class IndexUpdateHelper:
    """A part of an array; each method gives a new array in which that part was updated.

    `mode` says what an index outside means ('drop' by default; 'clip', 'promise_in_bounds');
    `indices_are_sorted` and `unique_indices` are promises; `wrap_negative_indices` whether negative
    indices count from the end.
    """

    __slots__ = ("array", "index")

    def __init__(self, array: Any, index: Any) -> None:
        self.array = array
        self.index = index

    def __repr__(self) -> str:
        return f"IndexUpdateHelper({self.array!r}, {self.index!r})"

    def get(
        self,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Mode = None,
        fill_value: Any = None,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        """The part itself; with mode='fill', `fill_value` where an index lies outside."""
        if fill_value is not None:
            if np.ndim(fill_value) != 0:
                raise ValueError("fill_value argument to indexed get() must be a scalar")
            fill_value = np.asarray(fill_value)[()]
        eager = current.get() is bottom
        lengths = typeof(self.array).shape
        skeleton, values = read(self.index, lengths, eager, wrap_negative_indices)
        return _gather_with(
            self.array,
            values,
            skeleton,
            None if mode is None else GatherScatterMode.from_any(mode),
            fill_value,
            bool(indices_are_sorted),
            bool(unique_indices),
            bool(wrap_negative_indices),
        )

    def set(self, values: Any, **options: Any) -> Array:
        """The part replaced: `x[index] = values`."""
        return update(self.array, self.index, values, "set", **options)

    def add(self, values: Any, **options: Any) -> Array:
        """`x[index] += values`; where an index repeats, repeatedly."""
        return update(self.array, self.index, values, "add", **options)

    def subtract(self, values: Any, **options: Any) -> Array:
        """`x[index] -= values`; where an index repeats, repeatedly."""
        return update(self.array, self.index, values, "subtract", **options)

    sub = subtract

    def multiply(self, values: Any, **options: Any) -> Array:
        """`x[index] *= values`; where an index repeats, repeatedly."""
        return update(self.array, self.index, values, "multiply", **options)

    mul = multiply

    def divide(self, values: Any, **options: Any) -> Array:
        """`x[index] /= values`; where an index repeats, repeatedly."""
        from effax.numpy import true_divide

        factor = update(_ones_like(self.array), self.index, values, "multiply", **options)
        return true_divide(self.array, factor)

    def power(self, values: Any, **options: Any) -> Array:
        """`x[index] **= values`; where an index repeats, repeatedly."""
        from effax.numpy import power

        exponent = update(_ones_like(self.array), self.index, values, "multiply", **options)
        return power(self.array, exponent)

    def min(self, values: Any, **options: Any) -> Array:
        """`x[index] = minimum(x[index], values)`."""
        return update(self.array, self.index, values, "min", **options)

    def max(self, values: Any, **options: Any) -> Array:
        """`x[index] = maximum(x[index], values)`."""
        return update(self.array, self.index, values, "max", **options)

    def apply(self, func: Callable[[Any], Any], **options: Any) -> Array:
        """A function of one number applied to each element of the part.

        Where an index repeats the function is applied repeatedly.
        """
        return _apply(self.array, self.index, func, **options)


@whole()
def _ones_like(x: Array) -> Array:
    type = typeof(x)
    return shape.full(type.shape, 1, type.dtype)


@whole("skeleton", "mode", "fill_value", "indices_are_sorted", "unique_indices", "wrap")
def _gather_with(
    x: Array,
    values: Sequence[Any],
    skeleton: Skeleton,
    mode: GatherScatterMode | None = None,
    fill_value: Any = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    wrap: bool = True,
) -> Array:
    """`x[index]` for the index that the skeleton becomes with these values."""
    entries = skeleton.entries
    if _is_box(entries, mode, reading=True):
        return _read_box(x, entries, values, wrap)
    # The slices first; what is left are integers, arrays, and whole axes.
    x = _read_slices(x, entries)
    plan = _planned(typeof(x).shape, _without_slices(entries), values, skeleton.together, wrap)
    if 0 in plan.shape:
        return shape.full(plan.shape, 0, typeof(x).dtype)
    if plan.truths:
        x = shape.expand_dims(x, plan.truths)
    found = indexing.gather(
        x,
        plan.indices,
        dimension_numbers=plan.dims,
        slice_sizes=plan.sizes,
        mode=gather_mode(mode),
        fill_value=fill_value,
        indices_are_sorted=indices_are_sorted or plan.alone,
        unique_indices=unique_indices or plan.alone,
    )
    return _reshaped(found, plan.shape)


def _without_slices(entries: Sequence[Any]) -> list[Any]:
    """The index that is left when its slices have been read: whole axes in their place."""
    return [Span(0, e.count, 1, True) if type(e) is Span else e for e in entries]


def _reshaped(x: Array, lengths: Sequence[int]) -> Array:
    lengths = tuple(lengths)
    return x if typeof(x).shape == lengths else shape.reshape(x, shape=lengths)


def _is_box(entries: Sequence[Any], mode: GatherScatterMode | None, reading: bool) -> bool:
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
        if kind is Span and not reading and abs(e.step) != 1 and e.count > 1:
            return False
    return True


class _Box(NamedTuple):
    """A box in terms of the array's axes: its starts (ints or values), lengths, and the rest."""

    starts: list[Any]
    sizes: list[int]
    reversed: tuple[int, ...]
    shape: tuple[int, ...]


def _box(lengths: Sequence[int], entries: Sequence[Any], values: Sequence[Any], wrap: bool) -> _Box:
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
                starts.append(start if step > 0 else start + (count - 1) * step if count else 0)
                sizes.append(count)
                result.append(count)
                if step < 0:
                    flipped.append(axis)
            case Fixed(position, _):
                starts.append(min(max(position, 0), lengths[axis] - 1))
                sizes.append(1)
            case Moving():
                starts.append(next(given))
                sizes.append(1)
            case _:
                if lengths[axis] == 0:
                    raise IndexError(f"index is out of bounds for axis {axis} with size 0")
                starts.append(_front(next(given), lengths[axis], wrap))
                sizes.append(1)
    return _Box(starts, sizes, tuple(flipped), tuple(result))


def _front(index: Any, length: int, wrap: bool) -> Any:
    wide = typeof(index).dtype.itemsize == 8
    return from_front(index, length, wrap, int64 if wide else int32)


def _same_dtype(starts: Sequence[Any]) -> list[Any]:
    """Start indices, ints among them, as scalars of one dtype."""
    wide = any(not isinstance(s, int) and typeof(s).dtype == int64 for s in starts)
    dtype = int64 if wide else int32
    return [shape.scalar(s, dtype) if isinstance(s, int) else cast(s, dtype) for s in starts]


def _read_slices(x: Array, entries: Sequence[Any]) -> Array:
    """The array with its axes sliced as the slices say; integers and arrays take whole axes."""
    lengths = typeof(x).shape
    spans = [
        e if type(e) is Span else None for e in entries if type(e) not in (New, Truth)
    ]
    if all(s is None or s.whole for s in spans):
        return x
    bounds = []
    for s, n in zip(spans, lengths, strict=True):
        if s is None or s.whole or not s.count:
            bounds.append((0, n if s is None or s.count or s.whole else 0, 1))
        else:
            low, high = sorted((s.start, s.start + (s.count - 1) * s.step))
            bounds.append((low, high + 1, abs(s.step)))
    starts, limits, strides = zip(*bounds, strict=True)
    if (starts, limits, strides) != ((0,) * len(lengths), lengths, (1,) * len(lengths)):
        stepped = None if set(strides) == {1} else strides
        x = shape.slice(x, start=starts, limit=limits, strides=stepped)
    flipped = tuple(i for i, s in enumerate(spans) if s is not None and s.step < 0)
    return shape.rev(x, dims=flipped) if flipped else x


def _read_box(x: Array, entries: Sequence[Any], values: Sequence[Any], wrap: bool) -> Array:
    """The box an index names: slices by the static parts, then one by the others."""
    lengths = typeof(x).shape
    box = _box(lengths, entries, values, wrap)
    axes = [e for e in entries if type(e) is not New]
    static = [
        Span(s, 1, 1, n == 1) if type(e) is Fixed else e
        for e, s, n in zip(axes, box.starts, lengths, strict=True)
    ]
    x = _read_slices(x, static)
    if values:
        starts = [
            0 if type(e) in (Span, Fixed) else s for e, s in zip(axes, box.starts, strict=True)
        ]
        x = indexing.dynamic_slice(x, *_same_dtype(starts), sizes=tuple(box.sizes))
    return _reshaped(x, box.shape)


class _Plan(NamedTuple):
    """How an index is gathered, or scattered to."""

    indices: Any
    dims: GatherDimensionNumbers
    sizes: tuple[int, ...]
    shape: tuple[int, ...]  # NumPy's, with the new axes
    bare_shape: tuple[int, ...]  # without them
    truths: tuple[int, ...]  # axes that scalar Booleans add to the array, first
    alone: bool  # there are no index arrays: places ascend, and none repeats


def _planned(
    lengths: Sequence[int],
    entries: Sequence[Any],
    values: Sequence[Any],
    together: bool,
    wrap: bool,
) -> _Plan:
    """The gather that reads what an index names.

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
    # Each component of an index: the axis it counts along, its value, the batch axes of that.
    components: list[tuple[int, Any, tuple[int, ...]]] = []
    batch: list[int] = []
    result: list[int] = []
    bare: list[int] = []
    offset: list[int] = []
    collapsed: list[int] = []
    sizes: list[int] = []
    truths: list[int] = []
    own_lengths = iter(lengths)
    end = 0  # of the block, among the batch axes
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
                if everything or step == 1 or count <= 1:
                    offset.append(len(bare) - 1)
                    sizes.append(count)
                    if not everything:
                        components.append((axis, np.int32(start), ()))
                    continue
                positions = np.arange(start, start + count * step, step, dtype=np.int32)
                components.append((axis, positions, (len(batch),)))
                batch.append(count)
            case Truth(truth):
                truths.append(axis)
                positions = np.arange(int(truth), dtype=np.int32)
                components.append((axis, positions, (end - 1,)))
            case Fixed(position, _):
                components.append((axis, np.int32(position), ()))
            case Moving():
                components.append((axis, value, ()))
            case _:
                if n == 0 and 0 not in typeof(value).shape:
                    raise IndexError(f"index is out of bounds for axis {axis} with size 0")
                components.append((axis, _front(value, n, wrap), tuple(range(end - e.ndim, end))))
        collapsed.append(axis)
        sizes.append(1)
    dims = GatherDimensionNumbers(
        tuple(offset), tuple(collapsed), tuple(axis for axis, _, _ in components)
    )
    indices = _stacked([c[1:] for c in components], tuple(batch))
    alone = not advanced and all(type(e) is not Span or e.step > 0 for e in entries)
    return _Plan(
        indices, dims, tuple(sizes), tuple(result), tuple(bare), tuple(truths), alone
    )


def _block_shape(parts: Sequence[tuple[Any, Any]]) -> tuple[int, ...]:
    """The shape to which the index arrays are broadcast."""
    shapes = [
        (int(e.value),) if type(e) is Truth else typeof(value).shape
        for e, value in parts
        if type(e) in (Truth, Indices)
    ]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError as error:
        raise ValueError(f"Incompatible shapes for broadcasting: {tuple(shapes)}") from error


def _stacked(
    components: Sequence[tuple[Any, tuple[int, ...]]], batch: tuple[int, ...]
) -> Array:
    """The components of all indices as one array, [*batch, components]."""
    dtype = int64 if any(typeof(value).dtype == int64 for value, _ in components) else int32
    columns = [
        shape.broadcast_in_dim(cast(value, dtype), shape=(*batch, 1), dims=dims)
        for value, dims in components
    ]
    return columns[0] if len(columns) == 1 else shape.concatenate(*columns, axis=len(batch))


_COMBINE: dict[str, Any] = {
    "set": (indexing.scatter, lambda there, new: new),
    "add": (indexing.scatter_add, elementwise.add),
    "subtract": (indexing.scatter_add, elementwise.sub),
    "multiply": (indexing.scatter_mul, elementwise.mul),
    "min": (indexing.scatter_min, elementwise.min),
    "max": (indexing.scatter_max, elementwise.max),
}


def update(
    x: Any,
    index: Any,
    values: Any,
    operation: str,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Mode = None,
    out_sharding: Any = None,
    wrap_negative_indices: bool = True,
) -> Array:
    """An array with a part of it combined with values, broadcast to the shape of the part."""
    type = typeof(x)
    values = _as_values(values, type)
    if isinstance(index, (Value, np.ndarray)) and is_mask(index) and len(typeof(values).shape) <= type.ndim - len(np.shape(index)):
        lengths = np.shape(index)
        if tuple(type.shape[: len(lengths)]) == lengths:
            return _update_where(x, index, values, operation)
    skeleton, dynamic = read(index, type.shape, current.get() is bottom, wrap_negative_indices)
    return _scatter_with(
        x,
        values,
        dynamic,
        skeleton,
        operation,
        None if mode is None else GatherScatterMode.from_any(mode),
        bool(indices_are_sorted),
        bool(unique_indices),
        bool(wrap_negative_indices),
    )


def _as_values(values: Any, type: Any) -> Any:
    """What is to be written, as an array or number; warns where it won't fit the dtype."""
    if isinstance(values, (list, tuple)):
        values = asarray(values)
    if isinstance(values, int) and type.dtype.kind in "iu":
        limits = iinfo(type.dtype)
        if limits.min <= values <= limits.max:
            return type.dtype.type(values)
    of_values = typeof(values)
    if lattice_result([type, of_values])[0] != type.dtype:
        warnings.warn(
            "scatter inputs have incompatible types: cannot safely cast value from dtype="
            f"{of_values.dtype} to dtype={type.dtype}. Convert it first with astype.",
            FutureWarning,
            stacklevel=4,
        )
    return values


@whole("operation")
def _update_where(x: Array, mask: Array, values: Array, operation: str) -> Array:
    """The update where a mask over the first axes is True: nothing needs to be counted."""
    type = typeof(x)
    x, values = promote_dtypes(x, values)
    mask = shape.broadcast_in_dim(
        mask, shape=type.shape, dims=tuple(range(len(typeof(mask).shape)))
    )
    combine = _COMBINE[operation][1]
    updated = combine(x, broadcast(values, type.shape))
    return cast(selection.select_n(mask, x, updated), type.dtype, type.weak_type)


@whole(
    "skeleton", "operation", "mode", "indices_are_sorted", "unique_indices", "wrap"
)
def _scatter_with(
    x: Array,
    values: Array,
    dynamic: Sequence[Any],
    skeleton: Skeleton,
    operation: str,
    mode: GatherScatterMode | None,
    indices_are_sorted: bool,
    unique_indices: bool,
    wrap: bool,
) -> Array:
    """An update at the index that the skeleton becomes with the dynamic values."""
    type = typeof(x)
    effect, combine = _COMBINE[operation]
    entries = skeleton.entries
    x, values = promote_dtypes(x, values)
    if _is_box(entries, mode, reading=False):
        box = _box(type.shape, entries, dynamic, wrap)
        out = _write_box(x, values, box, combine if operation != "set" else None)
        return cast(out, type.dtype, type.weak_type)
    plan = _planned(type.shape, entries, dynamic, skeleton.together, wrap)
    values = _fitted(values, plan.shape)
    if 0 in plan.shape:
        return cast(x, type.dtype, type.weak_type)
    values = _reshaped(values, plan.bare_shape)
    if operation == "subtract":
        values = elementwise.neg(values)
    lengths = typeof(x).shape
    if plan.truths:
        x = shape.expand_dims(x, plan.truths)
    out = effect(
        x,
        plan.indices,
        values,
        dimension_numbers=scatter_dims(plan.dims),
        mode=GatherScatterMode.from_any(mode),
        indices_are_sorted=indices_are_sorted or plan.alone,
        unique_indices=unique_indices or plan.alone,
    )
    return cast(_reshaped(out, lengths), type.dtype, type.weak_type)


def _fitted(values: Any, lengths: tuple[int, ...]) -> Any:
    """The values broadcast to the shape of the part.

    Raises `ValueError` where they don't broadcast.
    """
    given = typeof(values).shape
    while len(given) > len(lengths) and given[0] == 1:
        values = shape.squeeze(values, (0,))
        given = given[1:]
    fits = len(given) <= len(lengths) and all(
        a in (1, b) for a, b in zip(reversed(given), reversed(lengths), strict=False)
    )
    if not fits:
        raise ValueError(f"Incompatible shapes for broadcasting: {given} and requested shape {lengths}")
    return broadcast(values, lengths)


def _write_box(x: Array, values: Array, box: _Box, combine: Any) -> Array:
    """The box replaced by the values, or combined with them."""
    values = _fitted(values, box.shape)
    if 0 in box.sizes:
        return x
    values = _reshaped(values, box.sizes)
    if box.reversed:
        values = shape.rev(values, dims=box.reversed)
    if tuple(box.sizes) == typeof(x).shape:
        return values if combine is None else combine(x, values)
    starts = _same_dtype(box.starts)
    if combine is not None:
        there = indexing.dynamic_slice(x, *starts, sizes=tuple(box.sizes))
        values = combine(there, values)
    return indexing.dynamic_update_slice(x, values, *starts)


def _apply(
    x: Any,
    index: Any,
    func: Callable[[Any], Any],
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Mode = None,
    wrap_negative_indices: bool = True,
) -> Array:
    """The function applied where the index points, once for each time it does."""
    from effax.lax.slicing import scatter_apply

    lengths = typeof(x).shape
    skeleton, values = read(index, lengths, False, wrap_negative_indices)
    entries = skeleton.entries
    if _is_box(entries, mode and GatherScatterMode.from_any(mode), reading=False):
        box = _box(lengths, entries, values, wrap_negative_indices)
        there = _read_box(x, entries, values, wrap_negative_indices)
        return _write_box(x, func(there), box, None)
    plan = _planned(lengths, entries, values, skeleton.together, wrap_negative_indices)
    if 0 in plan.shape:
        return x
    if plan.truths:
        x = shape.expand_dims(x, plan.truths)
    out = scatter_apply(
        x,
        plan.indices,
        func,
        scatter_dims(plan.dims),
        update_shape=plan.bare_shape,
        indices_are_sorted=indices_are_sorted or plan.alone,
        unique_indices=unique_indices or plan.alone,
        mode=mode,
    )
    return _reshaped(out, lengths)
