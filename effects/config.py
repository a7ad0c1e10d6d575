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
import threading
from collections.abc import Callable
from contextlib import ContextDecorator
from contextvars import ContextVar, Token
from functools import partial
from typing import Any, Final, NoReturn
from weakref import WeakSet

from effax.effects.absent_settings import ABSENT, INDIFFERENT
from effax.effects.contexts import put
from effax.effects.interning import Interned, Referable

Check = Callable[[Any], Any]
Parse = Callable[[str], Any]


class Settings(Referable):
    """The settings that a trace or a cached call depends on.

    Interned: equal settings are one object, so that it hashes and compares by identity and can
    stand in every cache key. The slots *define* which options are of this kind.
    """

    __slots__ = (
        "allow_f16_reductions",
        "check_static_indices",
        "check_tracer_leaks",
        "debug_infs",
        "debug_key_reuse",
        "debug_nans",
        "default_device",
        "default_matmul_precision",
        "default_prng_impl",
        "disable_jit",
        "enable_custom_prng",
        "enable_x64",
        "explicit_x64_dtypes",
        "fast_paths",
        "mesh",
        "no_execution",
        "numpy_dtype_promotion",
        "numpy_rank_promotion",
        "random_seed_offset",
        "threefry_partitionable",
        "xla_metadata",
    )

    allow_f16_reductions: bool
    check_static_indices: bool
    check_tracer_leaks: bool
    debug_infs: bool
    debug_key_reuse: bool
    debug_nans: bool
    default_device: Any
    default_matmul_precision: str | None
    default_prng_impl: str
    disable_jit: bool
    enable_custom_prng: bool
    enable_x64: bool
    explicit_x64_dtypes: str
    fast_paths: str
    mesh: Any
    no_execution: bool
    numpy_dtype_promotion: str
    numpy_rank_promotion: str
    random_seed_offset: int
    threefry_partitionable: bool
    xla_metadata: tuple[tuple[str, Any], ...]

    def __repr__(self) -> str:
        changed = [
            f"{n}={getattr(self, n)!r}" for n in self.__slots__ if getattr(self, n) != _defaults[n]
        ]
        return f"Settings({', '.join(changed)})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("settings belong to a process; pickle config.values instead")


class _Scope:
    """One set of overrides, and the settings they give together with the process-wide values."""

    __slots__ = ("__weakref__", "key", "outer", "overrides", "own")

    def __init__(self, outer: _Scope | None, own: dict[str, Any]) -> None:
        while outer is not None and not outer.own:
            outer = outer.outer  # this scope was left, in another context
        self.outer: _Scope | None = outer
        self.own: dict[str, Any] = own
        self.overrides = self._merged()
        with _lock:
            _scopes.add(self)
            self.key = _settings(self.overrides)

    def _merged(self) -> dict[str, Any]:
        return self.own if self.outer is None else {**self.outer._merged(), **self.own}

    def leave(self) -> None:
        """Override nothing any more, in whatever contexts the scope or one inside it is."""
        with _lock:
            self.own = {}
            for scope in tuple(_scopes):
                scope.overrides = scope._merged()
                scope.key = _settings(scope.overrides)


_lock: Final = threading.RLock()
# Two are no options: `set_mesh` and `set_xla_metadata` set them, for a while and for one thread.
_defaults: Final[dict[str, Any]] = {"mesh": None, "xla_metadata": ()}
_values: Final[dict[str, Any]] = {**ABSENT, **INDIFFERENT, **_defaults}
_interned: Final = Interned[tuple[Any, ...], Settings]()
_scopes: Final[WeakSet[_Scope]] = WeakSet()
_scope: Final[ContextVar[_Scope | None]] = ContextVar("effax.config", default=None)
_options: Final[dict[str, Option]] = {}
_key: Settings


def _settings(overrides: dict[str, Any]) -> Settings:
    values = _values if not overrides else {**_values, **overrides}
    key = tuple(values[name] for name in Settings.__slots__)

    def make() -> Settings:
        made = Settings()
        for name, value in zip(Settings.__slots__, key, strict=True):
            setattr(made, name, value)
        return made

    return _interned.find(key, make)


def trace_key() -> Settings:
    """The interned settings in force here that a trace depends on; part of every cache key.

    >>> trace_key() is trace_key()
    True
    """
    scope = _scope.get()
    return _key if scope is None else scope.key


def read(name: str) -> Any:
    """The value in force here of an option, by its bare name."""
    scope = _scope.get()
    if scope is not None and name in scope.overrides:
        return scope.overrides[name]
    return _values[name]


def _find(name: str) -> Option:
    bare = name.removeprefix("jax_").removeprefix("effax_")
    option = _options.get(bare)
    if option is None:
        if bare in INDIFFERENT or bare in ABSENT:
            return _unread(bare)
        from difflib import get_close_matches

        close = get_close_matches(bare, _options, n=3, cutoff=0.6)
        hint = f"; close to it: {', '.join(close)}" if close else ""
        raise AttributeError(f"no setting is called {name!r}{hint}")
    return option


