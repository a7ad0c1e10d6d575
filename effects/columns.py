"""Loading a column: every cell file of an interpreter's package fills its table when imported.

Columns are loaded when the first handler that needs them is made, not at start-up; a backend's,
family by family. The rows are, when someone asks for all effects, or for one by name.
"""

from __future__ import annotations

import importlib
import importlib.util
import threading
from typing import Final

DERIVED: Final = (
    "effax.interpreters.jvp",
    "effax.interpreters.batch",
    "effax.interpreters.transpose",
)
"""The columns whose rules refer to each other's effects: one needs all."""
FUNCTORIAL: Final = (
    "effax.interpreters.custom.rules",
    "effax.interpreters.functor.kernel",
    "effax.interpreters.places.parallel",
    "effax.interpreters.places.sharding",
    "effax.interpreters.functor.written_out",
)
"""Entries of the functor that are in no column."""

_loaded: Final[set[str]] = set()
_loaded_families: Final[set[tuple[str, str]]] = set()
_lock: Final = threading.RLock()


def load(package: str) -> None:
    """Import every module of a package, once, so that its cells are in the tables.

    A cell file needs no mention anywhere: being in the folder is enough.
    """
    if package in _loaded:
        return
    import pkgutil

    with _lock:
        found = importlib.import_module(package)
        for module in pkgutil.iter_modules(found.__path__):
            importlib.import_module(f"{package}.{module.name}")
        _loaded.add(package)


def load_family(package: str, family: str) -> None:
    """Import a package's cell file of one family, if there is one.

    A backend's cells need no others: of its columns only those are loaded that a program asks for.
    """
    if package in _loaded or (package, family) in _loaded_families:
        return
    with _lock:
        importlib.import_module(package)
        if family.isidentifier() and importlib.util.find_spec(f"{package}.{family}") is not None:
            importlib.import_module(f"{package}.{family}")
        _loaded_families.add((package, family))


def ready() -> None:
    """See to it that the interpreters' columns are loaded. Cheap when they are."""
    if DERIVED[-1] not in _loaded:
        for module in FUNCTORIAL:
            importlib.import_module(module)
        for package in DERIVED:
            load(package)
