"""Batching of control flow that the batch itself steers: branches become a selection, and a loop
runs until every lane is done."""

from __future__ import annotations

from typing import Any

from effax.effects.effect import Effect
from effax.effects.handler import outside
from effax.effects.program import Program
from effax.effects.rows import control, reduction, shape
from effax.effects.rows.comparison import eq
from effax.effects.rows.elementwise import stop_gradient
from effax.effects.rows.logical import and_
from effax.effects.rows.selection import clamp, select_n
from effax.effects.types import float0, tangent_dtype, typeof
from effax.interpreters.batch.batched import BATCHED, Batch
from effax.interpreters.functor.guard import guarded, needs_guard
from effax.interpreters.functor.lifting import (
    PLAIN,
    Lifted,
    lift,
    lift_cond,
    lift_while,
    without_trail,
)
from effax.interpreters.stage import stage


def batch_cond(
    handler: Batch, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]
) -> list[Any]:
    """Lanes that take different branches: all are computed, each lane selects its own."""
    index, values = operands[0], operands[1:]
    if not handler.owns(index):
        return lift_cond(handler, effect, operands, attributes)
    branches: tuple[Program, ...] = attributes["branches"]
    with outside(handler):
        which = clamp(0, index, len(branches) - 1)
        results = [_branch(which, i, b, values) for i, b in enumerate(branches)]
        return [
            _choose(which, cases, type)
            for *cases, type in zip(*results, branches[0].out_types, strict=True)
        ]


def _branch(which: Any, i: int, branch: Program, values: tuple[Any, ...]) -> list[Any]:
    """One branch for all lanes; what can be observed of it happens in those that chose it.

    An operand moves in the lanes that chose the branch only. In the others the branch may have an
    infinite derivative (`sqrt` at 0), and a zero cotangent times infinity is NaN.
    """
    chosen = eq(which, i)
    flag = (chosen,) if needs_guard(branch) else ()
    program = guarded(branch) if flag else branch
    if branch.equations:
        values = tuple([_moving_where(chosen, x) for x in values])
    results: list[Any] = control.call(*flag, *values, program=program, name=branch.name)
    return results


def _moving_where(chosen: Any, x: Any) -> Any:
    """The value, a constant to derivatives in the lanes that are not chosen."""
    type = typeof(x)
    if tangent_dtype(type.dtype) == float0:
        return x
    return select_n(_spread(chosen, type.shape), stop_gradient(x), x)


def _choose(which: Any, cases: list[Any], type: Any) -> Any:
    if all(x is cases[0] for x in cases):
        return cases[0]
    return select_n(_spread(which, type.shape), *cases)


def batch_while(
    handler: Batch, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]
) -> list[Any]:
    """Lanes that stop at different times: those that are done keep their carry till all are."""
    test: Program = attributes["cond"]
    body: Program = attributes["body"]
    n, m = attributes["cond_consts"], attributes["body_consts"]
    cond_modes = tuple(map(handler.mode, operands[:n]))
    body_modes = tuple(map(handler.mode, operands[n : n + m]))
    modes = tuple(map(handler.mode, operands[n + m :]))
    while True:
        step = lift(body, handler, body_modes + modes)
        joined = tuple(handler.join(a, b) for a, b in zip(modes, step.out_modes, strict=True))
        if joined == modes:
            break
        modes = joined
    if lift(test, handler, cond_modes + modes).out_modes[0] is PLAIN:
        return lift_while(handler, effect, operands, attributes)
    return _masked_while(handler, operands, attributes, cond_modes, body_modes)


