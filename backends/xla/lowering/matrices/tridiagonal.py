"""Tridiagonal systems by elimination with exchanges of rows, as two scans of effects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from effax.effects.rows import comparison, control, elementwise, reduction, shape
from effax.effects.rows.conversion import convert_element_type
from effax.effects.rows.elementwise import div, mul, sub
from effax.effects.rows.selection import select_n
from effax.effects.types import finfo, real_dtype, typeof
from effax.interpreters.stage import stage


def solve(dl: Any, d: Any, du: Any, b: Any, perturb_singular: bool = False) -> Any:
    """Solve `a @ x = b` for matrices of three diagonals.

    Args:
      dl, d, du: the diagonals, (..., n). The first of dl and the last of du are not read.
      b: the right sides, (..., n, k). No axis is empty.
      perturb_singular: whether a pivot next to zero is moved away from it; otherwise the solution
        is NaN where a pivot is zero.
    """
    last = typeof(b).ndim - 2
    first = (last, *range(last))
    low, middle, high = (shape.transpose(x, permutation=first) for x in (dl, d, du))
    rows = shape.transpose(b, permutation=(*first, last + 1))
    # What is not read may be a NaN. Zeros below the matrix let the last row end like all others.
    below, middle_below, rows_below = (_moved_up(x) for x in (low, middle, rows))
    high = _zero_last(high)
    given = [below, middle_below, _moved_up(high), rows_below]
    start = [_row(x, 0) for x in (middle, high, rows)]
    consts = [_least_pivot([below, middle, high])] if perturb_singular else []
    upper = _downwards(consts, start, given)
    found = _upwards(upper)
    if not perturb_singular:
        singular = reduction.reduce_or(comparison.eq(upper[0], 0), axes=(0,))
        found = select_n(_spread(singular, found, 1), found, float("nan"))
    return shape.transpose(found, permutation=(*range(1, last + 1), 0, last + 1))


def _spread(x: Any, like: Any, start: int = 0) -> Any:
    """An array without the last axis of another, repeated along it; its axes begin at `start`."""
    dims = tuple(range(start, start + typeof(x).ndim))
    return shape.broadcast_in_dim(x, shape=typeof(like).shape, dims=dims)


def _row(x: Any, i: int) -> Any:
    return shape.squeeze(shape.slice_axis(x, 0, i, i + 1), (0,))


def _moved_up(x: Any) -> Any:
    """Each row in the place of the one above it, and zeros in the last place."""
    return shape.pad_axis(shape.slice_axis(x, 0, 1, typeof(x).shape[0]), 0, 0, 1)


def _zero_last(x: Any) -> Any:
    return shape.pad_axis(shape.slice_axis(x, 0, 0, typeof(x).shape[0] - 1), 0, 0, 1)


def _least_pivot(diagonals: Sequence[Any]) -> Any:
    """The precision times the largest element of each matrix, or the smallest normal number."""
    largest = reduce(
        elementwise.max,
        (reduction.reduce_max(elementwise.abs(x), axes=(0,)) for x in diagonals),
    )
    limits = finfo(real_dtype(typeof(diagonals[0]).dtype))
    return elementwise.max(mul(largest, float(limits.eps)), float(limits.tiny))


def _scanned(
    body: Callable[..., Sequence[Any]],
    consts: Sequence[Any],
    carry: Sequence[Any],
    xs: Sequence[Any],
    reverse: bool,
) -> list[Any]:
    """Return the stacked results of the steps of a scan, without the carry."""
    types = [typeof(x) for x in (*consts, *carry)] + [typeof(x).row() for x in xs]
    found = control.scan(
        *consts,
        *carry,
        *xs,
        body=stage(body, types, body.__name__).program,
        consts=len(consts),
        carry=len(carry),
        length=typeof(xs[0]).shape[0],
        reverse=reverse,
        unroll=1,
    )
    return list(found[len(carry) :])


def _downwards(consts: Sequence[Any], start: Sequence[Any], given: Sequence[Any]) -> list[Any]:
    """The upper triangle, three diagonals of it, and the right sides that belong to it.

    The carry is a row that begins at the diagonal. Of it and the row below, the one with the larger
    first element is a row of the triangle; the other, less a multiple of it, is the next carry.
    """

    def down(*operands: Any) -> Sequence[Any]:
        least, (pivot, beside, value) = operands[: len(consts)], operands[len(consts) :][:3]
        low, middle, high, right = operands[len(consts) + 3 :]
        none = shape.full(typeof(pivot).shape, 0, typeof(pivot).dtype)
        swap = comparison.gt(elementwise.abs(low), elementwise.abs(pivot))
        upper = [select_n(swap, x, y) for x, y in ((pivot, low), (beside, middle), (none, high))]
        lower = [select_n(swap, x, y) for x, y in ((low, pivot), (middle, beside), (high, none))]
        swap_rows = _spread(swap, value)
        over, under = select_n(swap_rows, value, right), select_n(swap_rows, right, value)
        if least:
            small = comparison.lt(elementwise.abs(upper[0]), least[0])
            moved = convert_element_type(least[0], dtype=typeof(pivot).dtype, weak_type=False)
            upper[0] = select_n(small, upper[0], moved)
        factor = select_n(comparison.eq(upper[0], 0), div(lower[0], upper[0]), 0)
        following = [sub(x, mul(factor, y)) for x, y in zip(lower[1:], upper[1:], strict=True)]
        rest = sub(under, mul(_spread(factor, under), over))
        return [*following, rest, *upper, over]

    return _scanned(down, consts, start, given, reverse=False)


def _upwards(upper: Sequence[Any]) -> Any:
    """The solution of a triangle of three diagonals, from its last row on."""

    def up(below: Any, second: Any, *row: Any) -> Sequence[Any]:
        pivot, beside, beyond = (_spread(x, below) for x in row[:3])
        found = div(sub(sub(row[3], mul(beside, below)), mul(beyond, second)), pivot)
        return [found, below, found]

    t = typeof(upper[3])
    none = shape.full(t.shape[1:], 0, t.dtype)
    return _scanned(up, [], [none, none], upper, reverse=True)[0]
