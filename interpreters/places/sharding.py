"""Programs over a mesh, lifted through any handler; and the same written out on whole arrays."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from effax.effects.cuts import names_of
from effax.effects.effect import Effect
from effax.effects.mesh import PartitionSpec
from effax.effects.program import Program
from effax.effects.rows import shape, sharding
from effax.effects.rows.control import call
from effax.effects.types import typeof
from effax.interpreters.batch.batched import Batch
from effax.interpreters.batch.parallel import as_batch
from effax.interpreters.functor.lifting import (
    PLAIN,
    Lifting,
    functor,
    leaf_count,
    leaves_of,
    lift,
    lift_call,
)
from effax.interpreters.stage import stage


def lift_shard_map(
    handler: Lifting,
    effect: Effect,
    operands: tuple[Any, ...],
    attributes: dict[str, Any],
    inner: Lifting | None = None,
    along: Any = None,
) -> list[Any]:
    """Lift the program that each place runs; leaves are cut as their values are.

    A handler with a state gets one state back, not one from each place: for it the pieces are a
    batch of the whole. `inner` is the handler as one place sees it, where axes that leaves have in
    front are cut `along` axes of the mesh.
    """
    program: Program = attributes["program"]
    state = handler.state_mode()
    modes = tuple(map(handler.mode, operands))
    lifted = lift(program, inner or handler, modes, state)
    if handler.state_types(state) or handler.state_types(lifted.state_mode) or lifted.log:
        whole = in_blocks(**{k: v for k, v in attributes.items() if k != "name"})
        return lift_call(handler, call, operands, {"program": whole, "name": attributes["name"]})
    flat: list[Any] = []
    in_specs = [PartitionSpec()] * len(lifted.captured)
    for x, mode, spec in zip(operands, modes, attributes["in_specs"], strict=True):
        leaves = leaves_of(handler, x, mode)
        flat += leaves
        in_specs += _leaf_specs(handler, mode, spec, len(leaves), along)
    out_specs: list[PartitionSpec] = []
    for mode, t, spec in zip(
        lifted.out_modes, program.out_types, attributes["out_specs"], strict=True
    ):
        out_specs += _leaf_specs(handler, mode, spec, leaf_count(handler, mode, t), along)
    rest = effect(
        *lifted.captured,
        *flat,
        **{
            **attributes,
            "program": lifted.program,
            "in_specs": tuple(in_specs),
            "out_specs": tuple(out_specs),
        },
    )
    values = []
    for mode, t in zip(lifted.out_modes, program.out_types, strict=True):
        n = leaf_count(handler, mode, t)
        leaves, rest = rest[:n], rest[n:]
        values.append(leaves[0] if mode is PLAIN else handler.value(mode, leaves))
    return values


def _leaf_specs(
    handler: Lifting, mode: Any, spec: PartitionSpec, count: int, along: Any
) -> list[PartitionSpec]:
    """A value's spec for each of its leaves, which may have more axes in front."""
    if mode is PLAIN:
        return [spec]
    axes = handler.leaf_axes(mode) or (0,) * count
    return [PartitionSpec(*(along,) * n, *spec) for n in axes]


functor[sharding.shard_map] = lift_shard_map


def _batch_axes(handler: Batch, binds: Sequence[Any]) -> tuple[Any, ...]:
    """The mesh axes that the batch is given; explicit ones if places are along them."""
    if handler.spmd_axes is not None:
        return names_of(handler.spmd_axes)
    explicit = names_of(handler.along)
    return explicit if set(explicit) <= set(binds) else ()


def batch_shard_map(
    handler: Batch, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]
) -> list[Any]:
    """Each place has all of the batch, or its piece along the mesh axes that the batch is given.

    A batch whose axis has a name is whole: collectives speak to all of it. So is one along axes
    that cut the values themselves, or that collectives inside speak to.
    """
    mesh, binds = attributes["mesh"], attributes["binds"]
    names = _batch_axes(handler, binds)
    n = prod(mesh.shape.get(name, 1) for name in names)
    specs = *attributes["in_specs"], *attributes["out_specs"]
    taken = sharding.differing(attributes["program"], specs, names)
    if (
        not names
        or taken
        or not set(names) <= set(mesh.shape)
        or handler.size % n
        or handler.axis_name is not None
    ):
        return lift_shard_map(handler, effect, operands, attributes)
    both = tuple(name for name in mesh.axis_names if name in binds or name in names)
    piece = Batch(handler.outer, handler.size // n, directions=handler.directions)
    return lift_shard_map(handler, effect, operands, {**attributes, "binds": both}, piece, names)


Batch.overrides[sharding.shard_map] = batch_shard_map


def in_blocks(
    program: Program,
    mesh: Any,
    in_specs: tuple[PartitionSpec, ...],
    out_specs: tuple[PartitionSpec, ...],
    binds: tuple[Any, ...],
) -> Program:
    """The program over whole arrays: they are cut into blocks, of which the places are a batch."""
    key = "in blocks", mesh, in_specs, out_specs, binds
    found: Program | None = program.memo.get(key)
    if found is None:
        found = program.memo[key] = _in_blocks(program, mesh, in_specs, out_specs, binds)
    return found


def _in_blocks(
    program: Program,
    mesh: Any,
    in_specs: tuple[PartitionSpec, ...],
    out_specs: tuple[PartitionSpec, ...],
    binds: tuple[Any, ...],
) -> Program:
    sizes = mesh.shape
    batched = program
    for name in reversed(binds):
        cut = tuple(name in spec.used for spec in in_specs)
        batched = as_batch(batched, cut, sizes[name], name)
    types = [
        sharding.global_type(t, mesh, spec).cut_by(None)
        for t, spec in zip(program.in_types, in_specs, strict=True)
    ]

    def body(*values: Any) -> list[Any]:
        blocks = [_cut(x, spec, sizes, binds) for x, spec in zip(values, in_specs, strict=True)]
        results = batched.run(*blocks)
        return [_joined(x, spec, sizes, binds) for x, spec in zip(results, out_specs, strict=True)]

    return stage(body, types, program.name).program


def _cut(x: Any, spec: PartitionSpec, sizes: Any, binds: Sequence[Any]) -> Any:
    """The blocks of an array, along new first axes: those of the mesh that cut it, in order."""
    lengths: list[int] = []
    places: dict[Any, int] = {}
    own: list[int] = []
    for i, n in enumerate(typeof(x).shape):
        for name in spec.names(i):
            places[name] = len(lengths)
            lengths.append(sizes[name])
            n //= sizes[name]
        own.append(len(lengths))
        lengths.append(n)
    if not places:
        return x
    order = [*(places[name] for name in binds if name in places), *own]
    return shape.transpose(shape.reshape(x, shape=tuple(lengths)), permutation=tuple(order))


def _joined(x: Any, spec: PartitionSpec, sizes: Any, binds: Sequence[Any]) -> Any:
    """The array of blocks that lie along first axes, one for each axis of the mesh."""
    used = spec.used
    for i in range(len(binds) - 1, -1, -1):
        if binds[i] not in used:
            x = shape.squeeze(shape.slice_axis(x, i, 0, 1), (i,))
    kept = [name for name in binds if name in used]
    own = typeof(x).shape[len(kept) :]
    order: list[int] = []
    lengths: list[int] = []
    for i, n in enumerate(own):
        names = spec.names(i)
        order += [*(kept.index(name) for name in names), len(kept) + i]
        for name in names:
            n *= sizes[name]
        lengths.append(n)
    if not kept:
        return x
    return shape.reshape(shape.transpose(x, permutation=tuple(order)), shape=tuple(lengths))
