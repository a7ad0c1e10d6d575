"""Programs at many places, run: one place a device, each with its row of the operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import attrs
import numpy as np

from effax.backends.xla import ledger
from effax.backends.xla.array import Array, asarray, device_put
from effax.backends.xla.device import Device, local_devices
from effax.backends.xla.dispatch import compile_program, refuse_execution
from effax.backends.xla.executable import (
    Executable,
    XlaRuntimeError,
    compile_text,
    explain_failure,
    refuse_deleted,
)
from effax.backends.xla.layout import ProgramLayout, layout_of
from effax.backends.xla.lowering.collective import mesh_text
from effax.backends.xla.mesh import Mesh, NamedSharding
from effax.backends.xla.placement import Placement, Spec, leading, replicated
from effax.backends.xla.special_values import special_in
from effax.effects import config
from effax.effects.errors import UnexpectedTracerError
from effax.effects.frames import describe, user_frame
from effax.effects.handler import Carrier
from effax.effects.mesh import PartitionSpec
from effax.effects.program import Program
from effax.effects.rows.callback import inspections
from effax.effects.rows.shape import expand_dims, squeeze
from effax.effects.rows.sharding import shard_map
from effax.effects.types import ShapedArray
from effax.interpreters.batch.parallel import as_batch
from effax.interpreters.stage import stage


class UnnamedAxis:
    """The name of an axis that no one named: equal to itself only."""

    def __repr__(self) -> str:
        return "<unnamed axis>"


_UNNAMED: Final = "_internal_pmap_axis_name"
"""The axis of the mesh in the shardings of results, where the axis of the places has no name.

