"""Linear algebra: factorisations of matrices, and triangular systems.

Matrices are the last two axes; all axes before them are a batch, whose members are done one by
one. The results of a factorisation that fails are NaN.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from effax.effects.effect import Effect
from effax.effects.errors import MatrixShapeError
from effax.effects.facts import SOUND, STILL
from effax.effects.types import (
    DType,
    ShapedArray,
    complex64,
    complex128,
    complex_dtype,
    float32,
    float64,
    int32,
    is_complex,
    is_inexact,
    real_dtype,
)
from effax.effects.value import smallest

FAMILY = "linalg"

_DTYPES = (float32, float64, complex64, complex128)


def matrix_lengths(name: str, x: ShapedArray, square: bool = False) -> tuple[int, int]:
    """The lengths of the last two axes, after the checks that all share."""
    if x.ndim < 2:
        raise MatrixShapeError(
            f"{name}: expected matrices, of rank at least 2, got {x.str_short()}"
        )
    if x.dtype not in _DTYPES:
        refuse = NotImplementedError if is_inexact(x.dtype) else TypeError
        raise refuse(
            f"Unsupported dtype {x.dtype.name}: {name} takes elements of float32, float64, "
            f"complex64 or complex128, but was given {x.str_short()}"
        )
    m, n = x.shape[-2:]
    if square and m != n:
        raise MatrixShapeError(f"{name}: expected square matrices, got {x.str_short()}")
    return m, n


def batch_of(x: ShapedArray, *lengths: int, dtype: DType | None = None) -> ShapedArray:
    """The type of one more array for each member of the batch."""
    return x.update(shape=(*x.shape[:-2], *lengths), dtype=x.dtype if dtype is None else dtype)


def _cholesky_type(x: ShapedArray) -> ShapedArray:
    matrix_lengths("cholesky", x, square=True)
    return x


cholesky = Effect("cholesky", family=FAMILY, typing=_cholesky_type)
"""The lower triangular l with `l @ l^H` the matrix, of which the lower triangle is read.

NaN where the matrix is not positive definite.
"""


def _triangular_solve_type(
    a: ShapedArray,
    b: ShapedArray,
    *,
    left_side: bool,
    lower: bool,
    transpose_a: bool,
    conjugate_a: bool,
    unit_diagonal: bool,
) -> ShapedArray:
    n, _ = matrix_lengths("triangular_solve", a, square=True)
    matrix_lengths("triangular_solve", b)
    common = b.shape[-2 if left_side else -1]
    if a.dtype != b.dtype or a.shape[:-2] != b.shape[:-2] or common != n:
        raise TypeError(
            f"triangular_solve: {a.str_short()} and {b.str_short()} must have the same dtype and "
            f"the same batch, and agree in the {'first' if left_side else 'last'} axis of the "
            "right side's matrices"
        )
    return b.update(weak_type=a.weak_type and b.weak_type)


triangular_solve = Effect("triangular_solve", family=FAMILY, typing=_triangular_solve_type)
"""`triangular_solve(a, b, left_side, lower, transpose_a, conjugate_a, unit_diagonal)`.

x with `op(a) @ x = b` (`x @ op(a) = b` where `left_side` is False). Only the lower or upper
triangle of a is read, and not its diagonal if that is `unit_diagonal`.
"""


def _lu_type(x: ShapedArray) -> Sequence[ShapedArray]:
    m, n = matrix_lengths("lu", x)
    return [x, batch_of(x, smallest(m, n), dtype=int32)]


lu = Effect("lu", family=FAMILY, typing=_lu_type, multiple=True)
"""A matrix as a product of triangles, its rows permuted (partial pivoting).

Both triangles in one matrix, the unit diagonal of the lower one left out; and for each step the
row that was exchanged with its own.
"""


def _pivots_type(pivots: ShapedArray, *, size: int) -> ShapedArray:
    if pivots.ndim < 1 or pivots.dtype != int32:
        raise TypeError(
            f"pivots_to_permutation takes vectors of int32, but was given {pivots.str_short()}"
        )
    if pivots.shape[-1] > size:
        raise ValueError(
            f"Output permutation size {size} has to exceed the trailing dimension of the pivots. "
            f"Got pivots size {pivots.shape[-1]}"
        )
    return pivots.update(shape=(*pivots.shape[:-1], size))


pivots_to_permutation = Effect(
    "pivots_to_permutation", family=FAMILY, typing=_pivots_type, facts=STILL | SOUND
)
"""`pivots_to_permutation(pivots, size)`: where each row was before the exchanges of `lu`."""


def _qr_type(x: ShapedArray, *, full_matrices: bool) -> Sequence[ShapedArray]:
    m, n = matrix_lengths("qr", x)
    k = m if full_matrices else smallest(m, n)
    return [batch_of(x, m, k), batch_of(x, k, n)]


qr = Effect("qr", family=FAMILY, typing=_qr_type, multiple=True)
"""`qr(x, full_matrices)`: orthonormal columns q and upper triangular r with `q @ r = x`."""


def _eigh_type(x: ShapedArray, *, lower: bool) -> Sequence[ShapedArray]:
    n, _ = matrix_lengths("eigh", x, square=True)
    return [x, batch_of(x, n, dtype=real_dtype(x.dtype))]


eigh = Effect("eigh", family=FAMILY, typing=_eigh_type, multiple=True)
"""`eigh(x, lower)`: eigenvectors (columns) and eigenvalues, ascending, of a Hermitian matrix.

Only its lower (or upper) triangle is read.
"""


def _svd_type(
    x: ShapedArray, *, full_matrices: bool, compute_uv: bool, by_qr: bool = False
) -> Sequence[ShapedArray]:
    m, n = matrix_lengths("svd", x)
    k = smallest(m, n)
    values = batch_of(x, k, dtype=real_dtype(x.dtype))
    if not compute_uv:
        return [values]
    if full_matrices:
        return [values, batch_of(x, m, m), batch_of(x, n, n)]
    return [values, batch_of(x, m, k), batch_of(x, k, n)]


svd = Effect("svd", family=FAMILY, typing=_svd_type, multiple=True)
"""`svd(x, full_matrices, compute_uv, by_qr=False)`: singular values, descending; u, v^H if asked.

`u @ diag(s) @ v^H` is the matrix. With `by_qr`, by the QR iteration of Golub & Kahan instead of
divide and conquer.
"""


def _eig_type(x: ShapedArray, *, compute_left: bool, compute_right: bool) -> Sequence[ShapedArray]:
    n, _ = matrix_lengths("eig", x, square=True)
    dtype = x.dtype if is_complex(x.dtype) else complex_dtype(x.dtype)
    vectors = batch_of(x, n, n, dtype=np.dtype(dtype))
    return [batch_of(x, n, dtype=vectors.dtype), *[vectors] * (compute_left + compute_right)]


eig = Effect("eig", family=FAMILY, typing=_eig_type, multiple=True)
"""`eig(x, compute_left, compute_right)`: eigenvalues of any square matrix, in no order.

Then left and right eigenvectors (columns) where asked. All are complex.
"""
