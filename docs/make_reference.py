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


def public() -> dict[str, list[str]]:
    """The public names of each module."""
    found: dict[str, list[str]] = defaultdict(list)
    for line in NAMES.read_text(encoding="utf-8").splitlines():
        module, _, name = line.rpartition(".")
        found[module].append(name)
    return dict(found)


def homes(modules: dict[str, list[str]]) -> dict[int, str]:
    """The full name under which each object is described: the shortest of its public names."""
    found: dict[int, str] = {}
    for module in sorted(modules, key=lambda m: (m.count("."), m)):
        for name in modules[module]:
            thing = getattr(importlib.import_module(module), name)
            if callable(thing):
                found.setdefault(id(thing), f"{module}.{name}")
    return found


def page(module: str, names: list[str], homes: dict[int, str]) -> str:
    """The page of a module, as reStructuredText; names described elsewhere are listed first."""
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
    return (
        f"{module}\n{'=' * len(module)}\n\n.. automodule:: {module}\n"
        f"   :members: {', '.join(own)}\n   :undoc-members:\n\n"
        f"{'Described elsewhere' if elsewhere else ''}\n{'-' * 20 if elsewhere else ''}\n\n"
        f"{''.join(elsewhere)}"
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
