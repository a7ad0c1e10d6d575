"""Condensed: what orthogonal transformations make of matrices, and systems of such a form.

Schur's form, Hessenberg's, tridiagonal form, triangles with their columns in order. The CPU has
LAPACK for them; elsewhere they are computed in effects where no library has them.
Matrices are the last two axes, all before them are a batch. The results of a reduction that fails
are NaN.
"""

from __future__ import annotations

from collections.abc import Sequence

from effax.effects.effect import Effect
from effax.effects.rows.linalg import batch_of, matrix_lengths
from effax.effects.types import ShapedArray, int32, real_dtype
from effax.effects.value import greatest, smallest

FAMILY = "condensed"


def _schur_type(x: ShapedArray, *, compute_vectors: bool) -> Sequence[ShapedArray]:
    matrix_lengths("schur", x, square=True)
    return [x] * (1 + compute_vectors)


schur = Effect("schur", family=FAMILY, typing=_schur_type, multiple=True)
"""`schur(x, compute_vectors)`: t, and unitary q if asked, with `q @ t @ q^H` the matrix.

t is upper triangular; of a real matrix it is real, with a block of two rows for each pair of
conjugate eigenvalues.
"""


def _hessenberg_type(x: ShapedArray) -> Sequence[ShapedArray]:
    n, _ = matrix_lengths("hessenberg", x, square=True)
    return [x, batch_of(x, greatest(n - 1, 0))]


hessenberg = Effect("hessenberg", family=FAMILY, typing=_hessenberg_type, multiple=True)
"""Hessenberg's form h, zero below the first subdiagonal, with `q @ h @ q^H` the matrix.

In the place of those zeros the vectors of the Householder reflections that q is a product of, but
for their first elements, 1; and the factors of the reflections.
"""


def _tridiagonal_type(x: ShapedArray, *, lower: bool) -> Sequence[ShapedArray]:
    n, _ = matrix_lengths("tridiagonal", x, square=True)
    real = real_dtype(x.dtype)
    short = greatest(n - 1, 0)
    return [
        x,
        batch_of(x, n, dtype=real),
        batch_of(x, short, dtype=real),
        batch_of(x, short),
    ]


tridiagonal = Effect("tridiagonal", family=FAMILY, typing=_tridiagonal_type, multiple=True)
"""`tridiagonal(x, lower)`: a Hermitian matrix as `q @ t @ q^H`, t real, symmetric, tridiagonal.

The form with the reflections' vectors in the place of zeros, t's diagonal, the one beside it, and
the factors of the reflections. Only the lower (or upper) triangle is read.
"""


def _reflections_type(x: ShapedArray) -> Sequence[ShapedArray]:
    m, n = matrix_lengths("reflections", x)
    return [x, batch_of(x, smallest(m, n))]


reflections = Effect("reflections", family=FAMILY, typing=_reflections_type, multiple=True)
"""The triangle r of `qr` with the reflections that q is a product of, as LAPACK packs them.

Below r's diagonal are the vectors of the Householder reflections, but for their first elements, 1;
the second result has the factors of the reflections.
"""


def _pivoted_qr_type(x: ShapedArray, *, full_matrices: bool) -> Sequence[ShapedArray]:
    m, n = matrix_lengths("pivoted_qr", x)
    k = m if full_matrices else smallest(m, n)
    return [batch_of(x, m, k), batch_of(x, k, n), batch_of(x, n, dtype=int32)]


pivoted_qr = Effect("pivoted_qr", family=FAMILY, typing=_pivoted_qr_type, multiple=True)
"""`pivoted_qr(x, full_matrices)`: q, r and an order of the columns with `q @ r = x[:, order]`.

The diagonal of r descends in size.
"""


def _tridiagonal_solve_type(
    dl: ShapedArray, d: ShapedArray, du: ShapedArray, b: ShapedArray, *, perturb_singular: bool
) -> ShapedArray:
    if b.ndim < 2:
        raise TypeError(
            f"Input 3 to tridiagonal_solve must have rank at least 2, but got shape={b.shape}"
        )
    matrix_lengths("tridiagonal_solve", b)
    if not dl.shape == d.shape == du.shape:
        raise TypeError(
            "tridiagonal_solve requires that all diagonal arguments have the same shape: "
            f"{dl.str_short()}, {d.str_short()}, {du.str_short()}"
        )
    if d.shape != b.shape[:-1] or not dl.dtype == d.dtype == du.dtype == b.dtype:
        raise TypeError(
            "tridiagonal_solve: the diagonals must have the dtype of the right side and the "
            f"length of its columns, got {d.str_short()} for {b.str_short()}"
        )
    return b.update(weak_type=all(x.weak_type for x in (dl, d, du, b)))


tridiagonal_solve = Effect("tridiagonal_solve", family=FAMILY, typing=_tridiagonal_solve_type)
"""`tridiagonal_solve(dl, d, du, b, perturb_singular)`: x with `a @ x = b`, a of three diagonals.

All are as long as the matrix: the first of the lower and the last of the upper are not read. With
`perturb_singular` a pivot of elimination that is next to zero is taken to be the precision times
the largest element, or the smallest normal number; without, a singular matrix gives NaN.
"""
