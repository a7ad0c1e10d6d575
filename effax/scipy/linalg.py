"""Linear algebra as `scipy.linalg` has it. Parameters that speak of memory have no meaning here."""

from __future__ import annotations

from typing import Any, Literal, overload

import effax.numpy as jnp
from effax import lax
from effax.eager.whole import whole
from effax.effects import matrices
from effax.effects.rows import shape
from effax.effects.value import Array, ArrayLike
from effax.lax import linalg
from effax.lax.factors import lu_solve as solve_factored
from effax.lax.shapes import broadcast_shapes, repeated
from effax.numpy.decompositions import floats, floats_or_lists, opened_list
from effax.numpy.systems import det as _det
from effax.numpy.systems import inv as _inv
from effax.numpy.systems import solve as _solve
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
    """The triangular factor of positive definite matrices: upper, unless `lower`.

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
    """The factor of `cholesky`, and which it is: for `cho_solve`.

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
    """x with `a @ x = b`, from the factor that `cho_factor` gives.

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
    """x with `op(a) @ x = b` for triangular a; op is nothing, transposition or the adjoint.

    `trans` is 0 or "N", 1 or "T", 2 or "C".

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
    """x with `a @ x = b`; `assume_a="pos"` says that a is positive definite.

    >>> import effax.numpy as jnp
    >>> from effax.scipy import linalg
    >>> linalg.solve(4 * jnp.eye(2), jnp.ones(2), assume_a="pos")
    Array([0.25, 0.25], dtype=float32)
    """
    if assume_a not in ("gen", "sym", "her", "pos"):
        raise ValueError(
            f"Expected assume_a to be one of ['gen', 'sym', 'her', 'pos']; got {assume_a!r}"
        )
    if assume_a != "pos":
        return _solve(a, b)
    x, y, vector = _columns("solve", *floats("scipy.linalg.solve", a, b))
    factor = cholesky(lax.stop_gradient(x), lower)
    found = lax.custom_linear_solve(
        lambda v: matrices.product(x, v),
        y,
        lambda _, right: _cho_solve(factor, right, lower),
        symmetric=True,
    )
    return _result(found, vector)


@whole("overwrite_a", "check_finite")
def lu_factor(
    a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, Array]:
    """Both triangles in one matrix, and the row exchanges: for `lu_solve`.

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
    """x with `op(a) @ x = b`, from what `lu_factor` gives; `trans` 1 transposes, 2 is the adjoint.

    >>> import effax.numpy as jnp
    >>> from effax.scipy import linalg
    >>> linalg.lu_solve(linalg.lu_factor(4 * jnp.eye(2)), jnp.ones(2))
    Array([0.25, 0.25], dtype=float32)
    """
    if trans not in (0, 1, 2):
        raise ValueError(f"'trans' value must be 0, 1, or 2, got {trans}")
    factors, right = floats("scipy.linalg.lu_solve", lu_and_piv[0], b)
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
    """p, l and u with `p @ l @ u = a`; `p @ l` and u with `permute_l`.

    >>> import effax.numpy as jnp
    >>> from effax.scipy import linalg
    >>> linalg.lu(jnp.array([[0.0, 2.0], [4.0, 2.0]]))[2]
    Array([[4., 2.], [0., 2.]], dtype=float32)
    """
    (x,) = floats_or_lists("scipy.linalg.lu", a)
    m, n = x.shape[-2:]
    k = min(m, n)
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
    """Orthonormal columns and an upper triangle; `mode` is "full", "economic" or "r".

    With `pivoting` an order of the columns too, `q @ r = a[:, order]`, in which the diagonal of the
    triangle descends in size; that only on the CPU.

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
    """The singular value decomposition, as a plain tuple.

    >>> import effax.numpy as jnp
    >>> from effax.scipy import linalg
    >>> linalg.svd(2 * jnp.eye(2), compute_uv=False)
    Array([2., 2.], dtype=float32)
    """
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
    """Eigenvalues, ascending, and eigenvectors of Hermitian matrices.

    >>> import effax.numpy as jnp
    >>> from effax.scipy import linalg
    >>> linalg.eigh(jnp.diag(jnp.array([2.0, 1.0])), eigvals_only=True)
    Array([1., 2.], dtype=float32)
    """
    for name, given, wanted in (("b", b, None), ("type", type, 1), ("eigvals", eigvals, None)):
        if given is not wanted and given != wanted:
            raise NotImplementedError(f"Only the {name}={wanted} case of eigh is implemented")
    w, v = jnp.linalg.eigh(opened_list(a), UPLO="L" if lower else "U")
    return w if eigvals_only else (w, v)


def det(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """The determinant.

    >>> import effax.numpy as jnp
    >>> from effax.scipy import linalg
    >>> linalg.det(2 * jnp.eye(2))
    Array(4., dtype=float32)
    """
    return _det(a)


def inv(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """The inverse.

    >>> import effax.numpy as jnp
    >>> from effax.scipy import linalg
    >>> linalg.inv(2 * jnp.eye(1))
    Array([[0.5]], dtype=float32)
    """
    return _inv(a)


@whole()
def block_diag(*arrs: ArrayLike) -> Array:
    """Matrices along the diagonal of one, zeros elsewhere.

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
