"""Schur's form by the QR algorithm with implicit shifts, in effects, over one axis of matrices.

All matrices of a batch take their steps together. A step is a reflection that is applied to whole
matrices, and to the unitary factor, which is kept below the matrix as more rows. A matrix that has
nothing to do in a step gets the identity. The reduction to Hessenberg's form is a sweep too. Over a
mesh, devices exchange the bounds of loops and nothing else.

Source: Golub & Van Loan, "Matrix Computations", sections 7.5 and 7.4.3; LAPACK's `lahqr` and
`lanv2`, for shifts where convergence fails and for the form of blocks of two rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, Final

from effax.backends.xla.lowering.matrices.householder import (
    as_elements,
    numbers,
    or_one,
    outer,
    reflection,
    spread,
    times,
)
from effax.effects import matrices
from effax.effects.matrices import conj
from effax.effects.rows import comparison, control, elementwise, reduction, shape
from effax.effects.rows.complex import complex as complex_of
from effax.effects.rows.complex import real
from effax.effects.rows.elementwise import add, div, mul, neg, sub
from effax.effects.rows.indexing import dynamic_slice, dynamic_update_slice
from effax.effects.rows.logical import and_, not_, or_
from effax.effects.rows.selection import select_n
from effax.effects.types import finfo, int32, is_complex, real_dtype, typeof
from effax.interpreters.stage import stage

SWEEPS: Final = 30
"""The most sweeps for each eigenvalue, as in LAPACK; two or three suffice."""


def schur(x: Any, *, compute_vectors: bool) -> list[Any]:
    """Triangular matrices, with blocks of two rows where x is real, and the unitary factors.

    Args:
      x: square matrices, (count, n, n), n at least 1. Results are NaN where they are not finite.
      compute_vectors: whether to return the factors.
    """
    n = typeof(x).shape[-1]
    w, size, good = factored(x, compute_vectors)
    form = matrices.triu(top(w), 0 if is_complex(typeof(x).dtype) else -1)
    found = [mul(form, as_elements(spread(size, form, 0), form))]
    if compute_vectors:
        found.append(shape.slice_axis(w, 1, n, 2 * n))
    return [select_n(spread(good, y, 0), float("nan"), y) for y in found]


def factored(x: Any, compute_vectors: bool) -> tuple[Any, Any, Any]:
    """The form of matrices, above the unitary factors if asked, with their sizes and successes.

    The form is that of matrices divided by their sizes. It has succeeded where x is finite and the
    iteration converged.
    """
    finite = matrices.all_finite(x)
    x = select_n(spread(finite, x, 0), 0, x)
    size = or_one(reduction.reduce_max(elementwise.abs(x), axes=(1, 2)))
    w = div(x, as_elements(spread(size, x, 0), x))
    if compute_vectors:
        w = shape.concatenate(w, matrices.identity_like(x), axis=1)
    w, failed = _triangular(_hessenberg(w))
    if not is_complex(typeof(x).dtype):
        w = _standard(w)
    return w, size, and_(finite, not_(failed))


def top(w: Any) -> Any:
    """The matrices without the rows of the unitary factors."""
    return shape.slice_axis(w, 1, 0, typeof(w).shape[2])


def _constant(like: Any, value: int) -> Any:
    """An int32 for each matrix."""
    return shape.full(typeof(like).shape[:1], value, int32)


def _looped(
    going: Callable[..., Any], step: Callable[..., Sequence[Any]], carry: Sequence[Any]
) -> list[Any]:
    """The carry after steps while a function of it is true."""
    types = [typeof(x) for x in carry]
    return list(
        control.while_loop(
            *carry,
            cond=stage(lambda *xs: [going(*xs)], types, "going").program,
            body=stage(step, types, step.__name__).program,
            cond_consts=0,
            body_consts=0,
        )
    )


# ---- sweeps


def _hessenberg(w: Any) -> Any:
    """Return Hessenberg's form, by a sweep over all columns that no shift starts."""
    count, _, n = typeof(w).shape
    none = shape.full((count, n), 0, typeof(w).dtype)
    one, last = shape.scalar(1, int32), shape.scalar(n - 1, int32)
    return _swept(w, none, _constant(w, -1), _constant(w, n - 1), one, last)


