"""Factorisations of matrices, as `numpy.linalg` has them."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, overload

import effax.numpy as jnp
from effax.eager.whole import whole
from effax.effects import matrices
from effax.effects.errors import MatrixShapeError
from effax.effects.rows import condensed
from effax.effects.rows.conversion import convert_element_type
from effax.effects.types import typeof
from effax.effects.value import Array, ArrayLike, Value
from effax.lax import linalg
from effax.operands.promoting import arraylike, promote_dtypes_inexact


class EigResult(NamedTuple):
    """Eigenvalues and right eigenvectors."""

    eigenvalues: Array
    eigenvectors: Array


class EighResult(NamedTuple):
    """Eigenvalues and eigenvectors of a Hermitian matrix."""

    eigenvalues: Array
    eigenvectors: Array


class QRResult(NamedTuple):
    """Orthonormal columns and an upper triangle."""

    Q: Array
    R: Array


class SVDResult(NamedTuple):
    """Left singular vectors, singular values, right singular vectors as rows."""

    U: Array
    S: Array
    Vh: Array


def floats(name: str, *xs: ArrayLike) -> list[Array]:
    """The operands as values of the floating-point or complex dtype in which they meet."""
    promoted = promote_dtypes_inexact(*arraylike(name, *xs))
    return [
        x
        if isinstance(x, Value)
        else convert_element_type(x, dtype=typeof(x).dtype, weak_type=typeof(x).weak_type)
        for x in promoted
    ]


def opened_list(x: ArrayLike) -> ArrayLike:
    """The operand, or the array of a list of numbers: functions of SciPy's names take these too."""
    return jnp.asarray(x) if isinstance(x, list | tuple) else x


def floats_or_lists(name: str, *xs: ArrayLike) -> list[Array]:
    """`floats` of operands that may be lists of numbers."""
    return floats(name, *map(opened_list, xs))


@whole("upper", "symmetrize_input")
def cholesky(a: ArrayLike, *, upper: bool = False, symmetrize_input: bool = True) -> Array:
    """Return the triangular l with `l @ l^H = a`, or with `upper` its adjoint.

    NaN where the matrix is not positive definite.

    Args:
      a: array_like of Hermitian matrices, (..., n, n).
      upper: whether the factor is upper triangular.
      symmetrize_input: take half the sum of the matrix and its adjoint; else the lower triangle
        alone is read.

    >>> import effax.numpy as jnp
    >>> jnp.linalg.cholesky(jnp.array([[4.0, 2.0], [2.0, 2.0]]))
    Array([[2., 0.], [1., 1.]], dtype=float32)
    """
    (x,) = floats("linalg.cholesky", a)
    factor = linalg.cholesky(x, symmetrize_input=symmetrize_input)
    return matrices.adjoint(factor) if upper else factor


@overload
def svd(
    a: ArrayLike,
    full_matrices: bool = ...,
    compute_uv: Literal[True] = ...,
    hermitian: bool = ...,
    subset_by_index: tuple[int, int] | None = ...,
) -> SVDResult: ...
@overload
def svd(
    a: ArrayLike,
    full_matrices: bool = ...,
    *,
    compute_uv: Literal[False],
    hermitian: bool = ...,
    subset_by_index: tuple[int, int] | None = ...,
) -> Array: ...
@overload
def svd(
    a: ArrayLike,
    full_matrices: bool = ...,
    compute_uv: bool = ...,
    hermitian: bool = ...,
    subset_by_index: tuple[int, int] | None = ...,
) -> Array | SVDResult: ...
@whole("full_matrices", "compute_uv", "hermitian", "subset_by_index")
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> Array | SVDResult:
    """Return the singular value decomposition: `u @ diag(s) @ vh = a`, s descending.

    Args:
      a: matrices.
      full_matrices: complete u and vh to square matrices.
      compute_uv: give all three; else s alone.
      hermitian: the matrices are Hermitian, so `eigh` will do.
      subset_by_index: a range of singular values to give.

    >>> import effax.numpy as jnp
    >>> jnp.linalg.svd(jnp.diag(jnp.array([1.0, 2.0]))).S
    Array([2., 1.], dtype=float32)
    """
    (x,) = floats("linalg.svd", a)
    if hermitian:
        return _svd_of_hermitian(x, compute_uv, subset_by_index)
    done: Any = linalg.svd(
        x, full_matrices=full_matrices, compute_uv=compute_uv, subset_by_index=subset_by_index
    )
    return SVDResult(*done) if compute_uv else done


def _svd_of_hermitian(x: Array, compute_uv: bool, subset: tuple[int, int] | None) -> Any:
    """Absolute eigenvalues, and eigenvectors whose signs are given to the right side."""
    if x.shape[-1] != x.shape[-2]:
        raise MatrixShapeError(f"svd: hermitian=True takes square matrices, got shape {x.shape}")
    v, w = linalg.eigh(x, subset_by_index=subset)
    order = jnp.argsort(jnp.abs(w), axis=-1, descending=True)
    w = jnp.take_along_axis(w, order, axis=-1)
    s = jnp.abs(w)
    if not compute_uv:
        return s
    u = jnp.take_along_axis(v, order[..., None, :], axis=-1)
    signed = u * jnp.sign(w)[..., None, :].astype(u.dtype)
    return SVDResult(u, s, matrices.adjoint(signed))


