"""Reductions by Householder's reflections, in effects, over arrays with one axis of matrices.

No library for GPUs or TPUs has a QR decomposition with pivots or a Hessenberg reduction. These are
LAPACK's algorithms without blocks (`geqp3`, `gehrd`), with its signs and its way of packing
reflections. A reflection is `I - tau v v^H`, where v is zero above the element that is kept and 1
there. `I - conj(tau) v v^H` makes the other elements of a vector zero and the kept one real.

Source: Golub & Van Loan, "Matrix Computations", sections 5.1, 5.4.2 and 7.4.3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from effax.effects import matrices
from effax.effects.matrices import conj, product, take_rows
from effax.effects.rows import comparison, control, elementwise, reduction, shape
from effax.effects.rows.complex import complex as complex_of
from effax.effects.rows.complex import imag, real
from effax.effects.rows.conversion import convert_element_type
from effax.effects.rows.elementwise import add, div, mul, neg, sub
from effax.effects.rows.logical import and_
from effax.effects.rows.selection import select_n
from effax.effects.rows.sorting import sort
from effax.effects.types import int32, is_complex, typeof
from effax.interpreters.stage import stage


def spread(x: Any, like: Any, *dims: int) -> Any:
    """The array x along some axes of another, repeated along the others."""
    return shape.broadcast_in_dim(x, shape=typeof(like).shape, dims=dims)


def numbers(like: Any, axis: int) -> Any:
    """The place of each element along an axis."""
    return shape.iota(dtype=int32, shape=typeof(like).shape, dimension=axis)


def as_elements(x: Any, like: Any) -> Any:
    """Real numbers in the dtype of another array."""
    return convert_element_type(x, dtype=typeof(like).dtype, weak_type=False)


def _chosen(flags: Any, x: Any) -> Any:
    """The element of each row that has a flag; zero where none has."""
    return reduction.reduce_sum(select_n(flags, 0, x), axes=(1,))


def or_one(x: Any) -> Any:
    """The numbers, and 1 for zeros."""
    return select_n(comparison.eq(x, 0), x, 1)


def reflection(x: Any, i: Any) -> tuple[Any, Any, Any]:
    """The reflections that make all elements after place i zero: v, tau and what place i becomes.

    Args:
      x: vectors, (count, m). Their elements before place i are ignored.
      i: an int32 scalar.

    Elements are divided by the largest one, so that no square overflows or underflows. A vector
    that is zero after place i, and real there, is left alone: tau is zero.
    """
    row, at = numbers(x, 1), spread(i, x)
    x = select_n(comparison.ge(row, at), 0, x)
    here, after = comparison.eq(row, at), comparison.gt(row, at)
    size = or_one(reduction.reduce_max(elementwise.abs(x), axes=(1,)))
    y = div(x, as_elements(spread(size, x, 0), x))
    alpha = _chosen(here, y)
    rest = reduction.reduce_sum(
        elementwise.square(elementwise.abs(select_n(after, 0, y))), axes=(1,)
    )
    first = real(alpha) if is_complex(typeof(x).dtype) else alpha
    squares = add(elementwise.square(elementwise.abs(alpha)), rest)
    norm = elementwise.sqrt(squares)
    beta = select_n(comparison.ge(first, 0), norm, neg(norm))
    none = comparison.eq(rest, 0)
    if is_complex(typeof(x).dtype):
        none = and_(none, comparison.eq(imag(alpha), 0))
    tau = div(sub(beta, first), or_one(beta))
    if is_complex(typeof(x).dtype):
        tau = complex_of(tau, div(neg(imag(alpha)), or_one(beta)))
    tau = select_n(none, tau, 0)
    divisor = spread(select_n(none, sub(alpha, as_elements(beta, alpha)), 1), y, 0)
    v = select_n(here, select_n(after, 0, div(y, divisor)), 1)
    return v, tau, mul(as_elements(select_n(none, beta, first), x), as_elements(size, x))


def _packed(x: Any, i: Any, v: Any, kept: Any) -> Any:
    """The vectors x with what place i becomes, and after it the elements of the reflections."""
    row, at = numbers(x, 1), spread(i, x)
    below = select_n(comparison.gt(row, at), x, v)
    return select_n(comparison.eq(row, at), below, spread(kept, x, 0))


def outer(a: Any, b: Any) -> Any:
    """The products of all elements of a, (count, n), with all of b, (count, m)."""
    whole = (*typeof(a).shape, typeof(b).shape[1])
    left = shape.broadcast_in_dim(a, shape=whole, dims=(0, 1))
    return mul(left, shape.broadcast_in_dim(b, shape=whole, dims=(0, 2)))


def times(a: Any, v: Any) -> Any:
    """The products of matrices and vectors."""
    return shape.squeeze(product(a, shape.expand_dims(v, (2,))), (2,))


def _repeated(
    step: Callable[..., Sequence[Any]], steps: int, carry: Sequence[Any]
) -> tuple[list[Any], Any]:
    """The carry after a number of steps, and the factors, (count, steps), that they gave.

    A step is called with its number and the carry, and returns the carry and a factor.
    """

    def body(i: Any, *carry: Any) -> list[Any]:
        return [add(i, 1), *step(i, *carry)]

    start = [shape.scalar(0, int32), *carry]
    program = stage(body, [typeof(x) for x in start], step.__name__).program
    _, *found, taus = control.scan(
        *start,
        body=program,
        consts=0,
        carry=len(start),
        length=steps,
        reverse=False,
        unroll=1,
    )
    return found, shape.transpose(taus, permutation=(1, 0))


# ---- triangles with their columns in order


def pivoted(x: Any) -> list[Any]:
    """The triangle and the reflections below it, their factors, and the order of the columns.

    Args:
      x: matrices, (count, m, n).

    In each step the column comes next that has the largest norm below the rows that are done, the
    first of equal ones. As in LAPACK it changes places with the column that was there, which
    decides what is first among equals.
    """
    count, m, n = typeof(x).shape
    # Columns are rows here, so that one of them is contiguous.
    a = matrices.transpose(x)
    places = shape.iota(dtype=int32, shape=(count, n), dimension=1)
    if not min(m, n):
        return [x, shape.full((count, 0), 0, typeof(x).dtype), places]
    sizes = or_one(reduction.reduce_max(elementwise.abs(a), axes=(2,)))

    def pivot(i: Any, a: Any, places: Any, sizes: Any) -> list[Any]:
        now = spread(i, places)
        chosen = _next_column(now, a, places, sizes)
        here = comparison.eq(numbers(places, 1), spread(chosen, places, 0))
        left = spread(_chosen(here, places), places, 0)
        places = select_n(comparison.eq(places, now), places, left)
        places = select_n(here, places, now)
        column = shape.squeeze(take_rows(a, shape.expand_dims(chosen, (1,))), (1,))
        v, tau, kept = reflection(column, i)
        factors = mul(times(a, conj(v)), spread(conj(tau), places, 0))
        factors = select_n(comparison.gt(places, now), 0, factors)
        a = sub(a, outer(factors, v))
        column = spread(_packed(column, i, v, kept), a, 0, 2)
        return [select_n(spread(here, a, 0, 1), a, column), places, sizes, tau]

    (a, places, _), taus = _repeated(pivot, min(m, n), [a, places, sizes])
    _, order = sort(places, numbers(places, 1), dimension=1, is_stable=True, num_keys=1)
    return [matrices.transpose(take_rows(a, order)), taus, order]


def _next_column(now: Any, a: Any, places: Any, sizes: Any) -> Any:
    """The column that comes next. One with a NaN comes first, so that there always is one.

    Norms are computed anew: after some steps, one that is only updated may be nothing but rounding.
    """
    t = typeof(a)
    done = comparison.lt(numbers(a, 2), spread(now, a, 0, 1))
    rest = select_n(done, elementwise.abs(a), 0)
    squares = elementwise.square(div(rest, spread(sizes, rest, 0, 1)))
    norms = mul(elementwise.sqrt(reduction.reduce_sum(squares, axes=(2,))), sizes)
    norms = select_n(comparison.ne(norms, norms), norms, float("inf"))
    norms = select_n(comparison.lt(places, now), norms, -1)
    largest = spread(reduction.reduce_max(norms, axes=(1,)), norms, 0)
    candidates = select_n(comparison.eq(norms, largest), t.shape[1], places)
    return reduction.argmin(candidates, axis=1, index_dtype=int32)


# ---- Hessenberg's form


def hessenberg(x: Any) -> list[Any]:
    """Hessenberg's form with the reflections below it, and their factors.

    Args:
      x: square matrices, (count, n, n).
    """
    count, n, _ = typeof(x).shape
    if n < 2:
        return [x, shape.full((count, 0), 0, typeof(x).dtype)]

    def reduce(i: Any, a: Any) -> list[Any]:
        here = comparison.eq(numbers(a, 2), spread(i, a))
        column = reduction.reduce_sum(select_n(here, 0, a), axes=(2,))
        below = add(i, 1)
        v, tau, kept = reflection(column, below)
        # Columns up to i hold reflections; v is zero there, but not what is taken from the left.
        a = sub(a, outer(times(a, v), mul(conj(v), spread(tau, v, 0))))
        factors = mul(times(matrices.transpose(a), conj(v)), spread(conj(tau), v, 0))
        factors = select_n(comparison.gt(numbers(v, 1), spread(i, v)), 0, factors)
        a = sub(a, outer(v, factors))
        return [select_n(here, a, spread(_packed(column, below, v, kept), a, 0, 1)), tau]

    (a,), taus = _repeated(reduce, n - 1, [x])
    return [a, taus]


# ---- tridiagonal form


def tridiagonal(x: Any, *, lower: bool) -> list[Any]:
    """The packed form of Hermitian matrices, the diagonals of the tridiagonal form, and factors.

    Args:
      x: matrices, (count, n, n), of which one triangle is read; the other stays in the packed form.
      lower: whether the lower triangle is read.

    LAPACK reduces the upper triangle from its last column on. That is the reduction of the lower
    triangle with rows and columns in reverse order.
    """
    if lower:
        return _tridiagonal(x)
    packed, d, e, taus = _tridiagonal(shape.rev(x, dims=(1, 2)))
    return [
        shape.rev(packed, dims=(1, 2)),
        *(shape.rev(y, dims=(1,)) for y in (d, e, taus)),
    ]


def _tridiagonal(x: Any) -> list[Any]:
    n = typeof(x).shape[-1]
    form, taus = hessenberg(matrices.from_triangle(x, lower=True))
    packed = add(matrices.tril(form), matrices.triu(x, 1))
    inside = real(form) if is_complex(typeof(x).dtype) else form
    beside = shape.slice_axis(shape.slice_axis(inside, 1, 1, n), 2, 0, n - 1)
    return [packed, matrices.diagonal(inside), matrices.diagonal(beside), taus]
