"""Reverse mode through a loop of unknown length, in the memory of a few checkpoints.

A `while` with the attribute `checkpoints=c` is transposed by three loops in the object language. The
first goes forward and keeps c states, chosen online: it does not know where it will end. The
second goes backward over the steps; for each, the third advances to the state the step began with,
from the nearest checkpoint before it, and fills the slots that have become free by the same rule.

Sources: Wang, Moin & Iaccarino 2009 ("Minimal repetition dynamic checkpointing algorithm") for the
rule; Griewank & Walther 2000 (revolve) and Stumm & Walther 2010 for the bounds it is held against.
With t the least number for which n <= binomial(c + t, t), n steps are advanced t times each at
most, in both sweeps together, beside the one that shows the loop has ended.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import attrs

from effax.effects import control, shape
from effax.effects.comparison import eq, ge, gt, le, lt
from effax.effects.effect import Effect
from effax.effects.elementwise import add, sub
from effax.effects.indexing import dynamic_slice, dynamic_update_slice
from effax.effects.logical import and_, not_, or_
from effax.effects.program import Program
from effax.effects.reduction import argmax, reduce_max, reduce_or
from effax.effects.selection import select_n
from effax.effects.types import typeof
from effax.interpreters.residual.control import known_loop
from effax.interpreters.stage import stage
from effax.interpreters.transpose.control import Transposed, transpose_program
from effax.interpreters.transpose.linear import instantiate, is_linear, value_type

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


def empty(count: int, state: Sequence[Any]) -> Slots:
    """That many free slots for states like this one."""
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
    there = reduce_or(eq(slots.steps, _row(step, count)), axes=(0,))
    square = (count, count)
    one, other = (
        [shape.broadcast_in_dim(x, shape=square, dims=(k,)) for x in (slots.steps, slots.levels)]
        for k in (0, 1)
    )
    above = and_(gt(other[0], one[0]), gt(other[1], one[1]))
    dispensable = or_(reduce_or(above, axes=(1,)), lt(slots.levels, _row(level, count)))
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
    before = le(slots.steps, _row(target, count))
    candidates = select_n(before, shape.full((count,), FREE, INDEX), slots.steps)
    at = argmax(candidates, axis=0, index_dtype=shape.scalar(0, INDEX).dtype)
    step, level, *state = (_get(stack, at) for stack in slots.flat())
    return step, level, state


def _row(x: Any, count: int) -> Any:
    return shape.broadcast_in_dim(x, shape=(count,), dims=())


def _starts(stack: Any, at: Any) -> list[Any]:
    return [at, *(shape.scalar(0, INDEX) for _ in typeof(stack).shape[1:])]


def _get(stack: Any, at: Any) -> Any:
    sizes = typeof(stack).shape[1:]
    row = dynamic_slice(stack, *_starts(stack, at), sizes=(1, *sizes))
    return shape.reshape(row, shape=sizes)


def _put(stack: Any, at: Any, write: Any, x: Any) -> Any:
    """The stack with a row replaced, where `write` holds: so that it can be done in place."""
    row = _choose(write, _get(stack, at), x)
    update = shape.reshape(row, shape=(1, *typeof(stack).shape[1:]))
    return dynamic_update_slice(stack, update, *_starts(stack, at))


def _choose(predicate: Any, no: Any, yes: Any) -> Any:
    t = typeof(no)
    if t.ndim:
        predicate = shape.broadcast_in_dim(predicate, shape=t.shape, dims=())
    return select_n(predicate, no, yes)


@attrs.frozen(slots=True, eq=False)
class Loop:
    """A loop to be transposed: how to test and to advance its known carry, how to pull back.

    `test` takes the known carry; `step` too, and gives the next; `pull` takes the known carry
    before a step and the cotangents after it, and gives those of the linear constants, and those
    before it.
    """

    test: Callable[..., Any]
    step: Callable[..., list[Any]]
    pull: Callable[..., list[Any]]
    checkpoints: int

    def go_round(
        self, test: Callable[..., Any], step: Callable[..., list[Any]], carry: Sequence[Any]
    ) -> list[Any]:
        """A `while` of these functions of the flat carry. It can be differentiated as this one."""
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
            checkpoints=self.checkpoints,
        )
        return results

    def forward(self, init: Sequence[Any]) -> tuple[Any, Any, list[Any], Slots]:
        """The number of steps, the level and the state before the last, and the checkpoints.

        The state to be kept trails by one: when the loop ends, the first one that the way back
        needs is at hand.
        """
        n = len(init)

        def test(*values: Any) -> Any:
            return self.test(*values[-n:] if n else ())

        def step(count: Any, level: Any, *values: Any) -> list[Any]:
            before, slots, now = values[:n], _slots(values[n:-n]), values[-n:]
            slots, level = store(slots, sub(count, 1), level, before)
            return [add(count, 1), level, *now, *slots.flat(), *self.step(*now)]

        start = shape.scalar(0, INDEX), shape.scalar(TOP, INDEX)
        slots = empty(self.checkpoints, init)
        found = self.go_round(test, step, [*start, *init, *slots.flat(), *init])
        count, level, *values = found
        return count, level, values[:n], _slots(values[n:-n])

    def advance(
        self, target: Any, step: Any, level: Any, state: Sequence[Any], slots: Slots
    ) -> tuple[list[Any], Slots]:
        """The state before the target step, from that before an earlier one."""
        n = len(state)

        def test(step: Any, *_: Any) -> Any:
            return lt(step, target)

        def forth(step: Any, level: Any, *values: Any) -> list[Any]:
            now, slots = values[:n], _slots(values[n:])
            slots, level = store(slots, step, level, now)
            return [add(step, 1), level, *self.step(*now), *slots.flat()]

        _, _, *values = self.go_round(test, forth, [step, level, *state, *slots.flat()])
        return values[:n], _slots(values[n:])

    def backward(
        self, init: Sequence[Any], sums: Sequence[Any], cotangents: Sequence[Any]
    ) -> list[Any]:
        """Cotangents of the linear constants, added to `sums`, and of the initial linear carry."""
        n, m, k = len(init), len(sums), len(cotangents)

        def test(left: Any, *_: Any) -> Any:
            return gt(left, 0)

        def step(left: Any, at: Any, level: Any, *values: Any) -> list[Any]:
            totals, cts, state, slots = _sections(values, m, k, n)
            target = sub(left, 1)
            here = eq(at, target)
            found = nearest(_slots(slots), target)
            at, level, *state = (
                _choose(here, a, b)
                for a, b in zip(
                    [found[0], found[1], *found[2]], [at, level, *state], strict=True
                )
            )
            state, kept = self.advance(target, at, level, state, _slots(slots))
            given = self.pull(*state, *cts)
            totals = [add(a, b) for a, b in zip(totals, given[:m], strict=True)]
            count = typeof(kept.steps).size
            over = ge(kept.steps, _row(target, count))
            steps = select_n(over, kept.steps, shape.full((count,), FREE, INDEX))
            rest = [*state, steps, kept.levels, *kept.states]
            return [target, target, shape.scalar(0, INDEX), *totals, *given[m:], *rest]

        left, level, state, slots = self.forward(init)
        carry = [left, sub(left, 1), level, *sums, *cotangents, *state, *slots.flat()]
        return self.go_round(test, step, carry)[3 : 3 + m + k]


def _slots(values: Sequence[Any]) -> Slots:
    steps, levels, *states = values
    return Slots(steps, levels, states)


def _sections(values: Sequence[Any], *lengths: int) -> list[list[Any]]:
    """The values in pieces of these lengths, and the rest."""
    rest, pieces = list(values), []
    for n in lengths:
        pieces.append(rest[:n])
        rest = rest[n:]
    return [*pieces, rest]


def transpose_checkpointed(
    cts: Sequence[Any], operands: Sequence[Any], attributes: dict[str, Any]
) -> list[Any]:
    """Cotangents of the operands of a `while` with checkpoints, None for those that are known.

    The loop is transposed with respect to the part of the carry that linear operands reach.
    """
    n, m = attributes["cond_consts"], attributes["body_consts"]
    body: Program = attributes["body"]
    linear = tuple(map(is_linear, operands))
    known, carry = known_loop(linear, attributes)
    consts, init = linear[n : n + m], operands[n + m :]
    pull = transpose_program(body, (*consts, *carry), carry, full=True)
    for_test, for_step, start = (
        [x for x, u in zip(part, mask, strict=True) if not u]
        for part, mask in (
            (operands[:n], linear[:n]),
            (operands[n : n + m], consts),
            (init, carry),
        )
    )
    const_types = [x.type for x in operands[n : n + m] if is_linear(x)]
    moving = [(ct, t) for ct, t, u in zip(cts, body.out_types, carry, strict=True) if u]
    values = [
        *for_test,
        *for_step,
        *pull.captured,
        *start,
        *(instantiate(None, t) for t in const_types),
        *(instantiate(ct, t) for ct, t in moving),
    ]
    key = "reversed", linear, attributes["cond"], n, attributes["checkpoints"]
    program = body.memo.get(key)
    if program is None:
        sizes = len(for_test), len(for_step), len(pull.captured), len(start), len(const_types)
        program = body.memo[key] = _reversed(
            known, pull, sizes, attributes["checkpoints"], [value_type(x) for x in values]
        )
    results = iter(program.run(*values))
    to_consts = [next(results) if u else None for u in consts]
    to_carry = [next(results) if u else None for u in carry]
    to_init = [ct if is_linear(x) else None for x, ct in zip(init, to_carry, strict=True)]
    return [*(None for _ in range(n)), *to_consts, *to_init]


def _reversed(
    known: dict[str, Any],
    pull: Transposed,
    sizes: tuple[int, ...],
    checkpoints: int,
    types: Sequence[Any],
) -> Program:
    """The transposed loop as a program of its constants, known carry, zeros and cotangents."""
    test: Program = known["cond"]
    step: Program = known["body"]

    def whole(*values: Any) -> list[Any]:
        for_test, for_step, captured, init, sums, cts = _sections(values, *sizes)
        loop = Loop(
            lambda *state: test.run(*for_test, *state)[0],
            lambda *state: step.run(*for_step, *state),
            lambda *rest: pull.program.run(*captured, *for_step, *rest),
            checkpoints,
        )
        return loop.backward(init, sums, cts)

    staged = stage(whole, types, step.name)
    if staged.captured:
        raise AssertionError("a transposed loop is closed")
    return staged.program