def _swept(w: Any, first: Any, low: Any, high: Any, start: Any, end: Any) -> Any:
    """The matrices after a sweep over their blocks of rows `low` to `high`.

    A reflection for the vector `first` fills elements below the subdiagonal; one for each column
    moves these downwards and out of the block. The loop is over rows `start` to `end`.
    """

    def going(k: Any, end: Any, *_: Any) -> Any:
        return comparison.le(k, end)

    def sweep(k: Any, end: Any, w: Any, first: Any, low: Any, high: Any) -> list[Any]:
        return [add(k, 1), end, _reflected(k, w, first, low, high), first, low, high]

    return _looped(going, sweep, [start, end, w, first, low, high])[2]


def _reflected(k: Any, w: Any, first: Any, low: Any, high: Any) -> Any:
    """One step of a sweep: the elements of column k - 1 below row k become zero."""
    _, rows, n = typeof(w).shape
    row, at = numbers(first, 1), spread(k, first)
    now = spread(k, low)
    begins = comparison.eq(low, now)
    active = and_(comparison.le(low, now), comparison.le(now, high))
    column = shape.squeeze(_column(w, k, n), (2,))
    x = select_n(spread(begins, first, 0), column, first)
    x = select_n(comparison.le(row, spread(high, first, 0)), 0, x)
    v, tau, kept = reflection(x, k)
    tau = select_n(active, 0, tau)
    w = sub(w, outer(times(w, v), mul(conj(v), spread(tau, v, 0))))
    from_left = times(matrices.transpose(top(w)), conj(v))
    below = shape.pad_axis(v, 1, 0, rows - n)
    w = sub(w, outer(below, mul(from_left, spread(conj(tau), v, 0))))
    changed = and_(spread(and_(active, not_(begins)), first, 0), comparison.ge(row, at))
    exact = select_n(comparison.eq(row, at), 0, spread(kept, first, 0))
    column = select_n(changed, shape.squeeze(_column(w, k, n), (2,)), exact)
    none = shape.scalar(0, int32)
    return dynamic_update_slice(w, shape.expand_dims(column, (2,)), none, none, sub(k, 1))


def _column(w: Any, k: Any, n: int) -> Any:
    """Column k - 1 of each matrix, (count, n, 1); column 0 for k = 0."""
    none = shape.scalar(0, int32)
    return dynamic_slice(w, none, none, sub(k, 1), sizes=(typeof(w).shape[0], n, 1))


# ---- iterations


def _triangular(w: Any) -> tuple[Any, Any]:
    """The matrices without blocks that can be made smaller, and where that failed."""
    n = typeof(w).shape[2]

    def going(step: Any, w: Any, high: Any, quiet: Any) -> Any:
        left = reduction.reduce_or(comparison.gt(high, 0), axes=(0,))
        return and_(comparison.lt(step, SWEEPS * max(n, 10)), left)

    def iterate(step: Any, w: Any, high: Any, quiet: Any) -> list[Any]:
        coupled = comparison.ne(beside(w, 1), 0)
        low = _start(coupled, high)
        active = comparison.gt(high, 0)
        first = _first_columns(w, low, high, quiet)
        start = reduction.reduce_min(select_n(active, n, low), axes=(0,))
        end = reduction.reduce_max(high, axes=(0,))
        # Rows of a matrix that has converged are out of the loop's range.
        w = _deflated(_swept(w, first, select_n(active, n, low), high, start, end))
        following = _end(w)
        same = comparison.eq(following, high)
        return [add(step, 1), w, following, select_n(same, 0, add(quiet, 1))]

    w = _deflated(w)
    if n < 2:
        return w, comparison.gt(_constant(w, 0), 0)
    carry = [shape.scalar(0, int32), w, _end(w), _constant(w, 0)]
    _, w, high, _ = _looped(going, iterate, carry)
    return w, comparison.gt(high, 0)


def beside(w: Any, below: int) -> Any:
    """The diagonal below the main one (below=1), the main one (0) or the one above it (-1)."""
    n = typeof(w).shape[2]
    low, right = max(below, 0), max(-below, 0)
    part = shape.slice_axis(top(w), 1, low, n - right)
    return matrices.diagonal(shape.slice_axis(part, 2, right, n - low))


