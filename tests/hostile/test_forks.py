"""Processes that fork after a computation, spawn, and end while work is under way."""

import os
import subprocess
import sys
import warnings

import pytest

from tests.architecture.sources import ROOT

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")

PARENT = """
import os, signal, sys, warnings
import numpy as np, effax, effax.numpy as jnp
x = jnp.ones(3) + 1
square = jnp.ones((300, 300))
double = effax.jit(lambda x: x * 2)
double(x), (square @ square).block_until_ready()
slope = effax.grad(lambda x: (x * x).sum())
slope(x), slope(x), slope(x)
f = effax.vmap(effax.jit(lambda x: x + 1))
f(x)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    pid = os.fork()
if pid:
    assert [w.category for w in caught if "effax" in str(w.message)] == [RuntimeWarning], caught
    _, status = os.waitpid(pid, 0)
    assert float(double(x).sum()) == 12, "the parent goes on"
    sys.exit(os.waitstatus_to_exitcode(status))
signal.alarm(60)
assert x.tolist() == [2, 2, 2], "what was computed can be read"
refused = 0
for compute in (
    lambda: x + 1, lambda: x[1:], lambda: double(x), lambda: double(np.ones(3, "float32")),
    lambda: double(1.0), lambda: square @ square, lambda: effax.jit(lambda x: x - 1)(x),
    lambda: slope(x), lambda: f(x), lambda: jnp.asarray(np.ones(100_000)), lambda: jnp.sin(x),
    lambda: jnp.zeros((1000, 1000)), lambda: effax.random.key(0), lambda: x.at[0].set(1),
):
    try:
        compute()
        print("computed", compute.__code__.co_firstlineno, refused)
    except effax.errors.ForkedProcessError as error:
        assert "spawn" in str(error)
        refused += 1
assert refused == 14, refused
"""


@needs_fork
def test_a_child_that_computes_gets_a_named_error():
    done = subprocess.run(
        [sys.executable, "-c", PARENT], cwd=ROOT, capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr


@needs_fork
def test_a_fork_before_the_first_computation_is_free():
    code = """
import os, effax, effax.numpy as jnp, warnings
warnings.simplefilter("error")
pid = os.fork()
assert float((jnp.ones(3) + 1).sum()) == 6
if pid:
    assert os.waitpid(pid, 0)[1] == 0
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr


def test_spawned_processes_compute(tmp_path):
    (tmp_path / "spawned.py").write_text(
        """
import multiprocessing
import effax.numpy as jnp
def work(n):
    return float((jnp.ones(n) + 1).sum())
if __name__ == "__main__":
    assert work(1) == 2
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert pool.map(work, [1, 2, 3]) == [2, 4, 6]
"""
    )
    subprocess.run(
        [sys.executable, "-W", "error", str(tmp_path / "spawned.py")],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
        timeout=200,
    )


ENDINGS = {
    "work under way": "x = jnp.ones((1500, 1500)); y = x @ x @ x",
    "an ordered callback": """
seen = []
effax.jit(lambda x: effax.debug.callback(print, x, ordered=True))(1.0)""",
    "an array in a cycle with a finalizer": """
class Holder:
    def __del__(self): float((self.x + 1).sum())
h = Holder(); h.x = jnp.ones(3); h.me = h""",
    "a computation at exit": """
import atexit
atexit.register(lambda: jnp.ones(3) + 1)""",
    "an open scope": "effax.enable_x64(True).__enter__(); jnp.ones(3) + 1",
    "a failing program": "jnp.ones(3) + 1; raise SystemExit(0)",
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_interpreter_ends(ending):
    code = f"import effax, effax.numpy as jnp\n{ENDINGS[ending]}\n"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr
    # What a finalizer raises after the modules are gone, Python ignores, and says so.
    assert "Traceback" not in done.stderr or "Exception ignored" in done.stderr


@needs_fork
def test_the_warning_can_be_an_error_of_nobody():
    """Under `-W error` the fork still happens; Python only reports what the hook raised."""
    code = """
import os, effax.numpy as jnp
jnp.ones(3) + 1
pid = os.fork()
if pid: assert os.waitpid(pid, 0)[1] == 0
else: os._exit(0)
"""
    with warnings.catch_warnings():
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", code],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=200,
        )
    assert done.returncode == 0, done.stderr
