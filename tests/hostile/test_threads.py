"""Threads that launch collectives at the same time, on several counts of threads and devices."""

import os
import subprocess
import sys

import pytest

from tests.architecture.sources import ROOT

CODE = """
import sys, threading
import effax, effax.numpy as jnp
from effax.sharding import PartitionSpec as P
devices, count = int(sys.argv[1]), int(sys.argv[2])
x = jnp.arange(float(devices))
mesh = effax.make_mesh((devices,), ("i",))
mapped = effax.pmap(lambda x: effax.lax.psum(x, "i"), axis_name="i")
cut = effax.jit(effax.shard_map(
    lambda x: effax.lax.psum(x, "i"), mesh=mesh, in_specs=P("i"), out_specs=P()
))
found = []
def work(f):
    for _ in range(300):
        y = f(x)
    found.append(float(y.ravel()[0]))
threads = [threading.Thread(target=work, args=([mapped, cut][i % 2],)) for i in range(count)]
[t.start() for t in threads]
[t.join() for t in threads]
assert found == [float(sum(range(devices)))] * count, found
"""


@pytest.mark.parametrize(("devices", "count"), [(2, 2), (4, 4), (8, 4)])
def test_threads_that_launch_collectives(devices, count):
    flags = f"--xla_force_host_platform_device_count={devices}"
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(devices), str(count)],
        env={**os.environ, "XLA_FLAGS": flags},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr[-800:]
