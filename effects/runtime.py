"""jaxlib, the one place: which versions are supported, and the modules whose names we use.

Nearly all of these names are private to jaxlib and change without notice, so every module of the
library gets jaxlib from here, and `tests/architecture/test_runtime.py` looks up each name that the
library mentions in the jaxlib that is installed. `_jax` is loaded at once, the rest when used.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any, Final

from jaxlib import version as _version

__all__ = ["MODULES", "SUPPORTED", "check_version", "jaxlib_version"]

SUPPORTED: Final = ("0.10.2", "0.12.0.1")
"""The versions of jaxlib with which the tests were run: on Python 3.11, and on 3.13."""

OVERRIDE: Final = "EFFAX_ANY_JAXLIB"

jaxlib_version: Final[str] = _version.__version__

MODULES: Final = {
    "_hlo": "jaxlib._hlo",
    "_jax": "jaxlib._jax",
    "_jax_mlir_ext": "jaxlib.mlir._mlir_libs._jax_mlir_ext",
    "_lapack": "jaxlib.cpu._lapack",
    "_profile_data": "jaxlib._profile_data",
    "_profiler": "jaxlib._profiler",
    "chlo": "jaxlib.mlir.dialects.chlo",
    "cpu_sparse": "jaxlib.cpu_sparse",
    "func": "jaxlib.mlir.dialects.func",
    "ir": "jaxlib.mlir.ir",
    "jaxlib": "jaxlib",
    "lapack": "jaxlib.lapack",
    "passmanager": "jaxlib.mlir.passmanager",
    "sdy": "jaxlib.mlir.dialects.sdy",
    "stablehlo": "jaxlib.mlir.dialects.stablehlo",
    "tpu": "jaxlib.mosaic.python.tpu",
    "utils": "jaxlib.utils",
    "xla_client": "jaxlib.xla_client",
}
"""The modules of jaxlib, by the names under which they are imported from here."""


def check_version(version: str) -> None:
    """Raise `ImportError` for a jaxlib that is not supported, unless the override is set."""
    if version in SUPPORTED or os.environ.get(OVERRIDE, "") not in ("", "0"):
        return
    raise ImportError(
        f"effax supports jaxlib {' and '.join(SUPPORTED)}, but jaxlib {version} is installed, "
        f"whose private names may differ: pip install 'jaxlib=={SUPPORTED[-1]}' (Python 3.11: "
        f"{SUPPORTED[0]}), or set {OVERRIDE}=1 to try this one",
        name="jaxlib",
    )


def __getattr__(name: str) -> Any:
    try:
        path = MODULES[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
    found = globals()[name] = import_module(path)
    return found


check_version(jaxlib_version)
