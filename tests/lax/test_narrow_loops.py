"""Loops that write pieces of narrow floats: XLA's CPU backend must not convert the whole for each."""

import re

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import lax

N = 777
NARROW = ["bfloat16", "float8_e4m3fn", "float8_e5m2"]

LOOPS = {
    "stacked": lambda x: lax.scan(lambda c, y: (jnp.maximum(c, y), c), x[0], x)[1],
    "stacked backwards": lambda x: lax.scan(lambda c, y: (y, c), x[0], x, reverse=True)[1],
    "unrolled": lambda x: lax.scan(lambda c, y: (jnp.maximum(c, y), c), x[0], x, unroll=4)[1],
    "set": lambda x: lax.fori_loop(0, N, lambda i, x: x.at[i].set(x[0]), x),
    "in a branch": lambda x: lax.fori_loop(
        0, N, lambda i, x: lax.cond(i > 5, lambda x: x.at[i].set(x[1]), lambda x: x, x), x
    ),
    "in a call": lambda x: lax.fori_loop(0, N, effax.jit(lambda i, x: x.at[i].max(x[i - 1])), x),
    "in a loop": lambda x: lax.fori_loop(
        0, 3, lambda i, x: lax.fori_loop(0, N, lambda j, x: x.at[j].min(x[i]), x), x
    ),
    "a slice": lambda x: lax.fori_loop(
        0, N // 7, lambda i, x: lax.dynamic_update_slice(x, x[3:10], (7 * i,)), x
    ),
    "a carry of a scan": lambda x: lax.scan(
        lambda x, i: (x.at[i].set(x[2]), x[i]), x, jnp.arange(N)
    ),
    "a condition that looks": lambda x: lax.while_loop(
        lambda s: (s[0] < N) & (s[1][0] < 99), lambda s: (s[0] + 1, s[1].at[s[0]].set(3)), (1, x)
    )[1],
    "cumulative": lambda x: lax.cummax(jnp.tile(x, 16)),
}


def numbers(dtype):
    return jnp.asarray(np.random.default_rng(0).integers(-8, 8, N)).astype(dtype)


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("dtype", NARROW)
def test_values_are_those_of_wide_floats(name, dtype):
    x = numbers(dtype)
    found, wanted = effax.jit(LOOPS[name])(x), LOOPS[name](x.astype("float32"))
    for a, b in zip(effax.tree.leaves(found), effax.tree.leaves(wanted), strict=True):
        assert a.dtype == x.dtype
        np.testing.assert_array_equal(a.astype("float32"), b)


@pytest.mark.skipif(effax.default_backend() != "cpu", reason="of the CPU's backend")
@pytest.mark.parametrize("name", [n for n in LOOPS if n != "cumulative"])
def test_pieces_are_written_as_bits(name):
    text = effax.jit(LOOPS[name]).lower(numbers("bfloat16")).compile().as_text()
    written = re.findall(rf"(\w+)\[{N}\]\S* (?:dynamic-update-slice|scatter)\(", text)
    assert set(written) == {"u16"}


def test_gradients():
    def loss(x):
        return lax.scan(lambda c, y: (c * y, c), x[0] * 0 + 1, x)[1].astype("float32").sum()

    x = jnp.ones(40, "bfloat16")
    found = effax.jit(effax.grad(loss))(x)
    np.testing.assert_array_equal(found.astype("float32"), np.arange(39, -1, -1))


def test_under_vmap():
    x = jnp.stack([numbers("bfloat16"), numbers("bfloat16")[::-1]])
    for name in ("stacked", "set", "in a branch"):
        found = effax.jit(effax.vmap(LOOPS[name]))(x)
        np.testing.assert_array_equal(found[1], LOOPS[name](x[1]))
