"""Batching of windows: along the batch axis they are one element wide."""

from __future__ import annotations

from typing import Any

from effax.effects.effect import Effect
from effax.effects.handler import outside
from effax.effects.program import Program
from effax.effects.rows import window
from effax.interpreters.batch.batched import Batch, Batched, all_batched, rule
from effax.interpreters.composites.definitions import reduce_window_in_order


def with_batch_axis(parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a window, one wide and one apart along a new first axis."""
    return {
        name: ((0, 0) if name == "padding" else 1, *numbers) for name, numbers in parameters.items()
    }


def _window_rule(effect: Effect) -> None:
    @rule(effect)
    def window_batch(
        handler: Batch, values: list[Any], batched: list[bool], **parameters: Any
    ) -> Any:
        return effect(values[0], **with_batch_axis(parameters)), True


for _effect in (window.reduce_window_sum, window.reduce_window_max, window.reduce_window_min):
    _window_rule(_effect)


def _selecting_rule(effect: Effect) -> None:
    @rule(effect)
    def selecting_batch(
        handler: Batch, values: list[Any], batched: list[bool], *, select: str, **parameters: Any
    ) -> Any:
        both = all_batched(handler, values, batched)
        return effect(*both, select=select, **with_batch_axis(parameters)), True


_selecting_rule(window.select_and_gather_add)
_selecting_rule(window.select_and_scatter_add)


@rule(window.reduce_window)
def reduce_window_batch(
    handler: Batch, values: list[Any], batched: list[bool], *, body: Program, **parameters: Any
) -> Any:
    """Initial values that differ along the batch have no place in the effect: written out."""
    n = len(values) // 2
    if any(batched[n:]):
        carriers = [Batched(handler, x) if b else x for x, b in zip(values, batched, strict=True)]
        with outside(handler):
            results = reduce_window_in_order(*carriers, body=body, **parameters)
        return [x.many if handler.owns(x) else x for x in results], list(map(handler.owns, results))
    results = window.reduce_window(
        *all_batched(handler, values[:n], batched[:n]),
        *values[n:],
        body=body,
        **with_batch_axis(parameters),
    )
    return results, [True] * n
