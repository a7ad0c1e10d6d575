"""Settings: process-wide values, overridden per context by `with`.

Names are JAX's, with or without the prefix `jax_`; the environment gives first values as
`EFFAX_ENABLE_X64=1`. Three ways in:

>>> from effax.effects.config import config, enable_x64
>>> with enable_x64(True):
...     config.enable_x64, config.jax_enable_x64
(True, True)
>>> config.update("jax_debug_nans", False)
>>> config.trace_key().enable_x64
False

A thread starts without overrides, and so does each new context of asynchronous code: an override
is seen by what runs inside its `with` block and by nobody else.
"""

from __future__ import annotations

import os
from typing import Any, Final, NoReturn

from effax.effects.settings import Option as Option
from effax.effects.settings import Overriding as Overriding
from effax.effects.settings import Settings as Settings
from effax.effects.settings import adopt as adopt
from effax.effects.settings import find_option as find_option
from effax.effects.settings import options as options
from effax.effects.settings import read as read
from effax.effects.settings import renew as renew
from effax.effects.settings import trace_key as trace_key
from effax.effects.settings import unread as unread
from effax.effects.settings import update as update
from effax.effects.settings import watch as watch


class _Disabling(Option):
    """An option whose value is said as JAX's `disable_jit` has it: `disable_jit(disable=True)`."""

    __slots__ = ()

    def __call__(self, disable: Any = True) -> Overriding:
        return super().__call__(disable)


def _switch(name: str, default: bool, text: str, kind: type[Option] = Option) -> Option:
    def check(value: Any) -> bool:
        if value is True or value is False:
            return bool(value)
        if value in (0, 1):
            return bool(value)
        raise ValueError(f"{name} must be True or False, got {value!r}")

    def parse(text: str) -> Any:
        lowered = text.strip().lower()
        if lowered in ("1", "true", "t", "yes", "y", "on"):
            return True
        if lowered in ("0", "false", "f", "no", "n", "off", ""):
            return False
        return text

    return kind(name, default, text, check, parse)


def _choice(name: str, default: str | None, choices: tuple[str | None, ...], text: str) -> Option:
    def check(value: Any) -> str | None:
        value = getattr(value, "value", value)  # members of an enumeration of strings
        if (value is None and default is None) or value in choices:
            return None if value is None else str(value)
        raise ValueError(f"{name} must be one of {', '.join(map(str, choices))}, got {value!r}")

    return Option(name, default, text, check, lambda text: text or None)


def _number(name: str, default: float, text: str) -> Option:
    kind = type(default)

    def check(value: Any) -> Any:
        try:
            number = kind(value)
        except (TypeError, ValueError):
            number = None
        if number is None or (isinstance(value, float) and number != value):
            raise ValueError(f"{name} must be of type {kind.__name__}, got {value!r}")
        return number

    return Option(name, default, text, check, lambda text: text)


def _text(name: str, default: str | None, text: str) -> Option:
    def check(value: Any) -> str | None:
        if value is None or isinstance(value, str | os.PathLike):
            return None if value is None else str(value)
        raise ValueError(f"{name} must be a string or None, got {value!r}")

    return Option(name, default, text, check, lambda text: text or None)


guarded = False
"""Whether any transfer guard was ever set: until then, transfers check nothing else."""


def _guard(name: str, text: str) -> Option:
    option = _choice(name, None, _GUARDS, text)
    plain = option.check

    def check(value: Any) -> Any:
        global guarded
        found = plain(value)
        guarded = guarded or found not in (None, "allow")
        return found

    option.check = check
    if option.value is not None:
        check(option.value)
    return option


def _hooked(name: str, choices: tuple[str, ...], text: str) -> Option:
    """An option whose watchers are also called when a context sets it."""
    option = _choice(name, None, choices, text)
    plain = option.check

    def check(value: Any) -> Any:
        found = plain(value)
        for watcher in option.watchers:
            watcher(found)
        return found

    option.check = check
    return option


