"""Condensed forms of matrices in `lax.linalg`, and tridiagonal systems."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from effax.eager.whole import whole
from effax.effects.errors import MatrixShapeError
from effax.effects.rows import condensed
from effax.effects.types import typeof
from effax.effects.value import Array, ArrayLike


def _require_square(name: str, x: ArrayLike) -> None:
    lengths = typeof(x).shape
    if len(lengths) < 2 or lengths[-1] != lengths[-2]:
        raise MatrixShapeError(f"The input to {name} must be a square matrix. Got shape {lengths}.")


def schur(
    x: ArrayLike,
    *,
    compute_schur_vectors: bool = True,
    sort_eig_vals: bool = False,
    select_callable: Callable[..., Any] | None = None,
) -> tuple[Array, ...]:
    """Return triangular t, and unitary q where asked, with `q @ t @ q^H = x`.

    Of real matrices t has blocks of two rows for pairs of conjugate eigenvalues. There are no
    derivatives. Sorting is refused with `NotImplementedError`, as LAPACK's is in JAX. LAPACK
    computes it on the CPU; on GPUs and TPUs it is a loop whose number of steps grows with n².

    Args:
      x: array_like, (..., n, n).
      compute_schur_vectors: whether to return q.
      sort_eig_vals, select_callable: not supported.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> t, q = lax.linalg.schur(jnp.array([[1.0, 2.0], [0.0, 3.0]]))
    >>> t
    Array([[1., 2.], [0., 3.]], dtype=float32)
    """
    if sort_eig_vals or select_callable is not None:
        raise NotImplementedError(
            "lax.linalg.schur: sort_eig_vals and select_callable are not implemented; the "
            "eigenvalues are on the diagonal of t"
        )
    return _schur(x, bool(compute_schur_vectors))


@whole("vectors")
def _schur(x: ArrayLike, vectors: bool) -> tuple[Array, ...]:
    _require_square("schur", x)
    return tuple(condensed.schur(x, compute_vectors=vectors))


@whole()
def hessenberg(a: ArrayLike) -> tuple[Array, Array]:
    """Return Hessenberg's form h with `q @ h @ q^H = a`, and the reflections of q.

    Below the first subdiagonal, where h is zero, are the vectors of the reflections that
    `householder_product` multiplies out; their factors are the second result. No derivatives.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> packed, taus = lax.linalg.hessenberg(jnp.eye(3))
    >>> packed.shape, taus.shape
    ((3, 3), (2,))
    """
    lengths = typeof(a).shape
    if len(lengths) < 2 or lengths[-1] != lengths[-2]:
        raise MatrixShapeError(
            f"Argument to Hessenberg reduction must have shape [..., n, n], got shape {lengths}"
        )
    packed, taus = condensed.hessenberg(a)
    return packed, taus


@whole("lower")
def tridiagonal(a: ArrayLike, *, lower: bool = True) -> tuple[Array, Array, Array, Array]:
    """Return a Hermitian matrix as `q @ t @ q^H`, t real and tridiagonal.

    The packed form (t, and the vectors of the reflections that q is a product of, in the place of
    zeros), t's diagonal, the one beside it, and the factors of the reflections. No derivatives.

    Args:
      a: array_like, (..., n, n).
      lower: whether the lower triangle is read, rather than the upper.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> packed, d, e, taus = lax.linalg.tridiagonal(jnp.diag(jnp.array([1.0, 2.0])))
    >>> d, e
    (Array([1., 2.], dtype=float32), Array([0.], dtype=float32))
    """
    _require_square("tridiagonal", a)
    packed, d, e, taus = condensed.tridiagonal(a, lower=lower)
    return packed, d, e, taus


@whole("perturb_singular")
def tridiagonal_solve(
    dl: ArrayLike, d: ArrayLike, du: ArrayLike, b: ArrayLike, *, perturb_singular: bool = False
) -> Array:
    """Solve `a @ x = b` for tridiagonal a, by elimination with exchanges of rows.

    Args:
      dl: the diagonal below the main one, (..., n). Its first element is not used.
      d: the main diagonal, (..., n).
      du: the diagonal above the main one, (..., n). Its last element is not used.
      b: the right sides, (..., n, k).
      perturb_singular: whether to solve a system close by where a is singular; otherwise the
        solution is NaN there.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> none, d = jnp.zeros(3), jnp.array([1.0, 2.0, 4.0])
    >>> lax.linalg.tridiagonal_solve(none, d, none, jnp.ones((3, 1)))[:, 0]
    Array([1.  , 0.5 , 0.25], dtype=float32)
    """
    return condensed.tridiagonal_solve(dl, d, du, b, perturb_singular=perturb_singular)
