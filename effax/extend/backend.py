"""Backends, by the names of `jax.extend.backend`."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from effax.api.compiling.caches import clear_caches as clear_backends
from effax.api.compiling.caches import clear_caches as clear_in_memory_compilation_cache
from effax.backends.xla.client import backend
from effax.backends.xla.device import Device, default_backend
from effax.backends.xla.device import devices as _devices

__all__ = [
    "backends",
    "clear_backends",
    "clear_in_memory_compilation_cache",
    "get_backend",
    "get_default_device",
]
__dir__ = __all__.copy

# Programs that changed XLA_FLAGS ask for `get_backend.cache_clear()`. Nothing is remembered here.
get_backend = lru_cache(maxsize=0)(backend)


def backends() -> dict[str, Any]:
    """Return the clients of the runtime, by platform.

    >>> "cpu" in backends()
    True
    """
    return {name: get_backend(name) for name in dict.fromkeys((default_backend(), "cpu"))}


def get_default_device() -> Device:
    """Return the device that computes what nobody placed.

    >>> get_default_device().platform == default_backend()
    True
    """
    from effax.effects.config import read

    return read("default_device") or _devices()[0]
