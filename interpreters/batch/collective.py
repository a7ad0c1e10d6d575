"""Collectives for a batch: over its own axis they are computed, over others they are passed on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from math import prod
from typing import Any

from effax.effects.dtypes import position_dtype
from effax.effects.effect import Effect
from effax.effects.handler import outside
from effax.effects.rows import collective, reduction, shape
from effax.effects.rows.conversion import convert_element_type
from effax.effects.rows.elementwise import add, mul
from effax.effects.rows.selection import select_n
from effax.effects.rows.shape import move_axis
from effax.effects.types import bool_, int32, typeof
from effax.interpreters.batch.batched import BATCHED, Batch, repeat, rule
from effax.interpreters.batch.collective_groups import collective_rule, lanes_from
from effax.interpreters.composites.ragged_exchange import ragged_by_gathering


def _merged(x: Any, axis: int) -> Any:
    """The first axis moved before another, and both made one."""
    moved = move_axis(x, 0, axis)
    lengths = typeof(moved).shape
    joined = (*lengths[:axis], lengths[axis] * lengths[axis + 1], *lengths[axis + 2 :])
    return shape.reshape(moved, shape=joined)


def _cut(x: Any, axis: int, pieces: int) -> Any:
    """An axis cut into equal pieces, which are counted by a new first axis."""
    return move_axis(shape.cut_axis(x, axis, pieces), axis, 0)


def _reduction(effect: Effect, fold: Callable[..., Any], same: Callable[[Batch, Any], Any]) -> None:
    """A collective that folds: `same` is what it gives when all places have the same operand."""

    @collective_rule(effect)
    def reduction_batch(
        handler: Batch, values: list[Any], batched: list[bool], *, axes: Any
    ) -> Any:
        (x,), (many,) = values, batched
        rest = tuple(name for name in axes if name != handler.axis_name)
        x = fold(x, axes=(0,)) if many else same(handler, x)
        return (effect(x, axes=rest) if rest else x), False


_reduction(collective.psum, reduction.reduce_sum, lambda handler, x: mul(x, like(x, handler.size)))
_reduction(collective.pmax, reduction.reduce_max, lambda handler, x: x)
_reduction(collective.pmin, reduction.reduce_min, lambda handler, x: x)


def like(x: Any, value: Any) -> Any:
    """A number, in an array of the type of another."""
    t = typeof(x)
    return shape.full(t.shape, value, t.dtype)


@collective_rule(collective.all_gather)
def all_gather_batch(
    handler: Batch,
    values: list[Any],
    batched: list[bool],
    *,
    axes: Any,
    axis: int,
    size: int,
    shared: bool = False,
) -> Any:
    (x,), (many,) = values, batched
    return _merged(x if many else repeat(x, size), axis), False


@collective_rule(collective.reduce_scatter)
def reduce_scatter_batch(
    handler: Batch, values: list[Any], batched: list[bool], *, axes: Any, axis: int, size: int
) -> Any:
    (x,), (many,) = values, batched
    total = reduction.reduce_sum(x, axes=(0,)) if many else mul(x, like(x, size))
    return _cut(total, axis, size), True


@collective_rule(collective.all_to_all)
def all_to_all_batch(
    handler: Batch,
    values: list[Any],
    batched: list[bool],
    *,
    axes: Any,
    split: int,
    concat: int,
    size: int,
) -> Any:
    (x,), (many,) = values, batched
    x = x if many else repeat(x, handler.size)
    before, after = _others("all_to_all", handler, axes, size)
    at, lengths = split + 1, typeof(x).shape
    parts = (before, handler.size, after, lengths[at] // size)
    x = shape.reshape(x, shape=(*lengths[:at], *parts, *lengths[at + 1 :]))
    order = [*range(typeof(x).ndim)]
    order[0], order[at + 1] = at + 1, 0  # lane i's piece for lane k becomes lane k's from lane i
    x = shape.transpose(x, permutation=tuple(order))
    rest = tuple(name for name in axes if name != handler.axis_name)
    if rest:
        other = at if before > 1 else at + 2
        x = collective.all_to_all(x, axes=rest, split=other, concat=other, size=before * after)
    target = concat + 1 + 3 * (concat >= split)
    order = [i for i in range(typeof(x).ndim) if i not in (at, at + 1, at + 2)]
    place = order.index(target)
    order[place:place] = [at, at + 1, at + 2]
    lengths = typeof(x := shape.transpose(x, permutation=tuple(order))).shape
    joined = (*lengths[:place], prod(lengths[place : place + 4]), *lengths[place + 4 :])
    return shape.reshape(x, shape=joined), True


def _others(name: str, handler: Batch, axes: Any, size: int) -> tuple[int, int]:
    """The numbers of places along the axes before the batch's own, and along those after it."""
    at, rest = axes.index(handler.axis_name), size // handler.size
    if 0 < at < len(axes) - 1:
        raise NotImplementedError(
            f"{name} over {axes}: an axis of vmap, here {handler.axis_name!r}, must be the first "
            "or the last of the names; transpose the array, and name it there"
        )
    return (1, rest) if at == 0 else (rest, 1)


