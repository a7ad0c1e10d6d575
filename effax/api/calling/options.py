"""XLA's flags by name, as `jit` and `compile` take them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

CompilerOptions = Mapping[str, str | bool | int | float]


def checked_options(options: CompilerOptions | None) -> dict[str, Any]:
    """XLA's flags, each of a type it can take. Raises `TypeError` for others."""
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise TypeError(f"compiler_options must be a dict of XLA's flags by name, got {options!r}")
    for name, value in options.items():
        if not isinstance(name, str) or not isinstance(value, str | bool | int | float):
            raise TypeError(
                "compiler_options must map strings to strings, bools, ints or floats, got "
                f"{name!r}: {value!r}"
            )
    return dict(options)
