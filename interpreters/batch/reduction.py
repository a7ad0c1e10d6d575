"""Batching of reductions: the axes named shift by one."""

from __future__ import annotations

from typing import Any

from effax.effects.effect import Effect
from effax.effects.handler import outside
from effax.effects.program import Program
from effax.effects.rows import reduction
from effax.interpreters.batch.batched import Batch, Batched, all_batched, rule
from effax.interpreters.composites.definitions import reduce_by_halves


def _axes_rule(effect: Effect) -> None:
    @rule(effect)
    def reduction_batch(
        handler: Batch, values: list[Any], batched: list[bool], *, axes: tuple[int, ...]
    ) -> Any:
        return effect(values[0], axes=tuple(a + 1 for a in axes)), True


def _axis_rule(effect: Effect) -> None:
    @rule(effect)
    def position_batch(
        handler: Batch, values: list[Any], batched: list[bool], *, axis: int, index_dtype: Any
    ) -> Any:
        return effect(values[0], axis=axis + 1, index_dtype=index_dtype), True


for _effect in (
    reduction.reduce_sum,
    reduction.reduce_prod,
    reduction.reduce_max,
    reduction.reduce_min,
    reduction.reduce_and,
    reduction.reduce_or,
    reduction.reduce_xor,
):
    _axes_rule(_effect)
_axis_rule(reduction.argmax)
_axis_rule(reduction.argmin)


@rule(reduction.reduce)
def reduce_batch(
    handler: Batch,
    values: list[Any],
    batched: list[bool],
    *,
    body: Program,
    axes: tuple[int, ...],
) -> Any:
    """Initial values that differ along the batch have no place in the effect: written out."""
    n = len(values) // 2
    if any(batched[n:]):
        carriers = [Batched(handler, x) if b else x for x, b in zip(values, batched, strict=True)]
        with outside(handler):
            results = reduce_by_halves(*carriers, body=body, axes=axes)
        return [x.many if handler.owns(x) else x for x in results], list(map(handler.owns, results))
    results = reduction.reduce(
        *all_batched(handler, values[:n], batched[:n]),
        *values[n:],
        body=body,
        axes=tuple(a + 1 for a in axes),
    )
    return results, [True] * n
