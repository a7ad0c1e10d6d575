"""The generated reference holds every public name, and each of our functions says what it does."""

import importlib
import inspect
import sys

from tests.architecture.sources import ROOT


def _script():
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        return importlib.import_module("make_reference")
    finally:
        sys.path.pop(0)


def test_every_name_has_an_entry(tmp_path):
    script = _script()
    assert script.write(tmp_path) == sum(map(len, script.public().values())) > 900
    for module, names in script.public().items():
        text = (tmp_path / f"{module}.md").read_text(encoding="utf-8")
        assert [n for n in names if f"## `{n}" not in text] == []


def test_functions_have_docstrings():
    silent = []
    for module, names in _script().public().items():
        for name in names:
            thing = getattr(importlib.import_module(module), name)
            ours = (getattr(thing, "__module__", None) or "").startswith("effax")
            if ours and inspect.isroutine(thing) and not inspect.getdoc(thing):
                silent.append(f"{module}.{name}")
    assert silent == []
