"""Batches of random bits: each element has its own key and counter already."""

from __future__ import annotations

from typing import Any

from effax.effects import random
from effax.interpreters.batch.batched import Batch, all_batched, elementwise, rule


@rule(random.threefry2x32)
def threefry2x32_batch(handler: Batch, values: list[Any], batched: list[bool]) -> Any:
    results = random.threefry2x32(*all_batched(handler, values, batched))
    return results, [True, True]


elementwise(random.use_key)
