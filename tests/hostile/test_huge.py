"""Arrays that no machine can hold: a named error in Python, where XLA would abort the process.

Each case runs in a process of its own, for the failure is the end of it.
"""

import subprocess
import sys

import pytest

from tests.architecture.sources import ROOT

N = 2**32
TOO_LARGE = {
    "zeros": "jnp.zeros((N, N))",
    "ones": "jnp.ones((N, N))",
    "full": "jnp.full((N, N), 2.0)",
    "empty": "jnp.empty((N, N))",
    "eye": "jnp.eye(N)",
    "linspace": "jnp.linspace(0, 1, 2**62)",
    "broadcast_to": "jnp.broadcast_to(1.0, (N, N))",
    "broadcast": "jnp.ones((2**20, 1, 1, 1)) * jnp.ones((2**20, 1, 1)) * jnp.ones((2**20, 1))"
    " * jnp.ones(2**20)",
    "tile": "jnp.tile(jnp.ones(3), (N, N))",
    "iota": "lax.iota('float32', 2**62)",
    "pad": "jnp.pad(jnp.ones(3), (0, 2**62))",
    "jit": "effax.jit(lambda: jnp.zeros((N, N)).sum())()",
    "lower": "effax.jit(lambda x: x.sum()).lower(effax.ShapeDtypeStruct((N, N), 'float32'))",
    "vmap": "effax.vmap(lambda x: jnp.zeros((N, N)) + x)(jnp.ones(2))",
    "grad": "effax.grad(lambda x: (jnp.zeros((N, N)) + x).sum())(1.0)",
    "scan": "lax.scan(lambda c, _: (c, jnp.zeros(N)), 0.0, None, length=N)",
    "length zero": "jnp.zeros((N, N, N, 0)).reshape(N, 0) + jnp.zeros((2**63, 0))",
}


def run(expression):
    code = f"""
import effax, effax.numpy as jnp, effax.lax as lax
N = {N}
try:
    effax.block_until_ready({expression})
except (effax.errors.ArraySizeError, effax.errors.JaxRuntimeError, ValueError, OverflowError) as e:
    print(type(e).__name__, str(e)[:300])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, (done.returncode, done.stderr[-500:])
    return done.stdout


@pytest.mark.parametrize("name", [n for n in TOO_LARGE if n != "length zero"])
def test_an_array_that_cannot_be_addressed(name):
    assert run(TOO_LARGE[name]).startswith("ArraySizeError at "), TOO_LARGE[name]


def test_a_length_that_is_none():
    assert "Error" in run(TOO_LARGE["length zero"])


@pytest.mark.parametrize(
    "expression", ["jnp.zeros(2**62, 'int8')", "jnp.outer(jnp.ones(2**24), jnp.ones(2**24))"]
)
def test_an_array_that_can_be_addressed_and_not_allocated(expression):
    assert "RESOURCE_EXHAUSTED" in run(expression)


def test_empty_arrays_of_long_axes():
    assert run(f"jnp.zeros(({2**31}, 0)) + 1") == ""
