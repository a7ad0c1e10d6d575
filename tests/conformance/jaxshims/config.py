"""jax._src.config, over the target's public jax.config.

``config.NAME.value`` reads an option, ``with config.NAME(value):`` sets it for
a while.  The public context manager ``jax.NAME`` is used where there is one
(those are thread-local in jax), else config.update and its undoing.
"""

from __future__ import annotations

import contextlib
import enum

import jaxshims

# Internal names whose option is not "jax_" + name.
_ODD_NAMES = {
    "_check_vma": "check_vma",
    "enable_remat_opt_pass": "jax_compiler_enable_remat_pass",
    "gpu_use_magma": "jax_use_magma",
    "use_high_dynamic_range_gumbel": "jax_high_dynamic_range_gumbel",
    "xla_runtime_errors": "jax_experimental_unsafe_xla_runtime_errors",
    "eager_constant_folding": "eager_constant_folding",
}

# Options documented to users; a target without them fails the test that uses
# one.  All others count as internal.
PUBLIC_OPTIONS = frozenset(
    [
        "jax_enable_x64",
        "jax_debug_nans",
        "jax_debug_infs",
        "jax_disable_jit",
        "jax_log_compiles",
        "jax_numpy_rank_promotion",
        "jax_numpy_dtype_promotion",
        "jax_default_matmul_precision",
        "jax_default_device",
        "jax_default_prng_impl",
        "jax_check_tracer_leaks",
        "jax_enable_checks",
        "jax_threefry_partitionable",
        "jax_enable_custom_prng",
        "jax_legacy_prng_key",
        "jax_debug_key_reuse",
        "jax_transfer_guard",
        "jax_transfer_guard_device_to_device",
        "jax_transfer_guard_device_to_host",
        "jax_transfer_guard_host_to_device",
        "jax_traceback_filtering",
        "jax_platforms",
        "jax_softmax_custom_jvp",
        "jax_explain_cache_misses",
        "jax_no_tracing",
        "jax_random_seed_offset",
        "jax_array_garbage_collection_guard",
    ]
)

# What ``.value`` says about an internal option that the target lacks.
_DEFAULTS = {
    "jax_disable_jit": False,
    "jax_enable_custom_prng": False,
    "jax_default_prng_impl": "threefry2x32",
    "jax_threefry_partitionable": True,
    "jax_softmax_custom_jvp": False,
    "jax_use_shardy_partitioner": True,
    "jax_use_simplified_jaxpr_constants": False,
    "jax_use_direct_linearize": True,
    "jax_custom_vjp3": False,
    "jax_remat3": False,
    "jax_platforms": None,
    "jax_explicit_x64_dtypes": "warn",
}


class ExplicitX64Mode(enum.IntEnum):
    WARN = 1
    ERROR = 2
    ALLOW = 3


class EffortLevel(enum.Enum):
    UNKNOWN = 0
    O0 = 9
    O1 = 19
    O2 = 29
    O3 = 39


def _config():
    return jaxshims.target_attr("config")


_NONE = object()


def read(option, default=_NONE):
    try:
        return getattr(_config(), option)
    except AttributeError:
        if default is not _NONE:
            return default
        if option in PUBLIC_OPTIONS:
            raise
        if option in _DEFAULTS:
            return _DEFAULTS[option]
        raise jaxshims.NeedsInternal(f"config option {option}") from None


_read = read


def _plain(option, value):
    """Option values as config.update takes them."""
    if isinstance(value, ExplicitX64Mode):
        return value.name.lower()
    return value


def update(option, value):
    _config().update(option, _plain(option, value))


class _Override(contextlib.ContextDecorator):
    def __init__(self, option, value, *, optional=False, force_global=False):
        self.option, self.value = option, _plain(option, value)
        self.optional, self.force_global = optional, force_global

    def _recreate_cm(self):
        return _Override(
            self.option, self.value, optional=self.optional, force_global=self.force_global
        )

    def __enter__(self):
        self.stack = contextlib.ExitStack()
        short = self.option.removeprefix("jax_")
        manager = None
        if not self.force_global:
            manager = jaxshims.target_attr(short, None)
        if callable(manager) and not isinstance(manager, type):
            try:
                self.stack.enter_context(manager(self.value))
            except NotImplementedError:  # the target knows the option, and refuses
                if not self.optional:
                    raise
            return self
        old = read(self.option, None if self.optional else _NONE)
        try:
            update(self.option, self.value)
        except (AttributeError, KeyError, ValueError, NotImplementedError):
            if self.optional:
                return self
            if self.option in PUBLIC_OPTIONS:
                raise
            raise jaxshims.NeedsInternal(f"config option {self.option}") from None
        self.stack.callback(update, self.option, old)
        return self

    def __exit__(self, *exc):
        return self.stack.__exit__(*exc)


class State:
    def __init__(self, option):
        self._name = self.name = option

    @property
    def value(self):
        v = read(self._name)
        if self._name == "jax_explicit_x64_dtypes":
            text = getattr(v, "name", None) or str(v)
            return ExplicitX64Mode[text.upper()]
        return v

    def __call__(self, value=True):
        return _Override(self._name, value)

    # The global value, as far as the public API can tell it.
    def get_global(self):
        return read(self._name)

    def set_global(self, value):
        update(self._name, value)

    def __bool__(self):
        raise TypeError(f"use config.{self._name}.value")


class _FlagHolder:
    def __init__(self, value):
        self.value = value


def override(option, value, **kw):
    return _Override(option, value, **kw)


def parse_flags_with_absl():
    import redirect

    redirect._config_facade().parse_flags_with_absl()


_states: dict[str, State] = {}
_NOT_OPTIONS = frozenset(
    (
        "State",
        "Flag",
        "Config",
        "bool_state",
        "enum_state",
        "int_state",
        "trace_context",
        "trace_context_names",
        "abstract_mesh_context_manager",
        "device_context",
        "jax_jit_cpp_cache_obj",
        "jax_platform_name",
    )
)


def __getattr__(name):
    if name == "config":
        import redirect

        return redirect._config_facade()
    if name.startswith("__") or name in _NOT_OPTIONS:
        raise AttributeError(name)
    if name not in _states:
        option = _ODD_NAMES.get(name, name if name.startswith("jax") else "jax_" + name)
        _states[name] = State(option)
    return _states[name]
