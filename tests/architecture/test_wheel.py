"""The wheel, built the way `make dist` builds it, works away from the checkout."""

import fcntl
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT, library_files

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    pytest.importorskip("build")
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "-o", str(folder), str(ROOT)]
    with open(folder.parents[1] / "wheel.lock", "w") as lock:  # workers build in one checkout
        fcntl.flock(lock, fcntl.LOCK_EX)
        built = subprocess.run(command, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr
    assert len(list(folder.glob("*.tar.gz"))) == 1
    return next(folder.glob("*.whl"))


def test_wheel_holds_every_module(wheel):
    held = {name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".py")}
    paths = {
        "/".join(path.parts if path.parts[0] == "effax" else ("effax", *path.parts))
        for path in library_files()
    }
    assert held == paths


def test_wheel_runs_away_from_the_checkout(wheel, tmp_path):
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path / 'site')!r})\n"
        "import effax, effax.effects, effax.interpreters, effax.backends\n"
        "print(effax.effects.__file__)"
    )
    command = [sys.executable, "-P", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(tmp_path))


def test_errors_name_pages_that_the_wheel_holds(wheel, tmp_path):
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path / 'site')!r})\n"
        "import effax; print(effax.errors.TracerBoolConversionError.guide())"
    )
    command = [sys.executable, "-P", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    page = ROOT / "docs/errors/TracerBoolConversionError.md"
    assert Path(done.stdout.strip()).read_text() == page.read_text(), done.stderr


def test_the_tutorial_needs_nothing_but_the_wheel(wheel, tmp_path):
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    page = (ROOT / "docs/tutorial.md").read_text(encoding="utf-8")
    (tmp_path / "tutorial.md").write_text(page, encoding="utf-8")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path / 'site')!r})\n"
        "import doctest\n"
        "flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE\n"
        "print(doctest.testfile('tutorial.md', module_relative=False, optionflags=flags))"
    )
    command = [sys.executable, "-P", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert "failed=0" in done.stdout, done.stdout + done.stderr
