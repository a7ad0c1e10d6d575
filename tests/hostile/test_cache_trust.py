"""Executables on disk are native code: what another user may have written is never loaded."""

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from effax.backends.xla import disk_cache
from effax.backends.xla.disk_cache import DiskCache, eager_cache
from effax.effects.config import raise_persistent_cache_errors
from tests.architecture.sources import ROOT

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="owners are POSIX's")
AS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
needs_root = pytest.mark.skipif(not AS_ROOT, reason="only root gives files away")


@pytest.fixture
def said(caplog):
    """The messages of the library's logger."""
    caplog.set_level("INFO", "effax")
    return lambda: [r.getMessage() for r in caplog.records if r.name == "effax"]


@pytest.fixture
def readable():
    """A temporary directory that other users may enter."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        yield Path(name)


def kept(directory):
    """A cache with one entry."""
    cache = DiskCache(directory)
    cache.store("key", b"code")
    assert cache.load("key") == b"code"
    return cache


@needs_root
@pytest.mark.parametrize("which", ["entry", "directory"])
def test_what_another_user_owns_is_not_loaded(tmp_path, said, which):
    cache = kept(tmp_path / "cache")
    os.chown(cache.path("key") if which == "entry" else cache.directory, 12345, 12345)
    opened = DiskCache(cache.directory)
    assert [opened.load("key"), opened.load("key")] == [None, None]
    (message,) = said()
    assert "belongs to user 12345" in message


@pytest.mark.parametrize("which", ["entry", "directory"])
@pytest.mark.parametrize("bit", [stat.S_IWGRP, stat.S_IWOTH])
def test_what_others_may_write_to_is_not_loaded(tmp_path, said, which, bit):
    cache = kept(tmp_path / "cache")
    where = cache.path("key") if which == "entry" else cache.directory
    where.chmod(where.stat().st_mode | bit | stat.S_ISVTX)
    opened = DiskCache(cache.directory)
    assert opened.load("key") is None
    assert "lets other users write to it" in said()[0]
    with raise_persistent_cache_errors(True), pytest.raises(RuntimeError, match="other users"):
        opened.load("key")
    opened.store("key", b"new")
    written = DiskCache(cache.directory).path("key").read_bytes()
    assert written.endswith(b"new") == (which == "entry"), "nothing is kept where others write"


def test_an_entry_under_another_key_is_not_loaded(tmp_path):
    """The digest covers the key: a valid entry that is moved does not pass for another."""
    cache = kept(tmp_path)
    shutil.copy(cache.path("key"), cache.path("other"))
    cache.path("other").chmod(0o600)
    with pytest.warns(UserWarning, match="do not fit their digest"):
        assert cache.load("other") is None
    assert not cache.path("other").exists() and cache.load("key") == b"code"


def test_damage_costs_one_warning_even_where_warnings_are_errors(tmp_path):
    cache = kept(tmp_path)
    cache.path("key").write_bytes(b"damaged")
    with pytest.raises(UserWarning, match="is ignored"):  # pytest makes warnings errors
        cache.load("key")
    assert cache.load("key") is None


def test_links_and_pipes_are_not_entries(tmp_path):
    cache = kept(tmp_path / "cache")
    cache.path("key").rename(tmp_path / "elsewhere")
    cache.path("key").symlink_to(tmp_path / "elsewhere")
    assert cache.load("key") is None
    os.mkfifo(cache.path("pipe"), 0o600)
    assert cache.load("pipe") is None, "and nobody waited for a writer"
    cache.store("pipe", b"code")
    assert cache.load("pipe") == b"code"


@needs_root
def test_an_unwritable_directory_is_no_warning_per_operation(readable):
    """As nobody, under `-W error`: operations run, and nothing is printed."""
    directory = readable / "cache"
    directory.mkdir(mode=0o755)
    code = f"""
import hashlib, logging, os, tempfile
from pathlib import Path
from effax.backends.xla.disk_cache import DiskCache
os.setgid(65534); os.setuid(65534)
cache = DiskCache(Path({str(directory)!r}))
for i in range(3):
    assert cache.load(str(i)) is None
    cache.store(str(i), b"code")
logging.basicConfig(level="INFO")
logging.getLogger("effax").setLevel("INFO")
other = DiskCache(Path({str(directory)!r}))
other.store("a", b"code"); other.store("b", b"code")
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("can't keep executables") == 1


def chosen(monkeypatch, **variables):
    for name in ("EFFAX_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    disk_cache.reset()
    try:
        return str(eager_cache().directory)
    finally:
        disk_cache.reset()


def test_variables_that_are_empty_or_relative_are_ignored(monkeypatch, tmp_path):
    home = str(tmp_path)
    usual = f"{home}/.cache/effax"
    assert chosen(monkeypatch, HOME=home) == usual
    assert chosen(monkeypatch, HOME=home, XDG_CACHE_HOME=f"{home}/x") == f"{home}/x/effax"
    for bad in ("", "cache", "./cache", "~/cache"):
        assert chosen(monkeypatch, HOME=home, XDG_CACHE_HOME=bad, EFFAX_CACHE_DIR=bad) == usual
    assert chosen(monkeypatch, HOME=home, EFFAX_CACHE_DIR="/c", XDG_CACHE_HOME="/x") == "/c"


@pytest.mark.parametrize("home", [{}, {"HOME": ""}, {"HOME": "/"}, {"HOME": "relative"}])
def test_without_a_home_the_directory_is_private_and_temporary(monkeypatch, tmp_path, home):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    where = chosen(monkeypatch, **home)
    assert where == f"{tmp_path}/effax-{os.geteuid()}"
    cache = kept(Path(where))
    assert stat.S_IMODE(cache.directory.stat().st_mode) == 0o700
    assert stat.S_IMODE(cache.path("key").stat().st_mode) == 0o600


@needs_root
def test_a_user_without_a_name_and_a_home(readable):
    """A container may have neither: no `./~` appears, and the cache is private."""
    work = readable / "work"
    work.mkdir()
    work.chmod(0o777)
    code = """
import hashlib, os, tempfile
from effax.backends.xla.disk_cache import eager_cache
os.setgid(54321); os.setuid(54321)
cache = eager_cache()
cache.store("key", b"code")
assert cache.load("key") == b"code"
assert os.stat(cache.directory).st_mode & 0o777 == 0o700
"""
    environment = {"PATH": os.environ["PATH"], "TMPDIR": str(work), "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", code], env=environment, cwd=work, check=True)
    assert [path.name for path in work.iterdir()] == ["effax-54321"]
