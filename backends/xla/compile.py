"""From the text of a program to a loaded executable of the runtime, by way of the disk."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from effax.backends.xla import disk_cache, linalg_targets
from effax.backends.xla.client import (
    VERSION,
    Backend,
    XlaRuntimeError,
    backend,
    jaxlib_version,
    refuse_fork,
)
from effax.backends.xla.placement import Placement
from effax.effects import config
from effax.effects.runtime import _jax

Options = Mapping[str, bool | int | float | str]

# These passes take half the compile time of a small program. Newer versions have neither the flag
# nor the need for it. Without them, float8_e5m2fnuz is read wrongly.
_QUICK: Final[Options] = {"xla_cpu_use_fusion_emitters": False} if VERSION < (0, 11) else {}
_UNOPTIMIZED: Final[Options] = {
    "xla_llvm_disable_expensive_passes": True,
    "xla_backend_optimization_level": 0,
}
# A program of narrow floats says where it rounds. For a GPU, XLA leaves out pairs of conversions
# that do nothing else unless it is told.
_ROUNDED: Final[Options] = {"xla_allow_excess_precision": False}
_NARROW_FLOATS: Final = re.compile(r"[<x]f[48]E")
# XLA gives some products of few elements to Triton, then finds no tiles for them: with jaxlib 0.10
# the gradient of image.resize fails to compile so. Its other kernels take them.
_UNTILED: Final = "Couldn't find output tile sizes"
_WITHOUT_TRITON: Final[Options] = {"xla_gpu_enable_triton_gemm": False}
_EFFORTS: Final = ("exec_time_optimization_effort", "memory_fitting_effort")
_LEVELS: Final = ("optimization_level", "memory_fitting_level")
_SHORT: Final = 8192
"""The length of text, in characters, up to which called programs are kept on disk in any case."""
_HOST_TARGETS: Final = ("@lapack_", "@cpu_csr_")
_HYBRID_TARGETS: Final = "@cuhybrid_"
_loads_before_count: Final = [96]
forget_compiled: Final[list[Callable[[], None]]] = []
"""Called where a process can't hold more programs: each clears caches of compiled ones."""


def compile_options(placement: Placement, options: Options) -> Any:
    """The compiler's options: one partition per device of the placement, and XLA's flags."""
    n = len(placement.devices)
    made = _jax.CompileOptions()
    made.num_replicas = 1
    made.num_partitions = n
    ids = np.array([[device.id for device in placement.devices]], np.int32)
    made.device_assignment = _jax.DeviceAssignment.create(ids)
    if n > 1:
        build = made.executable_build_options
        build.use_spmd_partitioning = True
        build.use_shardy_partitioner = bool(config.read("use_shardy_partitioner"))
        # The compiler chooses the sharding of results that the program does not place.
        build.allow_spmd_sharding_propagation_to_output = [True]
    if not config.read("compiler_enable_remat_pass"):
        options = {"xla_disable_hlo_passes": "rematerialization", **options}
    efforts = {name: config.read(name) for name in _EFFORTS if config.read(name)}
    efforts |= {name: x for name, x in options.items() if name in _EFFORTS or name in _LEVELS}
    for name, value in efforts.items():
        if not hasattr(made.executable_build_options, name):
            raise NotImplementedError(
                f"the setting {name}={value} needs jaxlib 0.10, but this is {jaxlib_version}, "
                "whose compiler has no such option; leave it at 0.0"
            )
        setattr(made.executable_build_options, name, value)
    flags = [(name, x) for name, x in options.items() if name not in efforts]
    if flags:
        made.env_option_overrides = flags
    return made


def load(
    text: str, placement: Placement, *, options: Options | None = None, **how: Any
) -> tuple[Any, float, bool]:
    """The loaded executable of a StableHLO program, compiled or found on disk.

    With it come the seconds that took, and whether it was found. A program that is `called` at once
    (not compiled ahead of time, to be looked at) is kept beside eager operations, if it is short or
    took as long to compile as `persistent_cache_min_compile_time_secs` says.
    Executables with host callbacks are never kept: what they call lives in this process.
    Raises `XlaRuntimeError` for a text that is no program or that the platform refuses.
    Raises `MemoryError` where a CPU's process can't hold another program.
    """
    refuse_fork()
    if placement.on_cpu:
        _make_room()
    options = options or {}
    try:
        return _load(text, placement, options=options, **how)
    except XlaRuntimeError as error:
        if _UNTILED not in str(error):
            raise
    return _load(text, placement, options={**_WITHOUT_TRITON, **options}, **how)


def _load(
    text: str,
    placement: Placement,
    *,
    options: Options,
    single_op: bool,
    persistent: bool,
    called: bool = False,
    host_callbacks: Sequence[Callable[..., Any]] = (),
) -> tuple[Any, float, bool]:
    if placement.on_cpu and any(target in text for target in _HOST_TARGETS):
        linalg_targets.ensure_registered()
    flags: dict[str, Any] = {}
    if placement.on_cpu:
        if single_op and not _NARROW_FLOATS.search(text):
            flags |= _QUICK
    elif _NARROW_FLOATS.search(text):
        flags |= _ROUNDED
    if config.read("disable_most_optimizations"):
        flags |= _UNOPTIMIZED
    flags |= options
    made = compile_options(placement, flags)
    client = placement.device.client
    devices = placement.device_list
    if placement.device.backend.absent:  # what it calls is not called: it can't run here
        return _timed(lambda: client.compile(parse(text), devices, made))
    if _HYBRID_TARGETS in text:
        from effax.backends.xla import plugins

        plugins.ready_host_lapack()
    if host_callbacks:
        from effax.backends.xla.host_transfer import HostTransfer

        callbacks = [
            c.registered(client) if isinstance(c, HostTransfer) else c for c in host_callbacks
        ]
        # Only here does the compiler need a parsed module.
        return _timed(lambda: client.compile_and_load(parse(text), devices, made, callbacks))
    store = None
    always = single_op
    if single_op:
        store = disk_cache.eager_cache()
    elif persistent:
        store = disk_cache.program_cache()
        if store is None and called:
            store, always = disk_cache.eager_cache(), len(text) <= _SHORT
    if store is None or "python_cpu_callback" in text:
        return _timed(lambda: client.compile_and_load(text, devices, made))
    versions = (jaxlib_version, client.platform_version)
    key = disk_cache.digest((*versions, made.SerializeAsString(), _devices(placement), text))
    return _find_or_compile(client, text, devices, made, store, key, always)


