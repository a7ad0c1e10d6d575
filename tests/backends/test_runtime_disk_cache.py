"""Executables on disk: hits, damage, limits, sharing."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from effax.backends.xla.array import Array, asarray
from effax.backends.xla.disk_cache import DiskCache, digest, eager_cache, program_cache
from effax.backends.xla.executable import compile_text
from effax.backends.xla.placement import default
from effax.effects.config import (
    compilation_cache_dir,
    config,
    eager_cache_dir,
    persistent_cache_min_compile_time_secs,
    raise_persistent_cache_errors,
)
from effax.effects.types import ShapedArray
from tests.architecture.sources import ROOT
from tests.backends.runtime_programs import add, callback

pytestmark = pytest.mark.cpu

VECTOR = ShapedArray((3,), "float32")


@pytest.fixture
def directory(tmp_path):
    with eager_cache_dir(str(tmp_path)):
        yield tmp_path


def sum_of_ones(**options):
    executable = compile_text(
        add("tensor<3xf32>"), placement=default(), out_types=[VECTOR], **options
    )
    x = asarray(np.ones(3)).buffer
    return Array(executable.execute([x, x])[0], executable.out_specs[0]).tolist()


def test_an_operation_is_kept_and_found(directory):
    assert sum_of_ones(single_op=True) == [2, 2, 2]
    (entry,) = directory.iterdir()
    os.utime(entry, (0, 0))
    written = entry.read_bytes()
    assert sum_of_ones(single_op=True) == [2, 2, 2]
    assert list(directory.iterdir()) == [entry] and entry.read_bytes() == written
    assert entry.stat().st_mtime > 0, "found, and marked as used"


@pytest.mark.parametrize("damage", ["truncated", "flipped", "empty", "foreign"])
def test_a_damaged_entry_is_written_anew(directory, damage):
    sum_of_ones(single_op=True)
    (entry,) = directory.iterdir()
    good = entry.read_bytes()
    if damage == "foreign":  # whole, and not an executable
        DiskCache(directory).store(entry.stem, b"not an executable")
    else:
        flipped = bytes([good[-1] ^ 255])
        bad = {"truncated": good[:100], "flipped": good[:-1] + flipped, "empty": b""}[damage]
        entry.write_bytes(bad)
    with pytest.warns(UserWarning, match="is ignored"):
        assert sum_of_ones(single_op=True) == [2, 2, 2]
    assert sum_of_ones(single_op=True) == [2, 2, 2]


def test_damage_may_be_made_an_error(directory):
    sum_of_ones(single_op=True)
    (entry,) = directory.iterdir()
    entry.write_bytes(b"")
    with raise_persistent_cache_errors(True), pytest.raises(RuntimeError, match="is ignored"):
        sum_of_ones(single_op=True)


def test_programs_are_kept_only_where_asked(directory, tmp_path_factory):
    sum_of_ones()
    assert not list(directory.iterdir())
    where = tmp_path_factory.mktemp("programs")
    with compilation_cache_dir(str(where)):
        sum_of_ones()
        assert not list(where.iterdir()), "it took no time to compile"
        with persistent_cache_min_compile_time_secs(0.0):
            sum_of_ones()
            sum_of_ones(persistent=False)
        assert len(list(where.iterdir())) == 1
    assert program_cache() is None


def test_callbacks_are_not_kept(directory):
    compile_text(
        callback(),
        placement=default(),
        out_types=[VECTOR],
        host_callbacks=[lambda a: (a,)],
        single_op=True,
    )
    assert not list(directory.iterdir())


def test_a_directory_that_cannot_be_made_is_said_once(tmp_path, caplog):
    caplog.set_level("INFO", "effax")
    (tmp_path / "file").write_text("")
    with eager_cache_dir(str(tmp_path / "file" / "below")):
        assert sum_of_ones(single_op=True) == [2, 2, 2]
        assert sum_of_ones(single_op=True) == [2, 2, 2]
    (said,) = [(r.levelname, r.getMessage()) for r in caplog.records if r.name == "effax"]
    assert said[0] == "INFO" and "can't keep executables" in said[1]


@pytest.mark.parametrize(("least", "kept"), [("60", "0"), ("0", "1")])
def test_programs_of_jit_are_found_by_the_next_process(tmp_path, least, kept):
    """Only programs that were called are kept, and of long ones those that were slow to compile."""
    code = """
