"""Programs at many places, run: one place a device, each with its row of the operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from effax.backends.xla import ledger
from effax.backends.xla.array import Array, asarray, device_put
from effax.backends.xla.device import Device, local_devices
from effax.backends.xla.dispatch import compile_program, lower, refuse_execution
from effax.backends.xla.executable import (
    Executable,
    XlaRuntimeError,
    compile_text,
    explain_failure,
    refuse_deleted,
)
from effax.backends.xla.lowering.collective import mesh_text
from effax.backends.xla.placement import Placement, Spec, leading, replicated
from effax.backends.xla.special_values import special_in
from effax.effects import config
from effax.effects.errors import UnexpectedTracerError
from effax.effects.frames import describe, user_frame
from effax.effects.handler import Carrier
from effax.effects.program import Program
from effax.effects.rows.callback import inspections
from effax.interpreters.batch.parallel import as_batch


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
    specs = tuple(Spec(t, rows, committed=True) for t in types)
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


def text_of(
    program: Program,
    mapped: tuple[bool, ...],
    size: int,
    axis: Any,
    devices: tuple[Device, ...],
    located: bool = False,
) -> str:
    """The StableHLO that `spread` compiles, with locations if asked."""
    if size == 1:
        return lower(as_batch(program, mapped, 1, axis), leading(devices), located=located)[0]
    return mesh_text(program, mapped, {axis: size}, devices[0].platform, located)[0]


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
