"""Modules of JAX's that libraries use and that are not effax's public ones, each with its user."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from types import FrameType, ModuleType
from typing import Any, Final

from effax.api.placing.meshes import get_mesh
from effax.backends.xla import processes
from effax.backends.xla.client import backend
from effax.effects import frames
from effax.effects.handler import bottom, innermost
from effax.tree_util import is_tree_node

INSTEAD: Final = {
    "jax.extend.mlir.dialects": "jaxlib.mlir.dialects",
    "jax.extend.mlir.ir": "jaxlib.mlir.ir",
    "jax.extend.mlir.passmanager": "jaxlib.mlir.passmanager",
    **{
        f"jax.extend.mlir.dialects.{name}": f"jaxlib.mlir.dialects.{name}"
        for name in (
            *("arith", "builtin", "chlo", "func", "math", "memref", "mpmd", "scf", "sdy"),
            *("sparse_tensor", "stablehlo", "vector"),
        )
    },
    **{
        f"jax.experimental.sparse.{name}": "effax.experimental.sparse"
        for name in ("ad", "api", "random")
    },
    "jax.interpreters.pxla": "effax.as_jax.pxla",
    "jax.lib": "effax.as_jax.lib",
    "jax.lib.xla_bridge": "effax.as_jax.lib",
    "jax.version": "effax.as_jax.version",
}
"""Public modules of JAX's that only the door has, and those of jaxlib that JAX hands on."""


