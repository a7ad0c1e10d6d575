"""Shardings for a batch: its own axis may be cut in any way, or along the mesh axes it is given."""

from __future__ import annotations

from typing import Any

from effax.effects.mesh import UNCONSTRAINED, PartitionSpec
from effax.effects.rows import sharding
from effax.interpreters.batch.batched import Batch, rule

_constrained = sharding.with_sharding_constraint


@rule(sharding.opened)
def opened_batch(handler: Batch, values: list[Any], batched: list[bool], *, axes: Any) -> Any:
    return sharding.opened(values[0], axes=axes), batched[0]


@rule(sharding.grouped)
def grouped_batch(handler: Batch, values: list[Any], batched: list[bool], *, group: Any) -> Any:
    """Batches are cut alike; not as a value that is the same for all, which has an axis less."""
    return sharding.grouped(values[0], group=(*group, 1)), batched[0]


@rule(sharding.reshard)
def reshard_batch(handler: Batch, values: list[Any], batched: list[bool], **attributes: Any) -> Any:
    (x,), (many,) = values, batched
    where = attributes["sharding"]
    if many:
        where = where.update(spec=PartitionSpec(handler.along, *where.spec))
    return sharding.reshard(x, sharding=where), many


@rule(_constrained)
def constraint_batch(
    handler: Batch, values: list[Any], batched: list[bool], *, sharding: Any
) -> Any:
    (x,), (many,) = values, batched
    if many:
        along = UNCONSTRAINED if handler.spmd_axes is None else handler.spmd_axes
        sharding = sharding.update(spec=PartitionSpec(along, *sharding.spec))
    return _constrained(x, sharding=sharding), many
