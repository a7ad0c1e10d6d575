"""Classes of operands, by the names of `jax.interpreters.xla`."""

from __future__ import annotations

from effax.effects.operand_classes import canonicalize_dtype_handlers as canonicalize_dtype_handlers
from effax.effects.operand_classes import pytype_aval_mappings as pytype_aval_mappings

__all__ = ["canonicalize_dtype_handlers", "pytype_aval_mappings"]
