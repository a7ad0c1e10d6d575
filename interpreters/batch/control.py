"""Batching of control flow that the batch itself steers: branches become a selection, and a loop
runs until every lane is done."""

from __future__ import annotations

from typing import Any

from effax.effects import control, reduction, shape
from effax.effects.effect import Effect
from effax.effects.handler import outside
from effax.effects.program import Program
from effax.effects.selection import clamp, select_n
from effax.interpreters.batch.batched import BATCHED, Batch
from effax.interpreters.lifting import PLAIN, lift, lift_cond, lift_while
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
        results = [control.call(*values, program=b, name=b.name) for b in branches]
        return [
            _choose(which, cases, type)
            for *cases, type in zip(*results, branches[0].out_types, strict=True)
        ]


def _choose(which: Any, cases: list[Any], type: Any) -> Any:
    if all(x is cases[0] for x in cases):
        return cases[0]
    if type.shape:
        which = shape.broadcast_in_dim(which, shape=type.shape, dims=())
    return select_n(which, *cases)


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
    test: Program = attributes["cond"]
    body: Program = attributes["body"]
    n, m = attributes["cond_consts"], attributes["body_consts"]
    carry = operands[n + m :]
    all_batched = (BATCHED,) * len(carry)
    verdict = lift(test, handler, cond_modes + all_batched, out_modes=(BATCHED,))
    step = lift(body, handler, body_modes + all_batched, out_modes=all_batched)
    k = len(verdict.captured) + n
    many_types = [handler.leaf_types(BATCHED, t)[0] for t in body.in_types[m:]]
    key = "masked step", handler.static, cond_modes, body_modes, test

    def masked(*values: Any) -> list[Any]:
        for_test, for_step = values[:k], values[k : len(values) - len(carry)]
        old = values[len(values) - len(carry) :]
        (active,) = verdict.program.run(*for_test, *old)
        new = step.program.run(*for_step, *old)
        return [
            select_n(_spread(active, t.shape), a, b)
            for a, b, t in zip(old, new, many_types, strict=True)
        ]

    def anyone(*values: Any) -> list[Any]:
        (active,) = verdict.program.run(*values)
        return [reduction.reduce_or(active, axes=(0,))]

    programs = body.memo.get(key)
    if programs is None:
        test_types = verdict.program.in_types
        fixed = step.program.in_types[: len(step.program.inputs) - len(carry)]
        programs = body.memo[key] = (
            stage(anyone, test_types, test.name).program,
            stage(masked, [*test_types[:k], *fixed, *many_types], body.name).program,
        )
    consts_of_test = [*verdict.captured, *_leaves(handler, operands[:n])]
    consts_of_step = [*step.captured, *_leaves(handler, operands[n : n + m])]
    results = control.while_loop(
        *consts_of_test,
        *consts_of_test,
        *consts_of_step,
        *(handler.leaves(x, BATCHED)[0] for x in carry),
        cond=programs[0],
        body=programs[1],
        cond_consts=len(consts_of_test),
        body_consts=len(consts_of_test) + len(consts_of_step),
    )
    return [handler.value(BATCHED, (x,)) for x in results]


def _leaves(handler: Batch, values: tuple[Any, ...]) -> list[Any]:
    return [x.many if handler.owns(x) else x for x in values]


def _spread(active: Any, shape_: tuple[int, ...]) -> Any:
    """One verdict per lane, over the lane's elements."""
    if len(shape_) == 1:
        return active
    return shape.broadcast_in_dim(active, shape=shape_, dims=(0,))


Batch.overrides[control.cond] = batch_cond
Batch.overrides[control.while_loop] = batch_while
