"""Shardings for a batch: its own axis may be cut in any way, or along the mesh axes it is given."""

from __future__ import annotations

from math import prod
from typing import Any

from effax.effects import sharding
from effax.effects.effect import Effect
from effax.effects.mesh import UNCONSTRAINED, PartitionSpec
from effax.interpreters.batch.batched import Batch, rule
from effax.interpreters.sharding import lift_shard_map

_constrained = sharding.with_sharding_constraint


@rule(_constrained)
def constraint_batch(
    handler: Batch, values: list[Any], batched: list[bool], *, sharding: Any
) -> Any:
    (x,), (many,) = values, batched
    if many:
        along = UNCONSTRAINED if handler.spmd_axes is None else handler.spmd_axes
        sharding = sharding.update(spec=PartitionSpec(along, *sharding.spec))
    return _constrained(x, sharding=sharding), many


def batch_shard_map(
    handler: Batch, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]
) -> list[Any]:
    """Each place has all of the batch, or its piece along the mesh axes that the batch is given.

    A batch whose axis has a name is whole: collectives speak to all of it.
    """
    along = handler.spmd_axes
    names = along if isinstance(along, tuple) else () if along is None else (along,)
    mesh, binds = attributes["mesh"], attributes["binds"]
    n = prod(mesh.shape.get(name, 1) for name in names)
    known = all(name in mesh.shape and name not in binds for name in names)
    if not names or not known or handler.size % n or handler.axis_name is not None:
        return lift_shard_map(handler, effect, operands, attributes)
    both = tuple(name for name in mesh.axis_names if name in binds or name in names)
    piece = Batch(handler.outer, handler.size // n)
    return lift_shard_map(handler, effect, operands, {**attributes, "binds": both}, piece, names)


Batch.overrides[sharding.shard_map] = batch_shard_map
