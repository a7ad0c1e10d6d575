"""Eigenvectors of real matrices as LAPACK and cuSOLVER pack them."""

import numpy as np
import pytest
from scipy.linalg import lapack

import effax
from effax.backends.xla.lowering.matrices import eigenvalues


@pytest.mark.parametrize("n", [1, 2, 7])
def test_conjugate_pairs_share_two_columns(n):
    many = np.random.default_rng(n).normal(size=(4, n, n))
    many[3] += many[3].T
    found = [lapack.dgeev(x) for x in many]
    values = np.stack([real + 1j * imag for real, imag, *_ in found])
    assert n == 1 or (values.imag != 0).any()
    with effax.enable_x64(True):
        for at in (2, 3):  # left, then right eigenvectors
            packed = np.stack([x[at] for x in found])
            vectors = np.asarray(effax.jit(eigenvalues.unpacked)(values, packed))
            np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1)
            if at == 2:
                left = vectors.conj().swapaxes(1, 2)
                np.testing.assert_allclose(left @ many, values[..., None] * left, atol=1e-12)
            else:
                wanted = vectors * values[:, None]
                np.testing.assert_allclose(many @ vectors, wanted, atol=1e-12)
