"""Arguments for condensed forms: real and complex, alone and in batches."""

import numpy as np

from effax.effects.rows import condensed
from tests.samples.linalg import TALL, WIDE, A, matrices, positive

REFUSED = (condensed.schur, condensed.hessenberg, condensed.reflections, condensed.tridiagonal)
"""The effects without a derivative."""

COMPLEX = matrices(2, 4, 4, dtype=np.complex64)
DIAGONALS = (matrices(4), matrices(4) + 5, matrices(4))
MANY = tuple(x.reshape(2, 2) for x in DIAGONALS)
SAMPLES = [
    (condensed.schur, (A,), {"compute_vectors": True}),
    (condensed.schur, (COMPLEX,), {"compute_vectors": True}),
    (condensed.schur, (matrices(2, 4, 4),), {"compute_vectors": False}),
    (condensed.hessenberg, (A,), {}),
    (condensed.hessenberg, (COMPLEX,), {}),
    (condensed.reflections, (A,), {}),
    (condensed.reflections, (TALL,), {}),
    (condensed.reflections, (COMPLEX[..., :3],), {}),
    (condensed.tridiagonal, (positive(3, 3),), {"lower": True}),
    (condensed.tridiagonal, (positive(2, 4, 4, dtype=np.complex64),), {"lower": False}),
    (condensed.pivoted_qr, (A,), {"full_matrices": True}),
    (condensed.pivoted_qr, (TALL,), {"full_matrices": False}),
    (condensed.pivoted_qr, (TALL,), {"full_matrices": True}),
    (condensed.pivoted_qr, (WIDE,), {"full_matrices": True}),
    (condensed.pivoted_qr, (COMPLEX[..., :3],), {"full_matrices": False}),
    (condensed.tridiagonal_solve, (*DIAGONALS, matrices(4, 3)), {"perturb_singular": False}),
    (condensed.tridiagonal_solve, (*DIAGONALS, matrices(4, 3)), {"perturb_singular": True}),
    (condensed.tridiagonal_solve, (*MANY, matrices(2, 2, 1)), {"perturb_singular": False}),
    (condensed.tridiagonal_solve, (*MANY, matrices(2, 2, 1)), {"perturb_singular": True}),
    (
        condensed.tridiagonal_solve,
        tuple(x.astype(np.complex64) * (1 + 0.5j) for x in (*DIAGONALS, matrices(4, 1))),
        {"perturb_singular": False},
    ),
]
