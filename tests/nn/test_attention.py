"""Causal attention of many queries, which a CPU computes in pieces."""

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import nn

RNG = np.random.default_rng(0)
ALL = np.ones((1, 1, 1, 1), bool)
"""A mask that hides nothing: with one, attention is in one piece."""


def drawn(b, t, s, n, heads, h, dtype):
    lengths = [(b, t, n, h), (b, s, heads, h), (b, s, heads, h), (b, t, n, h)]
    return [jnp.asarray(RNG.standard_normal(x), dtype) for x in lengths]


def causal(q, k, v, mask=None):
    return nn.dot_product_attention(q, k, v, mask=mask, is_causal=True)


@pytest.mark.cpu
@pytest.mark.parametrize(
    ("lengths", "dtype", "bound"),
    [
        ((1, 1024, 1024, 2, 2, 8), "float32", 1e-5),
        ((2, 700, 300, 4, 2, 8), "float32", 1e-5),
        ((1, 512, 2100, 1, 1, 8), "float32", 1e-5),
        ((1, 1030, 1030, 2, 1, 4), "bfloat16", 1e-2),
    ],
)
def test_pieces_are_the_whole(lengths, dtype, bound):
    """The value and both derivatives, by the error that one piece has, or with few more bits."""
    *xs, ct = drawn(*lengths, dtype)
    assert "concatenate" in str(effax.make_program(causal)(*xs))
    assert "concatenate" not in str(effax.make_program(causal)(*xs, ALL))
    wide = [x.astype("float32") for x in xs]
    wanted, back = effax.vjp(lambda *xs: causal(*xs, ALL), *wide)
    found, pieces = effax.vjp(causal, *xs)
    moved = effax.jvp(causal, xs, xs)[1], effax.jvp(lambda *x: causal(*x, ALL), wide, wide)[1]
    pairs = [(found, wanted), moved, *zip(pieces(ct), back(ct.astype("float32")), strict=True)]
    for x, y in pairs:
        x, y = (np.asarray(z, "float32") for z in (x, y))
        assert abs(x - y).max() <= bound * abs(y).max()


def test_padding_that_is_not_finite_stays_out():
    """With lengths, in one piece: rows that do not count may hold anything."""
    q, k, v, _ = drawn(1, 1024, 1024, 1, 1, 4, "float32")
    count = jnp.full(1, 1000, "int32")
    q = q.at[:, 1000:].set(jnp.nan)
    found = nn.dot_product_attention(q, k, v, is_causal=True, query_seq_lengths=count)
    assert np.isfinite(found).all()


def test_a_batch_is_its_members():
    q, k, v, _ = drawn(2, 520, 520, 4, 4, 4, "float32")
    one = effax.vmap(lambda q, k, v: causal(q[None], k[None], v[None])[0])
    np.testing.assert_allclose(one(q, k, v), causal(q, k, v), rtol=1e-5, atol=1e-6)
