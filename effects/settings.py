"""Settings in general: process-wide values, overridden per context. `config` has the table."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import ContextDecorator
from contextvars import ContextVar, Token
from functools import partial
from typing import Any, Final, NoReturn
from weakref import WeakSet

from effax.effects.contexts import put
from effax.effects.interning import Interned, Referable

Check = Callable[[Any], Any]
Parse = Callable[[str], Any]


# ------------------------------------------- settings of JAX that nothing in effax answers

INDIFFERENT: Final[dict[str, Any]] = {
    "bcoo_cusparse_lowering": False,
    "compilation_cache_check_contents": False,
    "compilation_cache_expect_pgle": False,
    "compiler_detailed_logging_min_ops": 10,
    "custom_vjp3": False,
    "eager_constant_folding": False,
    "enable_checks": False,
    "enable_pgle": False,
    "include_debug_info_in_dumps": True,
    "include_full_tracebacks_in_locations": True,
    "persistent_cache_enable_xla_caches": "xla_gpu_per_fusion_autotune_cache_dir",
    "pgle_aggregation_percentile": 90,
    "pgle_profiling_runs": 3,
    "pprint_use_color": True,
    "ragged_dot_use_gpu_pallas_triton_lowering": False,
    "ragged_dot_use_ragged_dot_instruction": True,
    "refs_to_pins": False,
    "remat3": False,
    "scan3": False,
    "softmax_custom_jvp": True,
    "threefry_gpu_kernel_lowering": False,
    "traceback_in_locations_limit": 100,
    "tracer_error_num_traceback_frames": 5,
    "use_direct_linearize": True,
    "use_emit_pipeline_primitive": False,
    "use_magma": "auto",
    "use_simplified_jaxpr_constants": False,
    "xla_profile_version": 0,
}
"""They choose how JAX does something, or how fast, never what: set here, they change nothing."""

ABSENT: Final[dict[str, Any]] = {
    "auto_pcast": True,
    "backend_target": "",
    "captured_constants_report_frames": 0,
    "check_proxy_envs": True,
    "check_vma": False,
    "compilation_cache_include_metadata_in_key": False,
    "cpu_collectives_implementation": "gloo",
    "cpu_get_global_topology_timeout_minutes": 5,
    "cpu_get_local_topology_timeout_minutes": 2,
    "cross_host_transfer_socket_address": "",
    "cross_host_transfer_timeout_seconds": None,
    "cross_host_transfer_transfer_size": None,
    "cross_host_transport_addresses": "",
    "debug_leaked_clients_on_clear_backends": False,
    "disable_bwd_checks": False,
    "disable_vmap_shmap_error": False,
    "disallow_mesh_context_manager": False,
    "distributed_debug": False,
    "dump_ir_modes": "stablehlo",
    "embedded_constants_max_bytes": 32,
    "enable_preemption_service": True,
    "enable_recoverability": False,
    "error_checking_behavior_divide": "ignore",
    "error_checking_behavior_nan": "ignore",
    "error_checking_behavior_oob": "ignore",
    "experimental_unsafe_xla_runtime_errors": False,
    "export_calling_convention_version": 10,
    "export_ignore_forward_compatibility": False,
    "force_dcn_cross_host_transfers": False,
    "high_dynamic_range_gumbel": False,
    "hlo_source_file_canonicalization_regex": None,
    "jax2tf_associative_scan_reductions": False,
    "jax2tf_default_native_serialization": True,
    "memory_fitting_level": "O2",
    "mock_gpu_topology": "",
    "mock_num_gpu_processes": 0,
    "mosaic_allow_hlo": False,
    "mutable_array_checks": True,
    "oneapi_visible_devices": "all",
    "optimization_level": "UNKNOWN",
    "pallas_enable_debug_checks": False,
    "pallas_poison_buffers": False,
    "pallas_use_mosaic_gpu": True,
    "pallas_verbose_errors": False,
    "pjrt_client_create_options": None,
    "remove_custom_partitioning_ptr_from_cache_key": False,
    "remove_size_one_mesh_axis_from_type": False,
    "send_traceback_to_runtime": "off",
    "serialization_version": 0,
    "share_binary_between_hosts": False,
    "share_binary_between_hosts_timeout_ms": 1200000,
    "sort_devices_by_process_index": True,
    "source_url_schema": None,
    "thread_guard": False,
    "xla_backend": "",
}
"""They can be read, and stay at these values."""

# ----------------------------------------------------------------------- those that it does


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
options: Final[dict[str, Option]] = {}
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


def find_option(name: str) -> Option:
    """The option of a name, with or without a prefix; raises `AttributeError` if there is none."""
    bare = name.removeprefix("jax_").removeprefix("effax_")
    option = options.get(bare)
    if option is None:
        if bare in INDIFFERENT or bare in ABSENT:
            return unread(bare)
        from difflib import get_close_matches

        close = get_close_matches(bare, options, n=3, cutoff=0.6)
        hint = f"; close to it: {', '.join(close)}" if close else ""
        raise AttributeError(f"no setting is called {name!r}{hint}")
    return option


def update(name: str, val: Any) -> None:
    """Set an option for the whole process.

    Contexts that override it keep their own value. Raises `AttributeError` for an unknown name
    and `ValueError` for a value that the option can't take.
    """
    global _key
    option = find_option(name)
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


def adopt(prefix: str) -> None:
    """Obey other variables of the environment, such as JAX_ENABLE_X64 for the prefix JAX.

    Options that effax's own variables or the program have set are left as they are.
    """
    for name, option in options.items():
        default = _defaults[name]
        if f"EFFAX_{name.upper()}" not in os.environ and _values[name] == default:
            value = option.told(prefix, default)
            if value != default:
                update(name, value)


def renew() -> None:
    """Make settings objects that equal none made before: no cache key with old ones matches.

    For `config`, when all options are there, and for the child after a fork, in which one thread
    runs: the lock may be held by one that doesn't.
    """
    global _key
    _interned.clear()
    _key = _settings({})
    for scope in tuple(_scopes):
        scope.key = _settings(scope.overrides)


def watch(name: str, watcher: Callable[[Any], None]) -> None:
    """Call `watcher(value)` before an option changes process-wide; it may refuse by raising."""
    find_option(name).watchers.append(watcher)


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


def unread(name: str) -> Option:
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

    __slots__ = ("check", "name", "parse", "text", "watchers")

    def __init__(self, name: str, default: Any, text: str, check: Check, parse: Parse) -> None:
        self.name = name
        self.text = text
        self.check = check
        self.parse = parse
        self.watchers: list[Callable[[Any], None]] = []
        options[name] = self
        _defaults[name] = default
        _values[name] = self.told("EFFAX", default)

    def told(self, prefix: str, default: Any) -> Any:
        """The value that a variable of the environment says, else the default."""
        variable = f"{prefix}_{self.name.upper()}"
        if variable not in os.environ:
            return default
        try:
            return self.check(self.parse(os.environ[variable]))
        except ValueError as error:
            raise ValueError(f"environment variable {variable}: {error}") from None

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
