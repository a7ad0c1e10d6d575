"""Every folder with modules is shipped, and the links show static tools what the wheel will hold."""

import os
import runpy
import tomllib

import pytest
import setuptools

from tests.architecture.sources import KERNEL, ROOT, library_files, listing, module_name

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGE_DIR = PROJECT["tool"]["setuptools"]["package-dir"]


def shipped(monkeypatch: pytest.MonkeyPatch) -> dict:
    """The arguments that setup.py computes, and its table of roots."""
    arguments: dict = {}
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(setuptools, "setup", arguments.update)
    return arguments | {"ROOTS": runpy.run_path("setup.py")["ROOTS"]}


def test_packages_are_those_on_the_disk(monkeypatch):
    folders = {folder for path in library_files() for folder in path.parents if folder.name}
    bare = sorted(folder for folder in folders if not (ROOT / folder / "__init__.py").exists())
    assert not bare, listing(
        [f"{folder} would not be shipped: add {folder}/__init__.py" for folder in bare]
    )
    expected = {module_name(folder / "__init__.py") for folder in folders}
    assert set(shipped(monkeypatch)["packages"]) == expected | {"effax.error_pages"}


def test_setup_and_pyproject_name_the_same_roots(monkeypatch):
    assert shipped(monkeypatch)["ROOTS"] == PACKAGE_DIR


@pytest.mark.parametrize("name", KERNEL)
def test_link(name):
    link = ROOT / "effax" / name
    assert PACKAGE_DIR[f"effax.{name}"] == name
    assert link.is_symlink(), f"effax/{name} must be a link: ln -s ../{name} effax/{name}"
    assert os.readlink(link) == f"../{name}"


@pytest.mark.parametrize("name", KERNEL)
def test_module_has_one_name(name):
    """`import effects` from the root would make a second copy of every class."""
    with pytest.raises(ImportError, match=f"as effax.{name}"):
        runpy.run_path(str(ROOT / name / "__init__.py"), run_name=name)


def test_the_citation_is_of_this_version():
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8").splitlines()
    assert f"version: {PROJECT['project']['version']}" in cited


def test_types_are_announced():
    assert (ROOT / "effax" / "py.typed").exists()


def test_every_requirement_has_its_digests():
    """`make` installs with `--require-hashes`, which refuses a file with one that has none."""
    complaints = []
    for path in sorted((ROOT / "requirements").glob("*.txt")):
        logical = path.read_text(encoding="utf-8").replace("\\\n", " ")
        complaints += [
            f"{path.name}: {line}"
            for line in logical.splitlines()
            if line and not line.startswith(("#", "-r ")) and "--hash=sha256:" not in line
        ]
    assert not complaints, listing(complaints)
