"""Eigenvalues and eigenvectors of general matrices from Schur's form, over one axis of matrices.

Source: Golub & Van Loan, "Matrix Computations", section 7.6.4; LAPACK's `trevc3` and `geev`, for
what replaces a gap of equal eigenvalues and for the factor of each eigenvector.
"""

from __future__ import annotations

from typing import Any

from effax.backends.xla.lowering.matrices import schur
from effax.backends.xla.lowering.matrices.householder import as_elements, numbers, or_one, spread
from effax.effects import matrices
from effax.effects.matrices import conj
from effax.effects.rows import comparison, control, elementwise, reduction, shape
from effax.effects.rows.complex import complex as complex_of
from effax.effects.rows.complex import imag, real
from effax.effects.rows.elementwise import add, div, mul, neg, sub
from effax.effects.rows.indexing import dynamic_slice, dynamic_update_slice
from effax.effects.rows.logical import and_
from effax.effects.rows.selection import select_n
from effax.effects.types import finfo, int32, is_complex, real_dtype, typeof
from effax.interpreters.stage import stage


def eig(x: Any, *, left: bool, right: bool) -> list[Any]:
    """The eigenvalues of matrices, then left and right eigenvectors if asked.

    Args:
      x: square matrices, (count, n, n), n at least 1. Results are NaN where they are not finite.
      left, right: whether to return these vectors, of length 1, the largest element positive.

    Conjugate eigenvalues of a real matrix are neighbours, and their vectors are conjugate too.
    """
    n = typeof(x).shape[-1]
    w, size, good = schur.factored(x, left or right)
    paired = None
    if not is_complex(typeof(x).dtype):
        w, paired = _triangular(w)
    form = matrices.triu(schur.top(w))
    values = matrices.diagonal(form)
    found = [mul(values, as_elements(spread(size, values, 0), values))]
    if left or right:
        q = shape.slice_axis(w, 1, n, 2 * n)
    if left:
        # In reverse order, the adjoint of a triangle is a triangle of the same kind.
        other = _substituted(shape.rev(matrices.adjoint(form), dims=(1, 2)))
        found.append(_normal(matrices.product(q, shape.rev(other, dims=(1, 2))), values, paired))
    if right:
        found.append(_normal(matrices.product(q, _substituted(form)), values, paired))
    return [select_n(spread(good, y, 0), complex("nan+nanj"), y) for y in found]


def _triangular(w: Any) -> tuple[Any, Any]:
    """Complex triangles from real forms with blocks of two rows, and where a block ends."""
    _, rows, n = typeof(w).shape
    count = typeof(w).shape[0]
    zero = shape.full(typeof(w).shape, 0, typeof(w).dtype)
    if n < 2:
        return complex_of(w, zero), shape.full((count, n), False, bool)
    blocks = comparison.ne(schur.beside(w, 1), 0)
    none = shape.scalar(0, int32)

    def turn(i: Any, w: Any) -> list[Any]:
        block = dynamic_slice(w, none, i, i, sizes=(count, 2, 2))
        unitary, block = _unitary(block)
        columns = dynamic_slice(w, none, none, i, sizes=(count, rows, 2))
        w = dynamic_update_slice(w, matrices.product(columns, unitary), none, none, i)
        upper = dynamic_slice(w, none, i, none, sizes=(count, 2, n))
        upper = matrices.product(matrices.adjoint(unitary), upper)
        w = dynamic_update_slice(w, upper, none, i, none)
        return [add(i, 1), dynamic_update_slice(w, block, none, i, i)]

    start = [none, complex_of(w, zero)]
    _, w = control.scan(
        *start,
        body=stage(turn, [typeof(y) for y in start], "turn").program,
        consts=0,
        carry=2,
        length=n - 1,
        reverse=False,
        unroll=1,
    )
    return w, shape.pad_axis(blocks, 1, 1, 0, value=False)


