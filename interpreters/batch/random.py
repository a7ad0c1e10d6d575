"""Batches of random bits: each element has its own key and counter already."""

from __future__ import annotations

from typing import Any

from effax.effects.rows import random, shape
from effax.interpreters.batch.batched import Batch, all_batched, rule


@rule(random.threefry2x32)
def threefry2x32_batch(handler: Batch, values: list[Any], batched: list[bool]) -> Any:
    results = random.threefry2x32(*all_batched(handler, values, batched))
    return results, [True, True]


@rule(random.rng_bit_generator)
def rng_bit_generator_batch(
    handler: Batch, values: list[Any], batched: list[bool], **attributes: Any
) -> Any:
    (states,) = values
    attributes["shape"] = (handler.size, *attributes["shape"])
    first = shape.squeeze(shape.slice_axis(states, 0, 0, 1), (0,))
    after, bits = random.rng_bit_generator(first, **attributes)
    others = shape.slice_axis(states, 0, 1, handler.size)
    return [shape.concatenate(shape.expand_dims(after, (0,)), others, axis=0), bits], [True, True]


@rule(random.rng_uniform)
def rng_uniform_batch(
    handler: Batch, values: list[Any], batched: list[bool], *, shape: tuple[int, ...]
) -> Any:
    raise NotImplementedError(
        "vmap of rng_uniform does not support bounds that differ along the batch: draw between 0 "
        "and 1 and scale, or use random.uniform, which takes arrays of bounds"
    )
