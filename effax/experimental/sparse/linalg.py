"""Eigenvectors of operators, and solutions of sparse linear systems."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from effax import lax
from effax import numpy as jnp
from effax.api.callbacks import pure_callback
from effax.api.compiling.struct import ShapeDtypeStruct
from effax.effects.value import Array

__all__ = ["lobpcg_standard", "spsolve"]
__dir__ = __all__.copy


def lobpcg_standard(
    A: Array | Callable[[Array], Array],  # noqa: N803
    X: Array,  # noqa: N803
    m: int = 100,
    tol: Any = None,
) -> tuple[Array, Array, Array]:
    """Return the largest eigenvalues of a symmetric operator, by the LOBPCG method.

    Args:
      A: a symmetric matrix of shape (n, n), or a function that multiplies it by (n, k).
      X: an array of shape (n, k), with independent columns, to begin with; 5 k < n.
      m: the most iterations.
      tol: the residual's norm, relative to the eigenvalue's size, that counts as converged; by
        default the precision of the dtype.

    Returns:
      The k eigenvalues, largest first; their eigenvectors, of shape (n, k); the number of
      iterations.

    Raises:
      ValueError: for an X that is no matrix, or too wide; an A that changes its shape or dtype.

    After Knyazev, "Toward the optimal preconditioned eigensolver" (2001), with orthonormal bases.

    >>> A = jnp.diag(jnp.arange(1.0, 21.0))
    >>> values, vectors, _ = lobpcg_standard(A, jnp.eye(20, 2) + 0.1)
    >>> [round(float(x), 3) for x in values]
    [20.0, 19.0]
    """
    if X.ndim != 2:
        raise ValueError(f"expected search dim != 2, got {X.ndim}: X must be a matrix")
    n, k = X.shape
    if k == 0:
        raise ValueError(f"must have search dim > 0, got an X of shape {X.shape}")
    if 5 * k >= n:
        raise ValueError(f"expected search dim * 5 < matrix dim (got {5 * k}, {n})")
    multiply = A if callable(A) else lambda x: _dot(A, x)
    found = multiply(X)
    if found.dtype != X.dtype:
        raise ValueError(f"A, X must have same dtypes (were {found.dtype}, {X.dtype})")
    if found.shape != X.shape:
        raise ValueError(f"A must be ({n}, {n}) matrix A: of {X.shape} it makes {found.shape}")
    precision = jnp.finfo(X.dtype).eps if tol is None else tol

    def residual(theta: Any, u: Any) -> Any:
        return multiply(u) - u * theta[None]

    def unfinished(state: Any) -> Any:
        i, theta, u, _ = state
        norms = jnp.linalg.norm(residual(theta, u), axis=0)
        return (i < m) & jnp.any(norms > precision * n * jnp.abs(theta).max())

    def step(state: Any) -> Any:
        i, theta, u, p = state
        # Householder's Q is orthonormal for any rank, and its first k columns span u.
        basis, _ = jnp.linalg.qr(jnp.concatenate([u, residual(theta, u), p], 1))
        values, rotation = jnp.linalg.eigh(_dot(basis.T, multiply(basis)))
        chosen = rotation[:, ::-1][:, :k]
        return i + 1, values[::-1][:k], _dot(basis, chosen), _dot(basis[:, k:], chosen[k:])

    u, _ = jnp.linalg.qr(X)
    values, rotation = jnp.linalg.eigh(_dot(u.T, multiply(u)))
    start = jnp.asarray(0), values[::-1], _dot(u, rotation[:, ::-1]), jnp.zeros_like(X)
    i, theta, u, _ = lax.while_loop(unfinished, step, start)
    return theta, u, i


def _dot(x: Any, y: Any) -> Any:
    return jnp.dot(x, y, precision="highest")


def spsolve(
    data: Array, indices: Array, indptr: Array, b: Array, tol: float = 1e-6, reorder: int = 1
) -> Array:
    """Return the solution x of `A x = b`, for a sparse matrix A in compressed rows.

    SciPy solves it, on the host. Its derivatives in `data` and `b` are those of the solution.

    Args:
      data: the matrix's elements, of shape (nse,).
      indices: their columns, of shape (nse,).
      indptr: where rows begin and end in `data`, of shape (n + 1,).
      b: the right side, of shape (n,).
      tol, reorder: accepted; SciPy's solver is exact, and orders as it sees fit.

    >>> spsolve(jnp.array([2.0, 4.0]), jnp.array([0, 1]), jnp.array([0, 1, 2]), jnp.ones(2))
    Array([0.5 , 0.25], dtype=float32)
    """
    n = b.shape[0]
    rows = jnp.repeat(jnp.arange(n), jnp.diff(indptr), total_repeat_length=data.shape[0])

    def product(x: Any) -> Any:
        return jnp.zeros_like(x).at[rows].add(data * x[indices])

    def solver(transposed: bool) -> Callable[[Any, Any], Any]:
        def solve(_: Any, right: Any) -> Any:
            result = ShapeDtypeStruct(right.shape, right.dtype)
            matrix = lax.stop_gradient(data), indices, indptr
            return pure_callback(
                _solve[transposed], result, *matrix, right, vmap_method="sequential"
            )

        return solve

    return lax.custom_linear_solve(product, b, solver(False), solver(True))


def _solved(transposed: bool) -> Callable[..., Any]:
    def solve(data: Any, indices: Any, indptr: Any, b: Any) -> Any:
        from scipy.sparse import csr_matrix
        from scipy.sparse.linalg import spsolve as solve_sparse

        n = b.shape[0]
        matrix = csr_matrix(tuple(map(np.asarray, (data, indices, indptr))), (n, n))
        found = solve_sparse((matrix.T if transposed else matrix).tocsc(), np.asarray(b))
        return found.astype(b.dtype)

    return solve


_solve = {transposed: _solved(transposed) for transposed in (False, True)}
