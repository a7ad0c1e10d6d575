"""Loading a column: every cell file of an interpreter's package fills its table when imported.

Columns are loaded when the first handler that needs them is made, not at start-up.
"""

from __future__ import annotations

import importlib
import pkgutil
import threading
from typing import Final

DERIVED: Final = (
    "effax.interpreters.jvp",
    "effax.interpreters.batch",
    "effax.interpreters.transpose",
)
"""The columns whose rules refer to each other's effects: one needs all."""

_loaded: Final[set[str]] = set()
_lock: Final = threading.RLock()


def load(package: str) -> None:
    """Import every module of a package, once, so that its cells are in the tables.

    A cell file needs no mention anywhere: being in the folder is enough.
    """
    if package in _loaded:
        return
    with _lock:
        found = importlib.import_module(package)
        for module in pkgutil.iter_modules(found.__path__):
            importlib.import_module(f"{package}.{module.name}")
        _loaded.add(package)


def ready() -> None:
    """See to it that the interpreters' columns are loaded. Cheap when they are."""
    if DERIVED[-1] not in _loaded:
        for package in DERIVED:
            load(package)