def svdvals(x: ArrayLike, /) -> Array:
    """Return the singular values, descending.

    Args:
      x: array_like, (..., m, n).

    >>> import effax.numpy as jnp
    >>> jnp.linalg.svdvals(jnp.diag(jnp.array([1.0, 2.0])))
    Array([2., 1.], dtype=float32)
    """
    return svd(x, compute_uv=False)


@overload
def qr(a: ArrayLike, mode: Literal["reduced", "complete", "full", "raw"] = ...) -> QRResult: ...
@overload
def qr(a: ArrayLike, *, mode: Literal["r"]) -> Array: ...
@overload
def qr(a: ArrayLike, mode: str = ...) -> Array | QRResult: ...
@whole("mode")
def qr(a: ArrayLike, mode: str = "reduced") -> Array | QRResult:
    """Return orthonormal columns q and upper triangular r with `q @ r = a`.

    `mode` is "reduced", "complete" (q is square), "r" (r alone) or "raw": LAPACK's Householder
    reflections, transposed as in NumPy, and their factors.

    >>> import effax.numpy as jnp
    >>> jnp.abs(jnp.linalg.qr(jnp.array([[3.0], [4.0]])).R)
    Array([[5.]], dtype=float32)
    """
    (x,) = floats("linalg.qr", a)
    if mode == "raw":
        packed, taus = condensed.reflections(x)
        return QRResult(matrices.transpose(packed), taus)
    if mode not in ("reduced", "complete", "r", "full"):
        raise ValueError(f"Unsupported QR decomposition mode '{mode}'")
    q, r = linalg.qr(x, full_matrices=mode == "complete")
    return r if mode == "r" else QRResult(q, r)


def _require_square(x: Array, function: str = "eig") -> None:
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise MatrixShapeError(
            f"The input to {function} must be a square matrix. Got shape {x.shape}."
        )


@whole()
def eig(a: ArrayLike) -> EigResult:
    """Return eigenvalues and right eigenvectors of square matrices, complex. On the CPU only.

    Args:
      a: array_like, (..., n, n).

    >>> import effax.numpy as jnp
    >>> jnp.linalg.eig(jnp.diag(jnp.array([1.0, 2.0]))).eigenvalues
    Array([1.+0.j, 2.+0.j], dtype=complex64)
    """
    (x,) = floats("linalg.eig", a)
    _require_square(x)
    return EigResult(*linalg.eig(x, compute_left_eigenvectors=False))


@whole()
def eigvals(a: ArrayLike) -> Array:
    """Return the eigenvalues of square matrices, complex. On the CPU only.

    Args:
      a: array_like, (..., n, n).

    >>> import effax.numpy as jnp
    >>> jnp.linalg.eigvals(jnp.diag(jnp.array([1.0, 2.0])))
    Array([1.+0.j, 2.+0.j], dtype=complex64)
    """
    (x,) = floats("linalg.eigvals", a)
    _require_square(x)
    return linalg.eig(x, compute_left_eigenvectors=False, compute_right_eigenvectors=False)[0]


@whole("UPLO", "symmetrize_input")
def eigh(
    a: ArrayLike,
    UPLO: str | None = None,  # noqa: N803  (NumPy's name)
    symmetrize_input: bool = True,
) -> EighResult:
    """Return eigenvalues, ascending, and eigenvectors of Hermitian matrices.

    Args:
      a: the matrices.
      UPLO: which triangle is read where the matrix is not symmetrised, "L" (the default) or "U".
      symmetrize_input: take half the sum of the matrix and its adjoint.

    >>> import effax.numpy as jnp
    >>> jnp.linalg.eigh(jnp.diag(jnp.array([2.0, 1.0]))).eigenvalues
    Array([1., 2.], dtype=float32)
    """
    (x,) = floats("linalg.eigh", a)
    if UPLO not in (None, "L", "U"):
        raise ValueError(f"UPLO must be one of None, 'L', or 'U', got {UPLO}")
    _require_square(x, "eigh")
    v, w = linalg.eigh(x, lower=UPLO != "U", symmetrize_input=symmetrize_input)
    return EighResult(w, v)


def eigvalsh(
    a: ArrayLike,
    UPLO: str | None = "L",  # noqa: N803  (NumPy's name)
    *,
    symmetrize_input: bool = True,
) -> Array:
    """Return the eigenvalues of Hermitian matrices, ascending.

    Args:
      a: array_like, (..., n, n).
      UPLO: which triangle is read where the matrix is not symmetrised, "L" (the default) or "U".
      symmetrize_input: take half the sum of the matrix and its adjoint.

    >>> import effax.numpy as jnp
    >>> jnp.linalg.eigvalsh(jnp.diag(jnp.array([2.0, 1.0])))
    Array([1., 2.], dtype=float32)
    """
    return eigh(a, UPLO, symmetrize_input).eigenvalues
