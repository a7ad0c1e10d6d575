"""Eigenvalues and eigenvectors in effects, which TPUs run, checked by their definition."""

from functools import partial

import numpy as np
import pytest

import effax
from effax.backends.xla.lowering.matrices import eigenvectors
from tests.linalg.test_written_schur import DTYPES, SPECIAL


@pytest.fixture(autouse=True)
def _double_precision():
    with effax.enable_x64(True):
        yield


def computed(x, left=True, right=True):
    function = partial(eigenvectors.eig, left=left, right=right)
    return [np.asarray(y) for y in effax.jit(function)(x)]


def check(x):
    eps = float(np.finfo(x.dtype).eps)
    wide = np.result_type(x.dtype, np.complex64)
    for matrix, values, left, right in zip(x, *computed(x), strict=True):
        n = len(matrix)
        size = max(np.abs(matrix).max(), np.finfo(x.dtype).tiny)
        matrix, scaled = (matrix / size).astype(wide), (values / size).astype(wide)
        given = {"atol": 100 * n * n * eps, "rtol": 0}
        np.testing.assert_allclose(matrix @ right, right * scaled, **given)
        np.testing.assert_allclose(left.conj().T @ matrix, scaled[:, None] * left.conj().T, **given)
        for vectors in (left, right):
            lengths = np.linalg.norm(vectors, axis=0)
            np.testing.assert_allclose(lengths, 1, rtol=100 * eps)
            if x.dtype.kind == "f":
                assert (vectors[:, values.imag == 0].imag == 0).all()
                (first,) = np.nonzero(values.imag > 0)
                np.testing.assert_array_equal(values[first + 1], values[first].conj())
                np.testing.assert_array_equal(vectors[:, first + 1], vectors[:, first].conj())


@pytest.mark.parametrize("n", [1, 2, 9])
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
    check(np.stack([*SPECIAL.values()]).astype(dtype))


def test_a_matrix_that_is_not_finite_alone_is_nan():
    x = np.random.default_rng(0).normal(size=(2, 3, 3))
    x[0, 1, 1] = np.nan
    (values,) = computed(x, left=False, right=False)
    assert np.isnan(values[0]).all()
    np.testing.assert_allclose(values[1].sum(), np.trace(x[1]))


def test_vectors_are_those_of_lapack():
    """LAPACK's vectors differ by a factor of size 1 only, where eigenvalues are apart."""
    x = np.random.default_rng(1).normal(size=(1, 5, 5))
    values, right = (y[0] for y in computed(x, left=False))
    wanted, vectors = np.linalg.eig(x[0])
    order = [np.argmin(np.abs(values - value)) for value in wanted]
    np.testing.assert_allclose(values[order], wanted, rtol=1e-12)
    inner = np.abs(np.sum(right[:, order].conj() * vectors, axis=0))
    np.testing.assert_allclose(inner, 1, rtol=1e-12)
