"""NumPy's functions over effects: `import effax.numpy as jnp`."""

import sys as _sys
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from effax.api.surface.on_demand import Surface as _Surface
from effax.effects.frames import cut_at as _cut_at
from effax.effects.frames import strip as _strip
from effax.numpy import methods as _methods

if _TYPE_CHECKING:
    from effax.numpy.names import *
    from effax.numpy.standard import ArrayNamespaceInfo as _ArrayNamespaceInfo

__array_api_version__ = "2024.12"


def __array_namespace_info__() -> "_ArrayNamespaceInfo":  # noqa: N807
    """Return what this namespace can do, in the words of the array API standard."""
    from effax.numpy.standard import ArrayNamespaceInfo

    return ArrayNamespaceInfo()


_surface = _Surface(globals(), _cut_at)
__dir__ = _surface.public
_methods.install(_sys.modules[__name__])


def __getattr__(name: str) -> _Any:
    try:
        return _surface.get(name)
    except AttributeError as error:
        _strip(error)
        raise
