"""Public modules of JAX's that effax has nothing for: they import, and refuse to be used.

A library may import a module that a program never comes to use, name its classes in annotations and
defaults, and derive from them. What makes an object of such a class, or calls such a function,
raises `NotImplementedError` with the reason.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, Final

from effax.as_jax.kernels import KERNELS

_TENSORSTORE = "effax writes no TensorStore arrays; Orbax and numpy.save store those of effax"
_TENSORFLOW = "effax makes no TensorFlow graphs; effax.export serialises functions as StableHLO"
_INTERNAL = "it hands out objects of JAX's own lowering, which effax does not have"
_HINT = "effax hands XLA no such hints; leave it out, results are the same"
_TRANSFER = "effax moves no arrays between processes"

# module -> why it is refused, and its names
ABSENT: Final[dict[str, tuple[str, str]]] = {
    "experimental.array_serialization": ("", ""),
    "experimental.array_serialization.pytree_serialization": (
        _TENSORSTORE,
        "load load_pytreedef nonblocking_load nonblocking_save save",
    ),
    "experimental.array_serialization.serialization": (
        _TENSORSTORE,
        "GlobalAsyncCheckpointManager GlobalAsyncCheckpointManagerBase AsyncManager "
        "async_serialize async_deserialize run_serialization run_deserialization "
        "get_tensorstore_spec",
    ),
    "experimental.array_serialization.tensorstore_impl": (
        _TENSORSTORE,
        "async_serialize async_deserialize get_tensorstore_spec",
    ),
    "experimental.fused": (_HINT, "fused"),
    "experimental.key_reuse": ("", ""),
    "experimental.profiler": (
        "effax reads no profiles back; effax.profiler writes them",
        "get_profiled_instructions_proto",
    ),
    "experimental.source_mapper": (
        _INTERNAL,
        "generate_sourcemaps Pass SourceMapDump all_passes available_passes compile_with_env "
        "deserialize_to_mlir filter_passes get_passes",
    ),
    "experimental.transfer": (
        _TRANSFER,
        "TransferConnection TransferServer make_error_array start_transfer_server",
    ),
    "extend.ifrt_programs": (
        "it is for Python beside devices elsewhere, under Pathways, which effax has no backend for",
        "ifrt_programs",
    ),
    "extend.lowering": (_INTERNAL, "JaxIrContext LoweringRuleContext"),
    "extend.mlir": (
        _INTERNAL,
        "deserialize_portable_artifact hlo_to_stablehlo refine_polymorphic_shapes "
        "serialize_portable_artifact",
    ),
    "extend.pallas": (_INTERNAL, "GridMapping register_lowering_rule"),
    "extend.sharding": (
        _INTERNAL,
        "GSPMDSharding get_hlo_sharding_from_serialized_proto "
        "get_op_sharding_from_serialized_proto get_serialized_proto_from_hlo_sharding",
    ),
    "extend.xla": (
        _INTERNAL,
        "PipelineStage clear_hlo_module_transformation register_hlo_module_transformation",
    ),
    "tools": ("", ""),
    "tools.jax_to_ir": (_TENSORFLOW, "jax_to_ir parse_shape_str tf_wrap_with_input_names"),
    **KERNELS,
}


class Absent(ModuleType):
    """A module whose names stand for what effax does not have."""

    def __init__(self, name: str, why: str, names: str) -> None:
        super().__init__(name, f"{name} of JAX. {why}")
        self.__path__: list[str] = []
        self._why, self._names = why, names.split()

    def __getattr__(self, name: str) -> Any:
        if name in self._names:
            setattr(self, name, _refused(self.__name__, name, self._why))
            return getattr(self, name)
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        # A name of a package stays when its submodule of that name (`megablox.gmm`) is imported.
        if not (isinstance(value, ModuleType) and name in self._names):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted(self._names)


def _refused(module: str, name: str, why: str) -> type:
    def refuse(kind: type, *args: Any, **keywords: Any) -> Any:
        raise NotImplementedError(f"{module}.{name}: {why}")

    return type(name, (), {"__new__": refuse, "__module__": module, "__doc__": why})


def is_absent(name: str, root: str) -> bool:
    """Whether a module's full name, under a root with its dot, is in the table."""
    return name.startswith(root) and name.removeprefix(root) in ABSENT


def absent_module(name: str) -> ModuleType:
    """Make the module that stands for one of JAX's, by its full name in effax."""
    inside = name.removeprefix("effax.")
    return Absent(f"jax.{inside}", *ABSENT[inside])
