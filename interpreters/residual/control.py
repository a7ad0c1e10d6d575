"""The split of calls, branches and loops into a known and a linear half."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from effax.effects.errors import MissingRuleError
from effax.effects.program import Literal, Program, Variable, without_dead_code
from effax.effects.rows import control
from effax.effects.types import ShapedArray
from effax.interpreters.functor.checkpoints import forward
from effax.interpreters.functor.lifting import without_trail
from effax.interpreters.functor.masks import pick
from effax.interpreters.residual.hoisting import hoisted_scan
from effax.interpreters.residual.narrowing import narrowed_while
from effax.interpreters.residual.partition import (
    Split,
    SplitPlan,
    plan_call,
    planners,
    settle,
    split,
)
from effax.interpreters.residual.replaying import replayed
from effax.interpreters.residual.saving import plan_remat
from effax.interpreters.stage import stage


def plan_cond(unknown: tuple[bool, ...], attributes: dict[str, Any]) -> SplitPlan:
    """Branches in two; those that make fewer residuals fill the others' places with zeros."""
    branches: tuple[Program, ...] = attributes["branches"]
    mask = unknown[1:]
    later = tuple(map(any, zip(*(split(b, mask).unknown_outputs for b in branches), strict=True)))
    parts = [split(b, mask, later) for b in branches]
    slots: list[ShapedArray] = []
    places = [_place(slots, p.known.out_types[len(p.known.outputs) - p.made :]) for p in parts]
    known = tuple(_with_slots(p, slots, where) for p, where in zip(parts, places, strict=True))
    forwarded = sorted({i for p in parts for i in p.forwarded})
    linear = tuple(
        _from_slots(p, slots, where, forwarded, mask, branches[0])
        for p, where in zip(parts, places, strict=True)
    )

    def known_operands(operands: Sequence[Any]) -> list[Any]:
        return [operands[0], *pick(operands[1:], mask, False)]

    def linear_operands(operands: Sequence[Any], residuals: Sequence[Any]) -> list[Any]:
        plain = pick(operands[1:], mask, False)
        return [
            operands[0],
            *(plain[i] for i in forwarded),
            *residuals,
            *pick(operands[1:], mask, True),
        ]

    return SplitPlan(
        {"branches": known}, {"branches": linear}, later, known_operands, linear_operands
    )


def _place(slots: list[ShapedArray], types: Sequence[ShapedArray]) -> list[int]:
    """Give each residual of a branch a slot of its type, shared with other branches' residuals."""
    taken: set[int] = set()
    places = []
    for t in types:
        at = next((i for i, s in enumerate(slots) if s is t and i not in taken), None)
        if at is None:
            at = len(slots)
            slots.append(t)
        taken.add(at)
        places.append(at)
    return places


def _with_slots(part: Split, slots: Sequence[ShapedArray], places: Sequence[int]) -> Program:
    p = part.known
    own = len(p.outputs) - part.made
    residuals: list[Any] = [Literal(0, t) for t in slots]
    for at, x in zip(places, p.outputs[own:], strict=True):
        residuals[at] = x
    return Program(p.inputs, p.equations, [*p.outputs[:own], *residuals], p.name)


def _from_slots(
    part: Split,
    slots: Sequence[ShapedArray],
    places: Sequence[int],
    forwarded: Sequence[int],
    mask: Sequence[bool],
    branch: Program,
) -> Program:
    p = part.linear
    known_types = pick([x.type for x in branch.inputs], mask, False)
    sent = {i: Variable(None, known_types[i]) for i in forwarded}
    for i, x in zip(part.forwarded, p.inputs, strict=False):
        sent[i] = x
    residuals = [Variable(None, t) for t in slots]
    n = len(part.forwarded)
    for at, x in zip(places, p.inputs[n : n + part.made], strict=True):
        residuals[at] = x
    rest = p.inputs[n + part.made :]
    given = [*(sent[i] for i in forwarded), *residuals]
    made = Program([*given, *rest], p.equations, p.outputs, p.name)
    return settle(made, [*[False] * len(given), *[True] * len(rest)])


