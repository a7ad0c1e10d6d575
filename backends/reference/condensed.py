"""Condensed forms by SciPy's LAPACK and by the definition, one matrix at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from effax.backends.reference.linalg import each
from effax.backends.reference.table import rule
from effax.effects.rows import condensed

Array = np.ndarray[Any, Any]


def _lapack(name: str, x: Array) -> Any:
    from scipy.linalg import get_lapack_funcs

    return get_lapack_funcs(name, (x,))


@rule(condensed.schur)
def reference_schur(x: Array, *, compute_vectors: bool) -> list[Array]:
    from scipy.linalg import schur

    return each(lambda a: schur(a)[: 1 + compute_vectors], x)


@rule(condensed.hessenberg)
def reference_hessenberg(x: Array) -> list[Array]:
    def one(a: Array) -> list[Array]:
        if len(a) < 2:
            return [a, a[:0, 0]]
        return _lapack("gehrd", a)(a)[:2]

    return each(one, x)


@rule(condensed.reflections)
def reference_reflections(x: Array) -> list[Array]:
    def one(a: Array) -> list[Array]:
        if 0 in a.shape:
            return [a, np.zeros(0, a.dtype)]
        return _lapack("geqrf", a)(a)[:2]

    return each(one, x)


@rule(condensed.tridiagonal)
def reference_tridiagonal(x: Array, *, lower: bool) -> list[Array]:
    name = "hetrd" if x.dtype.kind == "c" else "sytrd"
    return each(lambda a: _lapack(name, a)(a, lower=lower)[:4], x)


@rule(condensed.pivoted_qr)
def reference_pivoted_qr(x: Array, *, full_matrices: bool) -> list[Array]:
    from scipy.linalg import qr

    mode = "full" if full_matrices else "economic"

    def one(a: Array) -> list[Array]:
        q, r, order = qr(a, mode=mode, pivoting=True)
        return [q, r, order.astype(np.int32)]

    return each(one, x)


@rule(condensed.tridiagonal_solve)
def reference_tridiagonal_solve(
    dl: Array, d: Array, du: Array, b: Array, *, perturb_singular: bool
) -> Array:
    def one(dl: Array, d: Array, du: Array, b: Array) -> list[Array]:
        if 0 in b.shape:
            return [b]
        a = np.diag(d) + np.diag(dl[1:], -1) + np.diag(du[:-1], 1)
        if perturb_singular:
            return [_solve_perturbed(a, b)]
        try:
            return [np.linalg.solve(a, b)]
        except np.linalg.LinAlgError:
            return [np.full_like(b, np.nan)]

    return each(one, dl, d, du, b, ranks=(1, 1, 1, 2))[0]


def _solve_perturbed(a: Array, b: Array) -> Array:
    """Elimination with exchanges of rows; pivots next to zero are moved away from it."""
    limits = np.finfo(a.dtype)
    least = max(limits.eps * np.max(np.abs(a)), limits.tiny)
    a, b = a.copy(), b.copy()
    for i in range(len(a)):
        pivot = i + int(np.argmax(np.abs(a[i:, i])))
        a[[i, pivot]], b[[i, pivot]] = a[[pivot, i]], b[[pivot, i]]
        if np.abs(a[i, i]) < least:
            a[i, i] = least
        factors = a[i + 1 :, i : i + 1] / a[i, i]
        a[i + 1 :] -= factors * a[i]
        b[i + 1 :] -= factors * b[i]
    return np.linalg.solve(np.triu(a), b)
