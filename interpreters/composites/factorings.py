"""Triangular factorisation written out column by column, for handlers that have no rule for it.

Bounds, patterns and units of a Cholesky factor follow from those of quotients, products and roots;
so do those of the solution of a triangular system. The equations are as many as there are columns.
"""

from __future__ import annotations

from typing import Any

from effax.effects.matrices import adjoint, conj, product, transpose
from effax.effects.rows import linalg, shape
from effax.effects.rows.elementwise import div, sqrt, sub
from effax.effects.types import typeof
from effax.interpreters.functor.written_out import expansion


def _block(x: Any, rows: tuple[int, int], columns: tuple[int, int]) -> Any:
    """Some rows and columns of matrices."""
    n = typeof(x).ndim
    return shape.slice_axis(shape.slice_axis(x, n - 2, *rows), n - 1, *columns)


def _divided(x: Any, by: Any) -> Any:
    """Matrices divided by one number each."""
    t = typeof(x)
    return div(x, shape.broadcast_in_dim(by, shape=t.shape, dims=tuple(range(t.ndim))))


@expansion(linalg.cholesky)
def cholesky_by_columns(a: Any) -> Any:
    """The factor, each column from those to the left of it."""
    t = typeof(a)
    n, axis = t.shape[-1], t.ndim - 1
    left = None
    for j in range(n):
        column = _block(a, (j, n), (j, j + 1))
        if left is not None:
            above = adjoint(_block(left, (j, j + 1), (0, j)))
            column = sub(column, product(_block(left, (j, n), (0, j)), above))
        pivot = sqrt(_block(column, (0, 1), (0, 1)))
        parts = [pivot]
        if j + 1 < n:
            parts.append(_divided(_block(column, (1, n - j), (0, 1)), pivot))
        column = shape.concatenate(*parts, axis=axis - 1)
        padding = (*((0, 0, 0),) * (axis - 1), (j, 0, 0), (0, 0, 0))
        column = shape.pad(column, shape.scalar(0, t.dtype), config=padding)
        left = column if left is None else shape.concatenate(left, column, axis=axis)
    return a if left is None else left


@expansion(linalg.triangular_solve)
def triangular_solve_by_rows(
    a: Any,
    b: Any,
    *,
    left_side: bool,
    lower: bool,
    transpose_a: bool,
    conjugate_a: bool,
    unit_diagonal: bool,
) -> Any:
    """The solution, each row from those that come before it."""
    a = conj(a) if conjugate_a else a
    if transpose_a == left_side:  # x a = b is a^T x^T = b^T
        a, lower = transpose(a), not lower
    b = b if left_side else transpose(b)
    t = typeof(b)
    n, m, axis = *t.shape[-2:], t.ndim - 2
    solved = None
    for i in range(n) if lower else reversed(range(n)):
        row = _block(b, (i, i + 1), (0, m))
        if solved is not None:
            known = (0, i) if lower else (i + 1, n)
            row = sub(row, product(_block(a, (i, i + 1), known), solved))
        if not unit_diagonal:
            row = _divided(row, _block(a, (i, i + 1), (i, i + 1)))
        parts: list[Any] = [] if solved is None else [solved]
        parts = [*parts, row] if lower else [row, *parts]
        solved = shape.concatenate(*parts, axis=axis)
    solved = b if solved is None else solved
    return solved if left_side else transpose(solved)
