"""`inspect_array_sharding` and the pictures of placements; profiles of programs."""

import gzip
import os
import subprocess
import sys

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import profiler


def test_placements_are_told():
    told = []
    here = effax.devices()[0]
    effax.debug.inspect_array_sharding({"a": jnp.ones(2), "b": 1.0}, callback=told.append)
    assert [s.device_set for s in told] == [{here}, {here}]

    @effax.jit
    def f(x):
        effax.debug.inspect_array_sharding(x, callback=told.append)
        return x + 1

    assert f(jnp.ones(2)).tolist() == [2, 2]
    f(jnp.ones(2))
    assert len(told) == 3, "at compilation, once"
    effax.jit(effax.vmap(effax.grad(lambda x: f(x) * 2)))(jnp.ones(3))
    assert len(told) == 4 and told[3].device_set == {here}
    effax.jit(lambda x: effax.lax.fori_loop(0, 2, lambda i, c: f(c), x))(1.0)
    assert len(told) == 5
    with pytest.raises(TypeError, match="callback must be a function"):
        effax.debug.inspect_array_sharding(1.0, callback=3)


def test_one_device_is_one_box(capsys):
    effax.debug.visualize_array_sharding(jnp.ones(4), scale=3, use_color=False)
    top, *middle, bottom = capsys.readouterr().out.splitlines()
    assert set(top[1:-1]) == set(bottom[1:-1]) == {"─"} and top[0] + bottom[-1] == "┌┘"
    assert len(middle) == 3 and "CPU 0" in middle[1] and len({len(x) for x in middle}) == 1
    for shape in ((), (2, 2, 2)):
        with pytest.raises(ValueError, match="one or two axes"):
            effax.debug.visualize_array_sharding(jnp.ones(shape))


SCRIPT = """
import effax, effax.numpy as jnp
from effax.backends.xla.placement import tiled, replicated, leading
ds = effax.devices()
for split, copies in (((2, 2), 1), ((2,), 2), ((1, 4), 1)):
    x = effax.device_put(jnp.ones((4, 4)), tiled(ds, split, copies))
    effax.debug.visualize_array_sharding(x, use_color=False)
told = []
def f(x):
    effax.debug.inspect_array_sharding(x, callback=told.append)
    return x
y = effax.pmap(f)(jnp.arange(4.0))
effax.debug.visualize_array_sharding(y, use_color=False)
assert told == [leading(ds)], told
"""
PICTURE = """
┌───────┬───────┐
│ CPU 0 │ CPU 1 │
├───────┼───────┤
│ CPU 2 │ CPU 3 │
└───────┴───────┘
┌─────────┐
│ CPU 0,1 │
├─────────┤
│ CPU 2,3 │
└─────────┘
┌───────┬───────┬───────┬───────┐
│ CPU 0 │ CPU 1 │ CPU 2 │ CPU 3 │
└───────┴───────┴───────┴───────┘
┌───────┬───────┬───────┬───────┐
│ CPU 0 │ CPU 1 │ CPU 2 │ CPU 3 │
└───────┴───────┴───────┴───────┘
"""


def test_many_devices():
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, "EFFAX_NUM_CPU_DEVICES": "4", "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.stdout.strip() == PICTURE.strip(), done.stderr[-2000:]


# ------------------------------------------------------------------------------------- profiles


def test_a_trace_names_what_ran(tmp_path):
    @effax.jit
    def profiled_program(x):
        return jnp.sin(x @ x)

    x = jnp.ones((32, 32))
    profiled_program(x).block_until_ready()
    with profiler.trace(tmp_path):
        with profiler.TraceAnnotation("my own mark"):
            profiled_program(x).block_until_ready()
        for i in range(2):
            with profiler.StepTraceAnnotation("training", step_num=i):
                profiler.annotate_function(lambda: None, name="a marked function")()
    (profile,) = tmp_path.rglob("*.xplane.pb")
    data = profiler.ProfileData.from_serialized_xspace(profile.read_bytes())
    names = {event.name for plane in data.planes for line in plane.lines for event in line.events}
    assert {"my own mark", "training", "a marked function"} <= names
    (timeline,) = tmp_path.rglob("*.trace.json.gz")
    assert b"my own mark" in gzip.decompress(timeline.read_bytes())


def test_one_profile_at_a_time(tmp_path):
    with pytest.raises(RuntimeError, match="No profile started"):
        profiler.stop_trace()
    profiler.start_trace(tmp_path)
    try:
        with pytest.raises(RuntimeError, match="already been started"):
            profiler.start_trace(tmp_path)
    finally:
        profiler.stop_trace()
    for option in ("create_perfetto_link", "create_perfetto_trace"):
        with pytest.raises(NotImplementedError, match=option):
            profiler.start_trace(tmp_path, **{option: True})


def test_memory_in_use(tmp_path):
    x = jnp.ones((1 << 20,)).block_until_ready()
    profiler.save_device_memory_profile(tmp_path / "memory.prof")
    assert len(gzip.decompress((tmp_path / "memory.prof").read_bytes())) > 0
    assert np.asarray(x)[0] == 1


def test_the_server():
    import socket

    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    with pytest.raises(ValueError, match="No active profiler server"):
        profiler.stop_server()
    server = profiler.start_server(port)
    assert server is not None
    with pytest.raises(ValueError, match="Only one profiler server"):
        profiler.start_server(port)
    del server
    profiler.stop_server()
