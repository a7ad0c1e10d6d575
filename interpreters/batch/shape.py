"""Batching of the shape family: the axes named shift by one."""

from __future__ import annotations

from typing import Any

from effax.effects.rows import selection, shape
from effax.effects.types import typeof
from effax.interpreters.batch.batched import Batch, all_batched, rule


def shifted(axes: tuple[int, ...]) -> tuple[int, ...]:
    """The axes, counted with the batch axis in front."""
    return tuple(a + 1 for a in axes)


@rule(shape.broadcast_in_dim)
def broadcast_in_dim_batch(
    handler: Batch, values: list[Any], batched: list[bool], *, shape: tuple[int, ...], dims: Any
) -> Any:
    return broadcast_in_dim(values[0], shape=(handler.size, *shape), dims=(0, *shifted(dims))), True


@rule(shape.transpose)
def transpose_batch(
    handler: Batch, values: list[Any], batched: list[bool], *, permutation: tuple[int, ...]
) -> Any:
    return shape.transpose(values[0], permutation=(0, *shifted(permutation))), True


@rule(shape.reshape)
def reshape_batch(
    handler: Batch, values: list[Any], batched: list[bool], *, shape: tuple[int, ...]
) -> Any:
    return reshape(values[0], shape=(handler.size, *shape)), True


@rule(shape.concatenate)
def concatenate_batch(handler: Batch, values: list[Any], batched: list[bool], *, axis: int) -> Any:
    return shape.concatenate(*all_batched(handler, values, batched), axis=axis + 1), True


@rule(shape.pad)
def pad_batch(
    handler: Batch, values: list[Any], batched: list[bool], *, config: shape.Config
) -> Any:
    """A padding value that differs along the batch is chosen by a mask."""
    (x, value), outer = values, ((0, 0, 0), *config)
    if not batched[1]:
        return shape.pad(x, value, config=outer), True
    if not batched[0]:
        x = all_batched(handler, values, batched)[0]
    type = typeof(x)
    padded = shape.pad(x, shape.scalar_of(0, type), config=outer)
    inside = shape.pad(
        shape.full(type.shape, True, "bool"), shape.scalar(False, "bool"), config=outer
    )
    around = shape.broadcast_in_dim(value, shape=typeof(padded).shape, dims=(0,))
    return selection.select_n(inside, around, padded), True


@rule(shape.rev)
def rev_batch(
    handler: Batch, values: list[Any], batched: list[bool], *, dims: tuple[int, ...]
) -> Any:
    return shape.rev(values[0], dims=shifted(dims)), True


@rule(shape.slice)
def slice_batch(
    handler: Batch,
    values: list[Any],
    batched: list[bool],
    *,
    start: tuple[int, ...],
    limit: tuple[int, ...],
    strides: tuple[int, ...] | None = None,
) -> Any:
    steps = (1, *(strides or (1,) * len(start)))
    return shape.slice(
        values[0], start=(0, *start), limit=(handler.size, *limit), strides=steps
    ), True


@rule(shape.iota)
def iota_batch(handler: Batch, values: list[Any], batched: list[bool], **attributes: Any) -> Any:
    """Counts have no operand, so they are the same all along the batch."""
    return shape.iota(**attributes), False


@rule(shape.dimension_as_value)
def dimension_as_value_batch(
    handler: Batch, values: list[Any], batched: list[bool], **attributes: Any
) -> Any:
    """A length is the same all along the batch."""
    return shape.dimension_as_value(**attributes), False


# Rules with a parameter called `shape` can't see the module of that name; they use these.
broadcast_in_dim, reshape = shape.broadcast_in_dim, shape.reshape
