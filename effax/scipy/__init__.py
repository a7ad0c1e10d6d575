"""Functions of `scipy` over effects."""

from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from effax.scipy import linalg as linalg
from effax.scipy import special as special
from effax.scipy import stats as stats

if _TYPE_CHECKING:
    from effax.scipy import cluster as cluster
    from effax.scipy import fft as fft
    from effax.scipy import integrate as integrate
    from effax.scipy import interpolate as interpolate
    from effax.scipy import ndimage as ndimage
    from effax.scipy import optimize as optimize
    from effax.scipy import signal as signal
    from effax.scipy import sparse as sparse
    from effax.scipy import spatial as spatial

__all__ = [
    "cluster",
    "fft",
    "integrate",
    "interpolate",
    "linalg",
    "ndimage",
    "optimize",
    "signal",
    "sparse",
    "spatial",
    "special",
    "stats",
]
__dir__ = __all__.copy


def __getattr__(name: str) -> _Any:
    """Modules that not every program needs are imported when they are first named."""
    import importlib

    if name in __all__:
        return importlib.import_module(f"effax.scipy.{name}")
    raise AttributeError(f"module 'effax.scipy' has no attribute {name!r}")