def _masked_while(
    handler: Batch,
    operands: tuple[Any, ...],
    attributes: dict[str, Any],
    cond_modes: tuple[Any, ...],
    body_modes: tuple[Any, ...],
) -> list[Any]:
    """The loop turned: which lanes go on is carried, so each verdict is reached once.

    What can be observed of a lane that is done does not happen.
    """
    test: Program = attributes["cond"]
    body: Program = attributes["body"]
    n, m = attributes["cond_consts"], attributes["body_consts"]
    carry = operands[n + m :]
    for_test, for_step = _leaves(handler, operands[:n]), _leaves(handler, operands[n : n + m])
    old = [handler.leaves(x, BATCHED)[0] for x in carry]
    all_batched = (BATCHED,) * len(carry)
    start = lift(test, handler, cond_modes + all_batched, out_modes=(BATCHED,))
    verdict = _only_active(handler, test, cond_modes + all_batched, (BATCHED,))
    step = _only_active(handler, body, body_modes + all_batched, all_batched)
    (active,) = start.program.run(*start.captured, *for_test, *old)
    k, p = len(verdict.captured), len(step.captured)
    types = [handler.leaf_types(BATCHED, t)[0] for t in body.in_types[m:]]

    def masked(*values: Any) -> list[Any]:
        test_captured, test_consts, step_captured, step_consts, (active, *old) = _cut(
            values, k, n, p, m
        )
        safe_consts = [
            _moving_where(active, x) if mode is BATCHED else x
            for x, mode in zip(step_consts, body_modes, strict=True)
        ]
        moving = [_moving_where(active, x) for x in old]
        new = step.program.run(*step_captured, active, *safe_consts, *moving)
        kept = [
            select_n(_spread(active, t.shape), a, b)
            for a, b, t in zip(old, new, types, strict=True)
        ]
        (again,) = verdict.program.run(*test_captured, active, *test_consts, *kept)
        return [and_(active, again), *kept]

    def anyone(active: Any, *old: Any) -> list[Any]:
        return [reduction.reduce_or(active, axes=(0,))]

    key = "masked step", handler.static, cond_modes, body_modes, test
    programs = body.memo.get(key)
    if programs is None:
        carried = [typeof(active), *types]
        captured_and_consts = [
            *verdict.program.in_types[:k],
            *verdict.program.in_types[k + 1 : k + 1 + n],
            *step.program.in_types[:p],
            *step.program.in_types[p + 1 : p + 1 + m],
        ]
        programs = body.memo[key] = (
            stage(anyone, carried, test.name).program,
            stage(masked, [*captured_and_consts, *carried], body.name).program,
        )
    consts = [*verdict.captured, *for_test, *step.captured, *for_step]
    _, *results = control.while_loop(
        *consts,
        active,
        *old,
        **{
            **without_trail(attributes),
            "cond": programs[0],
            "body": programs[1],
            "cond_consts": 0,
            "body_consts": len(consts),
        },
    )
    return [handler.value(BATCHED, (x,)) for x in results]


def _only_active(
    handler: Batch, program: Program, modes: tuple[Any, ...], out_modes: tuple[Any, ...]
) -> Lifted:
    """A program for a batch, with one more input: which lanes it is really done for."""
    return lift(guarded(program), handler, (BATCHED, *modes), out_modes=out_modes)


def _cut(values: tuple[Any, ...], *lengths: int) -> list[tuple[Any, ...]]:
    """The values in pieces of these lengths, and the rest."""
    pieces = []
    for n in lengths:
        pieces.append(values[:n])
        values = values[n:]
    return [*pieces, values]


def _leaves(handler: Batch, values: tuple[Any, ...]) -> list[Any]:
    return [x.many if handler.owns(x) else x for x in values]


def _spread(verdict: Any, shape_: tuple[int, ...]) -> Any:
    """A verdict over all elements of a shape; the axes that it has, one a batch, are the first."""
    axes = len(typeof(verdict).shape)
    if len(shape_) == axes:
        return verdict
    return shape.broadcast_in_dim(verdict, shape=shape_, dims=tuple(range(axes)))


Batch.overrides[control.cond] = batch_cond
Batch.overrides[control.while_loop] = batch_while