import effax
def short(x): return x * 2 + 1
def long(x): return sum(x * i for i in range(200))
effax.jit(lambda x: x - 7).lower(1.0).compile()
assert float(effax.jit(short)(3.0)) == 7 and float(effax.jit(long)(1.0)) == 19900
print(*[effax.stats().named(name).disk_cache_hits for name in ("short", "long", "<lambda>")])
"""
    (tmp_path / "program.py").write_text(code)
    environment = {**os.environ, "EFFAX_CACHE_DIR": str(tmp_path), "EFFAX_EAGER_CACHE": "1"}
    environment["PYTHONPATH"] = str(ROOT)
    environment["EFFAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = least
    for expected in (["0", "0", "0"], ["1", kept, "0"]):
        command = [sys.executable, str(tmp_path / "program.py")]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert done.stdout.split() == expected
        assert len([*tmp_path.glob("*.xla")]) == 1 + int(kept)


def test_it_can_be_turned_off():
    with config_off():
        assert eager_cache() is None


def config_off():
    from effax.effects.config import eager_cache as option

    return option(False)


def test_keys_depend_on_every_part():
    keys = {digest(parts) for parts in [("a", "b"), ("ab",), ("a", b"b", ""), ("b", "a"), ()]}
    assert len(keys) == 5
    assert digest(("a", "b")) == digest((b"a", b"b"))


def test_the_limit_holds(tmp_path):
    cache = DiskCache(tmp_path, limit=2000)
    for i in range(20):
        cache.store(f"{i}", bytes(200))
        os.utime(cache.path(f"{i}"), (i, i))
    for name, age in ((".writing-old", 0), (".writing-new", None)):
        (tmp_path / name).write_bytes(b"")
        if age is not None:
            os.utime(tmp_path / name, (age, age))
    cache.sweep()
    assert [path.name for path in tmp_path.glob(".*")] == [".writing-new"]
    (tmp_path / ".writing-new").unlink()
    kept = sorted(int(path.stem) for path in tmp_path.iterdir())
    assert kept == list(range(20 - len(kept), 20)) and 4 <= len(kept) <= 8


def test_the_limit_holds_while_entries_are_written(tmp_path):
    cache = DiskCache(tmp_path, limit=100_000)
    for i in range(40):
        cache.store(f"{i}", bytes(20_000))
        os.utime(cache.path(f"{i}"), (i, i))
        assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 100_000
    assert cache.load("39") == bytes(20_000) and cache.load("0") is None


def test_processes_write_and_sweep_at_the_same_time(tmp_path):
    """Entries are read whole, whoever else writes or sweeps; at the end the limit holds."""
    code = f"""
import sys, warnings
warnings.simplefilter("error")
from pathlib import Path
from effax.backends.xla.disk_cache import DiskCache
cache = DiskCache(Path({str(tmp_path)!r}), limit=200_000)
for i in range(300):
    key = str(i % 23)
    cache.store(key, key.encode() * 5_000)
    found = cache.load(str((i * 7) % 23))
    assert found is None or found == str((i * 7) % 23).encode() * 5_000
cache.sweep()
"""
    running = [subprocess.Popen([sys.executable, "-c", code], cwd=ROOT) for _ in range(3)]
    assert [process.wait() for process in running] == [0, 0, 0]
    assert sum(path.stat().st_size for path in tmp_path.glob("*.xla")) <= 200_000
    assert not list(tmp_path.glob(".writing-*"))


def test_many_writers_of_one_entry(tmp_path):
    cache = DiskCache(tmp_path)
    payloads = [bytes([i]) * 100_000 for i in range(8)]
    seen = []

    def work(payload):
        for _ in range(20):
            cache.store("key", payload)
            seen.append(cache.load("key"))

    threads = [threading.Thread(target=work, args=(p,)) for p in payloads]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 160 and set(seen) <= set(payloads)
    assert [path.name for path in tmp_path.iterdir()] == ["key.xla"]


def test_processes_share_and_the_environment_chooses(tmp_path):
    code = """
import tests.backends.test_runtime_disk_cache as t
from effax.backends.xla import compile as compiling
assert t.sum_of_ones(single_op=True) == [2, 2, 2]
"""
    for name, value, entries in [
        ("EFFAX_CACHE_DIR", tmp_path / "a", 1),
        ("EFFAX_CACHE_DIR", tmp_path / "a", 1),
        ("XDG_CACHE_HOME", tmp_path / "b", 1),
    ]:
        environment = {k: v for k, v in os.environ.items() if k != "EFFAX_CACHE_DIR"}
        environment[name] = str(value)
        subprocess.run([sys.executable, "-c", code], env=environment, cwd=ROOT, check=True)
        assert len(list(value.rglob("*.xla"))) == entries
    environment |= {"EFFAX_EAGER_CACHE": "0", "XDG_CACHE_HOME": str(tmp_path / "c")}
    subprocess.run([sys.executable, "-c", code], env=environment, cwd=ROOT, check=True)
    assert not (tmp_path / "c").exists()
    assert config.eager_cache
