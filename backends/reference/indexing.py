"""Indexing by definition: one index after another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from effax.backends.reference.table import rule
from effax.effects.rows import indexing
from effax.effects.rows.indexing import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
    batch_dims,
    fill_default,
    gather_dims,
    window_sizes,
)

Array = np.ndarray[Any, Any]
Places = Iterator[tuple[tuple[Any, ...], tuple[slice, ...] | None]]


def _places(
    x: Array,
    indices: Array,
    dims: GatherDimensionNumbers,
    sizes: Sequence[int],
    mode: GatherScatterMode,
    gathering: bool,
) -> Places:
    """For each index: where its slice lies in the result (or updates), and where in the operand.

    None in the second place: the slice lies outside, and is filled or dropped.
    """
    ndim = len(dims.offset_dims) + indices.ndim - 1
    batch = batch_dims(ndim, dims.offset_dims)
    clamp = mode is GatherScatterMode.CLIP or (
        gathering and mode is not GatherScatterMode.FILL_OR_DROP
    )
    for at in np.ndindex(*indices.shape[:-1]):
        window: list[Any] = [slice(None)] * ndim
        for axis, position in zip(batch, at, strict=True):
            window[axis] = position
        start = [0] * x.ndim
        for k, axis in enumerate(dims.start_index_map):
            start[axis] = int(indices[at][k])
        if clamp:
            start = [min(max(s, 0), x.shape[i] - sizes[i]) for i, s in enumerate(start)]
        for axis, of_indices in zip(
            dims.operand_batching_dims, dims.start_indices_batching_dims, strict=True
        ):
            start[axis] = at[of_indices]
        inside = all(0 <= s <= x.shape[i] - sizes[i] for i, s in enumerate(start))
        part = tuple(slice(s, s + n) for s, n in zip(start, sizes, strict=True))
        yield tuple(window), part if inside else None


@rule(indexing.gather)
def gather_reference(
    x: Array,
    indices: Array,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: tuple[int, ...],
    mode: GatherScatterMode,
    fill_value: Any,
    indices_are_sorted: bool,
    unique_indices: bool,
) -> Array:
    dims = dimension_numbers
    gone = (*dims.collapsed_slice_dims, *dims.operand_batching_dims)
    window = iter([n for i, n in enumerate(slice_sizes) if i not in gone])
    batch = iter(indices.shape[:-1])
    ndim = len(dims.offset_dims) + indices.ndim - 1
    shape = tuple(next(window if i in dims.offset_dims else batch) for i in range(ndim))
    fill = fill_default(x.dtype) if fill_value is None else fill_value
    out = np.full(shape, fill, x.dtype)
    if out.size == 0:
        return out
    for where, part in _places(x, indices, dims, slice_sizes, mode, gathering=True):
        if part is not None:
            out[where] = x[part].squeeze(gone)
    return out


def _scatter(
    combine: Callable[[Array, Array], Array],
    x: Array,
    indices: Array,
    updates: Array,
    dimension_numbers: ScatterDimensionNumbers,
    mode: GatherScatterMode,
    indices_are_sorted: bool,
    unique_indices: bool,
) -> Array:
    dims = gather_dims(dimension_numbers)
    sizes = window_sizes(x.ndim, updates.shape, dimension_numbers)
    gone = (*dims.collapsed_slice_dims, *dims.operand_batching_dims)
    out = x.copy()
    if updates.size == 0:
        return out
    for where, part in _places(x, indices, dims, sizes, mode, gathering=False):
        if part is not None:
            out[part] = combine(out[part], np.expand_dims(updates[where], gone))
    return out


_COMBINE: Final[dict[Any, Callable[[Array, Array], Array]]] = {
    indexing.scatter: lambda there, update: update,
    indexing.scatter_add: np.add,
    indexing.scatter_mul: np.multiply,
    indexing.scatter_min: np.minimum,
    indexing.scatter_max: np.maximum,
}


def _scatter_rule(combine: Callable[[Array, Array], Array]) -> Callable[..., Array]:
    def scatter_reference(x: Array, indices: Array, updates: Array, **attributes: Any) -> Array:
        return _scatter(combine, x, indices, updates, **attributes)

    return scatter_reference


for _effect, _combine in _COMBINE.items():
    rule(_effect)(_scatter_rule(_combine))


def _window(x: Array, starts: Sequence[Array], sizes: Sequence[int]) -> tuple[slice, ...]:
    """The part of x of these sizes that begins at the starts, moved inside x."""
    begins = [
        min(max(int(s), 0), n - size) for s, n, size in zip(starts, x.shape, sizes, strict=True)
    ]
    return tuple(slice(b, b + size) for b, size in zip(begins, sizes, strict=True))


@rule(indexing.dynamic_slice)
def dynamic_slice_reference(x: Array, *starts: Array, sizes: tuple[int, ...]) -> Array:
    return x[_window(x, starts, sizes)]


@rule(indexing.dynamic_update_slice)
def dynamic_update_slice_reference(x: Array, update: Array, *starts: Array) -> Array:
    out = x.copy()
    out[_window(x, starts, update.shape)] = update
    return out
