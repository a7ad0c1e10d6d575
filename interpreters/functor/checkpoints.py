"""A loop of unknown length that keeps a few of its states: online checkpointing.

The loop does not know where it will end when it chooses what to keep. Only so much of it is done
again as the distance between checkpoints asks for, and the slots that have become free are filled
by the same rule. All of it is expressed in effects, the number of slots alone is static.

Sources: Wang, Moin & Iaccarino 2009 ("Minimal repetition dynamic checkpointing algorithm") for the
rule; Griewank & Walther 2000 (revolve) and Stumm & Walther 2010 for the bounds it is held against.
With t the least number for which n <= binomial(c + t, t), a loop of n > 1 steps with c slots does
each step t times at most, forward and backward together, beside pulling it back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import attrs

from effax.effects.rows import control, shape
from effax.effects.rows.comparison import eq, ge, gt, le, lt
from effax.effects.rows.elementwise import add, sub
from effax.effects.rows.indexing import dynamic_slice, dynamic_update_slice
from effax.effects.rows.logical import and_, not_, or_
from effax.effects.rows.reduction import argmax, reduce_max, reduce_or
from effax.effects.rows.selection import select_n
from effax.effects.types import typeof
from effax.interpreters.functor.masks import pick
from effax.interpreters.stage import stage

INDEX: Final = "int32"
TOP: Final = 2**30
"""The level of the initial state, which is never given up; and the score of a free slot."""
FREE: Final = -1
"""In the place of a step's number: the slot holds nothing."""


@attrs.frozen(slots=True, eq=False)
class Slots:
    """Checkpoints: of each slot its step's number, or `FREE`, and its level; and the states.

    A state is a list of values; `states` holds each of them stacked along a new first axis.
    """

    steps: Any
    levels: Any
    states: list[Any]

    def flat(self) -> list[Any]:
        """As the carry of a loop."""
        return [self.steps, self.levels, *self.states]

    @classmethod
    def of(cls, values: Sequence[Any]) -> Slots:
        """The slots that are these values of a carry."""
        steps, levels, *states = values
        return cls(steps, levels, states)

    def up_to(self, target: Any) -> Slots:
        """Keep the checkpoints of steps before the target; free the others."""
        count = typeof(self.steps).size
        later = ge(self.steps, spread(target, count))
        steps = select_n(later, self.steps, shape.full((count,), FREE, INDEX))
        return Slots(steps, self.levels, self.states)


def empty(count: int, state: Sequence[Any]) -> Slots:
    """Return so many free slots for states like this one."""
    states = []
    for x in state:
        t = typeof(x)
        dims = tuple(range(1, t.ndim + 1))
        states.append(shape.broadcast_in_dim(x, shape=(count, *t.shape), dims=dims))
    return Slots(
        shape.full((count,), FREE, INDEX),
        shape.full((count,), 0, INDEX),
        states,
    )


def store(slots: Slots, step: Any, level: Any, state: Sequence[Any]) -> tuple[Slots, Any]:
    """Keep the state before a step if there is room for it; and the level of the state after it.

    Room is a free slot, or one whose state is dispensable: a later one (that of `step` among
    them) has a higher level. The latest dispensable state goes. A state that finds no room is
    lost, and the one after it is a level higher: so levels count how often the loop was too long
    for the distances chosen so far. Nothing is stored for a negative step.
    """
    count = typeof(slots.steps).size
    taken = ge(slots.steps, 0)
    there = reduce_or(eq(slots.steps, spread(step, count)), axes=(0,))
    square = (count, count)
    one, other = (
        [shape.broadcast_in_dim(x, shape=square, dims=(k,)) for x in (slots.steps, slots.levels)]
        for k in (0, 1)
    )
    above = and_(gt(other[0], one[0]), gt(other[1], one[1]))
    dispensable = or_(reduce_or(above, axes=(1,)), lt(slots.levels, spread(level, count)))
    nothing, most = (shape.full((count,), x, INDEX) for x in (FREE, TOP))
    score = select_n(taken, most, select_n(dispensable, nothing, slots.steps))
    at = argmax(score, axis=0, index_dtype=shape.scalar(0, INDEX).dtype)
    begun = ge(step, 0)
    wanted = and_(begun, not_(there))
    write = and_(ge(reduce_max(score, axes=(0,)), 0), wanted)
    kept = or_(write, there)
    steps, levels, *states = (
        _put(stack, at, write, x)
        for stack, x in zip(slots.flat(), [step, level, *state], strict=True)
    )
    after = select_n(kept, add(level, 1), shape.scalar(0, INDEX))
    return Slots(steps, levels, states), select_n(begun, level, after)


def nearest(slots: Slots, target: Any) -> tuple[Any, Any, list[Any]]:
    """The last step, up to a target, whose state is kept; its level, and the state before it."""
    count = typeof(slots.steps).size
    before = le(slots.steps, spread(target, count))
    candidates = select_n(before, shape.full((count,), FREE, INDEX), slots.steps)
    at = argmax(candidates, axis=0, index_dtype=shape.scalar(0, INDEX).dtype)
    step, level, *state = (_get(stack, at) for stack in slots.flat())
    return step, level, state


