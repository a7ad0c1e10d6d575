"""What JAX keeps under `experimental`. Its modules are imported when they are first named."""

from typing import Any as _Any

from effax.api.callbacks import io_callback as io_callback

_MODULES = (
    *("checkify", "compilation_cache", "compute_on", "jet", "layout", "mesh_utils"),
    *("multihost_utils", "ode", "pjit", "random", "serialize_executable", "shard_map", "sparse"),
)


def __getattr__(name: str) -> _Any:
    import importlib

    if name in _MODULES:
        return importlib.import_module(f"effax.experimental.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
