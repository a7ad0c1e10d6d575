"""Softmax and its kin, one-hot vectors, standardisation, attention, initial weights."""

import math

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import nn

random = np.random.default_rng(3)
X = random.normal(size=(4, 5)).astype(np.float32)
MASK = random.random((4, 5)) > 0.4
MASK[:, 0] = True


@pytest.mark.parametrize("axis", [-1, 0, (0, 1)])
def test_softmax(axis):
    e = np.exp(X)
    wanted = e / e.sum(axis, keepdims=True)
    np.testing.assert_allclose(nn.softmax(X, axis), wanted, rtol=1e-5)
    np.testing.assert_allclose(nn.log_softmax(X, axis), np.log(wanted), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(
        nn.softmax(X + 1e4, axis), nn.softmax(X + 1e4 - 1e4, axis), rtol=1e-2
    )


def test_softmax_of_some():
    e = np.exp(X) * MASK
    wanted = e / e.sum(-1, keepdims=True)
    np.testing.assert_allclose(nn.softmax(X, where=MASK), wanted, rtol=1e-5)
    found = np.asarray(nn.log_softmax(X, where=MASK))
    np.testing.assert_allclose(np.exp(found), wanted, rtol=1e-5)
    slope = effax.grad(lambda x: (nn.softmax(x, where=MASK)[:, 0]).sum())(X)
    assert np.isfinite(slope).all()
    np.testing.assert_array_equal(np.asarray(slope)[~MASK], 0)


def test_jacobian_of_softmax():
    p = np.asarray(nn.softmax(X[0]))
    np.testing.assert_allclose(
        effax.jacrev(nn.softmax)(X[0]), np.diag(p) - np.outer(p, p), atol=1e-6
    )


def test_logsumexp():
    np.testing.assert_allclose(nn.logsumexp(X), np.log(np.exp(X).sum()), rtol=1e-6)
    b = random.normal(size=5).astype(np.float32)
    value, sign = nn.logsumexp(X, axis=1, b=b, return_sign=True)
    total = (b * np.exp(X)).sum(1)
    np.testing.assert_allclose(np.asarray(sign) * np.exp(value), total, rtol=1e-4)
    assert np.isnan(nn.logsumexp(np.zeros(1), b=np.array([-1.0])))
    assert nn.logsumexp(np.full(2, -np.inf)) == -np.inf
    assert nn.logsumexp(X, axis=0, keepdims=True).shape == (1, 5)
    np.testing.assert_allclose(effax.grad(nn.logsumexp)(X), nn.softmax(X, (0, 1)), rtol=1e-5)
    mean = nn.logmeanexp(X, axis=1, where=MASK)
    wanted = [np.log(np.exp(x[m]).mean()) for x, m in zip(X, MASK, strict=True)]
    np.testing.assert_allclose(mean, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("algorithm", ["fast", "stable"])
def test_standardize(algorithm):
    wanted = (X - X.mean(-1, keepdims=True)) / np.sqrt(X.var(-1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(nn.standardize(X, algorithm=algorithm), wanted, rtol=1e-3, atol=1e-4)
    with pytest.raises(ValueError, match="algorithm"):
        nn.standardize(X, algorithm="slow")


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("where", [None, np.arange(6) != 2])
def test_standardize_of_numbers_far_from_zero(dtype, where):
    """JAX's default has 1581 for 1.7 there, and -1391 for -1.8."""
    x = jnp.asarray(2.0**22 + np.array([[0, 4, 8, 12, -16, 64]]) * 2.0**13, dtype)
    wide = np.asarray(x).astype(np.float64)
    kept = {"axis": -1, "keepdims": True, "where": where if where is not None else True}
    wanted = (wide - np.mean(wide, **kept)) / np.std(wide, **kept)
    found = np.asarray(nn.standardize(x, where=where)).astype(np.float64)
    np.testing.assert_allclose(found, wanted, rtol=1e-4 if dtype == "float32" else 8e-3)


def test_squareplus_is_flat_at_minus_infinity():
    """JAX's is NaN there, value and slope."""
    assert effax.value_and_grad(nn.squareplus)(-np.inf) == (0, 0)
    assert effax.grad(nn.squareplus)(-1e10) > 0


def test_one_hot():
    found = nn.one_hot(np.array([[0, 2], [5, 1]]), 3, dtype=np.int32)
    np.testing.assert_array_equal(found, [[[1, 0, 0], [0, 0, 1]], [[0, 0, 0], [0, 1, 0]]])
    assert nn.one_hot(np.array([0, 1]), 3, axis=0).shape == (3, 2)
    with pytest.warns(DeprecationWarning, match=r"nn.one_hot input should be integer-typed"):
        found = nn.one_hot(np.array([0.0, 0.5], np.float32), 2)
    np.testing.assert_array_equal(found, [[1, 0], [0, 0]])
    with pytest.raises(
        effax.errors.ConcretizationTypeError, match=r"in effax\.nn\.one_hot argument `num_classes`"
    ):
        effax.jit(nn.one_hot)(3, 5)


def attention(q, k, v, seen):
    logits = np.einsum("btnh,bsnh->bnts", q, k) / math.sqrt(q.shape[-1])
    e = np.exp(np.where(seen, logits, -1e30))
    return np.einsum("bnts,bsnh->btnh", e / e.sum(-1, keepdims=True), v)


def test_attention():
    q, k, v = (random.normal(size=(2, 5, 4, 8)).astype(np.float32) for _ in range(3))
    t, s = np.arange(5)[:, None], np.arange(5)
    for options, seen in (
        ({}, np.ones((5, 5), bool)),
        ({"is_causal": True}, s <= t),
        ({"local_window_size": (2, 1)}, (t <= s + 2) & (t >= s - 1)),
        ({"mask": (s > 0)[None, None, None]}, s > 0),
    ):
        found = nn.dot_product_attention(q, k, v, **options)
        np.testing.assert_allclose(found, attention(q, k, v, seen), rtol=1e-3, atol=1e-5)
    grouped = nn.dot_product_attention(q, k[:, :, :2], v[:, :, :2])
    repeated = attention(q, np.repeat(k[:, :, :2], 2, 2), np.repeat(v[:, :, :2], 2, 2), True)
    np.testing.assert_allclose(grouped, repeated, rtol=1e-3, atol=1e-5)
    with pytest.raises(ValueError, match="value shape"):
        nn.dot_product_attention(q, k, v[:, :3])


@pytest.mark.parametrize(
    ("name", "variance"),
    [
        ("glorot_uniform", 1 / 150),
        ("glorot_normal", 1 / 150),
        ("lecun_uniform", 1 / 200),
        ("lecun_normal", 1 / 200),
        ("he_uniform", 1 / 100),
        ("he_normal", 1 / 100),
    ],
)
def test_variances_of_initial_weights(name, variance):
    weights = np.asarray(getattr(nn.initializers, name)()(effax.random.key(1), (200, 100)))
    assert weights.var() == pytest.approx(variance, rel=0.05)
    assert abs(weights.mean()) < 0.01


def test_orthogonal_weights():
    w = np.asarray(nn.initializers.orthogonal(2.0)(effax.random.key(0), (3, 2, 4)))
    flat = w.reshape(6, 4)
    np.testing.assert_allclose(flat.T @ flat, 4 * np.eye(4), atol=1e-5)
    middle = np.asarray(nn.initializers.delta_orthogonal()(effax.random.key(0), (3, 2, 2)))
    np.testing.assert_array_equal(middle[[0, 2]], 0)
    np.testing.assert_allclose(middle[1] @ middle[1].T, np.eye(2), atol=1e-5)


def test_fans_of_a_vector_are_refused():
    with pytest.raises(ValueError, match="in_axis is -2 by default"):
        nn.initializers.he_normal()(effax.random.key(0), (3,))


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("lengths", [None, np.array([3, 5], "int32")])
@pytest.mark.parametrize("bias", [None, (1, 6, 5, 7), (2, 1, 5, 7)])
@pytest.mark.parametrize("mask", [None, (2, 1, 5, 7), (2, 6, 1, 7)])
def test_grouped_queries_are_as_with_repeated_keys(causal, lengths, bias, mask):
    rng = np.random.default_rng(0)
    q, k, v = (rng.normal(size=s).astype("f4") for s in ((2, 5, 6, 4), (2, 7, 2, 4), (2, 7, 2, 4)))
    how = {
        "bias": None if bias is None else rng.normal(size=bias).astype("f4"),
        "mask": None if mask is None else rng.random(mask) > 0.3,
        "is_causal": causal,
        "query_seq_lengths": lengths,
        "key_value_seq_lengths": lengths,
    }

    def whole(q, k, v):
        return nn.dot_product_attention(q, jnp.repeat(k, 3, 2), jnp.repeat(v, 3, 2), **how)

    def shared(q, k, v):
        return nn.dot_product_attention(q, k, v, **how)

    def slopes(f):
        return effax.grad(lambda *x: jnp.sum(f(*x) ** 2), (0, 1, 2))(q, k, v)

    np.testing.assert_allclose(shared(q, k, v), whole(q, k, v), rtol=1e-5, atol=1e-5)
    for found, wanted in zip(slopes(shared), slopes(whole), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-4)


def test_the_residual_of_grouped_queries():
    x = np.random.default_rng(0).normal(size=(5, 4, 3)).astype("f4")
    out, found = nn.dot_product_attention(x, x[:, :2], x[:, :2], return_residual=True)
    logits = np.einsum("thd,shd->ths", x, np.repeat(x[:, :2], 2, 1)) / np.sqrt(3)
    np.testing.assert_allclose(found, np.log(np.exp(logits).sum(-1)), rtol=1e-5)
    assert out.shape == x.shape


def test_grouped_queries_repeat_no_keys():
    q, k = effax.ShapeDtypeStruct((1, 4, 8, 2), "f4"), effax.ShapeDtypeStruct((1, 5, 2, 2), "f4")
    text = effax.jit(nn.dot_product_attention).lower(q, k, k).as_text()
    assert "tensor<1x5x8x2xf32>" not in text


@pytest.mark.parametrize("dtype, bound", [("bfloat16", 4e-3), ("float16", 6e-4)])
def test_narrow_floats_are_added_up_in_float32(dtype, bound):
    """Rows of a softmax in bfloat16 summed to 1 within 8e-3 only."""
    x = jnp.asarray(np.random.default_rng(0).standard_normal((64, 8192)), dtype)
    wide = np.asarray(x).astype(np.float64)
    rows = np.asarray(nn.softmax(x)).astype(np.float64).sum(1)
    np.testing.assert_allclose(rows, 1, rtol=bound)
    wanted = (wide - wide.mean(1, keepdims=True)) / wide.std(1, keepdims=True)
    found = np.asarray(nn.standardize(x)).astype(np.float64)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=8 * bound)
    where = wide > 0
    mean = np.mean(wide, axis=1, where=where, keepdims=True)
    std = np.std(wide, axis=1, where=where, keepdims=True)
    found = np.asarray(nn.standardize(x, where=jnp.asarray(where))).astype(np.float64)
    np.testing.assert_allclose(found, (wide - mean) / std, rtol=0, atol=32 * bound)
