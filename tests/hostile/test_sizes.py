"""Arrays of more elements than an int32 counts: positions are right, or refused by name.

Each program runs in a process of its own, 2 GB an array, under a limit of its address space.
"""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow
LIMIT = 16 << 30
START = (
    f"""
import resource
resource.setrlimit(resource.RLIMIT_AS, ({LIMIT}, {LIMIT}))
"""
    + """
import numpy as np
import effax
import effax.numpy as jnp
from effax import lax

n = 2**31 + 8
last = n - 3
host = np.zeros(n, np.int8)
host[last] = 7
x = jnp.asarray(host)


def written(y):
    found = np.asarray(y)
    where = np.flatnonzero(found).tolist()
    return where, found[where].tolist()


def is_(found, wanted):
    assert np.asarray(found).tolist() == wanted, (found, wanted)

"""
)
PROGRAMS = {
    "integers": "is_(x[last], 7), is_(x[-3], 7), is_(effax.jit(lambda x, i: x[i])(x, -3), 7)",
    "slices": "is_(x[last - 1 : last + 2], [0, 7, 0]), is_(x[: last - 2 : -1], [0, 0, 7, 0])",
    "steps": "is_(x[last - 4 :: 2], [0, 0, 7, 0])",
    "index arrays": "is_(x[np.array([last, 0, -3])], [7, 0, 7]), is_(x[jnp.array([-3, 0])], [7, 0])",
    "lanes": "is_(effax.vmap(lambda i: x[i])(jnp.array([-3, 0])), [7, 0])",
    "masks": "is_(x[x == 7], [7]), is_(jnp.where(x)[0], [last])",
    "take": "is_(jnp.take(x, jnp.array([-3, 5])), [7, 0]), is_(jnp.take(x, np.array([last])), [7])",
    "take, wrapped": "is_(jnp.take(x, jnp.array([-3, 5]), mode='wrap'), [7, 0])",
    "dynamic_slice": "is_(lax.dynamic_slice(x, (last,), (2,)), [7, 0])",
    "dynamic_slice by NumPy's": "is_(lax.dynamic_slice(x, (np.int64(last),), (2,)), [7, 0])",
    "set": "assert written(x.at[last].set(9)) == ([last], [9])",
    "set from the end": "assert written(x.at[-3].set(9)) == ([last], [9])",
    "set outside": "assert written(x.at[n + 5].set(9)) == ([last], [7])",
    "set by arrays": "assert written(x.at[np.array([last])].set(9)) == ([last], [9])",
    "add": "assert written(x.at[jnp.array([-3])].add(2)) == ([last], [9])",
    "set, traced": "assert written(effax.jit(lambda x, i: x.at[i].set(9))(x, -3)) == ([last], [9])",
    "clip": "assert written(x.at[jnp.array([2**31 - 1])].set(1, mode='clip'))[0] == [2**31 - 1, last]",
    "dynamic_update_slice": "assert written(lax.dynamic_update_slice(x, x[:1], (-3,))) == ([], [])",
    "argmax": "is_(jnp.argmax(x), last), is_(jnp.argmin(-x), last)",
    "searchsorted": "is_(jnp.searchsorted(x.at[last:].set(7), jnp.int8([7, 8, 0])), [last, n, 0])",
    "searchsorted, unrolled": (
        "is_(jnp.searchsorted(x.at[last:].set(7), jnp.int8(7), method='scan_unrolled'), last)"
    ),
    "rows": "is_(x.reshape(2, n // 2)[1, -3], 7)",
}


def run(body):
    return subprocess.run(
        [sys.executable, "-c", START + body],
        capture_output=True,
        text=True,
        timeout=900,
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_positions_beyond_an_int32(name):
    done = run(PROGRAMS[name])
    assert done.returncode == 0, done.stderr[-2000:]


def test_a_position_that_its_dtype_does_not_hold_is_refused():
    done = run("lax.argmax(x, 0, jnp.int32)")
    assert "OverflowError: argmax: int32 does not hold the positions" in done.stderr
