"""Arguments for linear algebra, well conditioned."""

import numpy as np

from effax.effects.rows import linalg

random = np.random.default_rng(7)


def matrices(*shape, dtype=np.float32):
    x = random.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * random.normal(size=shape)
    return x.astype(dtype)


def positive(*shape, dtype=np.float32):
    x = matrices(*shape, dtype=dtype)
    return x @ x.conj().swapaxes(-1, -2) + 2 * np.eye(shape[-1], dtype=dtype)


def system(**flags):
    """The attributes of triangular_solve."""
    names = ("left_side", "lower", "transpose_a", "conjugate_a", "unit_diagonal")
    return {name: flags.get(name, False) for name in names}


A = matrices(3, 3) + 3 * np.eye(3, dtype=np.float32)
TALL = matrices(2, 4, 3)
WIDE = matrices(2, 3, 5)
SAMPLES = [
    (linalg.cholesky, (positive(3, 3),), {}),
    (linalg.cholesky, (positive(2, 3, 3, dtype=np.complex64),), {}),
    (linalg.triangular_solve, (A, matrices(3, 2)), system(left_side=True, lower=True)),
    (linalg.triangular_solve, (A, matrices(2, 3)), system(transpose_a=True)),
    (linalg.triangular_solve, (A, matrices(2, 3)), system(lower=True, unit_diagonal=True)),
    (
        linalg.triangular_solve,
        (
            matrices(2, 3, 3, dtype=np.complex64) + 3 * np.eye(3),
            matrices(2, 3, 2, dtype=np.complex64),
        ),
        system(left_side=True, transpose_a=True, conjugate_a=True),
    ),
    (linalg.lu, (matrices(3, 3),), {}),
    (linalg.lu, (TALL,), {}),
    (linalg.lu, (WIDE,), {}),
    (linalg.pivots_to_permutation, (np.array([[2, 1], [1, 3]], np.int32),), {"size": 4}),
    (linalg.qr, (matrices(3, 3),), {"full_matrices": True}),
    (linalg.qr, (TALL,), {"full_matrices": False}),
    (linalg.qr, (TALL,), {"full_matrices": True}),
    (linalg.qr, (WIDE,), {"full_matrices": False}),
    (linalg.eigh, (positive(3, 3),), {"lower": True}),
    (linalg.eigh, (positive(2, 3, 3),), {"lower": False}),
    (linalg.svd, (matrices(3, 3),), {"full_matrices": True, "compute_uv": True}),
    (linalg.svd, (TALL,), {"full_matrices": False, "compute_uv": True}),
    (linalg.svd, (WIDE,), {"full_matrices": False, "compute_uv": True}),
    (linalg.svd, (WIDE,), {"full_matrices": False, "compute_uv": False}),
    (linalg.svd, (TALL,), {"full_matrices": False, "compute_uv": True, "by_qr": True}),
    (linalg.svd, (WIDE,), {"full_matrices": False, "compute_uv": False, "by_qr": True}),
    (linalg.eig, (positive(3, 3),), {"compute_left": False, "compute_right": False}),
]
"""Of the last, eigenvalues come in no order that is promised; of a positive matrix they do here."""
