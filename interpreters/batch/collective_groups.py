"""Collectives of a batch among groups of its lanes, by their rules for all lanes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from effax.effects.effect import Effect
from effax.effects.rows import shape
from effax.effects.rows.collective import Groups
from effax.effects.rows.shape import move_axis
from effax.effects.types import typeof
from effax.interpreters.batch.batched import Batch, repeat, rule

_AXES = ("axis", "split", "concat")
"""Attributes that name an axis of the operand."""


def collective_rule(effect: Effect) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Fill a collective's cell with its rule for all lanes.

    Collectives over other names are passed on, and those among groups of lanes are done by the same
    rule, for all groups of one length at once.
    """

    def fill(of_all: Callable[..., Any]) -> Callable[..., Any]:
        @rule(effect)
        def batch_rule(
            handler: Batch,
            values: list[Any],
            batched: list[bool],
            *,
            axes: Any,
            axis_index_groups: Groups = None,
            **where: Any,
        ) -> Any:
            (x,), (many,) = values, batched
            if handler.axis_name not in axes:
                if axis_index_groups is not None:
                    where["axis_index_groups"] = axis_index_groups
                return effect(x, axes=axes, **_after(many, where)), many
            if axis_index_groups is None:
                return of_all(handler, values, batched, axes=axes, **where)
            if len(axes) > 1:
                raise NotImplementedError(
                    f"{effect} over {axes} with axis_index_groups, where {handler.axis_name!r} is "
                    "an axis of vmap: groups are of places along that axis alone, or along others"
                )
            x = x if many else repeat(x, handler.size)
            return _in_groups(of_all, handler, x, axis_index_groups, where), True

        return batch_rule

    return fill


def _after(count: int, where: dict[str, Any]) -> dict[str, Any]:
    """The attributes, of an operand that has further axes in front."""
    return {name: at + count if name in _AXES else at for name, at in where.items()}


def _in_groups(
    of_all: Callable[..., Any],
    handler: Batch,
    x: Any,
    groups: tuple[tuple[int, ...], ...],
    where: dict[str, Any],
) -> Any:
    name, order, done = handler.axis_name, list[int](), []
    for length in sorted({len(group) for group in groups}):
        members = [group for group in groups if len(group) == length]
        lanes = [lane for group in members for lane in group]
        order += lanes
        rows = lanes_from(x, lanes)
        rows = shape.reshape(rows, shape=(len(members), length, *typeof(x).shape[1:]))
        result, many = of_all(
            Batch(None, length, name),
            [move_axis(rows, 0, 1)],
            [True],
            axes=(name,),
            **_after(1, where),
        )
        result = move_axis(result if many else repeat(result, length), 0, 1)
        done.append(shape.reshape(result, shape=(len(lanes), *typeof(result).shape[2:])))
    joined = done[0] if len(done) == 1 else shape.concatenate(*done, axis=0)
    return lanes_from(joined, [order.index(lane) for lane in range(handler.size)])


def lanes_from(x: Any, sources: Sequence[int | None]) -> Any:
    """The lanes of x in another order; zeros where there is no source.

    There is one piece for each run of neighbours whose sources are neighbours too.
    """
    pieces: list[Any] = []
    start, size = 0, len(sources)
    while start < size:
        first, end = sources[start], start + 1
        while end < size and sources[end] == (None if first is None else first + end - start):
            end += 1
        if first is None:
            pieces.append(shape.full((end - start, *typeof(x).shape[1:]), 0, typeof(x).dtype))
        else:
            pieces.append(shape.slice_axis(x, 0, first, first + end - start))
        start = end
    return pieces[0] if len(pieces) == 1 else shape.concatenate(*pieces, axis=0)
