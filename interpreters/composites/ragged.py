"""Products of groups of rows: with a copy of the operand for each group, and as those of rows."""

from __future__ import annotations

from math import prod
from typing import Any

from effax.effects.rows import contraction, cumulative, elementwise, shape
from effax.effects.rows.comparison import ge, lt
from effax.effects.rows.contraction import free_dims, outer_axes
from effax.effects.rows.conversion import convert_element_type
from effax.effects.rows.elementwise import mul, sub
from effax.effects.rows.logical import and_
from effax.effects.rows.selection import select_n
from effax.effects.types import typeof
from effax.interpreters.functor.written_out import expansion


@expansion(contraction.ragged_dot_general)
def ragged_by_masks(
    lhs: Any,
    rhs: Any,
    group_sizes: Any,
    *,
    dimension_numbers: Any,
    ragged: int,
    group: tuple[int, ...],
    **attributes: Any,
) -> Any:
    """One product, in which the groups are an axis: contracted, or the first of the result."""
    (lc, rc), (lb, rb) = dimension_numbers
    if typeof(lhs).dtype != typeof(rhs).dtype:
        wide = attributes["preferred_element_type"]
        lhs, rhs = (convert_element_type(x, dtype=wide) for x in (lhs, rhs))
    axes = (*outer_axes(typeof(lhs).ndim, ragged, lc, lb), ragged)
    parted = by_group(lhs, group_sizes, axes)
    lc, lb = (tuple(i + 1 for i in axes) for axes in (lc, lb))
    if group:
        dims = ((0, *lc), (*group, *rc)), (lb, rb)
        return contraction.dot_general(parted, rhs, dimension_numbers=dims, **attributes)
    dims = (lc, rc), (lb, rb)
    found = contraction.dot_general(parted, rhs, dimension_numbers=dims, **attributes)
    return shape.move_axis(found, len(lb), 0)


def by_group(x: Any, sizes: Any, axes: tuple[int, ...]) -> Any:
    """x once for each group, along a new first axis, with zeros where another group is.

    The last of `axes` is cut into groups, whose sizes may differ along the others.
    """
    inside = members(sizes, typeof(x).shape, axes)
    t = typeof(x)
    lengths = (typeof(inside).shape[0], *t.shape)
    kept = axes if typeof(sizes).ndim > 1 else axes[-1:]
    inside = shape.broadcast_in_dim(inside, shape=lengths, dims=(0, *(i + 1 for i in sorted(kept))))
    x = shape.broadcast_in_dim(x, shape=lengths, dims=tuple(range(1, t.ndim + 1)))
    return select_n(inside, 0, x)


