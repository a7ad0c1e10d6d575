"""Callbacks for a batch: debugging sees each lane in turn, computing is done as its author says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from effax.effects.errors import MissingRuleError
from effax.effects.rows import shape
from effax.effects.rows.callback import (
    Inspection,
    PerLane,
    Showing,
    debug_callback,
    io_callback,
    pure_callback,
    sequenced_callback,
)
from effax.effects.types import typeof
from effax.interpreters.batch.batched import Batch, all_batched, rule


def _results(handler: Batch, types: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(t.update(shape=(handler.size, *t.shape)) for t in types)


@rule(debug_callback)
def debug_callback_batch(
    handler: Batch, values: list[Any], batched: list[bool], *, callback: Any, ordered: bool
) -> Any:
    if isinstance(callback, Inspection):  # the whole batch lies somewhere
        return debug_callback(*values, callback=callback, ordered=ordered), []
    level = tuple(batched), handler.size
    if isinstance(callback, Showing):
        each = Showing(callback.callback, (level, *callback.levels))
    else:
        each = Showing(callback, (level,))
    return debug_callback(*values, callback=each, ordered=ordered), []


@rule(io_callback)
def io_callback_batch(
    handler: Batch,
    values: list[Any],
    batched: list[bool],
    *,
    callback: Any,
    result_types: tuple[Any, ...],
    ordered: bool,
) -> Any:
    if ordered:
        raise ValueError(
            "Cannot `vmap` ordered IO callback. Lanes have no order; pass ordered=False, or loop "
            "over them by lax.scan or lax.map"
        )
    results = io_callback(
        *values,
        callback=PerLane(callback, tuple(batched), handler.size, result_types),
        result_types=_results(handler, result_types),
        ordered=False,
    )
    return results, [True] * len(results)


@rule(sequenced_callback)
def sequenced_callback_batch(
    handler: Batch, values: list[Any], batched: list[bool], **attributes: Any
) -> Any:
    raise ValueError("a callback was ordered before it was batched; vmap first, then lower")


@rule(pure_callback)
def pure_callback_batch(
    handler: Batch,
    values: list[Any],
    batched: list[bool],
    *,
    callback: Any,
    result_types: tuple[Any, ...],
    vmap_method: str | None,
) -> Any:
    """One call for the whole batch, or one for each lane, by `vmap_method`."""
    if vmap_method is None:
        raise MissingRuleError(
            "vmap is only supported for a pure_callback with a vmap_method: pass "
            "vmap_method='sequential' (called for each lane), 'expand_dims' or 'broadcast_all' "
            "(called once, with the batch as first axis)"
        )
    if vmap_method == "broadcast_all":
        values = all_batched(handler, values, batched)
    elif vmap_method == "expand_dims":
        values = [
            x if b else shape.broadcast_in_dim(x, shape=(1, *typeof(x).shape), dims=_after(x))
            for x, b in zip(values, batched, strict=True)
        ]
    elif vmap_method in ("sequential", "sequential_unrolled"):
        callback = PerLane(callback, tuple(batched), handler.size, result_types)
    results = pure_callback(
        *values,
        callback=callback,
        result_types=_results(handler, result_types),
        vmap_method=vmap_method,
    )
    return results, [True] * len(results)


def _after(x: Any) -> tuple[int, ...]:
    return tuple(range(1, 1 + len(typeof(x).shape)))