def update(name: str, val: Any) -> None:
    """Set an option for the whole process.

    Contexts that override it keep their own value. Raises `AttributeError` for an unknown name
    and `ValueError` for a value that the option can't take.
    """
    global _key
    option = _find(name)
    value = option.check(val)
    if option.name in ABSENT:
        return
    with _lock:
        for watcher in option.watchers:
            watcher(value)
        _values[option.name] = value
        _key = _settings({})
        for scope in tuple(_scopes):
            scope.key = _settings(scope.overrides)


def renew() -> None:
    """Make settings objects that equal none made before: no cache key with old ones matches.

    For the child after a fork, in which one thread runs: the lock may be held by one that doesn't.
    """
    global _key
    _interned.clear()
    _key = _settings({})
    for scope in tuple(_scopes):
        scope.key = _settings(scope.overrides)


def watch(name: str, watcher: Callable[[Any], None]) -> None:
    """Call `watcher(value)` before an option changes process-wide; it may refuse by raising."""
    _find(name).watchers.append(watcher)


class Overriding(ContextDecorator):
    """The context manager, or decorator, that calling an option with a value returns."""

    def __init__(self, name: str, value: Any) -> None:
        self.name = name
        self.value = value
        self.entered: list[tuple[Token[_Scope | None], _Scope]] = []

    def __enter__(self) -> None:
        """Install the override in the current context."""
        scope = _Scope(_scope.get(), {self.name: self.value})
        self.entered.append((put(_scope, scope), scope))

    def __exit__(self, *exception: object) -> None:
        """Restore the value from before, even if another context (a task) entered the override."""
        for entry in reversed(self.entered):
            try:
                _scope.reset(entry[0])
            except ValueError:  # this scope was entered in another context
                continue
            self.entered.remove(entry)
            return
        self.entered.pop()[1].leave()

    def _recreate_cm(self) -> Overriding:
        return Overriding(self.name, self.value)


def _unread(name: str) -> Option:
    """An option of JAX's that nothing here reads; one that is absent stays at its default."""
    found = object.__new__(Option)
    found.name, found.text, found.watchers = name, "", []
    found.check = partial(_stays, name) if name in ABSENT else lambda value: value
    return found


def _stays(name: str, value: Any) -> Any:
    if value != ABSENT[name]:
        raise NotImplementedError(
            f"effax has no setting {name}={value!r}: only its default value, {ABSENT[name]!r}, is "
            "accepted; leave it there"
        )
    return value


class Option:
    """One setting. `option.value` reads it; `option(value)` is a context manager that sets it.

    `bool(option)` is the truth of its value, so that `if config.enable_x64:` says the same
    whether `config` is this module or the object of that name in it.
    """

    __slots__ = ("check", "name", "text", "watchers")

    def __init__(self, name: str, default: Any, text: str, check: Check, parse: Parse) -> None:
        self.name = name
        self.text = text
        self.check = check
        self.watchers: list[Callable[[Any], None]] = []
        _options[name] = self
        _defaults[name] = default
        variable = f"EFFAX_{name.upper()}"
        if variable in os.environ:
            try:
                default = check(parse(os.environ[variable]))
            except ValueError as error:
                raise ValueError(f"environment variable {variable}: {error}") from None
        _values[name] = default

    @property
    def value(self) -> Any:
        """The value in force here."""
        return read(self.name)

    def __call__(self, new_val: Any = True) -> Overriding:
        """A context manager under which the option has this value."""
        return Overriding(self.name, self.check(new_val))

    def __bool__(self) -> bool:
        return bool(self.value)

    def __repr__(self) -> str:
        return f"<setting {self.name} = {self.value!r}>"


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
            return kind(value)
        except (TypeError, ValueError):
            raise ValueError(f"{name} must be of type {kind.__name__}, got {value!r}") from None

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
default_device = Option(
    "default_device", None, "where arrays and results go", lambda value: value, lambda text: text
)

# Public names of settings that choose between ways of JAX's.
enable_checks = _unread("enable_checks")
softmax_custom_jvp = _unread("softmax_custom_jvp")

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

_key = _settings({})


class Config:
    """The settings as attributes; the object users know as `effax.config`."""

    __slots__ = ()

    update = staticmethod(update)
    watch = staticmethod(watch)
    trace_key = staticmethod(trace_key)

    @staticmethod
    def read(name: str) -> Any:
        """The value in force here of an option, with or without `jax_` before its name."""
        return read(_find(name).name)

    _read = read  # programs that put settings back as they were read them so

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name.endswith("_with_absl"):
            from effax.effects.absl_flags import method

            return method(name, _options, update)
        return read(_find(name).name)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        _find(name)
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
        return {f"jax_{name}": read(name) for name in _options}

    def __dir__(self) -> list[str]:
        return ["read", "trace_key", "update", "values", "watch", *_options]

    def __repr__(self) -> str:
        return "\n".join(f"{n} = {read(n)!r}    # {o.text}" for n, o in _options.items())


config: Final = Config()


def __getattr__(name: str) -> Any:
    if name.startswith("jax_"):
        return read(_find(name).name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
