"""A process that compiles more programs than it has memory mappings for."""

import itertools
import subprocess
import sys
from pathlib import Path

import pytest

ALLOWED = Path("/proc/sys/vm/max_map_count")
FEW = ALLOWED.exists() and int(ALLOWED.read_text()) < 1 << 17
pytestmark = pytest.mark.skipif(not FEW, reason="Linux alone counts mappings; some allow millions")

START = """
import ctypes, sys
import effax, effax.numpy as jnp
from effax.backends.xla import compile

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

allowed = int(open("/proc/sys/vm/max_map_count").read())
"""


def run(program):
    found = subprocess.run(
        [sys.executable, "-c", START + program], capture_output=True, text=True, timeout=300
    )
    assert found.returncode == 0, (found.returncode, found.stderr[-2000:])
    return found


def test_programs_are_dropped_before_mappings_run_short():
    found = run("""
fill(int(0.75 * allowed) - 200)
x = jnp.arange(3.0)
kept = [effax.jit(lambda a, i=i: jnp.sin(a).sum() + i) for i in range(80)]
counts = []
for f in kept:
    f(x)
    counts.append(used())
assert abs(kept[0](x) - jnp.sin(x).sum()) < 1e-6
print(*counts, int(0.75 * allowed))
""")
    *counts, enough = map(int, found.stdout.split())
    steps = [later - earlier for earlier, later in itertools.pairwise(counts)]
    assert min(steps) < -30  # programs went; one from the disk has three mappings
    assert counts[steps.index(min(steps))] - enough < 200  # soon after there were enough of them
    assert "the caches of compiled programs were cleared" in found.stderr


def test_where_none_can_be_dropped_it_is_said_and_the_process_goes_on():
    found = run("""
empty = fill(allowed - 100)
try:
    effax.jit(lambda a: a + 1)(jnp.arange(3.0))
except MemoryError as error:
    assert "vm.max_map_count" in str(error)
else:
    sys.exit("compiled without room")
empty()
assert effax.jit(lambda a: a + 1)(jnp.arange(3.0)).tolist() == [1, 2, 3]
""")
    assert "Traceback" not in found.stderr
