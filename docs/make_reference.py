"""Write the reference: every public name with its signature and its docstring, a page per module.

python docs/make_reference.py FOLDER      (`make docs` puts it into build/reference)

The names are those that `tests/architecture/public_names.txt` records, so a name can't be public
without being here. The examples in docstrings are run as tests, where they stand.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

NAMES = Path(__file__).parents[1] / "tests" / "architecture" / "public_names.txt"


def public() -> dict[str, list[str]]:
    """The public names of each module."""
    found: dict[str, list[str]] = defaultdict(list)
    for line in NAMES.read_text(encoding="utf-8").splitlines():
        module, _, name = line.rpartition(".")
        found[module].append(name)
    return dict(found)


def entry(module: str, name: str) -> str:
    """One name: its signature, and what its docstring says."""
    thing = getattr(importlib.import_module(module), name)
    text = inspect.cleandoc(inspect.getdoc(thing) or "") if _speaks(thing) else ""
    return f"## `{name}{_signature(thing)}`\n\n{_quoted(text)}\n"


def _speaks(thing: Any) -> bool:
    """Whether its docstring is its own, and not that of its class."""
    ours = (getattr(thing, "__module__", None) or "").startswith("effax")
    return ours and (inspect.getdoc(thing) != inspect.getdoc(type(thing)) or inspect.isclass(thing))


def _signature(thing: Any) -> str:
    if not callable(thing):
        return ""
    try:
        return str(inspect.signature(thing)).replace("'", "")
    except (TypeError, ValueError):  # no signature is known of some that are written in C
        return "(...)"


def _quoted(text: str) -> str:
    return f"```text\n{text}\n```" if text else ""


def page(module: str, names: list[str]) -> str:
    """The page of a module."""
    about = inspect.cleandoc(importlib.import_module(module).__doc__ or "")
    entries = "\n".join(entry(module, name) for name in sorted(names))
    return f"# {module}\n\n{about}\n\n{entries}"


def write(folder: Path) -> int:
    """Write all pages and an index into a folder; the number of names."""
    folder.mkdir(parents=True, exist_ok=True)
    modules = public()
    for module, names in modules.items():
        (folder / f"{module}.md").write_text(page(module, names), encoding="utf-8")
    index = "\n".join(f"- [{m}]({m}.md): {len(n)} names" for m, n in sorted(modules.items()))
    (folder / "index.md").write_text(f"# Reference\n\n{index}\n", encoding="utf-8")
    return sum(map(len, modules.values()))


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "build/reference")
    print(f"{write(target)} names in {target}")
