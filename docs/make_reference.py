"""Write a page for each public module, for Sphinx to fill with signatures and docstrings.

The names are those that `tests/architecture/public_names.txt` records, so a name can't be public
without being here. The examples in docstrings are run as tests, where they stand.
"""

from __future__ import annotations

import importlib
import inspect
from collections import defaultdict
from pathlib import Path

NAMES = Path(__file__).parents[1] / "tests" / "architecture" / "public_names.txt"

LISTED = 12
"""The number of names that a page describes without a list of them at its head."""


def public() -> dict[str, list[str]]:
    """The public names of each module."""
    found: dict[str, list[str]] = defaultdict(list)
    for line in NAMES.read_text(encoding="utf-8").splitlines():
        module, _, name = line.rpartition(".")
        found[module].append(name)
    return dict(found)


def homes(modules: dict[str, list[str]]) -> dict[int, str]:
    """The full name under which each object is described.

    In the module of the shortest name, it is the object's own name, if that is public there.
    """
    found: dict[int, str] = {}
    for module in sorted(modules, key=lambda m: (m.count("."), m)):
        here = {name: getattr(importlib.import_module(module), name) for name in modules[module]}
        own = [name for name, thing in here.items() if getattr(thing, "__name__", "") == name]
        for name in (*own, *here):
            if callable(here[name]):
                found.setdefault(id(here[name]), f"{module}.{name}")
    return found


def page(module: str, names: list[str], homes: dict[int, str]) -> str:
    """The page of a module, as reStructuredText; names described elsewhere are listed first.

    So are its own names, where they are many.
    """
    own, elsewhere = [], []
    for name in sorted(names):
        thing = getattr(importlib.import_module(module), name)
        maker = getattr(thing, "__module__", None) or "effax"
        if inspect.ismodule(thing) or name == "annotations":
            home = getattr(thing, "__name__", "__future__.annotations")
        elif isinstance(maker, str) and callable(thing) and not maker.startswith("effax"):
            home = f"{maker}.{getattr(thing, '__qualname__', name)}"
        else:
            home = homes.get(id(thing), f"{module}.{name}")
        if home == f"{module}.{name}":
            own.append(name)
        else:
            elsewhere.append(f"* ``{name}`` is :py:obj:`{home}`\n")
    links = ", ".join(f":py:obj:`~{module}.{name}`" for name in own)
    return (
        f"{module}\n{'=' * len(module)}\n\n"
        f"{links if len(own) > LISTED else ''}\n\n"
        f"{'Other names' if elsewhere else ''}\n{'-' * 20 if elsewhere else ''}\n\n"
        f"{''.join(elsewhere)}\n"
        f"{'All of them' if elsewhere else ''}\n{'-' * 20 if elsewhere else ''}\n\n"
        f".. automodule:: {module}\n   :members: {', '.join(own)}\n   :undoc-members:\n"
    )


def write(folder: Path) -> int:
    """Write all pages and an index into a folder; return the number of names.

    A page whose text is the same as before is left alone, so that Sphinx doesn't read it again.
    """
    folder.mkdir(parents=True, exist_ok=True)
    modules = public()
    known = homes(modules)
    pages = {f"{module}.rst": page(module, names, known) for module, names in modules.items()}
    contents = "\n   ".join(sorted(modules))
    pages["index.rst"] = f"Reference\n=========\n\n.. toctree::\n   :maxdepth: 1\n\n   {contents}\n"
    for old in folder.glob("*.rst"):
        if old.name not in pages:
            old.unlink()
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    return sum(map(len, modules.values()))