def spread(x: Any, count: int) -> Any:
    """A scalar, once for each slot."""
    return shape.broadcast_in_dim(x, shape=(count,), dims=())


def _starts(stack: Any, at: Any) -> list[Any]:
    return [at, *(shape.scalar(0, INDEX) for _ in typeof(stack).shape[1:])]


def _get(stack: Any, at: Any) -> Any:
    sizes = typeof(stack).shape[1:]
    row = dynamic_slice(stack, *_starts(stack, at), sizes=(1, *sizes))
    return shape.reshape(row, shape=sizes)


def _put(stack: Any, at: Any, write: Any, x: Any) -> Any:
    """The stack with a row replaced, where `write` holds: so that it can be done in place."""
    row = choose(write, _get(stack, at), x)
    update = shape.reshape(row, shape=(1, *typeof(stack).shape[1:]))
    return dynamic_update_slice(stack, update, *_starts(stack, at))


def choose(predicate: Any, no: Any, yes: Any) -> Any:
    """One of two values of any shape, by a Boolean scalar."""
    t = typeof(no)
    if t.ndim:
        predicate = shape.broadcast_in_dim(predicate, shape=t.shape, dims=())
    return select_n(predicate, no, yes)


def go_round(
    test: Callable[..., Any],
    step: Callable[..., list[Any]],
    carry: Sequence[Any],
    checkpoints: int,
) -> list[Any]:
    """A `while` of these functions of the flat carry, whose derivative uses checkpoints."""
    types = [typeof(x) for x in carry]
    tested = stage(lambda *values: [test(*values)], types, "more")
    stepped = stage(step, types, "step")
    results: list[Any] = control.while_loop(
        *tested.captured,
        *stepped.captured,
        *carry,
        cond=tested.program,
        body=stepped.program,
        cond_consts=len(tested.captured),
        body_consts=len(stepped.captured),
        checkpoints=checkpoints,
    )
    return results


def forward(
    test: Callable[..., Any],
    step: Callable[..., list[Any]],
    init: Sequence[Any],
    count: int,
    stored: Sequence[bool] | None = None,
) -> tuple[list[Any], list[Any]]:
    """The last state of a loop, and what the way back needs: see `Trail.of`.

    The state to be kept trails by one: when the loop ends, the first one that the way back needs is
    at hand. `stored` says which parts of the state the way back needs; by default all.
    """
    stored = (True,) * len(init) if stored is None else stored
    first = pick(init, stored, True)
    n, end = len(first), 2 * len(first) + 2

    def test_all(done: Any, level: Any, *values: Any) -> Any:
        return test(*values[end:])

    def step_all(done: Any, level: Any, *values: Any) -> list[Any]:
        before, slots, now = values[:n], Slots.of(values[n:end]), values[end:]
        slots, level = store(slots, sub(done, 1), level, before)
        kept = pick(now, stored, True)
        return [add(done, 1), level, *kept, *slots.flat(), *step(*now)]

    carry = [shape.scalar(0, INDEX), shape.scalar(TOP, INDEX), *first, *empty(count, first).flat()]
    found = go_round(test_all, step_all, [*carry, *init], count)
    return found[2 + end :], found[: 2 + end]


@attrs.frozen(slots=True, eq=False)
class Trail:
    """The position in a loop walked backwards: steps left, a state on the way, and the checkpoints.

    `level` and `state` are those before step `at`.
    """

    left: Any
    at: Any
    level: Any
    state: list[Any]
    slots: Slots

    @classmethod
    def of(cls, values: Sequence[Any]) -> Trail:
        """The trail that `forward` left."""
        left, level, *rest = values
        n = (len(rest) - 2) // 2
        return cls(left, sub(left, 1), level, rest[:n], Slots.of(rest[n:]))


def go_to(target: Any, trail: Trail, step: Callable[..., list[Any]]) -> Trail:
    """The trail with the state before the target step, from the nearest one before it."""
    found = nearest(trail.slots, target)
    n = len(trail.state)
    here = eq(trail.at, target)
    at, level, *state = (
        choose(here, a, b)
        for a, b in zip(
            [found[0], found[1], *found[2]], [trail.at, trail.level, *trail.state], strict=True
        )
    )

    def test(at: Any, *_: Any) -> Any:
        return lt(at, target)

    def forth(at: Any, level: Any, *values: Any) -> list[Any]:
        now, slots = values[:n], Slots.of(values[n:])
        slots, level = store(slots, at, level, now)
        return [add(at, 1), level, *step(*now), *slots.flat()]

    count = typeof(trail.slots.steps).size
    at, level, *values = go_round(test, forth, [at, level, *state, *trail.slots.flat()], count)
    return Trail(target, at, level, values[:n], Slots.of(values[n:]).up_to(target))