def _unitary(block: Any) -> tuple[Any, Any]:
    """The unitary matrices that make standard blocks of two rows triangular, and the triangles.

    A triangle gets the identity. The first eigenvalue has a positive imaginary part.
    """
    row, column = numbers(block, 1), numbers(block, 2)

    def element(i: int, j: int) -> Any:
        here = and_(comparison.eq(row, i), comparison.eq(column, j))
        return real(reduction.reduce_sum(select_n(here, 0, block), axes=(1, 2)))

    above, below = element(0, 1), element(1, 0)
    height = elementwise.sqrt(elementwise.max(neg(mul(above, below)), 0))
    length = or_one(elementwise.abs(complex_of(above, height)))
    first, second = (
        as_elements(spread(div(y, length), real(block), 0), block) for y in (above, height)
    )
    # The first column is the eigenvector (above, height i).
    here = comparison.eq(row, column)
    turned = select_n(here, mul(second, 1j), first)
    whole = comparison.ne(below, 0)
    unitary = select_n(spread(whole, block, 0), matrices.identity_like(block), turned)
    triangle = matrices.product(matrices.product(matrices.adjoint(unitary), block), unitary)
    upward = spread(height, real(block), 0)
    imaginary = select_n(comparison.eq(row, 0), neg(upward), upward)
    middle = complex_of(real(block), imaginary)
    exact = select_n(here, select_n(comparison.gt(row, column), triangle, 0), middle)
    return unitary, select_n(spread(whole, block, 0), block, exact)


def _substituted(form: Any) -> Any:
    """The eigenvectors of triangles, column by column, from the last row on.

    A gap between eigenvalues that is nothing but rounding is replaced. After each row, vectors that
    have grown are divided by their largest element.
    """
    t = typeof(form)
    count, n, _ = t.shape
    values = matrices.diagonal(form)
    eps = float(finfo(real_dtype(t.dtype)).eps)
    least = elementwise.max(mul(elementwise.abs(values), eps), eps * eps)
    none = shape.scalar(0, int32)

    def row(i: Any, y: Any, form: Any, values: Any, least: Any) -> list[Any]:
        above = dynamic_slice(form, none, i, none, sizes=(count, 1, n))
        known = shape.squeeze(matrices.product(above, y), (1,))
        here = shape.squeeze(dynamic_slice(values, none, i, sizes=(count, 1)), (1,))
        gap = sub(spread(here, values, 0), values)
        small = comparison.lt(elementwise.abs(gap), least)
        found = neg(div(known, select_n(small, gap, as_elements(least, gap))))
        place, now = numbers(values, 1), spread(i, values)
        found = select_n(comparison.eq(place, now), found, 1)
        found = select_n(comparison.lt(place, now), found, 0)
        growth = as_elements(elementwise.max(elementwise.abs(found), 1), found)
        y = div(y, spread(growth, y, 0, 2))
        found = shape.expand_dims(div(found, growth), (1,))
        return [sub(i, 1), dynamic_update_slice(y, found, none, i, none), form, values, least]

    start = [
        shape.scalar(n - 1, int32),
        shape.full(t.shape, 0, t.dtype),
        form,
        values,
        least,
    ]
    return control.scan(
        *start,
        body=stage(row, [typeof(y) for y in start], "row").program,
        consts=0,
        carry=5,
        length=n,
        reverse=False,
        unroll=1,
    )[1]


def _normal(v: Any, values: Any, paired: Any) -> Any:
    """Vectors of length 1 whose largest element is positive.

    Args:
      v: vectors, (count, n, n), column by column.
      values: their eigenvalues.
      paired: where a vector is the conjugate of the one before it; None for complex matrices. Then
        the vectors of real eigenvalues are real.
    """
    n = typeof(v).shape[-1]
    sizes = elementwise.abs(v)
    v = div(v, as_elements(spread(or_one(reduction.reduce_max(sizes, axes=(1,))), v, 0, 2), v))
    sizes = elementwise.abs(v)
    place = reduction.argmax(sizes, axis=1, index_dtype=int32)
    here = comparison.eq(numbers(v, 1), spread(place, v, 0, 2))
    largest = reduction.reduce_sum(select_n(here, 0, v), axes=(1,))
    squares = reduction.reduce_sum(elementwise.square(sizes), axes=(1,))
    factor = div(conj(largest), as_elements(elementwise.sqrt(or_one(squares)), largest))
    v = mul(v, spread(factor, v, 0, 2))
    v = select_n(here, v, complex_of(real(v), 0))
    if paired is None:
        return v
    alone = spread(comparison.eq(imag(values), 0), v, 0, 2)
    v = select_n(alone, v, complex_of(real(v), 0))
    before = shape.pad_axis(shape.slice_axis(v, 2, 0, n - 1), 2, 1, 0)
    return select_n(spread(paired, v, 0, 2), v, conj(before))
