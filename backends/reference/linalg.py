"""Linear algebra by `numpy.linalg`, one matrix at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from effax.backends.reference.table import rule
from effax.effects.rows import linalg

Array = np.ndarray[Any, Any]


def each(function: Callable[..., Any], *xs: Array, ranks: Sequence[int] = (2,)) -> list[Array]:
    """A function of one member, for all members of a batch."""
    batch = xs[0].shape[: xs[0].ndim - ranks[0]]
    members = [x.reshape(-1, *x.shape[len(batch) :]) for x in xs]
    count = int(np.prod(batch, dtype=int))
    if count == 0:
        made = function(*(np.ones(x.shape[len(batch) :], x.dtype) for x in xs))
        return [np.zeros((*batch, *np.shape(y)), np.asarray(y).dtype) for y in made]
    done = [function(*(m[i] for m in members)) for i in range(count)]
    return [
        np.stack(column).reshape(*batch, *np.shape(column[0])) for column in zip(*done, strict=True)
    ]


def of_finite(function: Callable[..., Any], x: Array) -> list[Array]:
    """`each`, where the results of a matrix that is not finite are NaN: NumPy refuses it."""

    def one(x: Array) -> list[Array]:
        if np.isfinite(x).all():
            return list(function(x))
        return [np.full_like(y, np.nan) for y in function(np.eye(*x.shape, dtype=x.dtype))]

    return each(one, x)


@rule(linalg.cholesky)
def reference_cholesky(x: Array) -> Array:
    def one(a: Array) -> tuple[Array]:
        lower = np.tril(a)
        whole = lower + np.tril(a, -1).conj().T
        try:
            return (np.linalg.cholesky(whole),)
        except np.linalg.LinAlgError:
            return (np.tril(np.full(a.shape, np.nan, a.dtype)),)

    return each(one, x)[0]


@rule(linalg.triangular_solve)
def reference_triangular_solve(
    a: Array,
    b: Array,
    *,
    left_side: bool,
    lower: bool,
    transpose_a: bool,
    conjugate_a: bool,
    unit_diagonal: bool,
) -> Array:
    def one(a: Array, b: Array) -> tuple[Array]:
        part = np.tril(a) if lower else np.triu(a)
        if unit_diagonal:
            np.fill_diagonal(part, 1)
        part = part.T if transpose_a else part
        part = part.conj() if conjugate_a else part
        if 0 in b.shape:
            return (b,)
        return (np.linalg.solve(part, b) if left_side else np.linalg.solve(part.T, b.T).T,)

    return each(one, a, b, ranks=(2, 2))[0]


@rule(linalg.lu)
def reference_lu(x: Array) -> list[Array]:
    """Gaussian elimination, the largest element of the column brought to the diagonal."""

    def one(a: Array) -> tuple[Array, Array]:
        a = a.copy()
        m, n = a.shape
        pivots = np.zeros(min(m, n), np.int32)
        for i in range(min(m, n)):
            size = np.abs(a[i:, i].real) + np.abs(a[i:, i].imag)
            pivots[i] = i + int(np.argmax(size))
            a[[i, pivots[i]]] = a[[pivots[i], i]]
            if a[i, i] != 0:
                a[i + 1 :, i] /= a[i, i]
            a[i + 1 :, i + 1 :] -= np.outer(a[i + 1 :, i], a[i, i + 1 :])
        return a, pivots

    return each(one, x)


@rule(linalg.pivots_to_permutation)
def reference_pivots_to_permutation(pivots: Array, *, size: int) -> Array:
    def one(p: Array) -> tuple[Array]:
        order = np.arange(size, dtype=np.int32)
        for i, j in enumerate(np.clip(p, 0, size - 1)):
            order[[i, j]] = order[[j, i]]
        return (order,)

    return each(one, pivots, ranks=(1,))[0]


@rule(linalg.qr)
def reference_qr(x: Array, *, full_matrices: bool) -> list[Array]:
    mode: Literal["complete", "reduced"] = "complete" if full_matrices else "reduced"
    return each(lambda a: np.linalg.qr(a, mode=mode), x)


@rule(linalg.eigh)
def reference_eigh(x: Array, *, lower: bool) -> list[Array]:
    values, vectors = of_finite(lambda a: np.linalg.eigh(a, "L" if lower else "U"), x)
    return [vectors, values]


@rule(linalg.svd)
def reference_svd(
    x: Array, *, full_matrices: bool, compute_uv: bool, by_qr: bool = False
) -> list[Array]:
    if not compute_uv:
        return of_finite(lambda a: (np.linalg.svd(a, compute_uv=False),), x)
    from scipy.linalg import svd

    driver: Literal["gesvd", "gesdd"] = "gesvd" if by_qr else "gesdd"
    u, s, vh = of_finite(lambda a: svd(a, full_matrices=full_matrices, lapack_driver=driver), x)
    return [s, u, vh]


@rule(linalg.eig)
def reference_eig(x: Array, *, compute_left: bool, compute_right: bool) -> list[Array]:
    """Left eigenvectors are the right ones of the conjugate transpose, paired by eigenvalue."""
    wide = np.complex64 if x.dtype in (np.float32, np.complex64) else np.complex128

    def one(a: Array) -> list[Array]:
        values, right = np.linalg.eig(a)
        found = [values.astype(wide)]
        if compute_left:
            others, left = np.linalg.eig(a.conj().T)
            order = [int(np.argmin(np.abs(others.conj() - v))) for v in values]
            found.append(left[:, order].astype(wide))
        if compute_right:
            found.append(right.astype(wide))
        return found

    return of_finite(one, x)
