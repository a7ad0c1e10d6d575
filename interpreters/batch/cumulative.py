"""Batching of cumulative effects: the axis shifts by one."""

from __future__ import annotations

from typing import Any

from effax.effects.effect import Effect
from effax.effects.rows import cumulative
from effax.interpreters.batch.batched import Batch, rule


def _axis_rule(effect: Effect) -> None:
    @rule(effect)
    def cumulative_batch(
        handler: Batch, values: list[Any], batched: list[bool], *, axis: int, reverse: bool
    ) -> Any:
        return effect(values[0], axis=axis + 1, reverse=reverse), True


for _effect in (
    cumulative.cumsum,
    cumulative.cumprod,
    cumulative.cummax,
    cumulative.cummin,
    cumulative.cumlogsumexp,
):
    _axis_rule(_effect)
