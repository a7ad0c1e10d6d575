"""Linear algebra as `scipy.linalg` has it. Parameters that speak of memory have no meaning here."""

from __future__ import annotations

from typing import Any, Literal, overload

import effax.numpy as jnp
from effax import lax
from effax.eager.whole import whole
from effax.effects import matrices
from effax.effects.rows import shape
from effax.effects.value import Array, ArrayLike, smallest
from effax.lax import linalg
from effax.lax.decompositions import solve as solve_systems
from effax.lax.factors import lu_solve as solve_factored
from effax.lax.shapes import broadcast_shapes, repeated
from effax.numpy.decompositions import floats, floats_or_lists, opened_list
from effax.numpy.systems import det as _det
from effax.numpy.systems import inv as _inv
from effax.numpy.systems import right_sides
from effax.scipy.matrix_functions import expm as expm
from effax.scipy.matrix_functions import expm_frechet as expm_frechet
from effax.scipy.matrix_functions import funm as funm
from effax.scipy.matrix_functions import solve_sylvester as solve_sylvester
from effax.scipy.matrix_functions import sqrtm as sqrtm
from effax.scipy.reduced_forms import eigh_tridiagonal as eigh_tridiagonal
from effax.scipy.reduced_forms import hessenberg as hessenberg
from effax.scipy.reduced_forms import polar as polar
from effax.scipy.reduced_forms import qr_multiply as qr_multiply
from effax.scipy.reduced_forms import rsf2csf as rsf2csf
from effax.scipy.reduced_forms import schur as schur
from effax.scipy.structured import circulant as circulant
from effax.scipy.structured import companion as companion
from effax.scipy.structured import convolution_matrix as convolution_matrix
from effax.scipy.structured import dft as dft
from effax.scipy.structured import fiedler as fiedler
from effax.scipy.structured import fiedler_companion as fiedler_companion
from effax.scipy.structured import hadamard as hadamard
from effax.scipy.structured import hankel as hankel
from effax.scipy.structured import helmert as helmert
from effax.scipy.structured import hilbert as hilbert
from effax.scipy.structured import invhilbert as invhilbert
from effax.scipy.structured import invpascal as invpascal
from effax.scipy.structured import leslie as leslie
from effax.scipy.structured import pascal as pascal
from effax.scipy.structured import toeplitz as toeplitz

__all__ = [
    "block_diag",
    "cho_factor",
    "cho_solve",
    "cholesky",
    "circulant",
    "companion",
    "convolution_matrix",
    "det",
    "dft",
    "eigh",
    "eigh_tridiagonal",
    "expm",
    "expm_frechet",
    "fiedler",
    "fiedler_companion",
    "funm",
    "hadamard",
    "hankel",
    "helmert",
    "hessenberg",
    "hilbert",
    "inv",
    "invhilbert",
    "invpascal",
    "leslie",
    "lu",
    "lu_factor",
    "lu_solve",
    "pascal",
    "polar",
    "qr",
    "qr_multiply",
    "rsf2csf",
    "schur",
    "solve",
    "solve_sylvester",
    "solve_triangular",
    "sqrtm",
    "svd",
    "toeplitz",
]
__dir__ = __all__.copy


def _columns(name: str, a: Array, b: Array) -> tuple[Array, Array, bool]:
    """Matrices and right sides of one batch; whether those were vectors: a single one, or many,
    with as many axes as the batch of a and one more."""
    vector = b.ndim == 1 or (b.ndim == a.ndim - 1 and b.shape[-1] == a.shape[-1])
    if vector:
        b = shape.expand_dims(b, (b.ndim,))
    if a.ndim < 2 or a.shape[-1] != a.shape[-2] or a.shape[-1] != b.shape[-2]:
        what = f"vectors of length {b.shape[-2]}" if vector else f"{b.shape[-2]} rows"
        raise ValueError(
            f"{name}: a must be square matrices with as many rows as b, got a of shape {a.shape} "
            f"and b of {what}"
        )
    batch = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return repeated(a, batch + a.shape[-2:]), repeated(b, batch + b.shape[-2:]), vector


def _result(x: Array, vector: bool) -> Array:
    return shape.squeeze(x, (x.ndim - 1,)) if vector else x


