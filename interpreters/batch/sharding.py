"""Shardings for a batch: its own axis may be cut in any way, or along the mesh axes it is given."""

from __future__ import annotations

from typing import Any

from effax.effects.mesh import UNCONSTRAINED, PartitionSpec
from effax.effects.rows import sharding
from effax.interpreters.batch.batched import Batch, rule
from effax.interpreters.functor.masks import pick

_constrained = sharding.with_sharding_constraint
_put = sharding.put
_reshard = sharding.reshard


@rule(sharding.opened)
def opened_batch(handler: Batch, values: list[Any], batched: list[bool], *, axes: Any) -> Any:
    return sharding.opened(values[0], axes=axes), batched[0]


@rule(sharding.grouped)
def grouped_batch(handler: Batch, values: list[Any], batched: list[bool], *, group: Any) -> Any:
    """Batches are cut alike; not as a value that is the same for all, which has an axis less."""
    many = iter(sharding.grouped(*pick(values, batched, True), group=(*group, 1)))
    one = iter(sharding.grouped(*pick(values, batched, False), group=group))
    return [next(many if b else one) for b in batched], batched


@rule(_reshard)
def reshard_batch(handler: Batch, values: list[Any], batched: list[bool], *, sharding: Any) -> Any:
    (x,), (many,) = values, batched
    return _reshard(x, sharding=_stacked(handler, sharding) if many else sharding), many


@rule(_constrained)
def constraint_batch(
    handler: Batch, values: list[Any], batched: list[bool], *, sharding: Any
) -> Any:
    (x,), (many,) = values, batched
    return _constrained(x, sharding=_batched(handler, sharding) if many else sharding), many


@rule(_put)
def put_batch(
    handler: Batch, values: list[Any], batched: list[bool], *, sharding: Any, back: Any
) -> Any:
    """Batches are put on the same devices; a way back that is named is one for batches too."""
    (x,), (many,) = values, batched
    if many:
        sharding = _stacked(handler, sharding)
        back = None if back is None else _stacked(handler, back)
    return _put(x, sharding=sharding, back=back), many


def _stacked(handler: Batch, sharding: Any) -> Any:
    """The same, along explicit axes of a mesh where types say how the batch is cut."""
    mesh = getattr(sharding, "mesh", None)
    if mesh is None or not mesh.explicit_axes:
        return _batched(handler, sharding)
    return sharding.update(spec=PartitionSpec(handler.along, *sharding.spec))


def _batched(handler: Batch, sharding: Any) -> Any:
    """The sharding of a batch of values, each of which is to lie as a sharding says."""
    if not hasattr(sharding, "spec"):
        if handler.spmd_axes is not None:
            raise ValueError(
                "If you are using spmd_axis_name parameter of effax.vmap, please make sure to run "
                "your jitted function inside the mesh context manager, and give "
                "with_sharding_constraint a NamedSharding. Only `NamedSharding` can be "
                f"transformed with spmd_axis_name set. Got {sharding}"
            )
        return sharding.batched()
    if handler.spmd_axes is not None and set(_names(handler.spmd_axes)) & {*sharding.spec.used}:
        raise ValueError(
            f"vmap spmd_axis_name={handler.spmd_axes} can't be used with "
            f"with_sharding_constraint to {sharding.spec}, which names that mesh axis "
            "already; name another axis of the mesh, or take it out of the spec"
        )
    along = UNCONSTRAINED if handler.spmd_axes is None else handler.spmd_axes
    return sharding.update(spec=PartitionSpec(along, *sharding.spec))


def _names(axes: Any) -> tuple[Any, ...]:
    return axes if isinstance(axes, tuple) else (axes,)
