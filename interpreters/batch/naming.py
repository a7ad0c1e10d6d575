"""Names under batch: of the whole batch."""

from __future__ import annotations

from typing import Any

from effax.effects.rows import naming
from effax.interpreters.batch.batched import Batch, rule


@rule(naming.sink)
def sink_batch(handler: Batch, values: list[Any], batched: list[bool], *, prevent: bool) -> Any:
    return naming.sink(*values, prevent=prevent), []


@rule(naming.unstored)
def unstored_batch(handler: Batch, values: list[Any], batched: list[bool], **told: Any) -> Any:
    results = naming.unstored(**told)
    return results, [False] * len(results)
