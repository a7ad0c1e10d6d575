"""Classes of operands, by the names of `jax.interpreters.xla`.

`apply_primitive` is above this package, since it compiles: it is found when it is named.
"""

from __future__ import annotations

import importlib
from typing import Any

from effax.effects.operand_classes import canonicalize_dtype_handlers as canonicalize_dtype_handlers
from effax.effects.operand_classes import pytype_aval_mappings as pytype_aval_mappings

__all__ = ["canonicalize_dtype_handlers", "pytype_aval_mappings"]


def __getattr__(name: str) -> Any:
    """Return `apply_primitive` of `effax.extend.primitive`."""
    if name != "apply_primitive":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module("effax.extend.primitive"), name)
