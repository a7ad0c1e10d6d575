"""Loops that perform handled effects: written out for clauses that resume, left for final ones.

The rest of a loop's step holds the steps after it. Where a clause may take it, the steps are staged
from the last one backwards, each a program that calls the next: text grows with the number of
steps, and with nothing else. Where only final clauses are met, the loop stays a loop: its carry
says whether an answer was given, and steps after that do nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import attrs

from effax.effects.dtypes import bool_
from effax.effects.program import Equation
from effax.effects.rows import comparison, control, conversion, indexing, logical, shape
from effax.effects.tree import tree_flatten, tree_unflatten
from effax.effects.types import typeof
from effax.interpreters.interpreter.states import ready
from effax.interpreters.resuming.answers import as_types, same_tree, staged_branches
from effax.interpreters.resuming.clauses import Clauses, Context, Joined, through
from effax.interpreters.resuming.segments import mentions
from effax.interpreters.stage import stage

STEPS: Final = 1024
"""The most steps of a scan that are written out for a clause that takes the resumption."""


@through(control.scan)
def through_scan(clauses: Clauses, e: Equation, operands: Sequence[Any], context: Context) -> Any:
    """A scan is a loop that may be left, or its steps one after the other."""
    if mentions(e.attributes["body"], clauses.effects) <= clauses.final.keys():
        return _left_early(clauses, e, operands, context)
    if e.attributes["length"] > STEPS:
        why = (
            f"its {e.attributes['length']} steps would have to be written out, and the limit is "
            f"{STEPS}"
        )
        raise clauses.refused(e, why)
    return _written_out(clauses, e, operands, context)


def _written_out(clauses: Clauses, e: Equation, operands: Sequence[Any], context: Context) -> Any:
    a = e.attributes
    n, m, length, body = a["consts"], a["carry"], a["length"], a["body"]
    consts, carry, xs = operands[:n], operands[n : n + m], operands[n + m :]
    y_types = [x.type for x in e.outputs[m:]]

    def step(k: int, after: Joined, *state: Any) -> Any:
        def then(results: list[Any]) -> Any:
            ys = [_with_row(ys, y, k) for ys, y in zip(state[m:], results[m:], strict=True)]
            return after([*results[:m], *ys])

        rows = [_row(x, k) for x in xs]
        inside = attrs.evolve(context, then=then)
        return clauses.run(body, [*consts, *state[:m], *rows], inside)

    def unpacked_step(k: int, after: Joined, state: Sequence[Any]) -> Any:
        return step(k, after, *state)

    types = [*body.out_types[:m], *y_types]
    after = clauses.joined(context.then, types)
    steps = range(length) if a["reverse"] else reversed(range(length))
    for k in steps:
        after = clauses.joined(partial(unpacked_step, k, after), types)
    return after.flattened()([*carry, *(shape.full(t.shape, 0, t.dtype) for t in y_types)])


def _row(x: Any, k: int) -> Any:
    return shape.squeeze(shape.slice_axis(x, 0, k, k + 1), (0,))


def _with_row(ys: Any, y: Any, k: int) -> Any:
    at = [shape.scalar(start, "int32") for start in (k, *(0 for _ in typeof(y).shape))]
    return indexing.dynamic_update_slice(ys, shape.expand_dims(y, (0,)), *at)


class _Leaving:
    """The part of a loop's carry that says whether it was left, and with which answer."""

    def __init__(self, clauses: Clauses, e: Equation, context: Context) -> None:
        self.place = e.place
        self.exits = context.exits
        self.rest = clauses.joined(context.then, [x.type for x in e.outputs])
        self.types, self.tree = context.answer or (self.rest.types, self.rest.tree)

    def initial(self) -> list[Any]:
        return [shape.scalar(False, bool_), *self.none()]

    def inside(self, unused: Sequence[Any]) -> Context:
        """The context of a step: its answer is the loop's next carry, and what it gives besides."""
        return Context(
            lambda results: [*self.initial(), *results],
            lambda answer: [*self.left(answer), *unused],
            (self.types, self.tree),
        )

    def none(self) -> list[Any]:
        return [shape.full(t.shape, 0, t.dtype) for t in self.types]

    def left(self, answer: Any) -> list[Any]:
        """The carry of a loop that a clause has ended with this answer."""
        leaves, tree = tree_flatten(answer)
        same_tree(self.place, self.tree, tree)
        return [shape.scalar(True, bool_), *as_types([ready(x) for x in leaves], self.types)]

    def after(self, results: Sequence[Any], rest: Sequence[Any]) -> Any:
        """The answer of all, from the loop's last carry: the clause's, or that of the rest."""
        exited, *answer = results
        n = len(answer)

        def went_on(*values: Any) -> Any:
            return self.rest(list(values[n:]))

        def exits(*values: Any) -> Any:
            return self.exits(tree_unflatten(self.tree, values[:n]))

        return staged_branches(_number(exited), [went_on, exits], [*answer, *rest], self.place)