def plan_scan(unknown: tuple[bool, ...], attributes: dict[str, Any]) -> SplitPlan:
    """A scan in two: the known one stacks the residuals that the linear one scans.

    Residuals that are constants of the loop, or scanned operands, are passed on as they are. What
    is the same in every step is done before the loop, and its residuals are constants.
    """
    hoisted = hoisted_scan(attributes)
    if hoisted is not None:
        plan = plan_call(unknown, {"program": hoisted, "name": hoisted.name})
        return attrs.evolve(plan, known_effect=control.call, linear_effect=control.call)
    body: Program = attributes["body"]
    n, m = attributes["consts"], attributes["carry"]
    carry = list(unknown[n : n + m])
    while True:
        mask = (*unknown[:n], *carry, *unknown[n + m :])
        later = split(body, mask).unknown_outputs[:m]
        joined = [a or b for a, b in zip(carry, later, strict=True)]
        if joined == carry:
            break
        carry = joined
    ys = len(body.outputs) - m
    whole = split(body, mask, (*carry, *(False,) * ys), tuple(range(n)))
    parts = _stored_carries(whole, mask, n, m)
    shares = _scan_shares(parts, mask, n)
    known_attributes = {
        **attributes,
        "body": parts.known,
        "consts": sum(not u for u in mask[:n]),
        "carry": sum(not c for c in carry),
    }
    linear_attributes = {
        **attributes,
        "body": _reorder_linear(parts, shares, sum(mask[:n]), sum(carry)),
        "consts": len(shares.consts) + sum(mask[:n]),
        "carry": sum(carry),
    }
    unknown_carry = tuple(carry)

    def known(operands: Sequence[Any]) -> list[Any]:
        return pick(operands, mask, False)

    def linear(operands: Sequence[Any], residuals: Sequence[Any]) -> list[Any]:
        plain, rest = known(operands), pick(operands, mask, True)
        a = sum(mask[:n])
        b = a + sum(unknown_carry)
        return [
            *(plain[i] for i in shares.consts),
            *rest[:b],
            *(plain[i] for i in shares.scanned),
            *residuals,
            *rest[b:],
        ]

    return SplitPlan(known_attributes, linear_attributes, parts.unknown_outputs, known, linear)


def known_loop(
    unknown: tuple[bool, ...], attributes: dict[str, Any]
) -> tuple[dict[str, Any], tuple[bool, ...]]:
    """The attributes of the known part of a `while`, and which of its carry is unknown."""
    body: Program = attributes["body"]
    n, m = attributes["cond_consts"], attributes["body_consts"]
    consts, carry = unknown[n : n + m], list(unknown[n + m :])
    while True:
        parts = split(body, (*consts, *carry), tuple(carry))
        if list(parts.unknown_outputs) == carry:
            break
        carry = list(parts.unknown_outputs)
    test: Program = attributes["cond"]
    parts_of_test = split(test, (*unknown[:n], *carry))
    if any(parts_of_test.unknown_outputs):
        raise MissingRuleError(
            "the condition of a while loop depends on a transposed argument, but is not linear in "
            "it"
        )
    own = len(parts.known.outputs) - parts.made
    known_body = without_dead_code(
        Program(parts.known.inputs, parts.known.equations, parts.known.outputs[:own], body.name)
    )
    known = {
        **without_trail(attributes),
        "cond": parts_of_test.known,
        "body": known_body,
        "cond_consts": unknown[:n].count(False),
        "body_consts": consts.count(False),
    }
    return known, tuple(carry)


def plan_while(unknown: tuple[bool, ...], attributes: dict[str, Any]) -> SplitPlan:
    """The known part of the carry is iterated now; the linear half does again what it depends on.

    A loop of unknown length can't stack what its steps leave, so nothing is stored, unless it says
    how many checkpoints may be. The known part performs the effects of the loop, and the linear
    half none of them again; a carry that neither the unknown ones nor the condition depend on, such
    as a sum of answers, is not a carry of the linear half.
    """
    known, carry = known_loop(unknown, attributes)
    attributes = {**attributes, **{k: replayed(attributes[k]) for k in ("cond", "body")}}
    again = (True,) * len(carry)
    if "trail" not in attributes:
        attributes, again = narrowed_while(attributes, carry)
    if attributes.get("checkpoints") and "trail" not in attributes and not all(carry):
        return _plan_checkpointed(unknown, attributes, known, carry, again)
    consts = attributes["cond_consts"] + attributes["body_consts"]
    known_mask = (*unknown[:consts], *carry)
    return SplitPlan(
        known,
        attributes,
        carry,
        lambda operands: pick(operands, known_mask, False),
        lambda operands, residuals: pick(operands, (*[True] * consts, *again), True),
        given=again,
    )