@rule(collective.ppermute)
def ppermute_batch(
    handler: Batch, values: list[Any], batched: list[bool], *, axes: Any, perm: Any, size: int
) -> Any:
    (x,), (many,) = values, batched
    if handler.axis_name not in axes:
        return collective.ppermute(x, axes=axes, perm=perm, size=size), many
    x = x if many else repeat(x, handler.size)
    if len(axes) > 1:
        return _permute_over_several(handler, x, axes, perm, size), True
    source = {d: s for s, d in perm}
    return lanes_from(x, [source.get(place) for place in range(size)]), True


@rule(collective.axis_index)
def axis_index_batch(handler: Batch, values: list[Any], batched: list[bool], *, axes: Any) -> Any:
    return shape.iota(shape=(handler.size,), dimension=0, dtype=int32), True


def _permute_over_several(handler: Batch, x: Any, axes: Any, perm: Any, size: int) -> Any:
    """Permute over the batch's axis and others: each pair of lanes is a permutation over those.

    A lane may get parts of several lanes, each at other places: which places got something is
    known from a permutation of True, as zeros may be values too.
    """
    before, after = _others("ppermute", handler, axes, size)
    rest = tuple(name for name in axes if name != handler.axis_name)
    routes: defaultdict[int, defaultdict[int, list[tuple[int, int]]]]
    routes = defaultdict(lambda: defaultdict(list))
    for s, d in perm:
        (source, from_lane), (target, to_lane) = (
            divmod(p, handler.size) if before > 1 else reversed(divmod(p, after)) for p in (s, d)
        )
        routes[to_lane][from_lane].append((source, target))
    lanes = []
    for lane in range(handler.size):
        row = typeof(x).row()
        found = shape.full(row.shape, 0, row.dtype)
        for i, (source, pairs) in enumerate(routes[lane].items()):
            sent = shape.squeeze(shape.slice_axis(x, 0, source, source + 1), (0,))
            options = {"axes": rest, "perm": tuple(pairs), "size": before * after}
            got = collective.ppermute(sent, **options)
            if i:
                there = collective.ppermute(shape.full(row.shape, True, bool_), **options)
                got = select_n(there, found, got)
            found = got
        lanes.append(shape.expand_dims(found, (0,)))
    return shape.concatenate(*lanes, axis=0)


def ragged_all_to_all_batch(
    handler: Batch, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]
) -> Any:
    """Over the batch's own axis as it is written out; over others the lanes' rows follow each
    other, and each place has as many more slices."""
    effect.result_type(*operands, **attributes)  # which refuses what does not fit
    if handler.axis_name in attributes["axes"]:
        with outside(handler):
            return ragged_by_gathering(*operands, **attributes)
    values = [handler.leaves(x, BATCHED)[0] for x in operands]
    vectors, (operand, output) = values[:4], values[4:]
    size, many = handler.size, typeof(output).shape
    for i, rows in ((0, typeof(operand).shape[1]), (2, many[1])):
        t = typeof(vectors[i])
        dtype = position_dtype(size * rows)
        first = mul(shape.iota(dtype=dtype, shape=t.shape, dimension=0), rows)
        vectors[i] = add(convert_element_type(vectors[i], dtype=dtype), first)
    by_slice = (shape.transpose(v, permutation=(1, 0)) for v in vectors)
    merged = [_merged(x, 0) for x in (*by_slice, operand, output)]
    return handler.value(BATCHED, [shape.reshape(effect(*merged, **attributes), shape=many)])


Batch.overrides[collective.ragged_all_to_all] = ragged_all_to_all_batch
