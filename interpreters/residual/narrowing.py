"""Programs without unused results, and without the equations that only these need.

A dead equation is dropped by whoever stages it. What is dead inside of a call, a branch or a loop
shows only when it is known which of its results are wanted: a carry that no wanted result and no
condition depends on is then no carry, and what is computed for it is not computed.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

from effax.effects.effect import Effect
from effax.effects.program import Equation, Program, Variable, used_inputs
from effax.effects.rows import control, custom
from effax.interpreters.functor.masks import pick


def narrowed(program: Program, keep: Sequence[bool] | None = None) -> Program:
    """The program for the results that are kept, inside of calls, branches and loops too.

    Its own inputs stay as they are, and so do equations with a row. A forward function of which no
    residual is wanted is a call of the function itself.
    """
    mask = (True,) * len(program.outputs) if keep is None else tuple(keep)
    key = "narrowed", mask
    found: Program | None = program.memo.get(key)
    if found is None:
        found = program.memo[key] = _narrowed(program, mask)
    return found


def _narrowed(program: Program, keep: Sequence[bool]) -> Program:
    outputs = pick(program.outputs, keep, True)
    live = {x for x in outputs if type(x) is Variable}
    kept, changed = [], not all(keep)
    for e in reversed(program.equations):
        used = [x in live for x in e.outputs]
        if not any(used) and not e.row:
            changed = True
            continue
        less = narrowers[e.effect](e, used) if e.effect in narrowers else e
        changed = changed or less is not e
        kept.append(less)
        live.update(x for x in less.inputs if type(x) is Variable)
    kept.reverse()
    return Program(program.inputs, kept, outputs, program.name) if changed else program


def _of_inputs(program: Program, keep: Sequence[bool]) -> Program:
    """The program without the inputs that nothing in it mentions."""
    if all(keep):
        return program
    key = "of inputs", tuple(keep)
    found: Program | None = program.memo.get(key)
    if found is None:
        inputs = pick(program.inputs, keep, True)
        found = Program(inputs, program.equations, program.outputs, program.name)
        program.memo[key] = found
    return found


_OF_CALLS: Final = frozenset(
    {"program", "name", "policy", "prevent_cse", "again", "metadata", "mesh"}
)
"""Attributes of calls that say nothing of single operands."""


def _call(e: Equation, used: Sequence[bool]) -> Equation:
    before = e.attributes["program"]
    program = narrowed(before, used)
    if program is before:
        return e
    ins = used_inputs(program)
    if not _OF_CALLS.issuperset(e.attributes):
        ins = (True,) * len(ins)
    attributes = {**e.attributes, "program": _of_inputs(program, ins)}
    return _with(e, pick(e.inputs, ins, True), attributes, pick(e.outputs, used, True))


def _forward(e: Equation, used: Sequence[bool]) -> Equation:
    attributes = e.attributes
    count = len(attributes["program"].outputs)
    residuals = any(used[count:])
    given = used if residuals else used[:count]
    inner = attributes["forward"] if residuals else attributes["program"]
    told = {"program": narrowed(inner, given), "name": attributes["name"]}
    return Equation(
        control.call, e.inputs, told, pick(e.outputs[: len(given)], given, True), e.frame, e.scope
    )


def _cond(e: Equation, used: Sequence[bool]) -> Equation:
    before = e.attributes["branches"]
    branches = [narrowed(b, used) for b in before]
    if all(map(operator.is_, branches, before)):
        return e
    ins = [any(some) for some in zip(*map(used_inputs, branches), strict=True)]
    attributes = {**e.attributes, "branches": tuple(_of_inputs(b, ins) for b in branches)}
    return _with(e, pick(e.inputs, [True, *ins], True), attributes, pick(e.outputs, used, True))


def _scan(e: Equation, used: Sequence[bool]) -> Equation:
    n, m = e.attributes["consts"], e.attributes["carry"]
    body, kept = _step(e.attributes["body"], n, m, used[:m], used[m:])
    if body is e.attributes["body"]:
        return e
    k = sum(kept)
    ins = used_inputs(body)
    ins = *ins[:n], *[True] * k, *ins[n + k :]
    attributes = {**e.attributes, "body": _of_inputs(body, ins), "consts": sum(ins[:n]), "carry": k}
    given = *ins[:n], *kept, *ins[n + k :]
    return _with(
        e, pick(e.inputs, given, True), attributes, pick(e.outputs, [*kept, *used[m:]], True)
    )


def _while(e: Equation, used: Sequence[bool]) -> Equation:
    if "trail" in e.attributes:  # the stored trail holds this very carry
        return e
    attributes, kept = narrowed_while(e.attributes, used)
    if attributes["body"] is e.attributes["body"]:
        return e
    test, body = attributes["cond"], attributes["body"]
    n, m, state = attributes["cond_consts"], attributes["body_consts"], [True] * sum(kept)
    of_test, of_body = used_inputs(test)[:n], used_inputs(body)[:m]
    attributes |= {
        "cond": _of_inputs(test, (*of_test, *state)),
        "body": _of_inputs(body, (*of_body, *state)),
        "cond_consts": sum(of_test),
        "body_consts": sum(of_body),
    }
    given = *of_test, *of_body, *kept
    return _with(e, pick(e.inputs, given, True), attributes, pick(e.outputs, kept, True))


def narrowed_while(
    attributes: dict[str, Any], wanted: Sequence[bool]
) -> tuple[dict[str, Any], tuple[bool, ...]]:
    """A `while` for the wanted part of its carry, and which of its carry that depends on."""
    test: Program = attributes["cond"]
    n, m = attributes["cond_consts"], attributes["body_consts"]
    asked = [a or b for a, b in zip(wanted, used_inputs(test)[n:], strict=True)]
    body, kept = _step(attributes["body"], m, len(asked), asked, ())
    if all(kept):
        return {**attributes, "body": body}, kept
    key = "narrowed test", n, kept
    found: Program | None = test.memo.get(key)
    if found is None:
        inputs = [*test.inputs[:n], *pick(test.inputs[n:], kept, True)]
        found = test.memo[key] = Program(inputs, test.equations, test.outputs, test.name)
    return {**attributes, "cond": found, "body": body}, kept


def _step(
    body: Program, consts: int, carry: int, wanted: Sequence[bool], rows: Sequence[bool]
) -> tuple[Program, tuple[bool, ...]]:
    """The body of a loop for some results, and which of its carry they depend on, in any step."""
    kept = tuple(wanted)
    while True:
        step = narrowed(body, (*kept, *rows))
        used = used_inputs(step)[consts : consts + carry]
        grown = tuple([a or b for a, b in zip(kept, used, strict=True)])
        if grown == kept:
            break
        kept = grown
    if all(kept):
        return step, kept
    key = "narrowed step", consts, kept, tuple(rows)
    found: Program | None = body.memo.get(key)
    if found is None:
        ins = step.inputs
        inputs = [
            *ins[:consts],
            *pick(ins[consts : consts + carry], kept, True),
            *ins[consts + carry :],
        ]
        found = body.memo[key] = Program(inputs, step.equations, step.outputs, step.name)
    return found, kept


def _with(
    e: Equation, inputs: Sequence[Any], attributes: dict[str, Any], outputs: Sequence[Any]
) -> Equation:
    return Equation(e.effect, inputs, attributes, outputs, e.frame, e.scope)


narrowers: Final[dict[Effect, Callable[[Equation, Sequence[bool]], Equation]]] = {
    control.call: _call,
    control.remat: _call,
    control.cond: _cond,
    control.scan: _scan,
    control.while_loop: _while,
    custom.custom_vjp_forward: _forward,
}
"""Rules for fewer results of an equation; those of other effects with programs give all or none."""
