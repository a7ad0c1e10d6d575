"""The Python array API standard, 2024.12: what a library asks to find out what it may use.

>>> import effax.numpy as jnp
>>> xp = jnp.ones(3).__array_namespace__()
>>> xp is jnp, sorted(xp.__array_namespace_info__().dtypes(kind="real floating"))
(True, ['float32'])
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any, Final

import numpy as np

from effax.effects.config import config
from effax.effects.types import default_float, default_int

_GROUPS: Final = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
_UNIONS: Final = {
    "integral": ("signed integer", "unsigned integer"),
    "numeric": ("signed integer", "unsigned integer", "real floating", "complex floating"),
}
_WIDE: Final = ("int64", "uint64", "float64", "complex128")


class ArrayNamespaceInfo:
    """The capabilities of `effax.numpy`, in the standard's words; see `__array_namespace_info__()`.

    Dtypes are those of the standard that there are now: 64 bits with the setting `enable_x64`.
    All devices have the same. The dtypes beyond the standard (bfloat16, ...) are not told.
    """

    def capabilities(self) -> dict[str, Any]:
        """Nothing is promised whose shape depends on values: eager calls have it, jit has not."""
        return {"boolean indexing": False, "data-dependent shapes": False, "max dimensions": 64}

    def default_device(self) -> None:
        """None: arrays are where `config.default_device` says, until they are put elsewhere."""
        return None

    def devices(self) -> list[Any]:
        """None, for the default, and all devices."""
        from effax.backends.xla.device import devices

        return [None, *devices()]

    def default_dtypes(self, *, device: Any = None) -> dict[str, np.dtype[Any]]:
        """Return the dtypes that numbers of each kind get where none is asked for.

        Args:
          device: ignored: all devices have the same dtypes.
        """
        real, integral = np.dtype(default_float()), np.dtype(default_int())
        paired = np.dtype("complex128" if real == np.float64 else "complex64")
        return {
            "real floating": real,
            "complex floating": paired,
            "integral": integral,
            "indexing": integral,
        }

    def dtypes(
        self, *, device: Any = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, np.dtype[Any]]:
        """Return the dtypes of some kinds, by name.

        Args:
          device: ignored: all devices have the same dtypes.
          kind: a kind such as "bool", "integral" and "numeric", or a tuple of them; None for all.

        Raises:
          KeyError: for a kind that the standard does not have.
        """
        kinds = tuple(_GROUPS) if kind is None else (kind,) if isinstance(kind, str) else kind
        groups = [group for k in kinds for group in _UNIONS.get(k, (k,))]
        names = dict.fromkeys(name for group in groups for name in _GROUPS[group])
        return {n: np.dtype(n) for n in names if config.enable_x64 or n not in _WIDE}


def array_namespace(self: Any, *, api_version: str | None = None) -> ModuleType:
    """Return the module `effax.numpy`, whose functions take this array (array API).

    Args:
      self: the array.
      api_version: the version of the standard, 2024.12, or None.

    Raises:
      ValueError: for another version of the standard.
    """
    numpy = sys.modules["effax.numpy"]
    version = numpy.__array_api_version__
    if api_version not in (None, version):
        raise ValueError(f"{api_version=} is not available; available versions are: {[version]}")
    return numpy
