"""Loading a column: every cell file of an interpreter's package fills its table when imported."""

from __future__ import annotations

import importlib
import pkgutil


def load(package: str) -> None:
    """Import every module of a package, so that its cells are in the tables.

    A cell file needs no mention anywhere: being in the folder is enough.
    """
    found = importlib.import_module(package)
    for module in pkgutil.iter_modules(found.__path__):
        importlib.import_module(f"{package}.{module.name}")
