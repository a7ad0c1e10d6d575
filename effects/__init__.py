"""ROWS, what can be asked: the kernel, and in `rows` one file for each family of effects.

Each effect is an attribute of the package: `effects.add`, `effects.reduce_sum`. So are families,
`effects.elementwise`; where an effect has its family's name (`effects.check`), it is meant.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any

if __name__ != "effax.effects":
    raise ImportError(f"import {__name__} as effax.effects: a second name would make a second copy")


def __getattr__(name: str) -> Any:
    """The module or the effect of that name."""
    kernel = sys.modules.get("effax.effects.effect")
    found = kernel.named_effect(name, load_rows=False) if kernel is not None else None
    if found is None and not name.startswith("_"):
        for package in (__name__, f"{__name__}.rows"):
            if find_spec(f"{package}.{name}") is not None:
                module = import_module(f"{package}.{name}")
                effect = kernel.named_effect(name, load_rows=False) if kernel is not None else None
                return effect or module
        found = kernel.named_effect(name) if kernel is not None else None
    if found is None:
        raise AttributeError(f"effax has no effect named {name!r}")
    return found


def __dir__() -> list[str]:
    """The modules, and every effect."""
    kernel = sys.modules.get("effax.effects.effect")
    effects = [effect.name for effect in kernel.all_effects()] if kernel is not None else []
    return sorted({*globals(), *effects})