@whole("lower", "overwrite_a", "check_finite")
def cholesky(
    a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Array:
    """Return the triangular factor of positive definite matrices: upper, unless `lower`.

    Args:
      a: array_like, (..., n, n), Hermitian positive definite; the triangle of `lower` is read.
      lower: whether the factor is the lower triangle, c with `c @ c^H = a`, not the upper.
      overwrite_a, check_finite: accepted for compatibility, without effect.

    >>> import effax.numpy as jnp
    >>> from effax.scipy import linalg
    >>> linalg.cholesky(jnp.array([[4.0, 2.0], [2.0, 2.0]]))
    Array([[2., 1.], [0., 1.]], dtype=float32)
    """
    (x,) = floats_or_lists("scipy.linalg.cholesky", a)
    if lower:
        return linalg.cholesky(x, symmetrize_input=False)
    return matrices.adjoint(linalg.cholesky(matrices.adjoint(x), symmetrize_input=False))


def cho_factor(
    a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, bool]:
    """Return the factor of `cholesky` and the flag `lower`, for `cho_solve`.

    Args:
      a: array_like, (..., n, n), Hermitian positive definite; the triangle of `lower` is read.
      lower: whether the factor is the lower triangle, not the upper.
      overwrite_a, check_finite: accepted for compatibility, without effect.

    >>> import effax.numpy as jnp
    >>> from effax.scipy import linalg
    >>> linalg.cho_solve(linalg.cho_factor(4 * jnp.eye(2)), jnp.ones(2))
    Array([0.25, 0.25], dtype=float32)
    """
    return cholesky(a, lower), lower


def cho_solve(
    c_and_lower: tuple[ArrayLike, bool],
    b: ArrayLike,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array:
    """Solve `a @ x = b` for x, from the factor that `cho_factor` gives.

    Args:
      c_and_lower: the factor, (..., n, n), and whether it is the lower triangle.
      b: array_like, (..., n, k) or (..., n), the right sides.
      overwrite_b, check_finite: accepted for compatibility, without effect.

    >>> import effax.numpy as jnp
    >>> from effax.scipy import linalg
    >>> linalg.cho_solve(linalg.cho_factor(4 * jnp.eye(2)), jnp.ones(2))
    Array([0.25, 0.25], dtype=float32)
    """
    factor, lower = c_and_lower
    return _cho_solve(factor, b, bool(lower))


@whole("lower")
def _cho_solve(factor: ArrayLike, b: ArrayLike, lower: bool) -> Array:
    c, y, vector = _columns("cho_solve", *floats_or_lists("scipy.linalg.cho_solve", factor, b))
    for adjoint in (not lower, lower):
        y = linalg.triangular_solve(
            c, y, left_side=True, lower=lower, transpose_a=adjoint, conjugate_a=adjoint
        )
    return _result(y, vector)


@whole("trans", "lower", "unit_diagonal", "overwrite_b", "debug", "check_finite")
def solve_triangular(
    a: ArrayLike,
    b: ArrayLike,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    debug: Any = None,
    check_finite: bool = True,
) -> Array:
    """Solve `op(a) @ x = b` for x, where `a` is triangular.

    Args:
      a: array_like, (..., n, n), triangular; the other triangle is not read.
      b: array_like, (..., n, k) or (..., n), the right sides.
      trans: 0 or "N" for `a` itself, 1 or "T" for its transpose, 2 or "C" for its adjoint.
      lower: whether `a` is a lower triangle, not an upper one.
      unit_diagonal: whether the diagonal is taken to be ones, and not read.
      overwrite_b, debug, check_finite: accepted for compatibility, without effect.

    >>> import effax.numpy as jnp
    >>> from effax.scipy import linalg
    >>> linalg.solve_triangular(jnp.array([[2.0, 0.0], [0.0, 4.0]]), jnp.ones(2))
    Array([0.5 , 0.25], dtype=float32)
    """
    flags = {0: (False, False), 1: (True, False), 2: (True, True)}
    number = {"N": 0, "T": 1, "C": 2}.get(trans, trans) if isinstance(trans, str) else trans
    if number not in flags:
        raise ValueError(f"Invalid 'trans' value {trans}")
    transpose_a, conjugate_a = flags[number]
    x, y, vector = _columns(
        "solve_triangular", *floats_or_lists("scipy.linalg.solve_triangular", a, b)
    )
    found = linalg.triangular_solve(
        x,
        y,
        left_side=True,
        lower=lower,
        transpose_a=transpose_a,
        conjugate_a=conjugate_a,
        unit_diagonal=unit_diagonal,
    )
    return _result(found, vector)


@whole("lower", "overwrite_a", "overwrite_b", "debug", "check_finite", "assume_a")
def solve(
    a: ArrayLike,
    b: ArrayLike,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    debug: bool = False,
    check_finite: bool = True,
    assume_a: str = "gen",
) -> Array:
    """Solve `a @ x = b` for x.

    Args:
      a: array_like, (..., n, n).
      b: array_like, (n,) or (..., n, k), the right sides.
      lower: whether the lower triangle of `a` is read, not the upper; unused for "gen".
      overwrite_a, overwrite_b, debug, check_finite: accepted for compatibility, without effect.
      assume_a: "gen" for any `a`; "sym" for a symmetric, "her" for a Hermitian, and "pos" for a
        Hermitian positive definite one, of which one triangle is read.

    Raises:
      ValueError: for another `assume_a`, and for shapes that don't fit. A batch of vectors is none
        of the shapes of `b`, as in `numpy.linalg.solve`: use `solve(a, b[..., None])`.

    >>> import effax.numpy as jnp
    >>> from effax.scipy import linalg
    >>> linalg.solve(4 * jnp.eye(2), jnp.ones(2), assume_a="pos")
    Array([0.25, 0.25], dtype=float32)
    """
    if assume_a not in ("gen", "sym", "her", "pos"):
        raise ValueError(
            f"Expected assume_a to be one of ['gen', 'sym', 'her', 'pos']; got {assume_a!r}"
        )
    x, y, vector = right_sides(*floats("scipy.linalg.solve", a, b))
    if assume_a == "gen":
        return _result(solve_systems(x, y), vector)
    known, hermitian = lax.stop_gradient(x), assume_a != "sym"
    if assume_a == "pos":
        factor = cholesky(known, lower)
    else:
        known = matrices.from_triangle(known, bool(lower), hermitian)

    def by_triangle(_: Any, right: Array) -> Array:
        if assume_a == "pos":
            return _cho_solve(factor, right, lower)
        return solve_systems(known, right)

    def transposed(_: Any, right: Array) -> Array:
        if not hermitian:
            return by_triangle(None, right)
        return matrices.conj(by_triangle(None, matrices.conj(right)))

    found = lax.custom_linear_solve(
        lambda v: matrices.product(x, v), y, by_triangle, transpose_solve=transposed
    )
    return _result(found, vector)


@whole("overwrite_a", "check_finite")
def lu_factor(
    a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, Array]:
    """Return both triangles of the LU decomposition in one matrix, and the row exchanges.

    Args:
      a: array_like, (..., m, n).
      overwrite_a, check_finite: accepted for compatibility, without effect.

    Returns:
      The factors and the pivots, for `lu_solve`.

    >>> import effax.numpy as jnp
    >>> from effax.scipy import linalg
    >>> linalg.lu_solve(linalg.lu_factor(4 * jnp.eye(2)), jnp.ones(2))
    Array([0.25, 0.25], dtype=float32)
    """
    factors, pivots, _ = linalg.lu(*floats_or_lists("scipy.linalg.lu_factor", a))
    return factors, pivots


@whole("trans", "overwrite_b", "check_finite")
def lu_solve(
    lu_and_piv: tuple[Array, ArrayLike],
    b: ArrayLike,
    trans: int = 0,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array:
    """Solve `op(a) @ x = b` for x, from the factors that `lu_factor` gives.

    Args:
      lu_and_piv: the factors, (..., n, n), and the pivots, (..., n).
      b: array_like, (..., n, k) or (..., n), the right sides.
      trans: 0 for `a` itself, 1 for its transpose, 2 for its adjoint.
      overwrite_b, check_finite: accepted for compatibility, without effect.

    >>> import effax.numpy as jnp
    >>> from effax.scipy import linalg
    >>> linalg.lu_solve(linalg.lu_factor(4 * jnp.eye(2)), jnp.ones(2))
    Array([0.25, 0.25], dtype=float32)
    """
    if trans not in (0, 1, 2):
        raise ValueError(f"'trans' value must be 0, 1, or 2, got {trans}")
    factors, right = floats_or_lists("scipy.linalg.lu_solve", lu_and_piv[0], b)
    size = factors.shape[-1]
    permutation = linalg.lu_pivots_to_permutation(jnp.asarray(lu_and_piv[1]), size)
    x, y, vector = _columns("lu_solve", factors, right)
    permutation = repeated(permutation, x.shape[:-1])
    if trans == 2:
        y = matrices.conj(y)
    found = solve_factored(x, permutation, y, transposed=trans != 0)
    return _result(matrices.conj(found) if trans == 2 else found, vector)


@whole("permute_l", "overwrite_a", "check_finite")
def lu(
    a: ArrayLike, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, ...]:
    """Return the LU decomposition: p, l and u with `p @ l @ u = a`.

    Args:
      a: array_like, (..., m, n).
      permute_l: whether to return `p @ l` and u only.
      overwrite_a, check_finite: accepted for compatibility, without effect.

    >>> import effax.numpy as jnp
    >>> from effax.scipy import linalg
    >>> linalg.lu(jnp.array([[0.0, 2.0], [4.0, 2.0]]))[2]
    Array([[4., 2.], [0., 2.]], dtype=float32)
    """
    (x,) = floats_or_lists("scipy.linalg.lu", a)
    m, n = x.shape[-2:]
    k = smallest(m, n)
    factors, _, permutation = linalg.lu(x)
    places = lax.broadcasted_iota(permutation.dtype, (*x.shape[:-2], m, m), x.ndim - 2)
    p = jnp.real((permutation[..., None, :] == places).astype(x.dtype))
    below = factors[..., :, :k]
    unit = matrices.tril(below, -1) + matrices.identity_like(below)
    u = matrices.triu(factors)[..., :k, :]
    if permute_l:
        return matrices.product(p.astype(unit.dtype), unit), u
    return p, unit, u


@whole("overwrite_a", "lwork", "mode", "pivoting", "check_finite")
def qr(
    a: ArrayLike,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> tuple[Array, ...]:
    """Return the QR decomposition: orthonormal columns q and an upper triangle r with `q @ r = a`.

    Args:
      a: array_like, (..., m, n).
      mode: "full", "economic" (q has min(m, n) columns), or "r", without q.
      pivoting: whether to return an order of the columns too, with `q @ r = a[:, order]`,
        in which the diagonal of r descends in size.
      overwrite_a, lwork, check_finite: accepted for compatibility, without effect.

    >>> import effax.numpy as jnp
    >>> from effax.scipy import linalg
    >>> abs(linalg.qr(jnp.array([[3.0], [4.0]]), mode="economic")[1])
    Array([[5.]], dtype=float32)
    """
    if mode not in ("full", "r", "economic"):
        raise ValueError(f"Unsupported QR decomposition mode '{mode}'")
    (x,) = floats_or_lists("scipy.linalg.qr", a)
    done = linalg.qr(x, pivoting=pivoting, full_matrices=mode != "economic")
    return done[1:] if mode == "r" else done


@overload
def svd(
    a: ArrayLike,
    full_matrices: bool = ...,
    compute_uv: Literal[True] = ...,
    overwrite_a: bool = ...,
    check_finite: bool = ...,
    lapack_driver: str = ...,
) -> tuple[Array, Array, Array]: ...
@overload
def svd(
    a: ArrayLike,
    full_matrices: bool = ...,
    *,
    compute_uv: Literal[False],
    overwrite_a: bool = ...,
    check_finite: bool = ...,
    lapack_driver: str = ...,
) -> Array: ...
@overload
def svd(
    a: ArrayLike,
    full_matrices: bool = ...,
    compute_uv: bool = ...,
    overwrite_a: bool = ...,
    check_finite: bool = ...,
    lapack_driver: str = ...,
) -> Array | tuple[Array, Array, Array]: ...
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Array | tuple[Array, Array, Array]:
    """Return the singular value decomposition `u @ diag(s) @ vh = a`, as a plain tuple.

    Args:
      a: array_like, (..., m, n).
      full_matrices: whether u and vh are square; else they have min(m, n) columns and rows.
      compute_uv: whether to return u and vh, not the singular values alone.
      overwrite_a, check_finite: accepted for compatibility, without effect.
      lapack_driver: "gesdd" or "gesvd", SciPy's names of two ways to the same answer.

    >>> import effax.numpy as jnp
    >>> from effax.scipy import linalg
    >>> linalg.svd(2 * jnp.eye(2), compute_uv=False)
    Array([2., 2.], dtype=float32)
    """
    if lapack_driver not in ("gesdd", "gesvd"):
        raise ValueError(f"svd: lapack_driver must be 'gesdd' or 'gesvd', got {lapack_driver!r}")
    if not compute_uv:
        return jnp.linalg.svd(opened_list(a), full_matrices=full_matrices, compute_uv=False)
    u, s, vh = jnp.linalg.svd(opened_list(a), full_matrices=full_matrices)
    return u, s, vh


@overload
def eigh(
    a: ArrayLike,
    b: ArrayLike | None = ...,
    lower: bool = ...,
    eigvals_only: Literal[False] = ...,
    overwrite_a: bool = ...,
    overwrite_b: bool = ...,
    turbo: bool = ...,
    eigvals: None = ...,
    type: int = ...,
    check_finite: bool = ...,
) -> tuple[Array, Array]: ...
@overload
def eigh(
    a: ArrayLike,
    b: ArrayLike | None = ...,
    lower: bool = ...,
    *,
    eigvals_only: Literal[True],
    overwrite_a: bool = ...,
    overwrite_b: bool = ...,
    turbo: bool = ...,
    eigvals: None = ...,
    type: int = ...,
    check_finite: bool = ...,
) -> Array: ...
@overload
def eigh(
    a: ArrayLike,
    b: ArrayLike | None = ...,
    lower: bool = ...,
    eigvals_only: bool = ...,
    overwrite_a: bool = ...,
    overwrite_b: bool = ...,
    turbo: bool = ...,
    eigvals: None = ...,
    type: int = ...,
    check_finite: bool = ...,
) -> Array | tuple[Array, Array]: ...
def eigh(
    a: ArrayLike,
    b: ArrayLike | None = None,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    turbo: bool = True,
    eigvals: None = None,
    type: int = 1,
    check_finite: bool = True,
) -> Array | tuple[Array, Array]:
    """Return eigenvalues, ascending, and eigenvectors of Hermitian matrices.

    Args:
      a: array_like, (..., n, n), Hermitian; one of its triangles is read.
      b, eigvals: must be None.
      lower: whether the lower triangle of `a` is read, not the upper.
      eigvals_only: whether to return the eigenvalues without the eigenvectors.
      overwrite_a, overwrite_b, turbo, check_finite: accepted for compatibility, without effect.
      type: must be 1.

    >>> import effax.numpy as jnp
    >>> from effax.scipy import linalg
    >>> linalg.eigh(jnp.diag(jnp.array([2.0, 1.0])), eigvals_only=True)
    Array([1., 2.], dtype=float32)
    """
    for name, given, wanted in (("b", b, None), ("type", type, 1), ("eigvals", eigvals, None)):
        if given is not wanted and given != wanted:
            raise NotImplementedError(f"Only the {name}={wanted} case of eigh is implemented")
    triangle = "L" if lower else "U"
    w, v = jnp.linalg.eigh(opened_list(a), UPLO=triangle, symmetrize_input=False)
    return w if eigvals_only else (w, v)


def det(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """Return the determinant of square matrices.

    Args:
      a: array_like, (..., n, n).
      overwrite_a, check_finite: accepted for compatibility, without effect.

    >>> import effax.numpy as jnp
    >>> from effax.scipy import linalg
    >>> linalg.det(2 * jnp.eye(2))
    Array(4., dtype=float32)
    """
    return _det(a)


def inv(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """Return the inverse of square matrices.

    Args:
      a: array_like, (..., n, n).
      overwrite_a, check_finite: accepted for compatibility, without effect.

    >>> import effax.numpy as jnp
    >>> from effax.scipy import linalg
    >>> linalg.inv(2 * jnp.eye(1))
    Array([[0.5]], dtype=float32)
    """
    return _inv(a)


@whole()
def block_diag(*arrs: ArrayLike) -> Array:
    """Return a matrix with the given ones along its diagonal, and zeros elsewhere.

    Args:
      *arrs: array_like, of at most 2 dimensions; vectors are rows, and scalars 1 by 1.

    >>> import effax.numpy as jnp
    >>> from effax.scipy import linalg
    >>> linalg.block_diag(jnp.ones((1, 1)), 2 * jnp.ones((1, 2)))
    Array([[1., 0., 0.], [0., 2., 2.]], dtype=float32)
    """
    blocks = [jnp.atleast_2d(x) for x in (arrs or (jnp.zeros((1, 0)),))]
    for i, x in enumerate(blocks):
        if x.ndim != 2:
            raise ValueError(f"Arguments to block_diag must have at most 2 dimensions, got {i}")
    dtype = jnp.result_type(*blocks)
    width = sum(x.shape[1] for x in blocks)
    done, rows = 0, []
    for x in blocks:
        after = width - done - x.shape[1]
        rows.append(shape.pad_axis(x.astype(dtype), 1, done, after))
        done += x.shape[1]
    return shape.concatenate(*rows, axis=0)
