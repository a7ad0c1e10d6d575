"""A ragged exchange of rows by collectives that every platform has: each place sees all rows."""

from __future__ import annotations

from math import prod
from typing import Any

from effax.effects.dtypes import position_dtype
from effax.effects.rows import collective, control, elementwise, indexing, reduction, shape
from effax.effects.rows.collective import Axes, Groups
from effax.effects.rows.comparison import eq, ge, lt
from effax.effects.rows.conversion import convert_element_type
from effax.effects.rows.elementwise import add, mul, sub
from effax.effects.rows.indexing import GatherDimensionNumbers, GatherScatterMode
from effax.effects.rows.logical import and_
from effax.effects.rows.selection import select_n
from effax.effects.types import ShapedArray, int32, typeof
from effax.interpreters.functor.written_out import expansion
from effax.interpreters.stage import stage


@expansion(collective.ragged_all_to_all)
def ragged_by_gathering(
    input_offsets: Any,
    send_sizes: Any,
    output_offsets: Any,
    recv_sizes: Any,
    operand: Any,
    output: Any,
    *,
    axes: Axes,
    sizes: tuple[int, ...],
    axis_index_groups: Groups = None,
) -> Any:
    """Of the rows of all places, those that came here; of slices that meet, the last one's."""
    rows, wide = typeof(operand).shape[0], typeof(output).shape[0]
    if not rows or not wide:
        return output
    among: dict[str, Any] = {"axes": axes, "sizes": sizes, "axis_index_groups": axis_index_groups}
    starts, counts, targets = (
        exchanged(v, **among) for v in (input_offsets, send_sizes, output_offsets)
    )
    everything = _gathered(operand, **among)
    places = typeof(everything).shape[0] // rows
    slices = typeof(starts).shape[0]
    dtype = position_dtype(places * rows, wide)
    inside, place = _inside(targets, counts, wide, dtype)
    number = shape.iota(dtype=dtype, shape=(slices, wide), dimension=0)
    last = reduction.reduce_max(select_n(inside, -1, number), axes=(0,))
    chosen = eq(number, _along(last, number, 1))
    start = _along(convert_element_type(starts, dtype=dtype), number, 0)
    own = elementwise.min(elementwise.max(add(start, place), 0), rows - 1)
    sender = elementwise.div(number, slices // places)
    source = select_n(chosen, 0, add(mul(sender, rows), own))
    taken = _rows_at(everything, reduction.reduce_max(source, axes=(0,)))
    return select_n(_along(ge(last, 0), output, 0), output, taken)


def exchanged(
    x: Any, *, axes: Axes, sizes: tuple[int, ...], axis_index_groups: Groups = None
) -> Any:
    """The entries about this place in the vectors of all places, or of those of the group."""
    size = prod(sizes) if axis_index_groups is None else len(axis_index_groups[0])
    return collective.all_to_all(
        x, axes=axes, split=0, concat=0, size=size, axis_index_groups=axis_index_groups
    )


def arrived(targets: Any, counts: Any, rows: int) -> Any:
    """The marks of those of so many rows that came: slices of `counts` rows from `targets` on."""
    inside, _ = _inside(targets, counts, rows, position_dtype(rows))
    return reduction.reduce_or(inside, axes=(0,))


def brought_back(
    ct: Any, targets: Any, counts: Any, starts: Any, sent: Any, type: ShapedArray, **where: Any
) -> Any:
    """The cotangent of an operand of that type: what slices brought elsewhere, added up here.

    Where no two slices of a place have a row in common, all go back at once. A row that was sent
    twice has the sum of two cotangents, while an exchange would keep one: there slices go back one
    after the other, each of a place with those of the same number of the others.

    Args:
      ct: the rows that came here, of which slices have `counts` rows from `targets` on.
      starts, sent: the slices of the operand.
    """
    dtype = position_dtype(type.shape[0], typeof(ct).shape[0])
    targets, counts, starts, sent = (
        convert_element_type(v, dtype=dtype) for v in (targets, counts, starts, sent)
    )
    origins = exchanged(starts, **where)
    own = shape.iota(dtype=int32, shape=typeof(starts).shape, dimension=0)
    number = exchanged(own, **where)

    def back(targets: Any, counts: Any, origins: Any, sent: Any, ct: Any) -> Any:
        none = shape.full(type.shape, 0, type.dtype)
        return collective.ragged_all_to_all(targets, counts, origins, sent, ct, none, **where)

    def one(i: Any, own: Any, number: Any, *rest: Any) -> Any:
        targets, counts, origins, sent, ct = rest
        counts, sent = (
            select_n(eq(n, _along(i, n)), 0, v) for n, v in ((number, counts), (own, sent))
        )
        return back(targets, counts, origins, sent, ct)

    def one_by_one(own: Any, number: Any, *rest: Any) -> Any:
        def add_next(*values: Any) -> list[Any]:
            *given, total, i = values
            return [add(total, one(i, *given))]

        first = one(shape.scalar(0, int32), own, number, *rest)
        given = own, number, *rest
        others = shape.slice_axis(own, 0, 1, typeof(own).shape[0])
        types = [typeof(x) for x in (*given, first)]
        body = stage(add_next, [*types, typeof(others).row()], "add_next").program
        return control.scan(
            *given, first, others, body=body, consts=len(given), carry=1,
            length=typeof(others).shape[0], reverse=False, unroll=1,
        )[0]  # fmt: skip

    operands = own, number, targets, counts, origins, sent, ct
    types = [typeof(x) for x in operands]
    branches = (
        stage(lambda own, number, *rest: [back(*rest)], types, "at_once").program,
        stage(lambda *values: [one_by_one(*values)], types, "one_by_one").program,
    )
    return control.cond(_overlap(starts, sent, **where), *operands, branches=branches)[0]


def _overlap(
    starts: Any, sent: Any, *, axes: Axes, axis_index_groups: Groups = None, **_: Any
) -> Any:
    """At how many places, of all or of a group, two slices of the operand have a row in common."""
    (n,) = typeof(starts).shape
    number = [shape.iota(dtype=int32, shape=(n, n), dimension=i) for i in (0, 1)]
    firsts, ends = ([_along(v, number[0], i) for i in (0, 1)] for v in (starts, add(starts, sent)))
    common = lt(elementwise.max(*firsts), elementwise.min(*ends))
    some = reduction.reduce_or(and_(common, lt(*number)), axes=(0, 1))
    some = convert_element_type(some, dtype=int32)
    return collective.psum(some, axes=axes, axis_index_groups=axis_index_groups)


def _inside(targets: Any, counts: Any, rows: int, dtype: Any) -> tuple[Any, Any]:
    """Whether row p is in slice s, and its number there: both (slices, rows)."""
    position = shape.iota(dtype=dtype, shape=(*typeof(targets).shape, rows), dimension=1)
    targets, counts = (
        _along(convert_element_type(v, dtype=dtype), position, 0) for v in (targets, counts)
    )
    number = sub(position, targets)
    return and_(ge(number, 0), lt(number, counts)), number


def _gathered(x: Any, *, axes: Axes, sizes: tuple[int, ...], axis_index_groups: Groups) -> Any:
    if axis_index_groups is not None:
        options = {"size": len(axis_index_groups[0]), "axis_index_groups": axis_index_groups}
        return collective.all_gather(x, axes=axes, axis=0, **options)
    for name, size in reversed([*zip(axes, sizes, strict=True)]):
        x = collective.all_gather(x, axes=(name,), axis=0, size=size)
    return x


def _along(x: Any, like: Any, *axis: int) -> Any:
    """A vector, repeated along all other axes of an array; a number along all axes."""
    return shape.broadcast_in_dim(x, shape=typeof(like).shape, dims=axis)


def _rows_at(x: Any, places: Any) -> Any:
    t = typeof(x)
    return indexing.gather(
        x,
        shape.expand_dims(places, (1,)),
        dimension_numbers=GatherDimensionNumbers(
            offset_dims=tuple(range(1, t.ndim)), collapsed_slice_dims=(0,), start_index_map=(0,)
        ),
        slice_sizes=(1, *t.shape[1:]),
        mode=GatherScatterMode.PROMISE_IN_BOUNDS,
        fill_value=None,
        indices_are_sorted=False,
        unique_indices=False,
    )
