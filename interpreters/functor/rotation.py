"""Loops turned so that their condition performs its effects in the body.

A condition gives a verdict and nothing else: a handler that threads state can't get it out of
there. `while test(c): c = step(c)` is `go = test(c); while go: c = step(c); go = test(c)`, where
every effect of the test happens as often, in the same order, and beside the body's.
"""

from __future__ import annotations

from typing import Any

from effax.effects.program import Program, Variable
from effax.effects.rows import control
from effax.interpreters.functor.lifting import Lifting, lift_while, reopen
from effax.interpreters.stage import stage


def rotated_while(
    handler: Lifting, operands: tuple[Any, ...], attributes: dict[str, Any]
) -> list[Any]:
    """A `while` for a handler with state: the condition's effects reach the state too."""
    test: Program = attributes["cond"]
    body: Program = attributes["body"]
    n, m = attributes["cond_consts"], attributes["body_consts"]
    for_test, for_step, carry = operands[:n], operands[n : n + m], operands[n + m :]
    (go,) = reopen(handler, test, (*for_test, *carry))
    verdict, step = _rotated(test, body, n, m)
    results = lift_while(
        handler,
        control.while_loop,
        (*for_test, *for_step, go, *carry),
        {**attributes, "cond": verdict, "body": step, "cond_consts": 0, "body_consts": n + m},
    )
    return results[1:]


def _rotated(test: Program, body: Program, n: int, m: int) -> tuple[Program, Program]:
    """The condition that reads the verdict off the carry, and the body that computes it."""
    found = body.memo.get(("rotated", test))
    if found is None:
        carry = body.in_types[m:]
        go = test.out_types[0]

        def step(*values: Any) -> list[Any]:
            for_test, for_step, before = values[:n], values[n : n + m], values[n + m + 1 :]
            after = body.run(*for_step, *before)
            (again,) = test.run(*for_test, *after)
            return [again, *after]

        inputs = [Variable(None, t) for t in (go, *carry)]
        verdict = Program(inputs, [], [inputs[0]], test.name)
        types = [*test.in_types[:n], *body.in_types[:m], go, *carry]
        found = body.memo["rotated", test] = verdict, stage(step, types, body.name).program
    return found
