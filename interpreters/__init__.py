"""COLUMNS, what it means: one package or file per interpretation of the effects.

The modules that programs written for JAX know are there without being imported by name:

>>> import effax
>>> effax.interpreters.ad.Zero.__name__
'Zero'
"""

from importlib import import_module
from types import ModuleType

if __name__ != "effax.interpreters":
    raise ImportError(
        f"import {__name__} as effax.interpreters: a second name would make a second copy"
    )


def __getattr__(name: str) -> ModuleType:
    if name in ("ad", "batching", "mlir", "partial_eval", "xla"):
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
