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
    if many and not hasattr(sharding, "spec"):
        if handler.spmd_axes is not None:
            raise ValueError(
                "If you are using spmd_axis_name parameter of effax.vmap, please make sure to run "
                "your jitted function inside the mesh context manager, and give "
                "with_sharding_constraint a NamedSharding. Only `NamedSharding` can be "
                f"transformed with spmd_axis_name set. Got {sharding}"
            )
        sharding = sharding.batched()
    elif many:
        if handler.spmd_axes is not None and set(_names(handler.spmd_axes)) & {*sharding.spec.used}:
            raise ValueError(
                f"vmap spmd_axis_name={handler.spmd_axes} can't be used with "
                f"with_sharding_constraint to {sharding.spec}, which names that mesh axis "
                "already; name another axis of the mesh, or take it out of the spec"
            )
        along = UNCONSTRAINED if handler.spmd_axes is None else handler.spmd_axes
        sharding = sharding.update(spec=PartitionSpec(along, *sharding.spec))
    return _constrained(x, sharding=sharding), many


def _names(axes: Any) -> tuple[Any, ...]:
    return axes if isinstance(axes, tuple) else (axes,)
