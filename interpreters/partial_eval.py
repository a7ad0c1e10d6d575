"""`extend.partial`, by the name that programs written for JAX import it by.

It is above this package, since it knows arrays of keys: it is found when something of it is named.
"""

from __future__ import annotations

import importlib
from typing import Any


def __getattr__(name: str) -> Any:
    """Return the object of that name in `effax.extend.partial`."""
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module("effax.extend.partial"), name)
