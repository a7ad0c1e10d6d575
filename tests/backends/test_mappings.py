"""A process that compiles more programs than it has memory mappings for."""

import itertools
import subprocess
import sys
from pathlib import Path

import pytest

MAPPINGS = Path("/proc/self/maps")
pytestmark = pytest.mark.skipif(not MAPPINGS.exists(), reason="Linux alone counts mappings")
ALLOWED = 40_000
"""The limit that the processes here take for the system's, which may be millions."""

START = """
import ctypes, pathlib, sys
import effax, effax.numpy as jnp
from effax.backends.xla import compile, mappings

def used():
    return sum(1 for _ in open("/proc/self/maps"))

def fill(until):
    # Pages that may be written between pages that may not: a mapping each.
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    pages = (until - used()) // 2 * 2
    start = libc.mmap(None, ctypes.c_size_t(4096 * pages), 3, 0x22, -1, ctypes.c_long(0))
    for i in range(0, pages, 2):
        libc.mprotect(ctypes.c_void_p(start + 4096 * i), ctypes.c_size_t(4096), 1)
    compile._loads_before_count[0] = 0
    return lambda: libc.munmap(ctypes.c_void_p(start), ctypes.c_size_t(4096 * pages))

mappings._ALLOWED = pathlib.Path(sys.argv[1])
allowed = int(mappings._ALLOWED.read_text())
"""


def run(program, folder):
    limit = folder / "max_map_count"
    limit.write_text(f"{ALLOWED}\n")
    found = subprocess.run(
        [sys.executable, "-c", START + program, str(limit)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert found.returncode == 0, (found.returncode, found.stderr[-2000:])
    return found


def test_programs_are_dropped_before_mappings_run_short(tmp_path):
    program = """
fill(int(0.75 * allowed) - 200)
x = jnp.arange(3.0)
kept = [effax.jit(lambda a, i=i: jnp.sin(a).sum() + i) for i in range(80)]
counts = []
for f in kept:
    f(x)
    counts.append(used())
assert abs(kept[0](x) - jnp.sin(x).sum()) < 1e-6
print(*counts, int(0.75 * allowed))
"""
    found = run(program, tmp_path)
    *counts, enough = map(int, found.stdout.split())
    steps = [later - earlier for earlier, later in itertools.pairwise(counts)]
    assert min(steps) < -30  # programs went; one from the disk has three mappings
    assert counts[steps.index(min(steps))] - enough < 200  # soon after there were enough of them
    assert "the caches of compiled programs were cleared" in found.stderr


def test_where_none_can_be_dropped_it_is_said_and_the_process_goes_on(tmp_path):
    program = """
empty = fill(allowed - 100)
try:
    effax.jit(lambda a: a + 1)(jnp.arange(3.0))
except MemoryError as error:
    assert "vm.max_map_count" in str(error)
else:
    sys.exit("compiled without room")
empty()
assert effax.jit(lambda a: a + 1)(jnp.arange(3.0)).tolist() == [1, 2, 3]
"""
    found = run(program, tmp_path)
    assert "Traceback" not in found.stderr
