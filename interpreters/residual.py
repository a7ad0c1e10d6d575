"""Residual staging: what is known is done now, what depends on an unknown is recorded.

Installed inside forward mode it makes linearization: primal effects touch no unknown, pass
through and are evaluated (or traced by whatever is outside), tangent effects are recorded. Here,
once, a program that mixes both is split into a known program and a linear one.
Sources: Frostig et al. 2021, Radul et al. 2023.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import attrs

from effax.effects import control, custom
from effax.effects.effect import Effect
from effax.effects.frames import user_frame
from effax.effects.handler import Handler, outside
from effax.effects.program import (
    Equation,
    Literal,
    Program,
    Variable,
    source,
    without_dead_code,
)
from effax.effects.types import ShapedArray


class Record(Handler):
    """Record the effects that touch an unknown; values from outside stay in the equations."""

    __slots__ = ("equations",)

    carrier = Variable

    def __init__(self, outer: Any = None) -> None:
        super().__init__(outer)
        self.equations: list[Equation] = []

    def unknown(self, type: ShapedArray) -> Variable:
        """A value not known yet."""
        return Variable(self, type)

    def handle(self, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        """Record an equation; programs that are partly known are split first."""
        if effect.higher_order:
            splitter = splitters.get(effect)
            if splitter is not None:
                return splitter(self, effect, operands, attributes)
        return self.record(effect, operands, attributes)

    def record(self, effect: Effect, operands: Sequence[Any], attributes: dict[str, Any]) -> Any:
        """Record an equation whole."""
        result = effect.infer(tuple(map(effect.operand_type, operands)), attributes)
        types = result if effect.multiple else (result,)
        outputs = [Variable(self, t) for t in types]
        frame = source.frame or user_frame()
        self.equations.append(Equation(effect, operands, attributes, outputs, frame))
        return outputs if effect.multiple else outputs[0]


@attrs.frozen(slots=True, eq=False)
class Split:
    """A program in two: what the known inputs give, and what is left.

    The known program takes the known inputs and gives the known results, then the residuals it
    makes. The linear program takes residuals and the unknown inputs, in this order, and gives the
    unknown results. `forwarded` are positions of known inputs that are residuals as they are, and
    come before the residuals made.
    """

    known: Program
    linear: Program
    unknown_outputs: tuple[bool, ...]
    forwarded: tuple[int, ...]
    made: int


def split(
    program: Program, unknown: tuple[bool, ...], force: tuple[bool, ...] | None = None
) -> Split:
    """Split a program by which of its inputs are unknown.

    `force` marks results to be given by the linear program even where they are known.
    """
    key = "split", unknown, force
    found = program.memo.get(key)
    if found is None:
        found = program.memo[key] = _split(program, unknown, force)
    return found


def _split(program: Program, unknown: tuple[bool, ...], force: tuple[bool, ...] | None) -> Split:
    known_equations: list[Equation] = []
    recorder = _Partition(known_equations)
    recorder.mark(x for x, u in zip(program.inputs, unknown, strict=True) if u)
    for e in program.equations:
        recorder.equation(e)
    later = tuple(
        bool(force and force[i]) or recorder.is_unknown(x) for i, x in enumerate(program.outputs)
    )
    linear_outputs = [x for x, u in zip(program.outputs, later, strict=True) if u]
    linear_inputs = [x for x, u in zip(program.inputs, unknown, strict=True) if u]
    known_inputs = [x for x, u in zip(program.inputs, unknown, strict=True) if not u]
    draft = without_dead_code(Program(linear_inputs, recorder.linear, linear_outputs, program.name))
    needed = _free_variables(draft)
    positions = {x: i for i, x in enumerate(known_inputs)}
    forwarded = [x for x in needed if x in positions]
    made = [x for x in needed if x not in positions]
    linear = Program(
        [*forwarded, *made, *linear_inputs], draft.equations, draft.outputs, program.name
    )
    known_outputs = [x for x, u in zip(program.outputs, later, strict=True) if not u]
    known = without_dead_code(
        Program(known_inputs, known_equations, [*known_outputs, *made], program.name)
    )
    return Split(known, linear, later, tuple(positions[x] for x in forwarded), len(made))


class _Partition:
    """The walk that sorts equations into known and linear."""

    def __init__(self, known: list[Equation]) -> None:
        self.known = known
        self.linear: list[Equation] = []
        self.unknown: set[Variable] = set()

    def mark(self, variables: Any) -> None:
        self.unknown.update(variables)

    def is_unknown(self, x: Any) -> bool:
        return type(x) is Variable and x in self.unknown

    def equation(self, e: Equation) -> None:
        if not any(map(self.is_unknown, e.inputs)):
            self.known.append(e)
            return
        partition = partitioners.get(e.effect)
        if partition is not None:
            partition(self, e)
        else:
            self.linear.append(e)
            self.mark(e.outputs)


def _free_variables(program: Program) -> list[Variable]:
    bound = set(program.inputs)
    free: dict[Variable, None] = {}
    for e in program.equations:
        for x in e.inputs:
            if type(x) is Variable and x not in bound:
                free[x] = None
        bound.update(e.outputs)
    for x in program.outputs:
        if type(x) is Variable and x not in bound:
            free[x] = None
    return list(free)


def _pick(items: Sequence[Any], mask: Sequence[bool], wanted: bool) -> list[Any]:
    return [x for x, m in zip(items, mask, strict=True) if m is wanted]


def merge(mask: Sequence[bool], yes: Sequence[Any], no: Sequence[Any]) -> list[Any]:
    """Interleave: the next of `yes` where the mask is set, else the next of `no`."""
    ones, others = iter(yes), iter(no)
    return [next(ones) if m else next(others) for m in mask]


# How each higher-order effect is split, as two performances: `plan` gives the attributes and the
# operands of the known and of the linear one. Record performs the first and records the second;
# the partition of a program writes both as equations.


@attrs.frozen(slots=True, eq=False)
class Plan:
    """The known and the linear half of one higher-order effect.

    `known(operands)` are the operands of the known half; `linear(operands, residuals)` those of
    the linear half, given the results of the known half after the effect's own known results.
    When `whole` is set the linear half gives all of the effect's results, the known ones again.
    """

    known_attributes: dict[str, Any]
    linear_attributes: dict[str, Any]
    unknown_outputs: tuple[bool, ...]
    known: Callable[[Sequence[Any]], list[Any]]
    linear: Callable[[Sequence[Any], Sequence[Any]], list[Any]]
    whole: bool = False


def plan_call(unknown: tuple[bool, ...], attributes: dict[str, Any]) -> Plan:
    """A call in two: each half of its program is called."""
    parts = split(attributes["program"], unknown)

    def known(operands: Sequence[Any]) -> list[Any]:
        return _pick(operands, unknown, False)

    def linear(operands: Sequence[Any], residuals: Sequence[Any]) -> list[Any]:
        plain = known(operands)
        return [
            *(plain[i] for i in parts.forwarded),
            *residuals,
            *_pick(operands, unknown, True),
        ]

    return Plan(
        {**attributes, "program": parts.known},
        {**attributes, "program": parts.linear},
        parts.unknown_outputs,
        known,
        linear,
    )


def plan_whole(unknown: tuple[bool, ...], attributes: dict[str, Any]) -> Plan:
    """For `remat`: nothing is stored; the linear half does the whole of the work again."""
    program: Program = attributes["program"]
    parts = split(program, unknown)
    later = parts.unknown_outputs
    keep_known = [not u for u in later]
    known_program = without_dead_code(
        Program(parts.known.inputs, parts.known.equations, parts.known.outputs[: sum(keep_known)])
    )
    linear_program = without_dead_code(program, later)
    return Plan(
        {**attributes, "program": known_program},
        {**attributes, "program": linear_program},
        later,
        lambda operands: _pick(operands, unknown, False),
        lambda operands, residuals: list(operands),
    )


def plan_cond(unknown: tuple[bool, ...], attributes: dict[str, Any]) -> Plan:
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
        return [operands[0], *_pick(operands[1:], mask, False)]

    def linear_operands(operands: Sequence[Any], residuals: Sequence[Any]) -> list[Any]:
        plain = _pick(operands[1:], mask, False)
        return [
            operands[0],
            *(plain[i] for i in forwarded),
            *residuals,
            *_pick(operands[1:], mask, True),
        ]

    return Plan({"branches": known}, {"branches": linear}, later, known_operands, linear_operands)


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
    known_types = _pick([x.type for x in branch.inputs], mask, False)
    sent = {i: Variable(None, known_types[i]) for i in forwarded}
    for i, x in zip(part.forwarded, p.inputs, strict=False):
        sent[i] = x
    residuals = [Variable(None, t) for t in slots]
    n = len(part.forwarded)
    for at, x in zip(places, p.inputs[n : n + part.made], strict=True):
        residuals[at] = x
    rest = p.inputs[n + part.made :]
    return Program(
        [*(sent[i] for i in forwarded), *residuals, *rest], p.equations, p.outputs, p.name
    )


def plan_scan(unknown: tuple[bool, ...], attributes: dict[str, Any]) -> Plan:
    """A scan in two: the known one stacks the residuals that the linear one scans.

    Residuals that are constants of the loop, or scanned operands, are passed on as they are.
    """
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
    parts = _stored_carries(split(body, mask, (*carry, *(False,) * ys)), mask, n, m)
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
        return _pick(operands, mask, False)

    def linear(operands: Sequence[Any], residuals: Sequence[Any]) -> list[Any]:
        plain, rest = known(operands), _pick(operands, mask, True)
        a = sum(mask[:n])
        b = a + sum(unknown_carry)
        return [
            *(plain[i] for i in shares.consts),
            *rest[:b],
            *(plain[i] for i in shares.scanned),
            *residuals,
            *rest[b:],
        ]

    return Plan(known_attributes, linear_attributes, parts.unknown_outputs, known, linear)


def plan_while(unknown: tuple[bool, ...], attributes: dict[str, Any]) -> Plan:
    """The known part of the carry is iterated now; the linear half does all of the loop again.

    A loop of unknown length can't stack what its steps leave, so nothing is stored.
    """
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
        raise TypeError("the condition of a while loop depends on a tangent")
    own = len(parts.known.outputs) - parts.made
    known_body = without_dead_code(
        Program(parts.known.inputs, parts.known.equations, parts.known.outputs[:own], body.name)
    )
    known_mask = (*unknown[: n + m], *carry)
    return Plan(
        {
            "cond": parts_of_test.known,
            "body": known_body,
            "cond_consts": unknown[:n].count(False),
            "body_consts": consts.count(False),
        },
        attributes,
        tuple(carry),
        lambda operands: _pick(operands, known_mask, False),
        lambda operands, residuals: list(operands),
        whole=True,
    )


@attrs.frozen(slots=True, eq=False)
class _Shares:
    """Which forwarded residuals are constants of the loop, and which are scanned with it."""

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
    return Program(
        [*pick["const"], *rest[: consts + carry], *pick["scan"], *made, *rest[consts + carry :]],
        p.equations,
        p.outputs,
        p.name,
    )


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


planners: Final[dict[Effect, Callable[..., Plan]]] = {
    control.call: plan_call,
    control.remat: plan_whole,
    control.cond: plan_cond,
    control.scan: plan_scan,
    control.while_loop: plan_while,
}


def _perform_plan(
    handler: Record, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]
) -> list[Any]:
    """Perform the known half outside, record the linear half."""
    unknown = tuple(handler.owns(x) for x in operands)
    plan = planners[effect](unknown, attributes)
    results = effect(*plan.known(operands), **plan.known_attributes)
    own = plan.unknown_outputs.count(False)
    recorded = handler.record(effect, plan.linear(operands, results[own:]), plan.linear_attributes)
    if plan.whole:
        recorded = _pick(recorded, plan.unknown_outputs, True)
    return merge(plan.unknown_outputs, recorded, results[:own])


def _partition_plan(partition: _Partition, e: Equation) -> None:
    """Write both halves as equations."""
    unknown = tuple(map(partition.is_unknown, e.inputs))
    plan = planners[e.effect](unknown, e.attributes)
    operands = plan.known(e.inputs)
    types = e.effect.infer(tuple(x.type for x in operands), plan.known_attributes)
    own = plan.unknown_outputs.count(False)
    outputs = [
        *_pick(e.outputs, plan.unknown_outputs, False),
        *(Variable(None, t) for t in types[own:]),
    ]
    partition.known.append(
        Equation(e.effect, operands, plan.known_attributes, outputs, e.frame, e.scope)
    )
    later = _pick(e.outputs, plan.unknown_outputs, True)
    inputs = plan.linear(e.inputs, outputs[own:])
    all_later: Sequence[Variable] = later
    if plan.whole:
        spare = [Variable(None, x.type) for x in e.outputs]
        all_later = [
            x if u else s for x, s, u in zip(e.outputs, spare, plan.unknown_outputs, strict=True)
        ]
    partition.linear.append(
        Equation(e.effect, inputs, plan.linear_attributes, all_later, e.frame, e.scope)
    )
    partition.mark(later)


def _reopen(
    handler: Record, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]
) -> list[Any]:
    """A program with its own derivative, met without one being asked, is its equations."""
    with outside(handler):
        return attributes["program"].run(*operands)


splitters: Final[dict[Effect, Callable[..., Any]]] = {
    **dict.fromkeys(planners, _perform_plan),
    custom.custom_jvp_call: _reopen,
    custom.custom_vjp_call: _reopen,
}
partitioners: Final[dict[Effect, Callable[..., Any]]] = dict.fromkeys(planners, _partition_plan)