def reloaded(payload: bytes, placement: Placement) -> Any:
    """The executable that was serialized, loaded on the devices of a placement.

    Raises `XlaRuntimeError` where the runtime can't load it.
    """
    client = placement.device.client
    if placement.on_cpu:
        _make_room()
    options = compile_options(placement, {})
    return client.deserialize_executable(payload, placement.device_list, options)


def _make_room() -> None:
    """Keep a CPU's programs within the memory mappings of the process, which hold their code."""
    _loads_before_count[0] -= 1
    if _loads_before_count[0] < 0:
        from effax.backends.xla.mappings import make_room

        _loads_before_count[0] = make_room(forget_compiled)


def _timed(compile: Callable[[], Any]) -> tuple[Any, float, bool]:
    start = time.perf_counter()
    executable = compile()
    return executable, time.perf_counter() - start, False


def _devices(placement: Placement) -> str:
    return "\n".join(
        f"{device.platform} {device.device_kind} {device.id}" for device in placement.devices
    )


def _find_or_compile(
    client: Any,
    text: str,
    devices: Any,
    options: Any,
    store: disk_cache.DiskCache,
    key: str,
    always: bool,
) -> tuple[Any, float, bool]:
    start = time.perf_counter()
    payload = store.load(key)
    if payload is not None:
        try:
            found = client.deserialize_executable(payload, devices, options)
            return found, time.perf_counter() - start, True
        except XlaRuntimeError as error:
            store.discard(key, f"the runtime can't load it ({error})")
    executable, seconds, _ = _timed(lambda: client.compile_and_load(text, devices, options))
    if always or seconds >= config.read("persistent_cache_min_compile_time_secs"):
        try:
            payload = client.serialize_executable(executable)
        except XlaRuntimeError:
            # Some executables can't be serialized, such as those with custom calls of another
            # plugin.
            return executable, seconds, False
        if always or len(payload) >= config.read("persistent_cache_min_entry_size_bytes"):
            store.store(key, payload)
    return executable, seconds, False


# --------------------------------------------------------------------------- donated operands

_MAIN: Final = re.compile(r"func\.func\s+(?:public\s+)?@main\s*\(")


def donate_operands(text: str, positions: Sequence[int]) -> str:
    """The program with some operands of `@main` given away: their memory may hold the results.

    Raises `ValueError` where the program has no such operand.
    """
    if not positions:
        return text
    found = _MAIN.search(text)
    if found is None:
        raise ValueError("the program has no function @main")
    ends = _argument_ends(text, found.end())
    pieces, last = [], 0
    for position in sorted(set(positions)):
        if not 0 <= position < len(ends):
            raise ValueError(f"operand {position} is donated, but @main has {len(ends)} operands")
        end = ends[position]
        if text[end - 1] == "}":  # the operand has attributes already
            pieces.append(text[last : end - 1] + ", jax.buffer_donor = true}")
        else:
            pieces.append(text[last:end] + " {jax.buffer_donor = true}")
        last = end
    return "".join(pieces) + text[last:]


def _argument_ends(text: str, start: int) -> list[int]:
    """Return the end of each operand's declaration, in a list that begins at `start`."""
    ends: list[int] = []
    depth, i, quoted, seen = 0, start, False, False
    while True:
        c = text[i]
        if quoted:
            quoted = c != '"'
        elif c == '"':
            quoted = True
        elif c in "(<[{":
            depth += 1
        elif c in ")>]}" and depth:
            depth -= 1
        elif depth == 0 and c in ",)":
            if seen:
                ends.append(i - (len(text[start:i]) - len(text[start:i].rstrip())))
            if c == ")":
                return ends
            start, seen = i + 1, False
            i += 1
            continue
        seen = seen or not c.isspace()
        i += 1


# ------------------------------------------------------------------------------------ parsing


def parse(text: str) -> Any:
    """The program as a module of MLIR; imports the bindings."""
    from effax.effects.runtime import ir

    return ir.Module.parse(text, mlir_context())


def costs(module: Any, of: Backend) -> dict[str, float] | None:
    """XLA's estimate of what an HLO module costs on a back-end; None where it has none.

    A client without devices makes no estimates, so that of the default back-end is asked.
    """
    client = backend().client if of.absent else of.client
    try:
        return dict(_jax.hlo_module_cost_analysis(client, module))
    except XlaRuntimeError:
        return None


def mlir_context() -> Any:
    """A context of MLIR that knows the dialects of programs; imports the bindings."""
    from effax.effects.runtime import _jax_mlir_ext, chlo, ir, sdy, stablehlo

    registry = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    context = ir.Context()
    context.append_dialect_registry(registry)
    context.load_all_available_dialects()
    # MLIR's threads would outlive the parsing of one small module.
    context.enable_multithreading(False)
    for dialect in (stablehlo, sdy, chlo):
        dialect.register_dialect(context, load=True)
    return context
