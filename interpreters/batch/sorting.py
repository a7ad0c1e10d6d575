"""Batching of sorting: the axis shifts by one."""

from __future__ import annotations

from typing import Any

from effax.effects.rows import sorting
from effax.interpreters.batch.batched import Batch, all_batched, rule


@rule(sorting.sort)
def sort_batch(
    handler: Batch,
    values: list[Any],
    batched: list[bool],
    *,
    dimension: int,
    is_stable: bool,
    num_keys: int,
) -> Any:
    operands = all_batched(handler, values, batched)
    results = sorting.sort(
        *operands, dimension=dimension + 1, is_stable=is_stable, num_keys=num_keys
    )
    return results, [True] * len(operands)


@rule(sorting.top_k)
def top_k_batch(
    handler: Batch, values: list[Any], batched: list[bool], *, axis: int, **how: Any
) -> Any:
    return sorting.top_k(values[0], axis=axis + 1, **how), [True, True]
