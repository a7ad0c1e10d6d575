"""Eigenvectors of general matrices as functions with derivatives.

A factor of each eigenvector is free. LAPACK's choice is kept along the derivative: length 1, and
its largest element real.
"""

from __future__ import annotations

from typing import Any

from effax.api.custom.jvp import custom_jvp
from effax.effects import matrices
from effax.effects.rows import comparison, elementwise, linalg, reduction, shape
from effax.effects.rows.complex import complex as complex_of
from effax.effects.rows.complex import imag, real
from effax.effects.rows.conversion import convert_element_type
from effax.effects.rows.selection import select_n
from effax.effects.types import int32, typeof
from effax.effects.value import Array
from effax.lax.factors import lu_solve


def eig_with_derivatives(x: Any, left: bool, right: bool) -> list[Array]:
    """Eigenvalues, then left and right eigenvectors where asked, all with derivatives."""

    @custom_jvp
    def function(x: Array) -> list[Array]:
        return list(linalg.eig(x, compute_left=left, compute_right=right))

    def function_jvp(primals: Any, tangents: Any) -> Any:
        (x,), (t,) = primals, tangents
        w, u, v = eig_with_derivatives(x, True, True)
        t = (
            t
            if typeof(t).dtype == typeof(v).dtype
            else convert_element_type(t, dtype=typeof(v).dtype)
        )
        inside = _solve(v, matrices.product(t, v))
        moved = [matrices.diagonal(inside)]
        if left:
            adjoint, conjugate = matrices.adjoint(t), matrices.conj(w)
            moved.append(_turned(u, conjugate, _solve(u, matrices.product(adjoint, u))))
        if right:
            moved.append(_turned(v, w, inside))
        return [w, *[u] * left, *[v] * right], moved

    function.defjvp(function_jvp)
    return list(function(x))


def _solve(a: Array, b: Array) -> Array:
    factors, pivots = linalg.lu(a)
    order = linalg.pivots_to_permutation(pivots, size=typeof(a).shape[-1])
    return lu_solve(factors, order, b)


def _turned(v: Array, w: Array, inside: Array) -> Array:
    """The change of eigenvectors v, from `inside = v⁻¹ dx v`."""
    gaps = elementwise.sub(matrices.columns(w, v), matrices.rows(w, v))
    same = matrices.on_diagonal(v)
    over = elementwise.div(inside, select_n(same, gaps, 1.0))
    change = matrices.product(v, select_n(same, over, 0.0))
    growth = _column_sums(real(elementwise.mul(matrices.conj(v), change)))
    largest = _largest(v)
    height = _column_sums(select_n(largest, 0.0, real(v)))
    turn = elementwise.div(_column_sums(select_n(largest, 0.0, imag(change))), height)
    factor = matrices.columns(complex_of(growth, turn), v)
    return elementwise.sub(change, elementwise.mul(v, factor))


def _column_sums(x: Array) -> Array:
    return reduction.reduce_sum(x, axes=(typeof(x).ndim - 2,))


def _largest(v: Array) -> Array:
    """Whether an element is the first of its column's largest ones."""
    type = typeof(v)
    axis = type.ndim - 2
    sizes = elementwise.add(elementwise.square(real(v)), elementwise.square(imag(v)))
    most = matrices.columns(reduction.reduce_max(sizes, axes=(axis,)), v)
    places = shape.iota(dtype=int32, shape=type.shape, dimension=axis)
    candidates = select_n(comparison.eq(sizes, most), type.shape[axis], places)
    first = matrices.columns(reduction.reduce_min(candidates, axes=(axis,)), v)
    return comparison.eq(places, first)
