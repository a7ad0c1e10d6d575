"""Tokens, sends and receives, sinks, and ragged exchanges between places."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import effax
import effax.numpy as jnp
from effax import lax

X = np.arange(4.0, dtype=np.float32)
RING = [(0, 1), (1, 2), (2, 3)]


def test_tokens_go_where_values_go():
    token = lax.create_token()
    assert repr(lax.after_all(token, lax.create_token(), token)) == "Token()"
    assert repr(lax.after_all()) == "Token()"
    out = effax.jit(lambda t, x: (lax.after_all(t), x + 1))(token, X)
    assert_array_equal(out[1], X + 1)
    last, _ = lax.scan(lambda t, x: (lax.after_all(t), None), token, X)
    assert repr(last) == "Token()"
    barrier = lax.optimization_barrier((X, token))
    assert_array_equal(barrier[0], X)
    with pytest.raises(TypeError, match="must be tokens"):
        lax.after_all(token, 3.0)


@pytest.mark.parametrize("perm", [RING, [(3, 0)], [(0, 1), (1, 0)], []])
def test_a_send_and_its_receive_are_a_permutation(perm):
    def through(x):
        token = lax.psend({"x": x, "n": 2 * x}, "i", perm)
        token = lax.after_all(lax.create_token(), token)
        like = effax.ShapeDtypeStruct(x.shape, x.dtype)
        return lax.precv(token, {"x": like, "n": like}, "i", perm)

    def plain(x):
        return {"x": lax.ppermute(x, "i", perm), "n": lax.ppermute(2 * x, "i", perm)}

    found, expected = (effax.vmap(f, axis_name="i")(X) for f in (through, plain))
    for name in ("x", "n"):
        assert_array_equal(found[name], expected[name])
    slope = effax.grad(lambda x: effax.vmap(lambda x: through(x)["x"], axis_name="i")(x).sum())(X)
    assert_array_equal(slope, [1.0 if i in dict(perm) else 0.0 for i in range(4)])


def test_receiving_what_was_not_sent():
    def run(f):
        return effax.vmap(f, axis_name="i")(X)

    for receive, error, message in (
        (lambda x: lax.precv(lax.create_token(), x, "i", RING), ValueError, "another axis_name"),
        (
            lambda x: lax.precv(lax.psend(x, "i", RING), x, "i", RING[1:]),
            ValueError,
            "another axis_name",
        ),
        (lambda x: lax.precv(lax.psend(x, "i", RING), (x, x), "i", RING), TypeError, "was sent"),
        (lambda x: lax.precv(lax.psend(x, "i", RING), X, "i", RING), TypeError, "was sent"),
        (lambda x: lax.precv(x, x, "i", RING), TypeError, "must be a token"),
    ):
        with pytest.raises(error, match=message):
            run(receive)


@pytest.mark.cpu
@pytest.mark.parametrize("prevent", [False, True])
def test_sinks_keep_what_nothing_uses(prevent):
    def f(x):
        lax.dce_sink({"a": jnp.sin(x), "b": x}, prevent_mlir_dce=prevent)
        return x * 2

    assert_array_equal(f(X), X * 2)
    assert_array_equal(effax.jit(f)(X), X * 2)
    assert_array_equal(effax.vmap(f)(X), X * 2)
    assert_array_equal(effax.grad(lambda x: f(x).sum())(X), np.full(4, 2.0))
    program = str(effax.make_program(f)(X))
    assert "sin" in program and "dce_sink" in program
    optimised = effax.jit(f).lower(X).compile().as_text()
    assert ("dce_sink" in optimised) == prevent


# --------------------------------------------------------------------------------- ragged exchange


def exchanged(operands, outputs, starts, sizes, targets):
    """Compute the exchange as the definition says it, place by place."""
    results = outputs.copy()
    places = len(operands)
    slices = starts.shape[1] // places
    for i in range(places):
        for j in range(places * slices):
            to, a, n, b = j // slices, starts[i, j], sizes[i, j], targets[i, j]
            results[to][b : b + n] = operands[i][a : a + n]
    return results


@pytest.mark.parametrize("slices", [1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_ragged_rows_arrive(slices, seed):
    draw = np.random.default_rng(seed)
    places, rows = 3, 8
    operands = draw.normal(size=(places, rows, 2)).astype(np.float32)
    outputs = draw.normal(size=(places, 20, 2)).astype(np.float32)
    sizes = draw.integers(0, 3, (places, places * slices)).astype(np.int32)
    starts = draw.integers(0, rows - 2, sizes.shape).astype(np.int32)
    per_receiver = sizes.reshape(places, places, slices)
    arrived = per_receiver.transpose(1, 0, 2).reshape(places, -1)
    begins = np.cumsum(arrived, 1) - arrived
    targets = begins.reshape(places, places, slices).transpose(1, 0, 2).reshape(places, -1)
    expected = exchanged(operands, outputs, starts, sizes, targets)

    def f(x, out, *vectors):
        return lax.ragged_all_to_all(x, out, *vectors, axis_name="i")

    given = (operands, outputs, starts, sizes, targets.astype(np.int32), arrived.astype(np.int32))
    mapped = effax.vmap(f, axis_name="i")
    assert_array_equal(mapped(*given), expected)
    assert_array_equal(effax.jit(mapped)(*given), expected)
    weights = draw.normal(size=outputs.shape).astype(np.float32)
    slope = effax.grad(lambda x, *rest: (mapped(x, *rest) * weights).sum())(*given)
    received = np.zeros_like(operands)
    for i in range(places):
        for j in range(places * slices):
            to, a, n, b = j // slices, starts[i, j], sizes[i, j], targets[i, j]
            received[i][a : a + n] += weights[to][b : b + n]
    np.testing.assert_allclose(slope, received, rtol=1e-5, atol=1e-6)


def test_ragged_exchanges_that_do_not_fit():
    def run(x, out, **changed):
        one = jnp.ones(2, int)
        vectors = {k: one for k in ("a", "b", "c", "d")} | changed
        mapped = effax.vmap(
            lambda x: lax.ragged_all_to_all(x, out, *vectors.values(), axis_name="i"),
            axis_name="i",
        )
        return mapped(jnp.stack([x, x]))

    x = jnp.ones((3, 2))
    for wrong in (
        lambda: run(x, jnp.ones((3, 3))),
        lambda: run(x, jnp.ones((3, 2), int)),
        lambda: run(x, x, a=jnp.ones(2)),
        lambda: run(x, x, b=jnp.ones(3, int)),
        lambda: run(x, x, **{k: jnp.ones(3, int) for k in "abcd"}),
    ):
        with pytest.raises(ValueError, match="ragged_all_to_all"):
            wrong()
    with pytest.raises(NameError):
        lax.ragged_all_to_all(x, x, *[jnp.ones(1, int)] * 4, axis_name="nowhere")


def barriers(f, *args):
    return effax.jit(f).lower(*args).as_text().count("stablehlo.optimization_barrier")


def test_a_barrier_is_one_under_every_transform():
    """It was a copy, which XLA removes."""

    def f(x):
        a, b = lax.optimization_barrier((jnp.sin(x), {"b": 2 * x, "n": 3}))
        return (a * b["b"]).sum() * b["n"]

    wanted = 6 * np.sum(np.sin(X) * np.asarray(X))
    np.testing.assert_allclose(f(X), wanted, rtol=1e-6)
    np.testing.assert_allclose(effax.jit(f)(X), wanted, rtol=1e-6)
    assert barriers(f, X) == 1
    slope = 6 * (np.cos(X) * np.asarray(X) + np.sin(X))
    for grad in (effax.grad(f), effax.jacfwd(f)):
        np.testing.assert_allclose(grad(X), slope, rtol=1e-5)
        assert barriers(grad, X) >= 1
    lanes = effax.vmap(lambda x: f(x[None]))
    np.testing.assert_allclose(lanes(X), 6 * np.sin(X) * np.asarray(X), rtol=1e-6)
    assert barriers(lanes, X) == 1
    assert lax.optimization_barrier(()) == ()
