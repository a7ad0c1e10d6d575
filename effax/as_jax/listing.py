"""Modules that have all their names in `__dict__`, where effax is jax.

effax imports what a public name needs when it is looked up. Libraries that wrap every function of
`jax.numpy` walk through its `__dict__` (SCICO), which would have what was looked up only.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

_ENTRIES: Any = vars(ModuleType)["__dict__"]


class Listed(ModuleType):
    """A module whose `__dict__` looks up all public names before it is read."""

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]  # declared as an attribute
        entries: dict[str, Any] = _ENTRIES.__get__(self)
        for name in entries["__dir__"]():  # `dir(self)` would ask here
            getattr(self, name)
        return entries


def list_names(module: ModuleType) -> None:
    """Make a module that finds names on demand one of this class."""
    if type(module) is ModuleType and "_surface" in _ENTRIES.__get__(module):
        module.__class__ = Listed
