"""Functions in C++ made known to XLA by a name, so that programs can call them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from effax.backends.xla import plugins
from effax.backends.xla.client import XlaRuntimeError
from effax.effects.runtime import _jax, jaxlib

STAGES: Final = ("instantiate", "prepare", "initialize", "execute")
"""The stages in which XLA calls a foreign handler, each by a function of its own."""


def register_target(name: str, function: Any, platform: str, api_version: int, traits: int) -> None:
    """Make a function known by a name on a platform, "cpu" or "cuda".

    On CUDA it is known from when the plugin is loaded. Raises `ValueError` for other platforms and
    for a name that is taken, `TypeError` for what is no capsule or dict of capsules by stage.
    """
    stages = function if isinstance(function, Mapping) else {"execute": function}
    wrong = [stage for stage in stages if stage not in STAGES]
    if wrong or not all(map(_is_capsule, stages.values())):
        raise TypeError(
            f"the target {name!r} must be a capsule (`pycapsule` of a function), or a dict of "
            f"capsules for {', '.join(STAGES)}, got {function!r}"
        )
    if not isinstance(function, Mapping):
        stages = function
    given = name, stages, _platform(platform), api_version, traits
    _on(platform, _jax.register_custom_call_target, "register_custom_call_target", given)


def register_type(name: str, registration: Any, platform: str) -> None:
    """Make the type of a handler's state known by a name. Raises as `register_target` does."""
    given = name, registration
    _platform(platform)
    _on(platform, _jax.register_custom_type, "register_custom_type", given)


def register_batch_partitionable(name: str) -> None:
    """Say that a target computes each row by itself, so that rows may be spread over devices."""
    _jax.register_custom_call_as_batch_partitionable(name)


def include_folder() -> str:
    """Return the folder with the headers of XLA's foreign function interface in jaxlib."""
    return str(Path(jaxlib.__file__).parent / "include")


def _on(platform: str, here: Callable[..., Any], there: str, given: tuple[Any, ...]) -> None:
    if _platform(platform) == "CUDA":
        plugins.when_cuda_is_loaded(partial(_register_in_plugin, there, given))
        return
    try:
        here(*given)
    except XlaRuntimeError as error:
        raise ValueError(f"{given[0]!r} can't be registered: {error}") from error


def _register_in_plugin(there: str, given: tuple[Any, ...], extension: Any, api: Any) -> None:
    getattr(extension, there)(api, *given)


def _platform(name: str) -> str:
    if name not in _PLATFORMS:
        raise ValueError(
            f"foreign functions can be registered for {' or '.join(map(repr, _PLATFORMS))}, got "
            f"{name!r}"
        )
    return _PLATFORMS[name]


_PLATFORMS: Final = {"cpu": "cpu", "cuda": "CUDA", "gpu": "CUDA", "CUDA": "CUDA"}


def _is_capsule(x: Any) -> bool:
    return type(x).__name__ == "PyCapsule"