def _here(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


def include_frame(frame: FrameType) -> bool:
    """Whether a frame is shown in tracebacks."""
    return not frames.is_library(frame.f_code.co_filename)


def trace_state_clean() -> bool:
    """Whether nothing is traced or transformed just now."""
    return innermost() is bottom


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


class _ThreadResources:
    """The mesh in context, as JAX's private module keeps it: `thread_resources.env`."""

    @property
    def env(self) -> _ThreadResources:
        """Itself: there is no other part."""
        return self

    @property
    def physical_mesh(self) -> Any:
        """The mesh that is in context, else one without axes."""
        return get_mesh()


thread_resources: Final = _ThreadResources()


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


# module -> name -> the object itself, or its place: `module:name`, or `module:` for a module.
_NAMES: Final[dict[str, dict[str, Any]]] = {
    "": {"source_info_util": "effax.extend.source_info_util:"},  # brainstate
    "ad_checkpoint": {
        "name_p": "effax.effects.rows.naming:named",  # axlearn
        "saved_residuals": "effax.api.derivatives.residuals:saved_residuals",  # haliax
    },
    "ad_util": {"stop_gradient_p": "effax.lax:stop_gradient_p"},  # lineax
    "api": {"_dtype": "effax.numpy:result_type"},  # PennyLane
    "api_util": {
        "infer_argnums_and_argnames": "effax.api.calling.arguments:completed",  # e3nn-jax
    },
    "array": {
        **dict.fromkeys(("Array", "ArrayImpl"), "effax.backends.xla.array:Array"),  # in pickles
        "local_to_global_shape": "effax.as_jax.helpers:local_to_global_shape",
    },
    "compiler": {},  # chex.restrict_backends, which then restricts nothing
    "config": {"config": "effax:config"},
    "core": {  # numpyro, flax, saiunit
        "trace_state_clean": trace_state_clean,
        "AxisName": Hashable,
        "JaxprEqnContext": "effax.effects.jaxpr:EquationContext",  # brainstate
        "pytype_aval_mappings": "effax.core:pytype_aval_mappings",
        "Tracer": "effax.core:Tracer",
        "full_lower": "effax.extend.tracing:full_lower",  # quax
        "DimSize": int,  # torchax
        "Shape": "effax.effects.value:Shape",
        "canonicalize_shape": "effax.effects.types:canonical_shape",
        "dimension_as_value": "effax.as_jax.helpers:dimension_as_value",
    },
    "debugging": {"debug_callback": "effax.debug:callback", "debug_print": "effax.debug:print"},
    "dispatch": {  # equinox, brainevent
        "wait_for_tokens": "effax:effects_barrier",
        "apply_primitive": "effax.extend.primitive:apply_primitive",
    },
    "dtypes": {  # equinox, flax
        "TypePromotionError": "effax.errors:TypePromotionError",
        "DType": "numpy:dtype",
        "ExtendedDType": object,
        "extended": "effax.dtypes:extended",
        "finfo": "effax.numpy:finfo",
        "to_complex_dtype": "effax.as_jax.helpers:to_complex_dtype",  # tinygp
    },
    "distributed": {"global_state": _GlobalState()},  # orbax
    "earray": {},  # flax, for dtypes of its own
    "image.scale": {"_kernels": "effax.image:_KERNELS"},  # torchax
    "interpreters": {},
    "interpreters.batching": {  # jaxoplanet, brainstate
        "is_vmappable": "effax.interpreters.batch.vmappables:is_vmappable",
        "BatchTrace": "effax.interpreters.batch.batched:Batch",
        "BatchTracer": "effax.interpreters.batch.batched:Batched",
        "make_iota": "effax.as_jax.helpers:make_iota",
        "to_elt": "effax.as_jax.helpers:to_elt",
    },
    "interpreters.pxla": {"global_result_handlers": {}},  # flax, for dtypes of its own
    "lax": {"lax": "effax.lax:"},  # JAX's page on primitives
    "lax.lax": {"_const": "effax.as_jax.helpers:constant_like"},  # programs with rules of their own
    "lib": {"xla_client": "jaxlib.xla_client:"},  # JAX's autodidax
    "lib.mlir": {"ir": "jaxlib.mlir.ir:"},
    "lib.mlir.dialects": {"hlo": "jaxlib.mlir.dialects.stablehlo:"},  # JAX's page on primitives
    "literals": {  # equinox, quax
        name: f"effax.extend.typed_numbers:{name}"
        for name in ("TypedInt", "TypedFloat", "TypedComplex", "TypedNdArray")
    },
    "mesh": {  # axlearn, Orbax, maxtext, tpu-inference
        "thread_resources": thread_resources,
        "get_concrete_mesh": "effax.api.placing.meshes:get_mesh",
    },
    "numpy.array_methods": {  # unxt
        "_IndexUpdateHelper": "effax.numpy.indexing:ArrayAt",
        "_IndexUpdateRef": "effax.numpy.indexing:IndexUpdateHelper",
    },
    "numpy.einsum": {"_einsum": "effax.as_jax.helpers:contracted"},  # haliax, AQT
    "numpy.index_tricks": {  # quaxed
        name: f"effax.numpy.tricks:{name}" for name in ("CClass", "RClass")
    },
    "numpy.vectorize": {  # quaxed
        "_apply_excluded": "effax.as_jax.vectorizing:apply_excluded",
        "_check_output_dims": "effax.as_jax.vectorizing:check_output_dims",
        "_parse_gufunc_signature": "effax.numpy.mapping:parse_signature",
        "_parse_input_dimensions": "effax.as_jax.vectorizing:parse_input_dimensions",
    },
    "numpy.setops": {  # quaxed
        f"_Unique{name}Result": f"effax.numpy.uniqueness:Unique{name}"
        for name in ("All", "Counts", "Inverse")
    },
    "numpy.util": {  # s2fft; programs that add functions to jax.numpy
        "check_arraylike": "effax.operands.arguments:check_arrays",
        **{
            name: f"effax.as_jax.helpers:{name}"
            for name in (
                "promote_args",
                "promote_args_inexact",
                "promote_dtypes",
                "promote_dtypes_complex",
                "promote_dtypes_inexact",
            )
        },
    },
    "pjit": {  # quax, jaxns
        "jit_p": "effax.extend.core.primitives:jit_p",
        "JitWrapped": "effax.api.compiling.jitted:Jit",  # Stoix
        "auto_axes": "effax.sharding:auto_axes",
    },
    "random": {"Shape": "effax.effects.value:Shape"},
    "random.prng": {  # pickles of keys
        name: "effax.keys.arrays:KeyArray" for name in ("KeyArray", "PRNGKeyArray")
    },
    "random.threefry2x32": {  # quax
        name: f"effax.as_jax.helpers:{name}"
        for name in (
            *("threefry_fold_in", "threefry_random_bits", "threefry_seed", "threefry_split"),
        )
    },
    "scipy": {},
    # jaxlib's C++ looks here for JAX's own objects, where it makes some: it finds effax's.
    "sharding_impls": {  # brainstate, axlearn
        **{
            name: f"effax.as_jax.helpers:{name}"
            for name in ("get_process_index_and_count", "local_to_global_shape")
        },
        "UNSPECIFIED": None,  # as `jit` says it
        "UnspecifiedValue": type(None),
        "NamedSharding": "effax.sharding:NamedSharding",
        "SingleDeviceSharding": "effax.sharding:SingleDeviceSharding",
    },
    "state": {},
    "state.indexing": {"dslice": "effax.experimental.pallas:dslice"},  # levanter
    "state.types": {"AbstractRef": "effax.ref:AbstractRef"},  # flax
    "test_util": {"create_mesh": "effax:make_mesh"},  # JAX's page on checkpoints
    "traceback_util": {  # equinox, flax, jaxtyping
        "api_boundary": _here,
        "filter_traceback": frames.user_part,  # axlearn, brainstate
        "include_frame": include_frame,
        "register_exclusion": frames.hide,
        "_exclude_paths": [],
    },
    "tree_util": {  # flax, orbax
        "_registry": _Registered(),
        "broadcast_prefix": "effax.effects.tree:broadcast_prefix",
        "prefix_errors": "effax.effects.tree:prefix_errors",
    },
    "typing": {
        "DType": "numpy:dtype",
        "Shape": "effax.effects.value:Shape",
        "SupportsDType": "effax.as_jax.helpers:SupportsDType",  # jaxns
    },
    "util": {  # JAX's page on interpreters; programs that walk programs
        "canonicalize_axis": "effax.operands.arguments:canonical_axis",
        **{
            name: f"effax.as_jax.helpers:{name}"
            for name in ("partition_list", "safe_map", "safe_zip", "split_list", "unzip2")
        },
    },
    "xla_bridge": {  # chex, maxdiffusion; JAX's autodidax
        "_backends": {},
        "backends_are_initialized": "effax.backends.xla.client:is_started",
        "get_backend": client_of,
    },
}

_FAMILIES: Final = {
    "image": "scale",
    "lax": "control_flow control_flow.conditionals control_flow.loops control_flow.solves "
    "convolution fft lax parallel slicing special windowed_reductions",
    "nn": "functions",
    "numpy": "array_creation einsum index_tricks indexing lax_numpy polynomial reductions setops "
    "sorting ufuncs util vectorize",
    "ops": "scatter special",
    "scipy.optimize": "bfgs line_search minimize",
}
"""Packages of JAX's, and the private modules of them that have their public names."""

PUBLIC: Final = {
    "ad_util": ("effax.interpreters.ad", "effax.extend.core.primitives"),
    "api": ("effax",),
    "array": ("effax",),
    "callback": ("effax", "effax.experimental"),
    "checkify": ("effax.experimental.checkify",),
    "config": ("effax.effects.config",),
    "core": ("effax.core", "effax.extend.core"),
    "debugging": ("effax.debug",),
    "layout": ("effax.experimental.layout",),
    "linear_util": ("effax.extend.linear_util",),
    "mesh": ("effax.sharding",),
    "mesh_utils": ("effax.experimental.mesh_utils",),
    "named_sharding": ("effax.sharding",),
    "partition_spec": ("effax.sharding",),
    "pjit": ("effax.experimental.pjit", "effax.lax"),  # maxtext
    "public_test_util": ("effax.test_util",),
    "random.core": ("effax.random",),
    "shard_map": ("effax.experimental.shard_map", "effax"),
    "sharding": ("effax.sharding",),
    "typing": ("effax.typing", "effax"),
    "xla_bridge": ("effax.extend.backend", "effax"),
    **{
        f"{family}.{name}": (f"effax.{family}",)
        for family, names in _FAMILIES.items()
        for name in names.split()
    },
}
"""Public modules whose names programs take from private ones.

Editors complete `PRNGKey` to `from jax._src.random import PRNGKey`, and many programs have it. A
private module that is called as a public one (`random`) has the names of that.
"""

_made: Final[dict[str, ModuleType]] = {}


def _public(path: str) -> tuple[str, ...]:
    """The public modules whose names a private module has, if any."""
    if path in PUBLIC or not path:
        return PUBLIC.get(path, ())
    try:
        return (f"effax.{path}",) if find_spec(f"effax.{path}") is not None else ()
    except ModuleNotFoundError:
        return ()


class Private(ModuleType):
    """A private module of JAX's: the names of it that libraries use."""

    def __init__(self, name: str, names: dict[str, Any], public: tuple[str, ...]) -> None:
        super().__init__(name, self.__doc__)
        self.__path__: list[str] = []
        self._names = names
        self._public = public

    def __getattr__(self, name: str) -> Any:
        path = f"{self.__name__}.{name}".removeprefix("jax._src.")
        if name in self._names:
            found = self._names[name]
            if isinstance(found, str):
                home, _, public = found.partition(":")
                module = import_module(home)
                found = getattr(module, public) if public else module
        elif path in _NAMES or path in PUBLIC or ("." not in path and _public(path)):
            return import_module(f"jax._src.{path}")
        else:
            found = self._of_public(name)
        setattr(self, name, found)
        return found

    def _of_public(self, name: str) -> Any:
        """Return what a public module has of that name."""
        for home in () if name.startswith("_") else self._public:
            module = import_module(home)
            if hasattr(module, name):
                return getattr(module, name)
        raise AttributeError(
            f"{self.__name__}.{name} is private to JAX, and effax has no replacement for it; "
            "effax/as_jax/private.py lists the private names that effax provides to libraries"
        )

    def __dir__(self) -> list[str]:
        return sorted(self._names)


def private_module(name: str) -> ModuleType | None:
    """A module under `jax._src`, or None if nothing is known of it."""
    if name not in _made:
        path = name.removeprefix("jax._src").removeprefix(".")
        public = _public(path)
        if path not in _NAMES and not public:
            return None
        _made[name] = Private(name, _NAMES.get(path, {}), public)
    return _made[name]
