"""Derivatives of factorisations.

Sources: cholesky, Murray 2016 ("Differentiation of the Cholesky decomposition"); lu, de Hoog,
Anderssen & Lukas 2011 ("Differentiation of matrix functionals using triangular factorization");
qr, Walter & Lehmann 2012 and, with complex numbers, Roberts & Roberts 2020; eigh, eig and svd,
Giles 2008 ("An extended collection of matrix derivative results"), with the columns outside the
range as in Townsend 2016 ("Differentiating the singular value decomposition").
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import effax.interpreters.composites.factorings  # noqa: F401  (loaded when handlers are: for those without a column)
from effax.effects.errors import UnsupportedDerivativeError
from effax.effects.matrices import (
    adjoint,
    columns,
    conj,
    diagonal,
    from_triangle,
    identity_like,
    on_diagonal,
    product,
    rows,
    take_rows,
    transpose,
    tril,
    triu,
)
from effax.effects.rows import comparison, elementwise, linalg, shape
from effax.effects.rows.complex import real
from effax.effects.rows.conversion import convert_element_type
from effax.effects.rows.elementwise import add, mul, neg, sub
from effax.effects.rows.selection import select_n
from effax.effects.types import int32, is_complex, typeof
from effax.effects.value import smallest
from effax.interpreters.jvp.dual import rule, total


def _solve(
    a: Any,
    b: Any,
    *,
    left: bool = True,
    lower: bool = False,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit: bool = False,
) -> Any:
    return linalg.triangular_solve(
        a,
        b,
        left_side=left,
        lower=lower,
        transpose_a=transpose_a,
        conjugate_a=conjugate_a,
        unit_diagonal=unit,
    )


def _real_part(x: Any) -> Any:
    return real(x) if is_complex(typeof(x).dtype) else x


@rule(linalg.cholesky, pure=True)
def cholesky_jvp(primals: list[Any], tangents: list[Any]) -> Any:
    """`dl = l Φ(l⁻¹ da l⁻ᴴ)`, where Φ takes the lower triangle and half of the diagonal.

    Of `da`, as of `a`, the lower triangle is read.
    """
    factor = linalg.cholesky(primals[0])
    (da,) = tangents
    if da is None:
        return factor, None
    da = from_triangle(da, lower=True)
    right = _solve(factor, da, left=False, lower=True, transpose_a=True, conjugate_a=True)
    inside = tril(_solve(factor, right, lower=True))
    halved = select_n(on_diagonal(inside), inside, mul(inside, 0.5))
    return factor, product(factor, halved)


@rule(linalg.triangular_solve, pure=True)
def triangular_solve_jvp(
    primals: list[Any],
    tangents: list[Any],
    *,
    left_side: bool,
    lower: bool,
    transpose_a: bool,
    conjugate_a: bool,
    unit_diagonal: bool,
) -> Any:
    """`dx = op(a)⁻¹ (db - op(da) x)`, and the same from the right."""
    attributes = {
        "left_side": left_side,
        "lower": lower,
        "transpose_a": transpose_a,
        "conjugate_a": conjugate_a,
        "unit_diagonal": unit_diagonal,
    }
    a, b = primals
    da, db = tangents
    x = linalg.triangular_solve(a, b, **attributes)
    if da is not None:
        off = int(unit_diagonal)
        part = tril(da, -off) if lower else triu(da, off)
        part = transpose(part) if transpose_a else part
        part = conj(part) if conjugate_a else part
        moved = neg(product(part, x) if left_side else product(x, part))
        db = total([db, moved])
    return x, None if db is None else linalg.triangular_solve(a, db, **attributes)


@rule(linalg.lu, pure=True)
def lu_jvp(primals: list[Any], tangents: list[Any]) -> Any:
    """With `f = l⁻¹ p da u⁻¹`: `dl = l tril(f, -1)` and `du = triu(f) u`.

    Of matrices that are not square, the triangles are completed by the identity.
    """
    x, pivots = linalg.lu(primals[0])
    (da,) = tangents
    if da is None:
        return [x, pivots], [None, None]
    m, n = typeof(x).shape[-2:]
    k = smallest(m, n)
    batch = typeof(x).ndim - 2
    moved = take_rows(da, linalg.pivots_to_permutation(pivots, size=m))
    below = shape.slice_axis(x, batch + 1, 0, k)
    below = shape.pad_axis(tril(below, -1), batch + 1, 0, m - k)
    unit = add(below, identity_like(below))
    above = shape.slice_axis(x, batch, 0, k)
    u = shape.pad_axis(triu(above), batch, 0, n - k)
    if n > k:
        corner = identity_like(u)
        row = shape.iota(dtype=int32, shape=typeof(u).shape, dimension=batch)
        u = select_n(comparison.ge(row, k), u, corner)
    f = _solve(u, _solve(unit, moved, lower=True, unit=True), left=False)
    return [x, pivots], [add(product(unit, tril(f, -1)), product(triu(f), u)), None]


@rule(linalg.qr, pure=True)
def qr_jvp(primals: list[Any], tangents: list[Any], *, full_matrices: bool) -> Any:
    (a,), (da,) = primals, tangents
    q, r = linalg.qr(a, full_matrices=full_matrices)
    if da is None:
        return [q, r], [None, None]
    return [q, r], qr_tangents(q, r, a, da, full_matrices)


def qr_tangents(q: Any, r: Any, a: Any, da: Any, full_matrices: bool) -> list[Any]:
    """Square or tall: dq within the columns is a rotation, and outside of them follows da."""
    m, n = typeof(a).shape[-2:]
    at = typeof(a).ndim - 1
    if full_matrices and m > n == 0:
        return [None, None]
    if full_matrices and m > n:
        thin, square = shape.slice_axis(q, at, 0, n), shape.slice_axis(r, at - 1, 0, n)
        dq, dr = _tall_qr_tangents(thin, square, da)
        rest = _completing_tangent(thin, shape.slice_axis(q, at, n, m), dq)
        below = shape.pad_axis(dr, at - 1, 0, m - n)
        return [shape.concatenate(dq, rest, axis=at), below]
    if m >= n:
        return list(_tall_qr_tangents(q, r, da))
    first = shape.slice_axis(r, at, 0, m)
    dq, dr = _tall_qr_tangents(q, first, shape.slice_axis(da, at, 0, m))
    rest, moved = shape.slice_axis(a, at, m, n), shape.slice_axis(da, at, m, n)
    dr_rest = add(product(adjoint(dq), rest), product(adjoint(q), moved))
    return [dq, shape.concatenate(dr, dr_rest, axis=at)]


def _completing_tangent(thin: Any, rest: Any, dq: Any) -> Any:
    """Return the tangent of the columns that complete q to a square matrix.

    They are those of a product of reflections, which the first columns determine where the upper
    square of these less the identity is regular (derived in arXiv 2409.13374).
    """
    m, n = typeof(thin).shape[-2:]
    at = typeof(thin).ndim - 2
    above, below = shape.slice_axis(thin, at, 0, n), shape.slice_axis(thin, at, n, m)
    factors, pivots = linalg.lu(sub(above, identity_like(above)))
    order = take_rows(identity_like(above), linalg.pivots_to_permutation(pivots, size=n))
    # z (above - 1) = below
    z = product(_solve(factors, _solve(factors, below, left=False), left=False, **_UNIT), order)
    d_above, d_below = shape.slice_axis(dq, at, 0, n), shape.slice_axis(dq, at, n, m)
    turned = product(add(thin, product(rest, z)), adjoint(sub(d_below, product(z, d_above))))
    return sub(product(dq, adjoint(z)), turned)


_UNIT: Final = {"lower": True, "unit": True}


def _tall_qr_tangents(q: Any, r: Any, da: Any) -> tuple[Any, Any]:
    da_r = _solve(r, da, left=False)
    inside = product(adjoint(q), da_r)
    below = tril(inside, -1)
    turn = sub(below, adjoint(below))
    if is_complex(typeof(q).dtype):
        phase = sub(inside, convert_element_type(real(inside), dtype=typeof(q).dtype))
        turn = add(turn, select_n(on_diagonal(inside), 0, phase))
    dq = add(product(q, sub(turn, inside)), da_r)
    return dq, product(sub(inside, turn), r)


@rule(linalg.eigh, pure=True)
def eigh_jvp(primals: list[Any], tangents: list[Any], *, lower: bool) -> Any:
    """Eigenvalues move by the diagonal of `vᴴ da v`, eigenvectors by the rest over differences.

    Of `da`, as of `a`, one triangle is read.
    """
    v, w = linalg.eigh(primals[0], lower=lower)
    (da,) = tangents
    if da is None:
        return [v, w], [None, None]
    da = from_triangle(da, lower)
    inside = product(adjoint(v), product(da, v))
    dw = _real_part(diagonal(inside))
    gaps = sub(columns(w, v), rows(w, v))
    diagonal_places = on_diagonal(v)
    inverse = select_n(
        diagonal_places, elementwise.div(1.0, select_n(diagonal_places, gaps, 1.0)), 0.0
    )
    dv = product(v, mul(_as(inverse, v), inside))
    return [v, w], [dv, dw]


def _as(x: Any, like: Any) -> Any:
    """A real array in the dtype of another, real or complex."""
    return (
        x
        if typeof(x).dtype == typeof(like).dtype
        else convert_element_type(x, dtype=typeof(like).dtype)
    )


@rule(linalg.svd, pure=True)
def svd_jvp(
    primals: list[Any],
    tangents: list[Any],
    *,
    full_matrices: bool,
    compute_uv: bool,
    by_qr: bool = False,
) -> Any:
    (a,), (da,) = primals, tangents
    svd = partial(linalg.svd, by_qr=True) if by_qr else linalg.svd
    m, n = typeof(a).shape[-2:]
    if da is None:
        done = svd(a, full_matrices=full_matrices, compute_uv=compute_uv)
        return done, [None] * len(done)
    if compute_uv and full_matrices and m != n:
        raise UnsupportedDerivativeError(
            "svd: the columns that complete u or v to a square matrix are not unique, so they "
            "have no derivative; use full_matrices=False"
        )
    s, u, vh = svd(a, full_matrices=False, compute_uv=True)
    inside = product(product(adjoint(u), da), adjoint(vh))
    ds = _real_part(diagonal(inside))
    if not compute_uv:
        return [s], [ds]
    du, dv = _singular_vector_tangents(s, u, adjoint(vh), inside, da)
    return [s, u, vh], [ds, du, adjoint(dv)]


def _singular_vector_tangents(s: Any, u: Any, v: Any, inside: Any, da: Any) -> tuple[Any, Any]:
    """Rotations within the singular spaces, then what leaves them."""
    by_column, by_row = columns(s, inside), rows(s, inside)
    gaps = mul(add(by_column, by_row), sub(by_column, by_row))
    equal = comparison.eq(gaps, 0.0)
    inverse = _as(select_n(equal, elementwise.div(1.0, select_n(equal, gaps, 1.0)), 0.0), u)
    right, left = mul(inside, _as(by_column, u)), mul(_as(by_row, u), inside)
    turn_u = mul(inverse, add(right, adjoint(right)))
    turn_v = mul(inverse, add(left, adjoint(left)))
    if is_complex(typeof(u).dtype):
        # The phase of each pair of vectors is free; all of it is given to u.
        none = comparison.eq(by_column, 0.0)
        over = elementwise.div(0.5, select_n(none, by_column, 1.0))
        over = _as(select_n(none, over, 0.0), u)
        phase = mul(sub(inside, adjoint(inside)), over)
        turn_u = add(turn_u, select_n(on_diagonal(inside), 0, phase))
    du, dv = product(u, turn_u), product(v, turn_v)
    m, n = typeof(da).shape[-2:]
    if m > n:
        du = add(du, _outside(u, product(da, v), s))
    if n > m:
        dv = add(dv, _outside(v, product(adjoint(da), u), s))
    return du, dv


def _outside(u: Any, moved: Any, s: Any) -> Any:
    """The part of `moved` orthogonal to the columns of u, over the singular values."""
    rest = sub(moved, product(u, product(adjoint(u), moved)))
    return elementwise.div(rest, _as(columns(s, rest), rest))


@rule(linalg.eig, pure=True)
def eig_jvp(
    primals: list[Any], tangents: list[Any], *, compute_left: bool, compute_right: bool
) -> Any:
    """Eigenvalues move by the diagonal of `v⁻¹ da v`."""
    (a,), (da,) = primals, tangents
    if da is not None and (compute_left or compute_right):
        raise UnsupportedDerivativeError(
            "eig: derivatives of the eigenvectors of a matrix that is not Hermitian are not "
            "implemented, only those of its eigenvalues; use eigvals, or eigh"
        )
    if da is None:
        done = linalg.eig(a, compute_left=compute_left, compute_right=compute_right)
        return done, [None] * len(done)
    w, v = linalg.eig(a, compute_left=False, compute_right=True)
    factors, pivots = linalg.lu(v)
    n = typeof(v).shape[-1]
    moved = product(_as(da, v), v)
    moved = take_rows(moved, linalg.pivots_to_permutation(pivots, size=n))
    inside = _solve(factors, _solve(factors, moved, lower=True, unit=True))
    return [w], [diagonal(inside)]