JAX uses the same name.
"""


def mesh_of(axis: Any, devices: Sequence[Device]) -> Mesh:
    """Return the mesh with one axis that the places form; it has the name of their axis."""
    return Mesh(np.array(devices, object), [_mesh_axis(axis)])


def _mesh_axis(axis: Any) -> Any:
    return _UNNAMED if isinstance(axis, UnnamedAxis) else axis


@attrs.frozen(slots=True, eq=False)
class Spread:
    """A program compiled for many places: where its operands go, and what it gives."""

    executable: Executable
    placements: tuple[Placement, ...]
    specs: tuple[Spec, ...]
    name: str = "pmap"

    def __call__(self, arrays: Sequence[Array]) -> list[Array]:
        """Run it; operands that lie elsewhere are spread first."""
        refuse_execution("a program at many places")
        buffers = [
            x.buffer if x.spec.placement is where else device_put(x, where).buffer
            for x, where in zip(arrays, self.placements, strict=True)
        ]
        refuse_deleted((x.spec, x.buffer) for x in arrays)
        try:
            outs = self.executable.execute(buffers)
        except XlaRuntimeError as error:
            explain_failure(error, [(x.spec, x.buffer) for x in arrays])
            raise
        results = [*map(Array, outs, self.specs)]
        if config.read("debug_nans") or config.read("debug_infs"):
            found = special_in(results)
            if found is not None:
                raise FloatingPointError(
                    f"Invalid value ({found}) encountered in sharded computation. It is that of "
                    f"{self.name}, at {describe(user_frame())}"
                )
        return results


def places(size: int, devices: Sequence[Device] | None, backend: str | None = None) -> Any:
    """The devices of `size` places: those given, else the first of this process.

    Raises `ValueError` where there are too few, or not as many as were given.
    """
    if devices is None:
        found = local_devices(backend=backend)
        if size > len(found):
            raise ValueError(
                f"compiling computation that requires {size} logical devices, but only "
                f"{len(found)} XLA devices are available (num_replicas={size}); map over a shorter "
                "axis, use vmap, or make the CPU appear as more devices: "
                f"XLA_FLAGS=--xla_force_host_platform_device_count={size}, or "
                f"effax.config.update('num_cpu_devices', {size}) before anything else"
            )
        return tuple(found[:size])
    if len(devices) != size:
        raise ValueError(
            f"Leading axis size of input to pmapped function must equal the number of local "
            f"devices passed to pmap. Got axis_size={size}, num_local_devices={len(devices)}."
        )
    return tuple(devices)


def spread(
    program: Program,
    mapped: tuple[bool, ...],
    size: int,
    axis: Any,
    devices: tuple[Device, ...],
    donate: tuple[int, ...] = (),
) -> Spread:
    """Compile a program for places on these devices; once for each program."""
    key = "spread", mapped, axis, devices, donate
    found: Spread | None = program.memo.get(key)
    if found is None:
        found = program.memo[key] = _spread(program, mapped, size, axis, devices, donate)
    return found


def _spread(
    program: Program,
    mapped: tuple[bool, ...],
    size: int,
    axis: Any,
    devices: tuple[Device, ...],
    donate: tuple[int, ...],
) -> Spread:
    rows, whole = leading(devices), replicated(devices)
    placements = tuple(rows if m else whole for m in mapped)
    types = [t.update(shape=(size, *t.shape)) for t in program.out_types]
    named = NamedSharding(mesh_of(axis, devices), PartitionSpec(_mesh_axis(axis)))
    specs = tuple(Spec(t, rows, committed=True, named=named) for t in types)
    if size == 1:
        alone = compile_program(as_batch(program, mapped, 1, axis), rows, True, donate=donate)
        return Spread(alone.executable, placements, specs, program.name)
    for told in inspections(program):
        told(rows)
    text, callbacks = mesh_text(program, mapped, {axis: size}, devices[0].platform)
    executable = compile_text(
        text,
        placement=whole,
        out_types=types,
        out_placements=[rows] * len(types),
        donate=donate,
        host_callbacks=tuple(callbacks),
        effectful="callback" in program.row,
    )
    ledger.of_operation(program.name).compiled(executable.seconds, executable.from_disk)
    return Spread(executable, placements, specs, program.name)


def over_mesh(
    program: Program,
    in_axes: Sequence[int | None],
    out_axes: Sequence[int | None],
    size: int,
    axis: Any,
    devices: tuple[Device, ...],
) -> tuple[Program, ProgramLayout]:
    """Return a map over places as a program of whole arrays over their mesh, and its layout.

    Args:
      program: what each place runs.
      in_axes, out_axes: along which axis of each operand and result the places lie; None where
        all places share the operand, or where the result is that of any place.
    """
    mesh, name = mesh_of(axis, devices), _mesh_axis(axis)

    def spec_of(along: int | None) -> PartitionSpec:
        return PartitionSpec() if along is None else PartitionSpec(*(None,) * along, name)

    def piece(*operands: Any) -> list[Any]:
        rows = [
            x if a is None else squeeze(x, (a,)) for x, a in zip(operands, in_axes, strict=True)
        ]
        results = program.run(*rows)
        return [
            x if a is None else expand_dims(x, (a,)) for x, a in zip(results, out_axes, strict=True)
        ]

    def whole(*operands: Any) -> Any:
        return shard_map(
            *operands,
            program=stage(piece, _lengthened(program, in_axes, 1), program.name).program,
            mesh=mesh,
            in_specs=tuple(map(spec_of, in_axes)),
            out_specs=tuple(map(spec_of, out_axes)),
            binds=(name,),
            name=program.name,
        )

    types = _lengthened(program, in_axes, size)
    made = stage(whole, types, program.name).program
    ins, outs = ([NamedSharding(mesh, spec_of(a)) for a in axes] for axes in (in_axes, out_axes))
    specs = [Spec(t, sharding.placement()) for t, sharding in zip(types, ins, strict=True)]
    return made, layout_of(specs, made, ins, outs, what=program.name)


def _lengthened(program: Program, axes: Sequence[int | None], length: int) -> list[ShapedArray]:
    """The types of a program's operands with an axis of the places, so many of them."""
    return [
        t if a is None else t.update(shape=(*t.shape[:a], length, *t.shape[a:]))
        for t, a in zip(program.in_types, axes, strict=True)
    ]


def run_parallel(
    *operands: Any,
    program: Program,
    mapped: tuple[bool, ...],
    size: int,
    binds: Any,
    devices: Any = None,
    name: str = "",
) -> list[Array]:
    """Perform a program at many places at once, now."""
    arrays = []
    for x in operands:
        if isinstance(x, Carrier):
            raise UnexpectedTracerError.escaped(x)
        arrays.append(x if type(x) is Array else asarray(x))
    return spread(program, mapped, size, binds[0], places(size, devices))(arrays)
