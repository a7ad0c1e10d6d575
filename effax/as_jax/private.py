"""Modules of JAX's that libraries use and that are not effax's public ones, each with its user."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from types import FrameType, ModuleType
from typing import Any, Final

from effax.backends.xla import processes
from effax.backends.xla.client import backend
from effax.effects import frames
from effax.effects.handler import bottom, innermost
from effax.numpy import promote_types
from effax.tree_util import is_tree_node

INSTEAD: Final = {
    "jax.extend.mlir.dialects": "jaxlib.mlir.dialects",
    "jax.extend.mlir.ir": "jaxlib.mlir.ir",
    "jax.extend.mlir.passmanager": "jaxlib.mlir.passmanager",
    **{
        f"jax.extend.mlir.dialects.{name}": f"jaxlib.mlir.dialects.{name}"
        for name in ("arith", "builtin", "chlo", "func", "math", "scf", "sdy", "stablehlo")
    },
    "jax.lib": "effax.as_jax.lib",
    "jax.lib.xla_bridge": "effax.as_jax.lib",
}
"""Public modules of JAX's that only the door has, and those of jaxlib that JAX hands on."""

MEANINGLESS: Final = {
    "jax._src.sharding_impls": "it is what jaxlib's C++ looks for, to make JAX's own objects",
}
"""Modules that are refused, and why."""