def _deflated(w: Any) -> Any:
    """The matrices with zeros below the diagonal in place of what rounding may have made."""
    n = typeof(w).shape[2]
    if n < 2:
        return w
    limits = finfo(real_dtype(typeof(w).dtype))
    sizes = elementwise.abs(beside(w, 0))
    both = or_one(add(shape.slice_axis(sizes, 1, 0, n - 1), shape.slice_axis(sizes, 1, 1, n)))
    least = elementwise.max(mul(both, float(limits.eps)), float(limits.tiny / limits.eps) * n)
    small = comparison.le(elementwise.abs(beside(w, 1)), least)
    small = shape.pad_axis(small, 1, 0, 1, value=False)
    under = comparison.eq(numbers(w, 1), add(numbers(w, 2), 1))
    return select_n(and_(under, spread(small, w, 0, 2)), w, 0)


def _end(w: Any) -> Any:
    """The last row of the last block that is too large; zero where there is none."""
    coupled = comparison.ne(beside(w, 1), 0)
    if not is_complex(typeof(w).dtype):  # blocks of two rows are allowed
        n = typeof(coupled).shape[1]
        before = shape.pad_axis(shape.slice_axis(coupled, 1, 0, n - 1), 1, 1, 0, value=False)
        coupled = and_(coupled, before)
    places = add(numbers(coupled, 1), 1)
    return reduction.reduce_max(select_n(coupled, 0, places), axes=(1,))


def _start(coupled: Any, high: Any) -> Any:
    """The first row of the block whose last row is `high`."""
    place = numbers(coupled, 1)
    before = and_(not_(coupled), comparison.lt(place, spread(high, coupled, 0)))
    return reduction.reduce_max(select_n(before, 0, add(place, 1)), axes=(1,))


def _first_columns(w: Any, low: Any, high: Any, quiet: Any) -> Any:
    """The first columns of polynomials of the blocks, whose zeros are the shifts.

    Every tenth sweep that has not separated an eigenvalue takes shifts that have nothing to do with
    the block. Numbers are divided by the largest one.
    """
    d, below, above = (beside(w, i) for i in (0, 1, -1))
    n = typeof(d).shape[1]

    def at(v: Any, places: Any, shift: int) -> Any:
        here = comparison.eq(numbers(v, 1), spread(add(places, shift), v, 0))
        return reduction.reduce_sum(select_n(here, 0, v), axes=(1,))

    begin = [at(d, low, 0), at(d, low, 1), at(above, low, 0), at(below, low, 0), at(below, low, 1)]
    end = [at(d, high, -1), at(d, high, 0), at(above, high, -1), at(below, high, -1)]
    every = [*begin, *end, at(below, high, -2)]
    largest = or_one(reduce(elementwise.max, map(elementwise.abs, every)))
    every = [div(x, as_elements(largest, x)) for x in every]
    stuck = comparison.eq(elementwise.rem(quiet, 10), 9)
    polynomial = _complex_shift if is_complex(typeof(w).dtype) else _real_shifts
    elements = polynomial(every[:5], every[5:], stuck)
    row = shape.iota(dtype=int32, shape=typeof(d).shape, dimension=1)
    found = shape.full((typeof(d).shape[0], n), 0, typeof(w).dtype)
    for i, x in enumerate(elements):
        here = comparison.eq(row, spread(add(low, i), d, 0))
        found = select_n(here, found, spread(x, d, 0))
    return found


def _complex_shift(begin: Sequence[Any], end: Sequence[Any], stuck: Any) -> list[Any]:
    """The two elements for the eigenvalue of the last two rows that is closer to the last one."""
    first, _, _, below, _ = begin
    other, last, above, beside, _ = end
    half = mul(sub(other, last), 0.5)
    product = mul(above, beside)
    root = elementwise.sqrt(add(mul(half, half), product))
    against = comparison.lt(real(mul(conj(half), root)), 0)
    larger = add(half, select_n(against, root, neg(root)))
    shift = sub(last, div(product, or_one(larger)))
    far = add(last, as_elements(mul(elementwise.abs(beside), 0.75), last))
    return [sub(first, select_n(stuck, shift, far)), below]


def _real_shifts(begin: Sequence[Any], end: Sequence[Any], stuck: Any) -> list[Any]:
    """The three elements for both eigenvalues of the last two rows.

    Of two real eigenvalues, the one closer to the last element is taken twice.
    """
    first, second, above, below, under = begin
    other, last, beyond, beside, before = end
    total = add(elementwise.abs(beside), elementwise.abs(before))
    far = add(mul(total, 0.75), last)
    other, last = select_n(stuck, other, far), select_n(stuck, last, far)
    product = select_n(stuck, mul(beyond, beside), mul(mul(total, total), -0.4375))
    half = mul(sub(other, last), 0.5)
    square = add(mul(half, half), product)
    paired = comparison.lt(square, 0)
    larger = add(half, _signed(elementwise.sqrt(elementwise.max(square, 0)), half))
    middle = select_n(paired, sub(last, div(product, or_one(larger))), add(last, half))
    imaginary = select_n(paired, 0, neg(square))
    gap = sub(first, middle)
    return [
        add(add(mul(gap, gap), imaginary), mul(above, below)),
        mul(below, add(gap, sub(second, middle))),
        mul(below, under),
    ]


