"""The modules of JAX's `experimental`, imported when they are first named."""

from typing import Any as _Any

from effax.api.callbacks import io_callback as io_callback

__all__ = [
    "checkify",
    "colocated_python",
    "compilation_cache",
    "compute_on",
    "control_deps",
    "hijax",
    "io_callback",
    "jet",
    "layout",
    "mesh_utils",
    "multihost_utils",
    "ode",
    "pallas",
    "pjit",
    "random",
    "roofline",
    "scheduling_groups",
    "serialize_executable",
    "shard_map",
    "sparse",
    "xla_metadata",
]
__dir__ = __all__.copy


def __getattr__(name: str) -> _Any:
    import importlib

    if name in __all__:
        return importlib.import_module(f"effax.experimental.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
