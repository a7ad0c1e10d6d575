"""Schur's form in effects, which GPUs and TPUs run, computed here and checked by its definition."""

from functools import partial

import numpy as np
import pytest
from scipy.linalg import block_diag, companion, hilbert

import effax
from effax.backends.xla.lowering.matrices import schur

DTYPES = ("float32", "float64", "complex64", "complex128")
TURN = np.array([[0.0, 1], [-1, 0]])
SPECIAL = {
    "identity": np.eye(6),
    "zero": np.zeros((6, 6)),
    "cycle, which the usual shifts leave as it is": np.roll(np.eye(6), 1, 0),
    "short cycles": block_diag(np.roll(np.eye(3), 1, 0), np.roll(np.eye(3), 1, 1)),
    "Jordan": np.eye(6) + np.eye(6, k=1),
    "Jordan, transposed": np.eye(6, k=-1),
    "ones": np.ones((6, 6)),
    "companion": companion(np.poly([1, 2, 3, 4, 5, 6])),
    "companion of equal roots": block_diag(companion([1, -4, 6, -4, 1]), 1, 1),
    "turns": block_diag(TURN, 2 * TURN, 1, 3),
    "real blocks": block_diag([[1.0, 2], [2, 1]], [[1.0, 0], [3, 2]], [[1.0, 0], [3, 1]]),
    "hilbert": hilbert(6),
    "triangle": np.triu(np.ones((6, 6)), -1),
    "graded": 10.0 ** -np.add.outer(np.arange(6), np.arange(6)) * (1 + np.tri(6)),
    "large": 1e20 * np.vander(np.linspace(-1, 1, 6)),
    "small": 1e-20 * np.vander(np.linspace(-1, 1, 6)),
    "far apart": block_diag(1.0, [[0, 1e-9], [1e-9, 0]], 1, 1, 1),
}


@pytest.fixture(autouse=True)
def _double_precision():
    with effax.enable_x64(True):
        yield


def check(x):
    """`q @ t @ q^H` is x, q is unitary, and t has the form that LAPACK's has."""
    for matrix, t, q in zip(
        x, *computed(partial(schur.schur, compute_vectors=True), x), strict=True
    ):
        n = len(matrix)
        tolerance = 20 * n * np.finfo(x.dtype).eps
        size = max(np.abs(matrix).max(), np.finfo(x.dtype).tiny)
        adjoint = q.conj().T
        np.testing.assert_allclose(q @ (t / size) @ adjoint, matrix / size, atol=tolerance * n)
        np.testing.assert_allclose(adjoint @ q, np.eye(n), atol=tolerance)
        if x.dtype.kind == "c":
            np.testing.assert_array_equal(np.tril(t, -1), 0)
            continue
        np.testing.assert_array_equal(np.tril(t, -2), 0)
        below = np.diag(t, -1) / size
        assert not (below[1:] * below[:-1]).any()
        for i in np.flatnonzero(below):
            assert t[i, i] == t[i + 1, i + 1]
            assert t[i, i + 1] / size * below[i] < 0


def computed(function, x):
    return [np.asarray(y) for y in effax.jit(function)(x)]


@pytest.mark.parametrize("n", [1, 2, 3, 9])
@pytest.mark.parametrize("dtype", DTYPES)
def test_random_matrices(dtype, n):
    random = np.random.default_rng(n)
    x = random.normal(size=(4, n, n))
    if np.dtype(dtype).kind == "c":
        x = x + 1j * random.normal(size=x.shape)
    x[3] += x[3].conj().T
    check(x.astype(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_special_matrices(dtype):
    """They take their steps together, so that each has nothing to do in some."""
    check(np.stack([*SPECIAL.values()]).astype(dtype))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_matrix_that_is_not_finite_alone_is_nan(bad):
    x = np.random.default_rng(0).normal(size=(2, 3, 3))
    x[0, 1, 1] = bad
    (t,) = computed(partial(schur.schur, compute_vectors=False), x)
    assert np.isnan(t[0]).all()
    eigenvalues = np.linalg.eigvals(x[1])
    np.testing.assert_allclose(np.trace(t[1]), eigenvalues.sum().real)
    np.testing.assert_allclose(np.linalg.det(t[1]), np.prod(eigenvalues).real)


def test_a_matrix_that_does_not_converge_is_nan(monkeypatch):
    monkeypatch.setattr(schur, "SWEEPS", 0)
    x = np.stack([np.random.default_rng(0).normal(size=(5, 5)), np.eye(5)])
    t, q = computed(partial(schur.schur, compute_vectors=True), x)
    assert np.isnan(t[0]).all()
    assert np.isnan(q[0]).all()
    np.testing.assert_array_equal(t[1], np.eye(5))
