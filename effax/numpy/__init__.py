"""NumPy's functions over effects: `import effax.numpy as jnp`."""

import sys as _sys
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from effax.api.on_demand import Surface as _Surface
from effax.effects.frames import cut_at as _cut_at
from effax.numpy import methods as _methods

if _TYPE_CHECKING:
    from effax.numpy.names import *
    from effax.numpy.standard import ArrayNamespaceInfo as _ArrayNamespaceInfo

__array_api_version__ = "2024.12"


def __array_namespace_info__() -> "_ArrayNamespaceInfo":  # noqa: N807
    """Return what this namespace can do, in the words of the array API standard."""
    from effax.numpy.standard import ArrayNamespaceInfo

    return ArrayNamespaceInfo()


_PLACED = frozenset(
    {
        "arange",
        "array",
        "asarray",
        "bincount",
        "broadcast_to",
        "dot",
        "einsum",
        "empty",
        "full",
        "full_like",
        "matmul",
        "ones",
        "ones_like",
        "percentile",
        "ravel",
        "repeat",
        "reshape",
        "tensordot",
        "zeros",
        "zeros_like",
    }
)
"""Functions with the keyword `out_sharding`."""


def _finish(names: dict[str, _Any]) -> None:
    from effax.api.placed import give_out_sharding
    from effax.key_functions import accept_keys

    give_out_sharding(names, _PLACED.intersection(names))
    _cut_at(names)
    accept_keys(names)


_surface = _Surface(globals(), _finish)
__dir__ = _surface.public
_methods.install(_sys.modules[__name__])


def __getattr__(name: str) -> _Any:
    return _surface.get(name)
