"""Values that a policy of `remat` keeps inside of loops and branches, made results of these.

A loop or branch is written twice. On the way forward it has further results: the values inside that
the policy keeps, of all steps, stacked. When the work is done again these are further operands, and
the equations that made them are gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import attrs

from effax.effects.effect import Effect
from effax.effects.program import Equation, Literal, Program, Variable, without_dead_code
from effax.effects.rows import control
from effax.effects.types import ShapedArray
from effax.interpreters.residual.partition import split
from effax.interpreters.residual.replaying import again, gives_answers
from effax.interpreters.residual.verdicts import Policy, verdict_on
from effax.interpreters.stage import Stage


class Opening(Stage):
    """Record the equations of calls in their place."""

    __slots__ = ()

    def perform(self, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        """Record an equation, or those of the program that is called."""
        if effect is control.call:
            return attributes["program"].run(*operands)
        return super().perform(effect, operands, attributes)


def opened(program: Program) -> Program:
    """The program with the calls in it written out."""
    found = program.memo.get("opened")
    if found is None:
        handler = Opening()
        inputs = [handler.input(t) for t in program.in_types]
        results = handler.run(program.run, *inputs)
        found = program.memo["opened"] = handler.finish(results, program.name).program
    return found


@attrs.frozen(slots=True, eq=False)
class Exposed:
    """Equations for the first time and for again; and the values that the first pass to the second.

    `kept` maps variables to the policy's verdict.
    """

    first: list[Equation]
    again: list[Equation]
    kept: dict[Variable, Any]


def expose(
    equations: Sequence[Equation],
    moving: Iterable[Variable],
    policy: Policy | None,
    once: bool = False,
) -> Exposed | None:
    """Split equations by what a policy keeps of all that does not depend on `moving` variables.

    With `once`, answers of effects are kept, too; None where one depends on what moves.
    """
    unknown = set(moving)
    found = Exposed([], [], {})
    for e in equations:
        depends = [type(x) is Variable and x in unknown for x in e.inputs]
        only = once and gives_answers(e.effect, e.attributes, len(e.outputs))
        if only and any(depends):
            return None
        expander = None if only or policy is None else _expanders.get(e.effect)
        pair = None if expander is None else expander(e, depends, policy)
        first, repeated, kept = (e, e, {}) if pair is None else pair
        found.kept.update(kept)
        if any(depends):
            unknown.update(_moved(e, depends) if policy else e.outputs)
        else:
            verdict = only or (policy is not None and verdict_on(e, policy))
            if verdict:
                found.kept.update(dict.fromkeys(e.outputs, verdict))
        found.first.append(first)
        repeated = again(repeated)
        if repeated is not None and not (e.outputs and found.kept.keys() >= set(e.outputs)):
            found.again.append(repeated)
    return found


def _moved(e: Equation, depends: Sequence[bool]) -> Sequence[Variable]:
    """The results that depend on what moves."""
    if e.effect is control.scan:
        n, m = e.attributes["consts"], e.attributes["carry"]
        mask = _loop_mask(e.attributes["body"], depends, n, m)
        later = split(e.attributes["body"], mask).unknown_outputs
    elif e.effect is control.cond and not depends[0]:
        parts = [split(b, tuple(depends[1:])) for b in e.attributes["branches"]]
        later = tuple(map(any, zip(*(p.unknown_outputs for p in parts), strict=True)))
    else:
        return e.outputs
    return [x for x, u in zip(e.outputs, later, strict=True) if u]


def _loop_mask(body: Program, depends: Sequence[bool], n: int, m: int) -> tuple[bool, ...]:
    """Find the inputs of a loop's body that depend on what moves: the carry's least fixpoint."""
    mask = tuple(depends)
    while True:
        later = split(body, mask).unknown_outputs[:m]
        joined = [a or b for a, b in zip(mask[n : n + m], later, strict=True)]
        if tuple(joined) == mask[n : n + m]:
            return mask
        mask = (*mask[:n], *joined, *mask[n + m :])


def _exposed(program: Program, mask: Sequence[bool], policy: Policy) -> Exposed:
    moving = [x for x, u in zip(program.inputs, mask, strict=True) if u]
    found = expose(program.equations, moving, policy)
    if found is None:
        raise AssertionError("only answers of effects are refused, and none was asked for")
    return found


def _scan(e: Equation, depends: Sequence[bool], policy: Policy) -> Any:
    attributes = e.attributes
    body = opened(attributes["body"])
    mask = _loop_mask(body, depends, attributes["consts"], attributes["carry"])
    inside = _exposed(body, mask, policy)
    if not inside.kept:
        return None
    length = attributes["length"]
    stacked = {
        Variable(None, x.type.stacked(length)): verdict for x, verdict in inside.kept.items()
    }
    first = Program(body.inputs, inside.first, [*body.outputs, *inside.kept], body.name)
    replay = without_dead_code(
        Program([*body.inputs, *inside.kept], inside.again, body.outputs, body.name)
    )
    return (
        _with(e, {**attributes, "body": first}, e.inputs, [*e.outputs, *stacked]),
        _with(e, {**attributes, "body": replay}, [*e.inputs, *stacked], e.outputs),
        stacked,
    )


def _cond(e: Equation, depends: Sequence[bool], policy: Policy) -> Any:
    if depends[0]:
        return None
    branches = [opened(b) for b in e.attributes["branches"]]
    parts = [_exposed(b, depends[1:], policy) for b in branches]
    slots: list[tuple[ShapedArray, Any]] = []
    places = [_slots(slots, part.kept) for part in parts]
    if not slots:
        return None
    kept = {Variable(None, type): verdict for type, verdict in slots}
    first, replay = [], []
    for branch, part, where in zip(branches, parts, places, strict=True):
        results: list[Any] = [Literal(0, type) for type, _ in slots]
        given = [Variable(None, type) for type, _ in slots]
        for x, at in where.items():
            results[at] = given[at] = x
        first.append(Program(branch.inputs, part.first, [*branch.outputs, *results], branch.name))
        replay.append(
            without_dead_code(
                Program([*branch.inputs, *given], part.again, branch.outputs, branch.name)
            )
        )
    return (
        _with(e, {"branches": tuple(first)}, e.inputs, [*e.outputs, *kept]),
        _with(e, {"branches": tuple(replay)}, [*e.inputs, *kept], e.outputs),
        kept,
    )


def _slots(slots: list[tuple[ShapedArray, Any]], kept: dict[Variable, Any]) -> dict[Variable, int]:
    """A place for each value that a branch keeps, shared with those of other branches."""
    places: dict[Variable, int] = {}
    for x, verdict in kept.items():
        taken = set(places.values())
        alike = (i for i, s in enumerate(slots) if s == (x.type, verdict) and i not in taken)
        at = next(alike, len(slots))
        if at == len(slots):
            slots.append((x.type, verdict))
        places[x] = at
    return places


def _with(e: Equation, attributes: Any, inputs: Sequence[Any], outputs: Sequence[Any]) -> Equation:
    return Equation(e.effect, inputs, attributes, outputs, e.frame, e.scope)


_expanders: dict[Effect, Callable[..., Any]] = {control.scan: _scan, control.cond: _cond}
