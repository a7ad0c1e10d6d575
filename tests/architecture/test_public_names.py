"""The public surface, as a text file: a change of it shows in review.

Accept a change with `make names`.
"""

import importlib
import importlib.util
import inspect
import json
import os
from collections.abc import Iterator
from itertools import filterfalse

import pytest

import effax
from tests.architecture.sources import KERNEL, ROOT, library_files, module_name

JAX_NAMES = ROOT / "tests" / "goldens" / "jax_names.json"
RECORD = ROOT / "tests" / "architecture" / "public_names.txt"


def public_modules() -> list[str]:
    """`effax`, its packages and the modules directly in it; not the kernel, nor files inside packages."""
    return [
        module_name(path)
        for path in library_files()
        if path.parts[0] not in KERNEL
        and (path.name == "__init__.py" or len(path.parts) == 2)
        and not any(
            part.startswith("_") for part in path.with_suffix("").parts if part != "__init__"
        )
    ]


def names_of(module) -> list[str]:
    """`__all__` where a module has one; else what it holds of ours, other modules' names aside."""
    if "__all__" in vars(module):
        return list(module.__all__)
    package = hasattr(module, "__path__")
    # `dir` knows what is imported when it is first named, too.
    return [
        name
        for name, value in ((name, getattr(module, name)) for name in dir(module))
        if not name.startswith("_")
        and not inspect.ismodule(value)
        and (package or getattr(value, "__module__", None) == module.__name__)
    ]


def inner_modules() -> dict[str, list[str]]:
    """Files inside packages that are public, as in JAX (`numpy.linalg`), and those of their names.

    With each distribution of `scipy.stats`, whose functions are the file's own.
    """
    outer, found = set(public_modules()), {}
    for module, names in json.loads(JAX_NAMES.read_text(encoding="utf-8"))["modules"].items():
        name = "effax" + module.removeprefix("jax")
        if name not in outer and importlib.util.find_spec(name) is not None:
            held = importlib.import_module(name)
            found[name] = [n for n in names if hasattr(held, n)]
    stats = importlib.import_module("effax.scipy.stats")
    for module in vars(stats).values():
        if inspect.ismodule(module) and any(f.endswith(("pdf", "pmf")) for f in vars(module)):
            found[module.__name__] = [f for f in names_of(module) if callable(getattr(module, f))]
    return found


def public_names() -> Iterator[str]:
    for name in public_modules():
        yield from (f"{name}.{each}" for each in sorted(names_of(importlib.import_module(name))))
    for name, names in sorted(inner_modules().items()):
        yield from (f"{name}.{each}" for each in sorted(names))


def test_public_names_are_the_recorded_ones():
    found = list(public_names())
    if os.environ.get("EFFAX_UPDATE_PUBLIC_NAMES"):
        RECORD.write_text("\n".join(found) + "\n", encoding="utf-8")
    recorded = RECORD.read_text(encoding="utf-8").split() if RECORD.exists() else []
    added, removed = sorted(set(found) - set(recorded)), sorted(set(recorded) - set(found))
    assert not added and not removed, (
        f"added: {added}\nremoved: {removed}\naccept with `make names`"
    )


def test_every_public_name_exists():
    for name in public_names():
        module, _, attribute = name.rpartition(".")
        assert hasattr(importlib.import_module(module), attribute), (
            f"{name} is in __all__ but not there"
        )


INTERNAL = {
    "effax.api",
    "effax.as_jax.door",
    "effax.eager",
    "effax.keys",
    "effax.operands",
    "effax.seeing",
}
INTERNAL |= {"effax.names", "effax.version"}
"""Modules beside the public ones, which programs have no reason to look into, as what is inside."""


def _is_internal(module: str) -> bool:
    return any(f"{module}.".startswith(f"{name}.") for name in INTERNAL)


SHOWN = sorted(filterfalse(_is_internal, {*public_modules(), *inner_modules()}))


@pytest.mark.parametrize("name", SHOWN)
def test_tab_completion_shows_what_is_public(name):
    module = importlib.import_module(name)
    shown = dir(module)
    assert shown == sorted(module.__all__)
    assert not [n for n in shown if n.startswith("_") or not hasattr(module, n)]
    modules = [n for n in shown if inspect.ismodule(getattr(module, n))]
    assert all(getattr(module, n).__name__.startswith("effax.") for n in modules), modules
    assert not {"Any", "Callable", "annotations", "jnp", "np", "whole"}.intersection(shown)


def test_versions_are_told():
    """Programs written for JAX compare them; names that begin so are in no list."""
    assert effax.__version__ == effax.version.__version__
    assert effax.__version_info__ >= (0, 10)