def members(sizes: Any, lengths: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    """Booleans of the groups and of the axes, sorted, along which members of groups differ."""
    t = typeof(sizes)
    own = axes if t.ndim > 1 else axes[-1:]
    full = (*t.shape, lengths[own[-1]])
    ends = cumulative.cumsum(sizes, axis=t.ndim - 1, reverse=False)
    starts = sub(ends, sizes)
    starts, ends = (
        shape.broadcast_in_dim(y, shape=full, dims=tuple(range(t.ndim))) for y in (starts, ends)
    )
    places = shape.iota(dtype=t.dtype, shape=full, dimension=t.ndim)
    inside = and_(ge(places, starts), lt(places, ends))
    # The axes are the outer ones, the groups, and the one that is cut.
    at = [*range(t.ndim - 1), t.ndim]
    order = sorted(range(len(own)), key=own.__getitem__)
    return shape.transpose(inside, permutation=(t.ndim - 1, *(at[i] for i in order)))


def is_plain(lhs: int, rhs: int, dimension_numbers: Any, ragged: int, group: Any) -> bool:
    """Whether a ragged product is one of matrices, in an order that kernels take: rows that are
    multiplied, (m, k) by (g, k, n) or (g, n, k), or rows that are summed, (m, k) by (m, n).

    `lhs` and `rhs` are the ranks of the operands.
    """
    (lc, rc), (lb, _) = dimension_numbers
    if lb or ragged or lhs != 2:
        return False
    if group:
        return lc == (1,) and group == (0,) and rhs == 3 and len(rc) == 1
    return lc == rc == (0,) and rhs == 2


def worth_plain(
    lhs: int, group_sizes: int, dimension_numbers: Any, ragged: int, group: Any
) -> bool:
    """Whether to use `ragged_as_plain`: sizes must not differ along free axes.

    Where rows are summed, a kernel does work for all of them in each group, and batches would make
    as many more groups. `lhs` and `group_sizes` are the ranks of the operands.
    """
    (lc, _), (lb, _) = dimension_numbers
    if lb and not group:
        return False
    return group_sizes == 1 or len(outer_axes(lhs, ragged, lc, lb)) == len(lb)


def ragged_as_plain(
    lhs: Any,
    rhs: Any,
    group_sizes: Any,
    *,
    dimension_numbers: Any,
    ragged: int,
    group: tuple[int, ...],
    **attributes: Any,
) -> Any:
    """A ragged product by one that `is_plain`.

    Axes beside the ragged one are merged with it, which multiplies the sizes of the groups. Batches
    follow each other: each has one more group, of the rows that are in none.
    """
    (lc, rc), (lb, rb) = dimension_numbers
    left, right = typeof(lhs).shape, typeof(rhs).shape
    lf = tuple(i for i in free_dims(len(left), lc, lb) if i != ragged)
    rf = free_dims(len(right), (*group, *rc), rb)
    pairs = [(i, j) for i, j in zip(lc, rc, strict=True) if i != ragged]
    summed = tuple(i for i, _ in pairs)
    batch, rows = tuple(left[i] for i in lb), left[ragged]
    columns = prod(right[i] for i in rf)
    beside, across = (lf, summed) if group else (summed, lf)
    times, wide = (prod(left[i] for i in axes) for axes in (beside, across))
    x = shape.transpose(lhs, permutation=(*lb, ragged, *beside, *across))
    x = shape.reshape(x, shape=(prod(batch) * rows * times, wide))
    sizes = _with_rest(group_sizes, batch, rows) if lb else group_sizes
    total, count = typeof(sizes).size, typeof(group_sizes).shape[-1]
    middle = (*group, *rc) if group else (rc[lc.index(ragged)], *(j for _, j in pairs))
    y = shape.transpose(rhs, permutation=(*rb, *middle, *rf))
    if group:
        y = shape.reshape(y, shape=(prod(batch), count, wide, columns))
        y = shape.pad_axis(y, 1, 0, 1) if lb else y
        y = shape.reshape(y, shape=(total, wide, columns))
    else:
        y = shape.reshape(y, shape=(prod(batch) * rows * times, columns))
    axes = ((1,), (1,)) if group else ((0,), (0,))
    found = contraction.ragged_dot_general(
        x,
        y,
        mul(shape.reshape(sizes, shape=(total,)), times),
        dimension_numbers=(axes, ((), ())),
        ragged=0,
        group=(0,) if group else (),
        **attributes,
    )
    first = rows if group else count + bool(lb)
    lengths = (*batch, first, *(left[i] for i in lf), *(right[i] for i in rf))
    found = shape.reshape(found, shape=lengths)
    if group:
        return shape.move_axis(found, len(lb), len(lb) + sum(i < ragged for i in lf))
    return shape.move_axis(shape.slice_axis(found, len(lb), 0, count), len(lb), 0)


def _with_rest(sizes: Any, batch: tuple[int, ...], rows: int) -> Any:
    """The sizes of the groups of each batch, and how many rows are in none: rows in all."""
    t = typeof(sizes)
    own = tuple(range(len(batch), len(batch) + 1)) if t.ndim == 1 else tuple(range(t.ndim))
    sizes = shape.broadcast_in_dim(sizes, shape=(*batch, t.shape[-1]), dims=own)
    axis = len(batch)
    ends = cumulative.cumsum(sizes, axis=axis, reverse=False)
    ends = shape.pad_axis(elementwise.min(ends, rows), axis, 1, 0)
    ends = shape.pad_axis(ends, axis, 0, 1, value=rows)
    n = t.shape[-1] + 2
    return sub(shape.slice_axis(ends, axis, 1, n), shape.slice_axis(ends, axis, 0, n - 1))