_PRECISIONS: Final = (
    *("default", "high", "highest", "bfloat16", "tensorfloat32", "float32"),
    *("ANY_F8_ANY_F8_F32", "ANY_F8_ANY_F8_F32_FAST_ACCUM", "ANY_F8_ANY_F8_ANY"),
    *("ANY_F8_ANY_F8_ANY_FAST_ACCUM", "F16_F16_F16", "F16_F16_F32", "BF16_BF16_BF16"),
    *("BF16_BF16_F32", "BF16_BF16_F32_X3", "BF16_BF16_F32_X6", "BF16_BF16_F32_X9"),
    *("TF32_TF32_F32", "TF32_TF32_F32_X3", "F32_F32_F32", "F64_F64_F64"),
)
_LEVELS: Final = ("NOTSET", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL", None)
_GUARDS: Final = ("allow", "log", "disallow", "log_explicit", "disallow_explicit")

# Settings that traces and cached calls depend on (the slots of Settings).
allow_f16_reductions = _switch("allow_f16_reductions", True, "sums of 16-bit floats as they are")
no_execution = _switch("no_execution", False, "raise where a program would run")
enable_x64 = _switch("enable_x64", False, "64-bit types; without them 64 bits become 32")
disable_jit = _switch(
    "disable_jit", False, "run functions under `jit` one effect at a time", _Disabling
)
check_static_indices = _switch(
    "check_static_indices", False, "raise where an integer that is known reads outside an array"
)
check_tracer_leaks = _switch("check_tracer_leaks", False, "look for carriers that outlive a trace")
debug_nans = _switch("debug_nans", False, "raise where a NaN is made")
debug_infs = _switch("debug_infs", False, "raise where an infinity is made")
debug_key_reuse = _switch("debug_key_reuse", False, "raise where a random key is used twice")
enable_custom_prng = _switch("enable_custom_prng", False, "`PRNGKey` makes typed keys")
threefry_partitionable = _switch("threefry_partitionable", True, "random bits that shard well")
random_seed_offset = _number("random_seed_offset", 0, "added to every seed")
_GENERATORS = ("threefry2x32", "threefry4x32", "rbg", "unsafe_rbg", "philox2x32", "philox4x32")
default_prng_impl = _choice("default_prng_impl", "threefry2x32", _GENERATORS, "kind of keys")
numpy_rank_promotion = _choice(
    "numpy_rank_promotion", "allow", ("allow", "warn", "raise"), "broadcasting of unequal ranks"
)
numpy_dtype_promotion = _choice(
    "numpy_dtype_promotion", "standard", ("standard", "strict"), "promotion of unequal dtypes"
)
explicit_x64_dtypes = _choice(
    "explicit_x64_dtypes", "warn", ("warn", "error", "allow"), "64-bit dtypes asked for by name"
)
default_matmul_precision = _choice(
    "default_matmul_precision", None, _PRECISIONS, "precision of products of float32 matrices"
)
fast_paths = Option(
    "fast_paths",
    "all",
    "other ways to write effects that XLA is slow at: all, none, names, or -names to leave out; "
    "under none gradients that nobody jitted are performed effect by effect, too",
    str,
    str,
)


def _device_or_platform(value: Any) -> Any:
    if value is None or hasattr(value, "platform") or hasattr(value, "placement"):
        return value
    if value in ("cpu", "gpu", "tpu", "cuda", "rocm"):
        return value
    raise ValueError(
        "default_device must be passed either a Device object (e.g. `effax.devices('cpu')[0]`) or "
        f"a platform name string like 'cpu' or 'gpu', got: {value!r}"
    )


default_device = Option(
    "default_device", None, "where arrays and results go", _device_or_platform, lambda text: text
)

# Public names of settings that choose between ways of JAX's.
enable_checks = unread("enable_checks")
softmax_custom_jvp = unread("softmax_custom_jvp")

# Settings that are read when something happens.
use_high_dynamic_range_gumbel = _switch(
    "use_high_dynamic_range_gumbel", False, "Gumbel numbers reach farther, for twice the bits"
)
explain_cache_misses = _switch("explain_cache_misses", False, "log why `jit` traced again")
log_compiles = _switch("log_compiles", False, "log each trace and compilation")
legacy_prng_key = _choice(
    "legacy_prng_key", "allow", ("allow", "warn", "error"), "keys that are arrays of uint32"
)
array_garbage_collection_guard = _hooked(
    "array_garbage_collection_guard", ("allow", "log", "fatal"), "arrays freed by the collector"
)
no_tracing = _switch("no_tracing", False, "raise where `jit` would trace")
traceback_filtering = _choice(
    "traceback_filtering",
    "auto",
    ("off", "tracebackhide", "remove_frames", "quiet_remove_frames", "auto"),
    "hide the library's frames in tracebacks",
)
logging_level = _choice(
    "logging_level", "NOTSET", _LEVELS, "least level of the library's log, for the whole process"
)
debug_log_modules = _text("debug_log_modules", "", "loggers of which all is shown; effax has all")
log_checkpoint_residuals = _switch(
    "log_checkpoint_residuals", False, "log what `checkpoint` keeps for the backward pass"
)
captured_constants_warn_bytes = _number(
    "captured_constants_warn_bytes", 2_000_000_000, "warn of larger constants in a program"
)
transfer_guard = _guard("transfer_guard", "transfers nobody asked for, in all directions")
transfer_guard_host_to_device = _guard("transfer_guard_host_to_device", "of values of the host")
transfer_guard_device_to_host = _guard("transfer_guard_device_to_host", "of arrays to the host")
transfer_guard_device_to_device = _guard("transfer_guard_device_to_device", "between devices")

# Back-ends: read when the first device is asked for.
platforms = _text("platforms", None, "back-ends to load, comma separated, the default one first")
platform_name = _text("platform_name", None, "the default back-end")
num_cpu_devices = _number("num_cpu_devices", -1, "CPU devices to make; -1: one, or XLA_FLAGS'")
cpu_enable_async_dispatch = _switch("cpu_enable_async_dispatch", True, "CPU calls return at once")
keep_freed_memory = _switch(
    "keep_freed_memory", False, "keep pages of freed CPU buffers, in one arena of the process"
)
cuda_visible_devices = _text("cuda_visible_devices", "all", "CUDA devices to use")
rocm_visible_devices = _text("rocm_visible_devices", "all", "ROCm devices to use")
use_shardy_partitioner = _switch("use_shardy_partitioner", True, "partition by Shardy")

# Compilation.
eager_cache = _switch("eager_cache", True, "keep executables of operations and short programs")
eager_cache_dir = _text("eager_cache_dir", None, "where; None: the user's cache directory")
enable_compilation_cache = _switch("enable_compilation_cache", True, "use compilation_cache_dir")
compilation_cache_dir = _text("compilation_cache_dir", None, "keep executables of `jit` here")
compilation_cache_max_size = _number("compilation_cache_max_size", -1, "in bytes; -1: no limit")
persistent_cache_min_compile_time_secs = _number(
    "persistent_cache_min_compile_time_secs", 1.0, "keep what took at least this long"
)
persistent_cache_min_entry_size_bytes = _number(
    "persistent_cache_min_entry_size_bytes", 0, "keep what is at least this large"
)
raise_persistent_cache_errors = _switch("raise_persistent_cache_errors", False, "else only warn")
disable_most_optimizations = _switch("disable_most_optimizations", False, "compile faster")
exec_time_optimization_effort = _number("exec_time_optimization_effort", 0.0, "from -1 to 1")
memory_fitting_effort = _number("memory_fitting_effort", 0.0, "from -1 to 1")
compiler_enable_remat_pass = _switch(
    "compiler_enable_remat_pass", True, "let XLA compute values again to save memory"
)
dump_ir_to = _text("dump_ir_to", None, "write each program compiled into this directory")

renew()


class Config:
    """The settings as attributes; the object users know as `effax.config`."""

    __slots__ = ()

    update = staticmethod(update)
    watch = staticmethod(watch)
    trace_key = staticmethod(trace_key)

    @staticmethod
    def read(name: str) -> Any:
        """The value in force here of an option, with or without `jax_` before its name."""
        return read(find_option(name).name)

    _read = read  # programs that put settings back as they were read them so

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name.endswith("_with_absl"):
            from effax.effects.absl_flags import method

            return method(name, options, update)
        return read(find_option(name).name)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        find_option(name)
        raise AttributeError(
            f"settings are changed by config.update({name!r}, {value!r}), "
            f"or for a while by `with {name.removeprefix('jax_')}({value!r}):`"
        )

    @property
    def x64_enabled(self) -> bool:
        """The setting `enable_x64`, by the name that programs written for JAX read."""
        return bool(read("enable_x64"))

    @property
    def values(self) -> dict[str, Any]:
        """Every option's value in force here, under JAX's names."""
        return {f"jax_{name}": read(name) for name in options}

    def __dir__(self) -> list[str]:
        return ["read", "trace_key", "update", "values", "watch", *options]

    def __repr__(self) -> str:
        return "\n".join(f"{n} = {read(n)!r}    # {o.text}" for n, o in options.items())


config: Final = Config()


def __getattr__(name: str) -> Any:
    if name.startswith("jax_"):
        return read(find_option(name).name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
