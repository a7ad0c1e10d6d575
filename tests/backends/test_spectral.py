"""Eigenvalues and singular values as a TPU computes them, with blocks that the CPU decomposes."""

import numpy as np
import pytest

import effax as fx
import effax.numpy as jnp
from effax.backends.xla.lowering import linalg_spectral as spectral

SIZES = [(20, 8), (33, 8), (48, 16), (5, 4)]
"""Rows, and the largest matrix that is decomposed at once."""


def random(*shape, dtype="float32"):
    rng = np.random.default_rng(0)
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if dtype == "complex64" else x).astype(dtype)


def eigh(x, largest, lower=True):
    blocks, _ = spectral.block_size(x.shape[-1], largest)

    def f(x, order):
        return spectral.eigh(x, order, lower=lower, largest=largest)

    return map(np.asarray, fx.jit(f)(x, jnp.asarray(spectral.moves(blocks))))


def adjoint(x):
    return x.conj().swapaxes(-1, -2)


@pytest.mark.parametrize("blocks", [2, 4, 6, 10])
def test_all_blocks_meet_and_go_home(blocks):
    places, met = np.arange(blocks), set()
    for move in spectral.moves(blocks):
        met |= {tuple(pair) for pair in places.reshape(-1, 2)}
        assert all(first < second for first, second in places.reshape(-1, 2))
        places = places[move]
    assert len(met) == blocks * (blocks - 1) // 2
    assert list(places) == list(range(blocks))


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize("n, largest", SIZES)
def test_eigenvalues_by_blocks(n, largest, dtype):
    x = random(5, n, n, dtype=dtype)
    x = x + adjoint(x)
    x[1] *= 1e-25
    x[2] = np.eye(n)
    x[3] = x[3, :1] * x[3, :1].conj().T
    x[4] = 0
    v, w = eigh(x, largest)
    wanted = np.linalg.eigvalsh(x.astype("complex128"))
    size = np.abs(wanted).max(-1) + 1e-30
    assert np.all(np.abs(w - wanted).max(-1) <= 1e-6 * size)
    assert np.all(np.diff(w) >= 0)
    assert np.abs(adjoint(v) @ v - np.eye(n)).max() < 2e-6
    assert np.all(np.abs(x @ v - v * w[:, None]).max((1, 2)) <= 5e-6 * size)


def test_many_equal_and_graded_eigenvalues():
    q, _ = np.linalg.qr(random(32, 32).astype("float64"))
    for values in (
        np.repeat([1.0, 2, 3, 4], 8),
        10.0 ** -np.arange(32),
        np.linspace(1, 1.0001, 32),
    ):
        x = ((q * values) @ q.T).astype("float32")
        v, w = eigh(x[None], 8)
        np.testing.assert_allclose(w[0], np.sort(values), atol=4e-6 * values.max())
        assert np.abs(v[0].T @ v[0] - np.eye(32)).max() < 2e-6


@pytest.mark.parametrize("lower", [True, False])
def test_one_triangle_is_read(lower):
    x = random(1, 20, 20)
    x = x + adjoint(x)
    given = np.tril(x) if lower else np.triu(x)
    _, w = eigh(given, 8, lower)
    np.testing.assert_allclose(w[0], np.linalg.eigvalsh(x[0]), atol=2e-5)


def test_nan_gives_nan_in_its_own_matrix():
    x = np.stack([np.full((20, 20), np.nan), np.eye(20)]).astype("float32")
    v, w = eigh(x, 8)
    assert np.isnan(v[0]).all()
    assert np.isnan(w[0]).all()
    np.testing.assert_array_equal(w[1], np.ones(20))


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("m, n", [(12, 12), (24, 12), (12, 24), (13, 12), (9, 1), (1, 1)])
def test_singular_values_by_the_polar_decomposition(m, n, full, dtype):
    x = random(5, m, n, dtype=dtype)
    x[1] *= 1e-25
    x[2] = np.eye(m, n)
    x[3] = x[3, :, :1] @ x[4, :1]
    x[4] = 0

    def f(x, **how):
        return fx.jit(lambda x: spectral.svd(x, full_matrices=full, **how))(x)

    s, u, vh = map(np.asarray, f(x, compute_uv=True))
    wanted = np.linalg.svd(x.astype("complex128"), compute_uv=False)
    size = wanted[:, 0] + 1e-30
    k = min(m, n)
    assert u.shape == (5, m, m if full else k)
    assert vh.shape == (5, n if full else k, n)
    assert np.all(np.abs(s - wanted).max(-1) <= 2e-6 * size)
    np.testing.assert_allclose(f(x, compute_uv=False)[0], s, atol=2e-5)
    assert np.all(np.abs((u[..., :k] * s[:, None]) @ vh[:, :k] - x).max((1, 2)) <= 3e-6 * size)
    for y in (u, adjoint(vh)):
        assert np.abs(adjoint(y) @ y - np.eye(y.shape[-1])).max() < 5e-6


def test_singular_values_of_nan():
    x = np.stack([np.full((6, 4), np.nan), np.eye(6, 4)]).astype("float32")
    how = {"full_matrices": False, "compute_uv": True}
    s, u, vh = map(np.asarray, fx.jit(lambda x: spectral.svd(x, **how))(x))
    assert all(np.isnan(y[0]).all() for y in (s, u, vh))
    np.testing.assert_allclose(s[1], np.ones(4), rtol=1e-6)
