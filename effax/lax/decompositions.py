"""Factorisations of batches of matrices, and triangular systems."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal, overload

from effax.api.custom.jvp import stop_gradient
from effax.eager.whole import whole
from effax.effects import matrices
from effax.effects.rows import condensed, elementwise, linalg, shape
from effax.effects.rows.conversion import convert_element_type
from effax.effects.types import bit_width, float32, is_float, typeof
from effax.effects.value import Array, ArrayLike
from effax.lax.algorithms import (
    EighImplementation,
    EigImplementation,
    SvdAlgorithm,
    accept,
)
from effax.lax.eigenvectors import eig_with_derivatives
from effax.lax.factors import lu_solve
from effax.lax.solve import custom_linear_solve


def _symmetrised(x: ArrayLike) -> Array:
    return elementwise.mul(elementwise.add(x, matrices.adjoint(x)), 0.5)


@whole("symmetrize_input")
def cholesky(x: ArrayLike, *, symmetrize_input: bool = True) -> Array:
    """Return the lower triangular factor of positive definite Hermitian matrices.

    With `symmetrize_input`, of half the sum of the matrix and its adjoint; without, of what the
    lower triangle says. NaN for a matrix that is not positive definite.

    Args:
      x: array_like, (..., n, n).
      symmetrize_input: whether to take half the sum of each matrix and its adjoint first.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.linalg.cholesky(jnp.array([[4.0, 2.0], [2.0, 2.0]]))
    Array([[2., 0.], [1., 1.]], dtype=float32)
    """
    if symmetrize_input:
        linalg.matrix_lengths("cholesky", typeof(x), square=True)
        x = _symmetrised(x)
    return linalg.cholesky(x)


@whole("left_side", "lower", "transpose_a", "conjugate_a", "unit_diagonal")
def triangular_solve(
    a: ArrayLike,
    b: ArrayLike,
    *,
    left_side: bool = False,
    lower: bool = False,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> Array:
    """Solve `x @ op(a) = b` for x, or `op(a) @ x = b` with `left_side`, for triangular a.

    Args:
      a: triangular matrices; the other triangle is not read.
      b: right sides; vectors where b has one axis less than a.
      left_side: which side of x the matrix stands on.
      lower: which triangle is read.
      transpose_a: op transposes.
      conjugate_a: op conjugates.
      unit_diagonal: the diagonal is taken to be 1, and not read.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> a = jnp.array([[2.0, 0.0], [1.0, 1.0]])
    >>> lax.linalg.triangular_solve(a, jnp.array([[2.0], [3.0]]), left_side=True, lower=True)
    Array([[1.], [2.]], dtype=float32)
    """
    dtype = typeof(a).dtype
    if dtype.name in ("float16", "bfloat16") and typeof(b).dtype == dtype:
        a, b = (convert_element_type(x, dtype=float32) for x in (a, b))  # LAPACK's narrowest
    rank = typeof(a).ndim
    vector = typeof(b).ndim == rank - 1
    if vector:
        b = shape.expand_dims(b, (rank - 1 if left_side else rank - 2,))
    x = linalg.triangular_solve(
        a,
        b,
        left_side=left_side,
        lower=lower,
        transpose_a=transpose_a,
        conjugate_a=conjugate_a,
        unit_diagonal=unit_diagonal,
    )
    if vector:
        x = shape.squeeze(x, (rank - 1 if left_side else rank - 2,))
    return x if typeof(x).dtype == dtype else convert_element_type(x, dtype=dtype)


@whole()
def lu(x: ArrayLike) -> tuple[Array, Array, Array]:
    """Return the LU decomposition: both triangles in one matrix, row exchanges, their permutation.

    Args:
      x: array_like, (..., m, n).

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> factors, pivots, permutation = lax.linalg.lu(jnp.array([[0.0, 2.0], [4.0, 2.0]]))
    >>> factors, permutation
    (Array([[4., 2.], [0., 2.]], dtype=float32), Array([1, 0], dtype=int32))
    """
    factors, pivots = linalg.lu(x)
    size = typeof(factors).shape[-2]
    return factors, pivots, linalg.pivots_to_permutation(pivots, size=size)


@whole("permutation_size")
def lu_pivots_to_permutation(pivots: ArrayLike, permutation_size: int) -> Array:
    """Return the permutation that results from a sequence of row exchanges.

    Args:
      pivots: integers, (..., k): the row that row i was exchanged with.
      permutation_size: the number of rows, at least k.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.linalg.lu_pivots_to_permutation(jnp.array([1, 2]), 3)
    Array([1, 2, 0], dtype=int32)
    """
    return linalg.pivots_to_permutation(pivots, size=permutation_size)


@whole("pivoting", "full_matrices", "use_magma")
def qr(
    x: ArrayLike,
    *,
    pivoting: bool = False,
    full_matrices: bool = True,
    use_magma: bool | None = None,
) -> tuple[Array, ...]:
    """Return orthonormal columns q and an upper triangular r with `q @ r = x`.

    With `pivoting` an order of the columns as well, `q @ r = x[:, order]`, for which the diagonal
    of r descends in size. There is no MAGMA here: `use_magma` is refused.

    Args:
      x: array_like, (..., m, n).
      pivoting: whether to order the columns as well.
      full_matrices: whether q is (..., m, m); otherwise it has min(m, n) columns.
      use_magma: must be None or False.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> q, r = lax.linalg.qr(jnp.array([[3.0], [4.0]]), full_matrices=False)
    >>> jnp.abs(r)
    Array([[5.]], dtype=float32)
    """
    accept("qr", "use_magma", use_magma, (None, False))
    x, back = _with_lapack_dtype(x)
    effect = condensed.pivoted_qr if pivoting else linalg.qr
    return tuple(map(back, effect(x, full_matrices=full_matrices)))


def _with_lapack_dtype(x: ArrayLike) -> tuple[ArrayLike, Callable[[Array], Array]]:
    """The operand, and a function that gives each result its dtype.

    LAPACK has no narrow floats. A matrix of them that has no elements is decomposed as float32.
    """
    given = typeof(x)
    if 0 not in given.shape[-2:] or not is_float(given.dtype) or bit_width(given.dtype) > 16:
        return x, lambda y: y

    def back(y: Array) -> Array:
        kind = given.dtype if is_float(typeof(y).dtype) else typeof(y).dtype
        return convert_element_type(y, dtype=kind)

    return convert_element_type(x, dtype=float32), back


@whole("lower", "symmetrize_input", "sort_eigenvalues", "subset_by_index", "implementation")
def eigh(
    x: ArrayLike,
    *,
    lower: bool = True,
    symmetrize_input: bool = True,
    sort_eigenvalues: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    implementation: EighImplementation | None = None,
) -> tuple[Array, Array]:
    """Return eigenvectors and eigenvalues (ascending) of Hermitian matrices.

    `subset_by_index` is the range of eigenvalues that are given. The implementation is LAPACK's
    or cuSOLVER's of divide and conquer; asking for another raises `NotImplementedError`.

    Args:
      x: array_like, (..., n, n).
      lower: whether the lower triangle is read, rather than the upper; of no effect with
        `symmetrize_input`.
      symmetrize_input: whether to take half the sum of each matrix and its adjoint first.
      sort_eigenvalues: of no effect: the eigenvalues are always ascending.
      subset_by_index: (start, stop), the range of eigenvalues to return; None for all.
      implementation: must be None.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> v, w = lax.linalg.eigh(jnp.diag(jnp.array([2.0, 1.0])))
    >>> w
    Array([1., 2.], dtype=float32)
    """
    accept("eigh", "implementation", implementation, (None,))
    v, w = linalg.eigh(_symmetrised(x) if symmetrize_input else x, lower=lower)
    if subset_by_index is not None:
        start, stop = subset_by_index
        v = shape.slice_axis(v, typeof(v).ndim - 1, start, stop)
        w = shape.slice_axis(w, typeof(w).ndim - 1, start, stop)
    return v, w


@overload
def svd(
    x: ArrayLike,
    *,
    full_matrices: bool = ...,
    compute_uv: Literal[True] = ...,
    subset_by_index: tuple[int, int] | None = ...,
    algorithm: SvdAlgorithm | None = ...,
) -> tuple[Array, Array, Array]: ...
@overload
def svd(
    x: ArrayLike,
    *,
    full_matrices: bool = ...,
    compute_uv: Literal[False],
    subset_by_index: tuple[int, int] | None = ...,
    algorithm: SvdAlgorithm | None = ...,
) -> Array: ...
@overload
def svd(
    x: ArrayLike,
    *,
    full_matrices: bool = ...,
    compute_uv: bool = ...,
    subset_by_index: tuple[int, int] | None = ...,
    algorithm: SvdAlgorithm | None = ...,
) -> Array | tuple[Array, Array, Array]: ...
@whole("full_matrices", "compute_uv", "subset_by_index", "algorithm")
def svd(
    x: ArrayLike,
    *,
    full_matrices: bool = True,
    compute_uv: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    algorithm: SvdAlgorithm | None = None,
) -> Array | tuple[Array, Array, Array]:
    """Return singular vectors u, values s (descending) and v^H with `u @ diag(s) @ v^H = x`.

    The values alone where `compute_uv` is False. The algorithm is LAPACK's divide and conquer on
    the CPU, cuSOLVER's Jacobi method on GPUs, the polar decomposition on TPUs; `SvdAlgorithm.QR` is
    LAPACK's other one. Asking for another raises `NotImplementedError`.

    Args:
      x: array_like, (..., m, n).
      full_matrices: whether u and v^H are square; otherwise they have min(m, n) columns and rows.
      compute_uv: whether to return the singular vectors.
      subset_by_index: (start, stop), the range of singular values to return; None for all. With
        vectors it needs `full_matrices=False`.
      algorithm: an `SvdAlgorithm`, or None.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.linalg.svd(jnp.diag(jnp.array([1.0, 2.0])), compute_uv=False)
    Array([2., 1.], dtype=float32)
    """
    default = (None, SvdAlgorithm.DEFAULT, SvdAlgorithm.DIVIDE_AND_CONQUER)
    accept("svd", "algorithm", algorithm, (*default, SvdAlgorithm.QR))
    effect = partial(linalg.svd, by_qr=True) if algorithm is SvdAlgorithm.QR else linalg.svd
    if subset_by_index is not None and full_matrices and compute_uv:
        raise ValueError("svd: subset_by_index needs full_matrices=False")
    x, back = _with_lapack_dtype(x)
    found = effect(x, full_matrices=full_matrices, compute_uv=compute_uv)
    parts = [*map(back, found)]
    if subset_by_index is not None:
        start, stop = subset_by_index
        axes = (-1, -1, -2)
        parts = [
            shape.slice_axis(y, typeof(y).ndim + axis, start, stop)
            for y, axis in zip(parts, axes, strict=False)
        ]
    if not compute_uv:
        return parts[0]
    s, u, vh = parts
    return u, s, vh


@whole(
    "compute_left_eigenvectors",
    "compute_right_eigenvectors",
    "enable_eigvec_derivs",
    "implementation",
    "use_magma",
)
def eig(
    x: ArrayLike,
    *,
    compute_left_eigenvectors: bool = True,
    compute_right_eigenvectors: bool = True,
    enable_eigvec_derivs: bool = False,
    implementation: EigImplementation | None = None,
    use_magma: bool | None = None,
) -> list[Array]:
    """Return eigenvalues of square matrices, then left and right eigenvectors where asked.

    LAPACK computes them on the CPU, and cuSOLVER on a GPU, which has no left eigenvectors: where
    these are asked for, a GPU's program calls LAPACK on the host. On a TPU they come from Schur's
    form. Only the eigenvalues have derivatives, unless `enable_eigvec_derivs`: then eigenvectors
    have that of LAPACK's choice among their multiples, of length 1 and with the largest element
    real.

    Args:
      x: array_like, (..., n, n).
      compute_left_eigenvectors, compute_right_eigenvectors: whether to return these vectors.
      enable_eigvec_derivs: whether the eigenvectors have derivatives.
      implementation: None or `EigImplementation.LAPACK`, which mean the same; others raise
        `NotImplementedError`.
      use_magma: must be None or False.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> len(lax.linalg.eig(jnp.eye(2)))
    3
    """
    accept("eig", "implementation", implementation, (None, EigImplementation.LAPACK))
    accept("eig", "use_magma", use_magma, (None, False))
    if enable_eigvec_derivs:
        return eig_with_derivatives(x, compute_left_eigenvectors, compute_right_eigenvectors)
    return list(
        linalg.eig(
            x,
            compute_left=compute_left_eigenvectors,
            compute_right=compute_right_eigenvectors,
        )
    )


@whole("alpha", "beta", "symmetrize_output")
def symmetric_product(
    a_matrix: ArrayLike,
    c_matrix: ArrayLike,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
    symmetrize_output: bool = False,
) -> Array:
    """Return `alpha * a @ a^T + beta * c`.

    Args:
      a_matrix: array_like, (..., n, k).
      c_matrix: array_like, (..., n, n).
      alpha, beta: the factors of the product and of c.
      symmetrize_output: whether the upper triangle of the result is a copy of the lower.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.linalg.symmetric_product(jnp.array([[1.0], [2.0]]), jnp.zeros((2, 2)))
    Array([[1., 2.], [2., 4.]], dtype=float32)
    """
    square = matrices.product(a_matrix, matrices.transpose(a_matrix))
    result = elementwise.add(elementwise.mul(square, alpha), elementwise.mul(c_matrix, beta))
    if symmetrize_output:
        lower = matrices.tril(result)
        return elementwise.add(lower, matrices.transpose(matrices.tril(result, -1)))
    return result


def solve(a: Array, b: Array) -> Array:
    """x with `a @ x = b` for matrices with one batch; its derivative solves one more system."""
    factors, _, permutation = lu(stop_gradient(a))
    solution = custom_linear_solve(
        lambda x: matrices.product(a, x),
        b,
        lambda _, y: lu_solve(factors, permutation, y),
        lambda _, y: lu_solve(factors, permutation, y, transposed=True),
    )
    if typeof(a).weak_type and typeof(b).weak_type:
        return convert_element_type(solution, dtype=typeof(b).dtype, weak_type=True)
    return solution