def _signed(x: Any, like: Any) -> Any:
    """The numbers x times the signs of others; that of zero is 1."""
    return select_n(comparison.lt(like, 0), x, neg(x))


# ---- blocks of two rows


def _standard(w: Any) -> Any:
    """The matrices with blocks of two rows for conjugate eigenvalues only.

    A block with real eigenvalues becomes triangular; the elements on the diagonal of others become
    equal.
    """
    count, rows, n = typeof(w).shape
    if n < 2:
        return w
    none = shape.scalar(0, int32)

    def turn(i: Any, w: Any) -> list[Any]:
        block = dynamic_slice(w, none, i, i, sizes=(count, 2, 2))
        c, s, block = _rotation(block)
        right = dynamic_slice(w, none, none, i, sizes=(count, rows, 2))
        w = dynamic_update_slice(w, _rotated(right, c, s, 2), none, none, i)
        left = dynamic_slice(w, none, i, none, sizes=(count, 2, n))
        w = dynamic_update_slice(w, _rotated(left, c, s, 1), none, i, none)
        return [add(i, 1), dynamic_update_slice(w, block, none, i, i)]

    return control.scan(
        none,
        w,
        body=stage(turn, [typeof(none), typeof(w)], "turn").program,
        consts=0,
        carry=2,
        length=n - 1,
        reverse=False,
        unroll=1,
    )[1]


def _rotated(x: Any, c: Any, s: Any, axis: int) -> Any:
    """A pair of rows or columns, along the axis, after a rotation."""
    one, other = (shape.slice_axis(x, axis, i, i + 1) for i in (0, 1))
    c, s = spread(c, one, 0), spread(s, one, 0)
    return shape.concatenate(
        add(mul(c, one), mul(s, other)), sub(mul(c, other), mul(s, one)), axis=axis
    )


def _rotation(block: Any) -> tuple[Any, Any, Any]:
    """The cosine and the sine that make a block standard, and the block then.

    A block that is triangular already is left alone.
    """
    count = typeof(block).shape[0]
    a, b, c, d = (
        shape.reshape(shape.slice_axis(shape.slice_axis(block, 1, i, i + 1), 2, j, j + 1),
                      shape=(count,))
        for i in (0, 1)
        for j in (0, 1)
    )  # fmt: skip
    gap, total = sub(a, d), add(b, c)
    half = mul(gap, 0.5)
    square = add(mul(half, half), mul(b, c))
    apart = comparison.ge(square, 0)
    # Two real eigenvalues: (z, c) is an eigenvector.
    z = add(half, _signed(elementwise.sqrt(elementwise.max(square, 0)), half))
    length = or_one(_length(z, c))
    # Two conjugate ones: the angle at which both elements of the diagonal are equal.
    size = or_one(_length(total, gap))
    cosine = elementwise.sqrt(mul(add(div(elementwise.abs(total), size), 1), 0.5))
    sine = neg(div(_signed(half, total), mul(size, cosine)))
    none = comparison.eq(c, 0)
    still = or_(none, and_(not_(apart), comparison.eq(gap, 0)))
    cosine = select_n(still, select_n(apart, cosine, div(z, length)), 1)
    sine = select_n(still, select_n(apart, sine, div(c, length)), 0)
    turned = _rotated(_rotated(block, cosine, sine, 2), cosine, sine, 1)
    triangular = spread(apart, block, 0)
    below = comparison.gt(numbers(block, 1), numbers(block, 2))
    mean = mul(add(a, d), 0.5)
    equal = select_n(matrices.on_diagonal(block), turned, spread(mean, block, 0))
    turned = select_n(triangular, equal, select_n(below, turned, 0))
    return cosine, sine, select_n(spread(none, block, 0), turned, block)


def _length(x: Any, y: Any) -> Any:
    """The length of a vector of two elements."""
    return elementwise.abs(complex_of(x, y))