def _plan_checkpointed(
    unknown: tuple[bool, ...],
    attributes: dict[str, Any],
    known: dict[str, Any],
    carry: tuple[bool, ...],
    again: tuple[bool, ...],
) -> SplitPlan:
    """The known half is a call of the loop that keeps checkpoints, the trail.

    The linear half is the loop of what is done `again`. The trail is among the constants of its
    body, which does nothing with it: the transpose of the loop will.
    """
    n, m = attributes["cond_consts"], attributes["body_consts"]
    body: Program = attributes["body"]
    key = "trail", unknown, attributes["cond"], n, m, attributes["checkpoints"]
    found = body.memo.get(key)
    if found is None:
        keeping = _keeping(known, tuple(a for a, u in zip(again, carry, strict=True) if not u))
        trail = keeping.out_types[carry.count(False) :]
        spare = [Variable(None, t) for t in trail]
        whole = Program(
            [*body.inputs[:m], *spare, *body.inputs[m:]], body.equations, body.outputs, body.name
        )
        found = body.memo[key] = keeping, whole, len(trail)
    keeping, whole, stored = found
    known_mask = (*unknown[: n + m], *carry)
    unknown_again = tuple([u for u, a in zip(carry, again, strict=True) if a])
    return SplitPlan(
        {"program": keeping, "name": body.name},
        {**attributes, "body": whole, "body_consts": m + stored, "trail": (stored, unknown_again)},
        carry,
        lambda operands: pick(operands, known_mask, False),
        lambda operands, residuals: [
            *operands[: n + m],
            *residuals,
            *pick(operands[n + m :], again, True),
        ],
        given=again,
        known_effect=control.call,
    )


def _keeping(known: dict[str, Any], stored: tuple[bool, ...]) -> Program:
    """The loop of these attributes as a program that gives the last carry, then the trail.

    `stored` says which of its carry is in the trail.
    """
    test, step = known["cond"], known["body"]
    n, m = known["cond_consts"], known["body_consts"]

    def keep(*values: Any) -> list[Any]:
        last, trail = forward(
            lambda *carry: test.run(*values[:n], *carry)[0],
            lambda *carry: step.run(*values[n : n + m], *carry),
            values[n + m :],
            known["checkpoints"],
            stored,
        )
        return [*last, *trail]

    staged = stage(keep, [*test.in_types[:n], *step.in_types], step.name)
    if staged.captured:
        raise AssertionError("a loop is closed")
    return staged.program


@attrs.frozen(slots=True, eq=False)
class _Shares:
    """The forwarded residuals of a loop: constants of it, or scanned with it."""

    consts: list[int]
    scanned: list[int]
    order: list[tuple[str, int]]


def _scan_shares(parts: Split, mask: Sequence[bool], n: int) -> _Shares:
    known_consts = sum(not u for u in mask[:n])
    consts, scanned = [], []
    order: list[tuple[str, int]] = []
    for k, i in enumerate(parts.forwarded):
        if i < known_consts:
            order.append(("const", k))
            consts.append(i)
        else:
            order.append(("scan", k))
            scanned.append(i)
    return _Shares(consts, scanned, order)


def _reorder_linear(parts: Split, shares: _Shares, consts: int, carry: int) -> Program:
    p = parts.linear
    f = len(parts.forwarded)
    made, rest = p.inputs[f : f + parts.made], p.inputs[f + parts.made :]
    pick = {kind: [p.inputs[k] for s, k in shares.order if s == kind] for kind in ("const", "scan")}
    inputs = [
        *pick["const"],
        *rest[: consts + carry],
        *pick["scan"],
        *made,
        *rest[consts + carry :],
    ]
    linear = set(rest)
    return settle(Program(inputs, p.equations, p.outputs, p.name), [x in linear for x in inputs])


def _stored_carries(parts: Split, mask: Sequence[bool], n: int, m: int) -> Split:
    """A carry of the known loop that the linear one needs changes at each step: it is stacked."""
    known_consts = sum(not u for u in mask[:n])
    known_carry = sum(not u for u in mask[n : n + m])
    moving = [i for i in parts.forwarded if known_consts <= i < known_consts + known_carry]
    if not moving:
        return parts
    kept = [i for i in parts.forwarded if i not in moving]
    where = {i: k for k, i in enumerate(parts.forwarded)}
    f = len(parts.forwarded)
    linear = Program(
        [
            *(parts.linear.inputs[where[i]] for i in kept),
            *(parts.linear.inputs[where[i]] for i in moving),
            *parts.linear.inputs[f:],
        ],
        parts.linear.equations,
        parts.linear.outputs,
        parts.linear.name,
    )
    own = len(parts.known.outputs) - parts.made
    known = Program(
        parts.known.inputs,
        parts.known.equations,
        [
            *parts.known.outputs[:own],
            *(parts.known.inputs[i] for i in moving),
            *parts.known.outputs[own:],
        ],
        parts.known.name,
    )
    return Split(known, linear, parts.unknown_outputs, tuple(kept), parts.made + len(moving))


planners.update(
    {
        control.call: plan_call,
        control.remat: plan_remat,
        control.cond: plan_cond,
        control.scan: plan_scan,
        control.while_loop: plan_while,
    }
)
