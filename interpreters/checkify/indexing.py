"""Indexing under checkify: indices outside the array, whatever the mode would make of them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import attrs

from effax.effects.effect import Effect
from effax.effects.failures import NaNError, OOBError
from effax.effects.rows import shape
from effax.effects.rows.comparison import gt, lt
from effax.effects.rows.indexing import (
    SCATTERS,
    dynamic_slice,
    dynamic_update_slice,
    gather,
    gather_dims,
    window_sizes,
)
from effax.effects.rows.logical import or_
from effax.effects.rows.reduction import argmax
from effax.effects.types import ShapedArray, iinfo, int32, is_inexact, typeof
from effax.interpreters.checkify.checking import Checkify, any_of, check_nan, rule


@attrs.frozen(slots=True)
class OutOfBounds:
    """The message for an index: the payload is its position among the indices, and the index."""

    array: tuple[int, ...]
    axes: tuple[int, ...]

    def __call__(self, payload: Sequence[Any]) -> str:
        """The text."""
        at, index = payload
        axis = self.axes[int(at) % len(self.axes)]
        return (
            f"out-of-bounds indexing for array of shape {self.array}: index {index} is out of "
            f"bounds for axis {axis} with size {self.array[axis]}."
        )


@rule(gather)
def gather_check(
    handler: Checkify, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]
) -> Any:
    if OOBError in handler.kinds:
        x, indices = operands
        axes = attributes["dimension_numbers"].start_index_map
        _check_indices(handler, typeof(x).shape, indices, axes, attributes["slice_sizes"])
    return effect(*operands, **attributes)


@rule(*SCATTERS)
def scatter_check(
    handler: Checkify, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]
) -> Any:
    if OOBError in handler.kinds:
        x, indices, updates = operands
        dims = attributes["dimension_numbers"]
        array = typeof(x).shape
        sizes = window_sizes(len(array), typeof(updates).shape, dims)
        _check_indices(handler, array, indices, gather_dims(dims).start_index_map, sizes)
    result = effect(*operands, **attributes)
    if NaNError in handler.kinds and is_inexact(typeof(result).dtype):
        check_nan(handler, effect, (result,))
    return result


def _check_indices(
    handler: Checkify,
    array: tuple[int, ...],
    indices: Any,
    axes: Sequence[int],
    sizes: Sequence[int],
) -> None:
    """Note indices, along their last axis components for `axes`, that leave the array."""
    type = typeof(indices)
    if not prod(type.shape):
        return
    bounds = [min(array[a] - sizes[a], iinfo(type.dtype).max) for a in axes]
    rows = [shape.full((1,), b, type.dtype) for b in bounds]
    bound = rows[0] if len(rows) == 1 else shape.concatenate(*rows, axis=0)
    bound = shape.broadcast_in_dim(bound, shape=type.shape, dims=(len(type.shape) - 1,))
    outside = or_(lt(indices, 0), gt(indices, bound))
    n = type.size
    at = argmax(shape.reshape(outside, shape=(n,)), axis=0, index_dtype=int32)
    found = dynamic_slice(shape.reshape(indices, shape=(n,)), at, sizes=(1,))
    _note(handler, array, tuple(axes), any_of(outside), at, shape.squeeze(found, (0,)))


def _note(
    handler: Checkify,
    array: tuple[int, ...],
    axes: tuple[int, ...],
    failed: Any,
    at: Any,
    index: Any,
) -> None:
    types = [ShapedArray((), int32), ShapedArray((), typeof(index).dtype)]
    site = handler.site(OOBError, OutOfBounds(array, axes), types)
    handler.note(site, failed, [at, index])


@rule(dynamic_slice, dynamic_update_slice)
def dynamic_slice_check(
    handler: Checkify, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]
) -> Any:
    if OOBError in handler.kinds and len(typeof(operands[0]).shape):
        array = typeof(operands[0]).shape
        skip = 1 if effect is dynamic_slice else 2
        sizes = attributes["sizes"] if skip == 1 else typeof(operands[1]).shape
        starts = [shape.reshape(s, shape=(1,)) for s in operands[skip:]]
        indices = starts[0] if len(starts) == 1 else shape.concatenate(*starts, axis=0)
        _check_indices(handler, array, indices, tuple(range(len(array))), sizes)
    return effect(*operands, **attributes)
