"""Batching of the indexing family: one more batching axis for gather and scatter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from effax.effects.rows import indexing, shape
from effax.effects.rows.indexing import (
    GatherDimensionNumbers,
    GatherScatterMode,
    gather_dims,
    scatter_dims,
)
from effax.effects.types import int32, typeof
from effax.interpreters.batch.batched import Batch, all_batched, repeat, rule


def _shifted(axes: Sequence[int]) -> tuple[int, ...]:
    return tuple(a + 1 for a in axes)


def _both_batched(dims: GatherDimensionNumbers) -> GatherDimensionNumbers:
    """The dimension numbers with axis 0 of operand and indices a pair of batching axes."""
    return GatherDimensionNumbers(
        offset_dims=_shifted(dims.offset_dims),
        collapsed_slice_dims=_shifted(dims.collapsed_slice_dims),
        start_index_map=_shifted(dims.start_index_map),
        operand_batching_dims=(0, *_shifted(dims.operand_batching_dims)),
        start_indices_batching_dims=(0, *_shifted(dims.start_indices_batching_dims)),
    )


def _operand_batched(dims: GatherDimensionNumbers) -> GatherDimensionNumbers:
    """The dimension numbers with axis 0 of the operand a part of every slice."""
    return dims._replace(
        offset_dims=(0, *_shifted(dims.offset_dims)),
        collapsed_slice_dims=_shifted(dims.collapsed_slice_dims),
        start_index_map=_shifted(dims.start_index_map),
        operand_batching_dims=_shifted(dims.operand_batching_dims),
    )


@rule(indexing.gather)
def gather_batch(
    handler: Batch,
    values: list[Any],
    batched: list[bool],
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: tuple[int, ...],
    indices_are_sorted: bool,
    unique_indices: bool,
    **attributes: Any,
) -> Any:
    x, indices = values
    if batched == [True, False]:
        dims, sizes = _operand_batched(dimension_numbers), (handler.size, *slice_sizes)
    elif batched == [False, True]:
        # Across the batch, rows of the indices may repeat, and need not be in order.
        indices_are_sorted = unique_indices = False
        sizes = slice_sizes
        dims = dimension_numbers._replace(
            offset_dims=_shifted(dimension_numbers.offset_dims),
            start_indices_batching_dims=_shifted(dimension_numbers.start_indices_batching_dims),
        )
    else:
        dims, sizes = _both_batched(dimension_numbers), (min(handler.size, 1), *slice_sizes)
    return indexing.gather(
        x,
        indices,
        dimension_numbers=dims,
        slice_sizes=sizes,
        indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices,
        **attributes,
    ), True


def _scatter_rule(effect: Any) -> Any:
    def scatter_batch(
        handler: Batch,
        values: list[Any],
        batched: list[bool],
        *,
        dimension_numbers: Any,
        **attributes: Any,
    ) -> Any:
        dims = gather_dims(dimension_numbers)
        if batched[1]:
            values = all_batched(handler, values, batched)
            dims = _both_batched(dims)
        else:
            values = [
                x if b or i == 1 else repeat(x, handler.size)
                for i, (x, b) in enumerate(zip(values, batched, strict=True))
            ]
            dims = _operand_batched(dims)
        return effect(*values, dimension_numbers=scatter_dims(dims), **attributes), True

    return scatter_batch


for _effect in indexing.SCATTERS:
    rule(_effect)(_scatter_rule(_effect))


def _stacked(handler: Batch, starts: Sequence[Any], batched: Sequence[bool]) -> Any:
    """Start indices, scalars or one per member of the batch, as rows: [batch, axes]."""
    columns = [
        shape.broadcast_in_dim(s, shape=(handler.size, 1), dims=(0,) if b else ())
        for s, b in zip(starts, batched, strict=True)
    ]
    return shape.concatenate(*columns, axis=1)


def _whole_slices(ndim: int) -> GatherDimensionNumbers:
    """One slice for each member of the batch, of the operand's rank, from a full index."""
    axes = tuple(range(1, ndim + 1))
    return GatherDimensionNumbers(axes, (), axes, (0,), (0,))


@rule(indexing.dynamic_slice)
def dynamic_slice_batch(
    handler: Batch, values: list[Any], batched: list[bool], *, sizes: tuple[int, ...]
) -> Any:
    x, *starts = values
    if not any(batched[1:]):
        zero = shape.scalar(0, typeof(starts[0]).dtype if starts else int32)
        return indexing.dynamic_slice(x, zero, *starts, sizes=(handler.size, *sizes)), True
    indices = _stacked(handler, starts, batched[1:])
    dims = _whole_slices(len(sizes))
    if batched[0]:
        sizes = (min(handler.size, 1), *sizes)
    else:
        axes = tuple(range(len(sizes)))
        dims = GatherDimensionNumbers(dims.offset_dims, (), axes)
    return indexing.gather(
        x,
        indices,
        dimension_numbers=dims,
        slice_sizes=sizes,
        mode=GatherScatterMode.CLIP,
        fill_value=None,
        indices_are_sorted=batched[0],
        unique_indices=batched[0],
    ), True


@rule(indexing.dynamic_update_slice)
def dynamic_update_slice_batch(handler: Batch, values: list[Any], batched: list[bool]) -> Any:
    x, update, *starts = values
    x, update = all_batched(handler, (x, update), batched[:2])
    if not any(batched[2:]):
        zero = shape.scalar(0, typeof(starts[0]).dtype if starts else int32)
        return indexing.dynamic_update_slice(x, update, zero, *starts), True
    return indexing.scatter(
        x,
        _stacked(handler, starts, batched[2:]),
        update,
        dimension_numbers=scatter_dims(_whole_slices(len(starts))),
        mode=GatherScatterMode.CLIP,
        indices_are_sorted=True,
        unique_indices=True,
    ), True
