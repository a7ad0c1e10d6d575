"""The names of jaxlib that the library uses are there, in each version that is supported."""

import ast
import os
import subprocess
import sys
import tomllib
from functools import reduce

import pytest
from packaging.requirements import Requirement

from effax.effects import runtime
from tests.architecture.sources import ROOT, library_files


def mentioned():
    """Dotted names that begin with a module of jaxlib: `_jax.DeviceList`, with their files."""
    found = {}
    for path in library_files():
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        bound = {
            alias.asname or alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module == "effax.effects.runtime"
            for alias in node.names
            if alias.name in runtime.MODULES
        }
        inner = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and id(node) not in inner:
                *parts, root = _chain(node)
                if root in bound:
                    found.setdefault((root, *reversed(parts)), set()).add(str(path))
    return found


def _chain(node):
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return [*parts, node.id] if isinstance(node, ast.Name) else [*parts, ""]


def test_every_name_is_there():
    names = mentioned()
    assert len(names) >= 70, "the search for names misses most of them"
    missing = {}
    for (module, *path), files in names.items():
        try:
            reduce(getattr, path, getattr(runtime, module))
        except AttributeError:
            missing[".".join((module, *path))] = sorted(files)
    assert not missing, f"jaxlib {runtime.jaxlib_version} lacks {missing}"


@pytest.mark.parametrize("version", [*runtime.SUPPORTED, "0.11.2", "0.12.1", "9.9"])
def test_other_versions_are_refused_by_name(version, monkeypatch):
    monkeypatch.delenv(runtime.OVERRIDE, raising=False)
    if version in runtime.SUPPORTED:
        runtime.check_version(version)
        return
    with pytest.raises(ImportError, match=rf"jaxlib {version} is installed.*{runtime.OVERRIDE}=1"):
        runtime.check_version(version)
    monkeypatch.setenv(runtime.OVERRIDE, "1")
    runtime.check_version(version)


@pytest.mark.parametrize(("override", "code"), [("", 1), ("0", 1), ("1", 0)])
def test_an_import_with_another_version(override, code):
    program = "import jaxlib.version as v; v.__version__ = '0.11.2'; import effax"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, runtime.OVERRIDE: override},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == code, done.stderr
    assert code == 0 or "ImportError: effax supports jaxlib 0.10.2" in done.stderr


def test_the_package_asks_for_the_versions_that_are_supported():
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (found,) = [r for r in map(Requirement, asked["dependencies"]) if r.name == "jaxlib"]
    for version in runtime.SUPPORTED:
        assert version in found.specifier
    for version in ("0.10.1", "0.11.0", "0.11.2", "0.12.0", "0.12.1", "0.13.0"):
        assert version not in found.specifier