def _number(flag: Any) -> Any:
    return conversion.convert_element_type(flag, dtype=typeof(0).dtype, weak_type=False)


def _left_early(clauses: Clauses, e: Equation, operands: Sequence[Any], context: Context) -> Any:
    a = e.attributes
    n, m, body = a["consts"], a["carry"], a["body"]
    consts, carry, xs = operands[:n], operands[n : n + m], operands[n + m :]
    leaving = _Leaving(clauses, e, context)
    ys = [t.row() for t in (x.type for x in e.outputs[m:])]
    k = 1 + len(leaving.types)

    def goes_on(*values: Any) -> list[Any]:
        kept = values[n + k : n + k + m]
        unused = [*kept, *(shape.full(t.shape, 0, t.dtype) for t in ys)]
        return clauses.run(body, [*values[:n], *values[n + k :]], leaving.inside(unused))

    def skips(*values: Any) -> list[Any]:
        return [*values[n : n + k + m], *(shape.full(t.shape, 0, t.dtype) for t in ys)]

    def step(*values: Any) -> list[Any]:
        return staged_branches(_number(values[n]), [goes_on, skips], values, e.place)

    initial = [*leaving.initial(), *carry]
    types = [typeof(x) for x in (*consts, *initial)] + list(body.in_types[n + m :])
    staged = stage(step, types, "step")
    results = control.scan(
        *staged.captured,
        *consts,
        *initial,
        *xs,
        **{
            **a,
            "body": staged.program,
            "consts": len(staged.captured) + n,
            "carry": len(initial),
        },
    )
    return leaving.after(results[:k], results[k:])


@through(control.while_loop)
def through_while(clauses: Clauses, e: Equation, operands: Sequence[Any], context: Context) -> Any:
    """A loop of unknown length can be left; it can't be written out."""
    a = e.attributes
    body, condition = a["body"], a["cond"]
    if mentions(condition, clauses.effects):
        raise clauses.refused(e, "it is performed by the loop's condition")
    if not mentions(body, clauses.effects) <= clauses.final.keys():
        raise clauses.refused(e, "the number of steps that follow is not known (that of a scan is)")
    n, m = a["cond_consts"], a["body_consts"]
    tests, consts, carry = operands[:n], operands[n : n + m], operands[n + m :]
    leaving = _Leaving(clauses, e, context)
    k = 1 + len(leaving.types)

    def step(*values: Any) -> list[Any]:
        inside = leaving.inside(values[m + k :])
        return clauses.run(body, [*values[:m], *values[m + k :]], inside)

    def goes_on(*values: Any) -> list[Any]:
        (more,) = condition.run(*values[:n], *values[n + k :])
        return [logical.and_(more, comparison.eq(values[n], False))]

    initial = [*leaving.initial(), *carry]
    types = [typeof(x) for x in initial]
    stepped = stage(step, [*map(typeof, consts), *types], "step")
    tested = stage(goes_on, [*map(typeof, tests), *types], "condition")
    results = control.while_loop(
        *tested.captured,
        *tests,
        *stepped.captured,
        *consts,
        *initial,
        **{
            **a,
            "cond": tested.program,
            "body": stepped.program,
            "cond_consts": len(tested.captured) + n,
            "body_consts": len(stepped.captured) + m,
        },
    )
    return leaving.after(results[:k], results[k:])
