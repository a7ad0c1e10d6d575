"""Indexing: effects that read or write parts of an array at places known only at run time."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from effax.effects.effect import Effect
from effax.effects.types import ShapedArray, is_complex


class GatherDimensionNumbers(NamedTuple):
    """The correspondence between the axes of operand, indices and result of a gather.

    The last axis of the indices holds the components of one index; component k is a position
    along axis `start_index_map[k]` of the operand. Axes `offset_dims` of the result run over the
    slice, in order, without the operand's axes `collapsed_slice_dims`; the others run over the
    indices. Batching axes pair an axis of the operand with one of the indices.
    """

    offset_dims: tuple[int, ...]
    collapsed_slice_dims: tuple[int, ...]
    start_index_map: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    start_indices_batching_dims: tuple[int, ...] = ()


class ScatterDimensionNumbers(NamedTuple):
    """The correspondence between the axes of operand, indices and updates of a scatter.

    The mirror image of `GatherDimensionNumbers`, field by field.
    """

    update_window_dims: Sequence[int]
    inserted_window_dims: Sequence[int]
    scatter_dims_to_operand_dims: Sequence[int]
    operand_batching_dims: Sequence[int] = ()
    scatter_indices_batching_dims: Sequence[int] = ()


class GatherScatterMode(enum.Enum):
    """The meaning of an index outside the operand.

    CLIP: the nearest slice inside. FILL_OR_DROP: gather gives a fill value, scatter does nothing.
    PROMISE_IN_BOUNDS: the caller promises there are none. ONE_HOT: gather as a contraction with
    one-hot rows.
    """

    CLIP = enum.auto()
    FILL_OR_DROP = enum.auto()
    PROMISE_IN_BOUNDS = enum.auto()
    ONE_HOT = enum.auto()

    @staticmethod
    def from_any(s: str | GatherScatterMode | None) -> GatherScatterMode:
        """The mode of that name; None is FILL_OR_DROP.

        Raises `ValueError` for an unknown name.
        """
        if isinstance(s, GatherScatterMode):
            return s
        if s is None or s in ("fill", "drop"):
            return GatherScatterMode.FILL_OR_DROP
        if s == "clip":
            return GatherScatterMode.CLIP
        if s == "promise_in_bounds":
            return GatherScatterMode.PROMISE_IN_BOUNDS
        if s == "one_hot":
            return GatherScatterMode.ONE_HOT
        raise ValueError(
            f"Unknown gather mode {s!r}: expected 'fill', 'drop', 'clip', 'promise_in_bounds' or "
            "a GatherScatterMode"
        )


def scatter_dims(dims: GatherDimensionNumbers) -> ScatterDimensionNumbers:
    """The scatter that writes where the gather reads."""
    return ScatterDimensionNumbers(*dims)


def gather_dims(dims: ScatterDimensionNumbers) -> GatherDimensionNumbers:
    """The gather that reads where the scatter writes."""
    return GatherDimensionNumbers(*map(tuple, dims))


def window_sizes(
    operand_ndim: int, update_shape: Sequence[int], dims: ScatterDimensionNumbers
) -> tuple[int, ...]:
    """The slice sizes of the gather that reads what a scatter of these updates writes."""
    window = iter(dims.update_window_dims)
    outside = {*dims.inserted_window_dims, *dims.operand_batching_dims}
    return tuple(1 if i in outside else update_shape[next(window)] for i in range(operand_ndim))


def batch_dims(ndim: int, offset_dims: Sequence[int]) -> tuple[int, ...]:
    """The axes of a gather's result (or a scatter's updates) that run over the indices."""
    return tuple(i for i in range(ndim) if i not in offset_dims)


def fill_default(dtype: Any) -> Any:
    """Return the default of a gather in fill mode: NaN, or the extreme number of the dtype."""
    kind = np.dtype(dtype)
    if kind == np.bool_:
        return True
    if kind.kind == "i" or kind.name in ("int2", "int4"):
        return int(_integer_limits(kind).min)
    if kind.kind == "u" or kind.name in ("uint2", "uint4"):
        return int(_integer_limits(kind).max)
    return float("nan")


def _integer_limits(dtype: Any) -> Any:
    from effax.effects.types import iinfo

    return iinfo(dtype)


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise TypeError(message)


def _require_axes(
    op: str, field: str, axes: Sequence[int], ndim: int, in_order: bool = True
) -> None:
    """Check the axes in a field of dimension numbers: in range, once each, in order where asked."""
    where = f"{field} in {op} op"
    _require(
        not in_order or list(axes) == sorted(axes), f"{where} must be sorted; got {tuple(axes)}"
    )
    _require(len(set(axes)) == len(axes), f"{where} must not repeat; got: {tuple(axes)}.")
    _require(
        all(0 <= a < ndim for a in axes),
        f"Invalid {field} set in {op} op; valid range is [0, {ndim}); got: {tuple(axes)}.",
    )


def _require_indices(name: str, indices: ShapedArray) -> None:
    if indices.dtype.kind not in "iu":
        raise ValueError(f"{name}: indices must have an integer type, got {indices.str_short()}")
    _require(
        len(indices.shape) > 0,
        f"{name}: the last axis of the indices holds the components of an index, but they are "
        f"{indices.str_short()}",
    )


def _require_map(
    op: str,
    x: ShapedArray,
    indices: ShapedArray,
    dims: GatherDimensionNumbers | ScatterDimensionNumbers,
) -> None:
    """Check the field that says along which axis of the operand a component of an index lies."""
    field, axes = dims._fields[2], dims[2]
    at, n = len(indices.shape) - 1, len(x.shape)
    _require(
        len(axes) == indices.shape[-1],
        f"{op.capitalize()} op has {len(axes)} elements in {field} and the bound of dimension "
        f"index_vector_dim={at} of indices is {indices.shape[-1]}. These two numbers must be "
        "equal.",
    )
    for i, axis in enumerate(axes):
        _require(
            0 <= axis < n,
            f"Invalid {field} mapping in {op} op; domain is [0, {n}), got: {i}->{axis}.",
        )
    _require_axes(op, field, axes, n, in_order=False)


def _require_batching(
    op: str,
    x: ShapedArray,
    indices: ShapedArray,
    dims: GatherDimensionNumbers | ScatterDimensionNumbers,
) -> None:
    """Check the axes of the operand that are paired with axes of the indices."""
    _, dropped, index_map, field, indices_field = dims._fields
    _require_axes(op, field, dims[3], len(x.shape))
    for other in (dropped, index_map):
        _require(
            not {*dims[3]} & {*getattr(dims, other)},
            f"{other} and {field} in {op} op must be disjoint; got: "
            f"{tuple(getattr(dims, other))} and {tuple(dims[3])}.",
        )
    rank = len(indices.shape)
    _require_axes(op, indices_field, dims[4], rank, in_order=False)
    _require(
        rank - 1 not in dims[4],
        f"{op.capitalize()} op cannot have the index vector dimension as a batching dimension; "
        f"got {tuple(dims[4])}.",
    )
    _require(
        len(dims[3]) == len(dims[4]),
        f"{op.capitalize()} op requires equal numbers of {field} and {indices_field}, got "
        f"{tuple(dims[3])} and {tuple(dims[4])}.",
    )
    of_operand = tuple(x.shape[i] for i in dims[3])
    of_indices = tuple(indices.shape[i] for i in dims[4])
    _require(
        of_operand == of_indices,
        f"{op.capitalize()} op requires operand batching dimensions and indices batching "
        f"dimensions to have the same shape, got {of_operand} and {of_indices}.",
    )


def _gather_type(
    x: ShapedArray,
    indices: ShapedArray,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: tuple[int, ...],
    mode: GatherScatterMode,
    fill_value: Any,
    indices_are_sorted: bool,
    unique_indices: bool,
) -> ShapedArray:
    dims = dimension_numbers
    _require_indices("gather", indices)
    ndim = len(dims.offset_dims) + len(indices.shape) - 1
    for i, axis in enumerate(dims.offset_dims):
        _require(
            0 <= axis < ndim,
            f"Offset dimension {i} in gather op is out of bounds; got {axis}, but should have "
            f"been in [0, {ndim})",
        )
    _require_axes("gather", "offset_dims", dims.offset_dims, ndim)
    _require_map("gather", x, indices, dims)
    _require_axes("gather", "collapsed_slice_dims", dims.collapsed_slice_dims, len(x.shape))
    _require_batching("gather", x, indices, dims)
    _require(
        len(slice_sizes) == len(x.shape),
        "Gather op must have one slice size for every input dimension; got: "
        f"len(slice_sizes)={len(slice_sizes)}, input_shape.rank={len(x.shape)}",
    )
    _require(
        len(slice_sizes)
        == len(dims.offset_dims) + len(dims.collapsed_slice_dims) + len(dims.operand_batching_dims),
        "All components of the offset index in a gather op must either be a offset dimension or "
        f"explicitly collapsed/batching; got {dims} for {x.str_short()}",
    )
    empty = 0 in indices.shape
    for i, (size, n) in enumerate(zip(slice_sizes, x.shape, strict=True)):
        _require(
            empty or 0 <= size <= n,
            f"Slice size at index {i} in gather op is out of range, must be within "
            f"[0, {n} + 1), got {size} for {x.str_short()}.",
        )
    for place, i in enumerate(dims.collapsed_slice_dims):
        _require(
            slice_sizes[i] == 1,
            "Gather op can only collapse slice dims with bound 1, but bound is "
            f"{slice_sizes[i]} for index {i} at position {place}.",
        )
    for place, i in enumerate(dims.operand_batching_dims):
        _require(
            slice_sizes[i] <= 1,
            "Gather op can only have operand batching dims with bound 0/1, but bound is "
            f"{slice_sizes[i]} for index {i} at position {place}.",
        )
    gone = {*dims.collapsed_slice_dims, *dims.operand_batching_dims}
    if isinstance(fill_value, complex) and not is_complex(x.dtype):
        raise TypeError(f"gather: fill_value {fill_value} is complex, but {x.str_short()} is not")
    window = iter([size for i, size in enumerate(slice_sizes) if i not in gone])
    batch = iter(indices.shape[:-1])
    shape = tuple(next(window if i in dims.offset_dims else batch) for i in range(ndim))
    return x.update(shape=shape)


def _scatter_type(
    x: ShapedArray,
    indices: ShapedArray,
    updates: ShapedArray,
    *,
    dimension_numbers: ScatterDimensionNumbers,
    mode: GatherScatterMode,
    indices_are_sorted: bool,
    unique_indices: bool,
) -> ShapedArray:
    dims, n = dimension_numbers, len(x.shape)
    _require_indices("scatter", indices)
    _require(
        x.dtype == updates.dtype,
        f"scatter: operand and updates must have equal dtypes, got {x.str_short()} and "
        f"{updates.str_short()}",
    )
    ndim = len(dims.update_window_dims) + len(indices.shape) - 1
    _require(
        len(updates.shape) == ndim,
        f"Updates tensor must be of rank {ndim}; got {len(updates.shape)}.",
    )
    _require_axes("scatter", "update_window_dims", dims.update_window_dims, ndim)
    _require_axes("scatter", "inserted_window_dims", dims.inserted_window_dims, n)
    _require_batching("scatter", x, indices, dims)
    window = [
        size
        for i, size in enumerate(x.shape)
        if i not in {*dims.inserted_window_dims, *dims.operand_batching_dims}
    ]
    _require(
        len(window) == len(dims.update_window_dims),
        f"Scatter op has window of size {n - len(window) + len(dims.update_window_dims)}; doesn't "
        f"match operand of rank {n}.",
    )
    _require_map("scatter", x, indices, dims)
    for axis, bound in zip(dims.update_window_dims, window, strict=True):
        _require(
            updates.shape[axis] <= bound,
            "Bounds of the window dimensions of updates must not exceed the bounds of the "
            f"corresponding dimensions of operand. For dimension {axis}, updates bound is "
            f"{updates.shape[axis]}, operand bound is {bound}.",
        )
    batch = tuple(updates.shape[i] for i in batch_dims(ndim, dims.update_window_dims))
    _require(
        batch == indices.shape[:-1],
        "Bounds of the scatter dimensions of updates must be the same as the bounds of the "
        f"corresponding dimensions of scatter indices, got {batch} and {indices.shape[:-1]}.",
    )
    return x


def _require_starts(name: str, x: ShapedArray, starts: Sequence[ShapedArray]) -> None:
    _require(
        len(starts) == len(x.shape),
        f"{name}: one start index per axis of {x.str_short()} expected, got {len(starts)}",
    )
    for s in starts:
        _require(
            not s.shape and s.dtype.kind in "iu" and s.dtype == starts[0].dtype,
            f"{name}: start indices must be integer scalars of one type, got "
            f"{', '.join(t.str_short() for t in starts)}",
        )


def _dynamic_slice_type(
    x: ShapedArray, *starts: ShapedArray, sizes: tuple[int, ...]
) -> ShapedArray:
    _require_starts("dynamic_slice", x, starts)
    _require(
        len(sizes) == len(x.shape)
        and all(0 <= s <= n for s, n in zip(sizes, x.shape, strict=True)),
        f"dynamic_slice: slice sizes must give one size per axis of {x.str_short()}, none larger "
        f"than the axis, got {sizes}",
    )
    return x.update(shape=sizes)


def _dynamic_update_slice_type(
    x: ShapedArray, update: ShapedArray, *starts: ShapedArray
) -> ShapedArray:
    _require_starts("dynamic_update_slice", x, starts)
    _require(
        x.dtype == update.dtype,
        f"dynamic_update_slice: operand and update must have equal dtypes, got {x.str_short()} "
        f"and {update.str_short()}",
    )
    _require(
        len(update.shape) == len(x.shape)
        and all(s <= n for s, n in zip(update.shape, x.shape, strict=True)),
        f"dynamic_update_slice: the update {update.str_short()} does not fit into {x.str_short()}",
    )
    return x.update(weak_type=x.weak_type and update.weak_type)


gather = Effect("gather", family="indexing", typing=_gather_type)
"""`gather(x, indices, dimension_numbers, slice_sizes, mode, fill_value, indices_are_sorted,
unique_indices)`: the slices of x that start at each of the indices."""

scatter = Effect("scatter", family="indexing", typing=_scatter_type)
"""`scatter(x, indices, updates, dimension_numbers, mode, indices_are_sorted, unique_indices)`:
x with the slices at the indices replaced by the updates."""

scatter_add = Effect("scatter_add", family="indexing", typing=_scatter_type)
"""Like `scatter`, but updates are added to what is there; an index that repeats adds repeatedly."""

scatter_mul = Effect("scatter_mul", family="indexing", typing=_scatter_type)
"""Like `scatter`, but updates multiply what is there."""

scatter_min = Effect("scatter_min", family="indexing", typing=_scatter_type)
"""Like `scatter`, but the lesser of the updates and what is there remains."""

scatter_max = Effect("scatter_max", family="indexing", typing=_scatter_type)
"""Like `scatter`, but the greater of the updates and what is there remains."""

SCATTERS = (scatter, scatter_add, scatter_mul, scatter_min, scatter_max)

dynamic_slice = Effect("dynamic_slice", family="indexing", typing=_dynamic_slice_type)
"""`dynamic_slice(x, *starts, sizes)`: the part of x of these sizes that begins at the starts.

Starts are moved so that the slice lies inside x.
"""

dynamic_update_slice = Effect(
    "dynamic_update_slice", family="indexing", typing=_dynamic_update_slice_type
)
"""`dynamic_update_slice(x, update, *starts)`: x with the part that begins at the starts replaced.

Starts are moved so that the update lies inside x.
"""
