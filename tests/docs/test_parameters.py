"""Every public function's docstring names its parameters."""

import importlib
import inspect
import re

import pytest

from tests.docs.test_reference import _script

ANY = {"self", "args", "kwargs", "keywords"}


def _package(module: str) -> str:
    return ".".join(module.split(".")[:2])


def _unnamed(function) -> list[str]:
    """The parameters that a function's docstring does not speak of before its example."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):  # written in C, without a signature
        return []
    text = (inspect.getdoc(function) or "").partition(">>>")[0]
    return [p for p in parameters if p not in ANY and not re.search(rf"\b{re.escape(p)}\b", text)]


@pytest.mark.parametrize("package", sorted(set(map(_package, _script().public()))))
def test_parameters_are_named(package):
    found = {}
    for module, names in _script().public().items():
        if _package(module) == package:
            held = importlib.import_module(module)
            for name in names:
                thing = getattr(held, name)
                ours = (getattr(thing, "__module__", None) or "").startswith("effax")
                if ours and inspect.isroutine(thing) and (unnamed := _unnamed(thing)):
                    found[f"{module}.{name}"] = unnamed
    assert not found
