"""Linear algebra under checkify: what fails to converge, or is not positive, gives NaN."""

from __future__ import annotations

from effax.effects import linalg as a
from effax.interpreters.checkify.checking import cannot_fail, computes

computes(a.cholesky, a.triangular_solve, a.lu, a.qr, a.eigh, a.svd, a.eig)
cannot_fail(a.pivots_to_permutation)