def _here(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


def include_frame(frame: FrameType) -> bool:
    """Whether a frame is shown in tracebacks."""
    return not frames.is_library(frame.f_code.co_filename)


def trace_state_clean() -> bool:
    """Whether nothing is traced or transformed just now."""
    return innermost() is bottom


def to_complex_dtype(dtype: Any) -> Any:
    """Return the complex dtype whose parts have a dtype, or are at least as precise."""
    return promote_types(dtype, "complex64")


def safe_zip(*columns: Any) -> list[tuple[Any, ...]]:
    """Return the rows of columns, which must be of one length; else raise `ValueError`."""
    return list(zip(*map(list, columns), strict=True))


def safe_map(function: Callable[..., Any], *columns: Any) -> list[Any]:
    """Return a function of each row of columns, which must be of one length."""
    return [function(*row) for row in safe_zip(*columns)]


def client_of(platform: str | None = None) -> Any:
    """Return the runtime's own client of a platform."""
    return backend(platform).client


class _GlobalState:
    """The job of this process, as JAX's private module keeps it."""

    service = preemption_sync_manager = None

    @property
    def process_id(self) -> int:
        """The number of this process."""
        job = processes.current()
        return 0 if job is None else job.index

    @property
    def num_processes(self) -> int:
        """The number of processes."""
        job = processes.current()
        return 1 if job is None else job.count

    @property
    def client(self) -> Any:
        """jaxlib's client of the coordination service; None in a process that is alone."""
        job = processes.current()
        return None if job is None else job.client

    @property
    def coordinator_address(self) -> str | None:
        """The address of the coordination service."""
        job = processes.current()
        return None if job is None else job.address


class _Registered(Mapping[type, Any]):
    """The types that are nodes of trees, as far as one asks whether one is there."""

    def __contains__(self, kind: object) -> bool:
        return isinstance(kind, type) and (kind is type(None) or is_tree_node(kind))

    def __getitem__(self, kind: type) -> Any:
        raise KeyError(kind)

    def __iter__(self) -> Iterator[type]:
        return iter(())

    def __len__(self) -> int:
        return 0


class _Typed(type):
    """A class of JAX's typed numbers, which nothing here is an instance of."""


# module -> name -> the object itself, or its place: `module:name`, or `module:` for a module.
_NAMES: Final[dict[str, dict[str, Any]]] = {
    "": {},
    "api": {  # JAX's page on primitives
        name: f"effax:{name}"
        for name in ("grad", "jacfwd", "jacrev", "jit", "jvp", "linearize", "vjp", "vmap")
    },
    "ad_util": {"stop_gradient_p": "effax.lax:stop_gradient_p"},  # lineax
    "api_util": {
        "flatten_fun": "effax.api_util:flatten_fun",
        "infer_argnums_and_argnames": "effax.api.calling.arguments:completed",  # e3nn-jax
    },
    "callback": {},  # equinox: the name of a logger
    "checkify": {  # flax
        **{
            n: f"effax.experimental.checkify:{n}"
            for n in ("Error", "Out", "JaxException", "user_checks", "checkify")
        }
    },
    "compiler": {},  # chex.restrict_backends, which then restricts nothing
    "core": {  # numpyro, flax
        "trace_state_clean": trace_state_clean,
        "AbstractValue": "effax.core:AbstractValue",
        "ShapedArray": "effax.core:ShapedArray",
        "pytype_aval_mappings": "effax.core:pytype_aval_mappings",
        "Tracer": "effax.core:Tracer",
    },
    "dispatch": {"wait_for_tokens": "effax:effects_barrier"},  # equinox
    "dtypes": {  # equinox, flax
        "TypePromotionError": "effax.errors:TypePromotionError",
        "DType": "numpy:dtype",
        "ExtendedDType": object,
        "extended": "effax.dtypes:extended",
        "finfo": "effax.numpy:finfo",
        "to_complex_dtype": to_complex_dtype,  # tinygp
    },
    "distributed": {"global_state": _GlobalState()},  # orbax
    "earray": {},  # flax, for dtypes of its own
    "flatten_util": {"ravel_pytree": "effax.flatten_util:ravel_pytree"},  # blackjax
    "interpreters": {},
    "interpreters.pxla": {"global_result_handlers": {}},  # flax, for dtypes of its own
    "lax": {"lax": "effax.lax:"},  # JAX's page on primitives
    "lib": {"xla_client": "jaxlib.xla_client:"},  # JAX's autodidax
    "lib.mlir": {"ir": "jaxlib.mlir.ir:"},
    "lib.mlir.dialects": {"hlo": "jaxlib.mlir.dialects.stablehlo:"},  # JAX's page on primitives
    "literals": {  # equinox, quax
        name: _Typed(name, (), {})
        for name in ("TypedInt", "TypedFloat", "TypedComplex", "TypedNdArray")
    },
    "pjit": {  # quax, jaxns
        "jit_p": "effax.effects.rows.control:call",
        "auto_axes": "effax.sharding:auto_axes",
    },
    "public_test_util": {"check_close": "effax.test_util:check_close"},  # tinygp
    "scipy": {},
    "scipy.special": {"gammaln": "effax.scipy.special:gammaln"},  # TensorFlow Probability
    "state": {},
    "state.types": {"AbstractRef": "effax.ref:AbstractRef"},  # flax
    "test_util": {"create_mesh": "effax:make_mesh"},  # JAX's page on checkpoints
    "traceback_util": {  # equinox, flax, jaxtyping
        "api_boundary": _here,
        "include_frame": include_frame,
        "register_exclusion": frames.hide,
        "_exclude_paths": [],
    },
    "tree_util": {  # flax, orbax
        "_registry": _Registered(),
        "flatten_one_level": "effax.tree_util:flatten_one_level",
    },
    "util": {  # JAX's page on interpreters
        "safe_map": safe_map,
        "safe_zip": safe_zip,
    },
    "xla_bridge": {"_backends": {}, "get_backend": client_of},  # chex; JAX's autodidax
}

_made: Final[dict[str, ModuleType]] = {}


class Private(ModuleType):
    """A private module of JAX's: the names of it that libraries use."""

    def __init__(self, name: str, names: dict[str, Any]) -> None:
        super().__init__(name, self.__doc__)
        self.__path__: list[str] = []
        self._names = names

    def __getattr__(self, name: str) -> Any:
        path = f"{self.__name__}.{name}".removeprefix("jax._src.")
        if path in _NAMES:
            return import_module(f"jax._src.{path}")
        if name.startswith("__") or name not in self._names:
            raise AttributeError(
                f"{self.__name__}.{name} is private to JAX, and effax has no replacement for it; "
                "effax/as_jax/private.py lists the private names that effax provides to libraries"
            )
        found = self._names[name]
        if isinstance(found, str):
            home, _, public = found.partition(":")
            module = import_module(home)
            found = getattr(module, public) if public else module
        setattr(self, name, found)
        return found

    def __dir__(self) -> list[str]:
        return sorted(self._names)


def private_module(name: str) -> ModuleType | None:
    """A module under `jax._src`, or None if nothing is known of it."""
    names = _NAMES.get(name.removeprefix("jax._src").removeprefix("."))
    if names is None:
        return None
    if name not in _made:
        _made[name] = Private(name, names)
    return _made[name]
