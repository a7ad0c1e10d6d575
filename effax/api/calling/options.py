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
        raise TypeError(f"compiler_options is a dict of XLA's flags by name, not {options!r}")
    for name, value in options.items():
        if not isinstance(name, str) or not isinstance(value, str | bool | int | float):
            raise TypeError(
                f"compiler_options: {name!r}: {value!r} is no flag; names are strings, and values "
                "strings, bools, ints or floats"
            )
    return dict(options)
