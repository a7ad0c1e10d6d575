"""Many callbacks: none is lost, nothing waits for ever, nothing is kept; and their exceptions."""

import gc
import os
import subprocess
import sys
import traceback

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax.api.callbacks import io_callback
from effax.errors import JaxRuntimeError

F32 = effax.ShapeDtypeStruct((), np.float32)


def resident():
    """Bytes of memory that this process has in RAM."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def counting(n, ordered):
    """A program that makes three kinds of callbacks n times each, and how often they came."""
    seen = {"pure": 0, "io": 0, "debug": 0}

    def pure(x):
        seen["pure"] += 1
        return np.float32(x) + np.float32(1)

    def io(x):
        seen["io"] += 1
        return np.float32(x)

    def debug(x):
        seen["debug"] += 1

    @effax.jit
    def program(x):
        def body(i, x):
            x = effax.pure_callback(pure, F32, x)
            effax.debug.callback(debug, x)
            return io_callback(io, F32, x, ordered=ordered)

        return effax.lax.fori_loop(0, n, body, x)

    return program, seen


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("n", [3_400, pytest.param(34_000, marks=pytest.mark.slow)])
def test_callbacks_in_a_loop(n, ordered):
    program, seen = counting(n, ordered)
    assert float(program(0.0)) == n
    effax.effects_barrier()
    assert seen == {"pure": n, "io": n, "debug": n}
    gc.collect()
    objects, memory = len(gc.get_objects()), resident()
    assert float(program(0.0)) == n
    effax.effects_barrier()
    gc.collect()
    assert len(gc.get_objects()) - objects < 200, "objects are left behind"
    assert resident() - memory < 20 << 20, "memory is left behind"


@pytest.mark.parametrize("n", [1_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_calls_of_a_program_with_callbacks(n):
    """More programs under way than are remembered: the oldest are waited for."""
    seen = []

    @effax.jit
    def program(x):
        effax.debug.callback(lambda v: seen.append(int(v)), x)
        return x + 1

    x = jnp.int32(0)
    for _ in range(n):
        x = program(x)
    assert int(x) == n
    effax.effects_barrier()
    assert sorted(seen) == list(range(n))


def test_large_operands():
    big = jnp.arange(1 << 20, dtype=jnp.float32)
    out = effax.ShapeDtypeStruct(big.shape, big.dtype)

    @effax.jit
    def program(x):
        return effax.lax.fori_loop(
            0, 20, lambda i, x: effax.pure_callback(lambda v: np.asarray(v) + 1, out, x), x
        )

    memory = []
    for _ in range(8):
        assert float(program(big)[0]) == 20
        gc.collect()
        memory.append(resident())
    assert memory[-1] - memory[3] < 40 << 20, "a tenth of what passed through"


# ------------------------------------------------------------------------------- exceptions


def fails(x):
    raise KeyError("lost")


def shown(x):
    effax.debug.callback(fails, x)
    return x


def computed(x):
    return effax.pure_callback(fails, F32, x, vmap_method="sequential")


def asked(x):
    return io_callback(fails, F32, x)


TRANSFORMS = {
    "jit": lambda f: effax.jit(f)(1.0),
    "scan": lambda f: effax.lax.scan(lambda c, _: (f(c), None), jnp.float32(1), None, length=3),
    "jit(scan)": lambda f: effax.jit(
        lambda x: effax.lax.scan(lambda c, _: (f(c), None), x, None, length=3)
    )(jnp.float32(1)),
    "vmap": lambda f: effax.jit(effax.vmap(f))(np.float32([1, 2])),
    "pmap": lambda f: effax.pmap(f)(np.float32([1])),
    "grad": lambda f: effax.jit(effax.grad(lambda x: f(effax.lax.stop_gradient(x)) * x))(1.0),
}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (name, kind)
        for name in TRANSFORMS
        for kind in (shown, computed, asked)
        if name != "grad" or kind is shown  # callbacks that compute have no derivative
    ],
)
def test_exceptions_arrive_with_their_traceback(name, kind):
    with pytest.raises(JaxRuntimeError, match="KeyError: 'lost'") as caught:
        effax.block_until_ready(TRANSFORMS[name](kind))
        effax.effects_barrier()
    cause = caught.value.__cause__
    assert isinstance(cause, KeyError)
    frames = traceback.extract_tb(cause.__traceback__)
    assert [(f.filename, f.name) for f in frames] == [(__file__, "fails")]
    with pytest.raises(JaxRuntimeError):  # what follows is whole
        effax.block_until_ready(TRANSFORMS[name](kind))
        effax.effects_barrier()
    assert float(effax.jit(lambda x: x + 1)(1.0)) == 2


SCRIPT = """
import numpy as np, effax
from effax.api.callbacks import io_callback
F32 = effax.ShapeDtypeStruct((), np.float32)
seen = []
def note(x):
    seen.append(float(x))
    return np.float32(x)
def fails(x):
    raise KeyError("lost")
out = effax.pmap(lambda x: io_callback(note, F32, x) + 1)(np.float32([1, 2, 3, 4]))
assert out.tolist() == [2, 3, 4, 5] and sorted(seen) == [1, 2, 3, 4]
try:
    effax.block_until_ready(effax.pmap(lambda x: io_callback(fails, F32, x))(np.ones(4, "f4")))
    effax.effects_barrier()
except effax.errors.JaxRuntimeError as error:
    assert isinstance(error.__cause__, KeyError), error
    print("arrived")
"""


def test_callbacks_at_many_places():
    environment = {**os.environ, "EFFAX_NUM_CPU_DEVICES": "4"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout.strip() == "arrived", done.stderr[-2000:]
