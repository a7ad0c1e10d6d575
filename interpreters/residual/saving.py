"""The residuals that `remat` keeps for the backward pass: none, or those a policy names."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Final

from effax.effects.config import read
from effax.effects.frames import describe
from effax.effects.program import Equation, Program, Variable, used_inputs
from effax.effects.rows import naming
from effax.interpreters.functor.masks import pick
from effax.interpreters.residual.exposing import Exposed, expose, opened
from effax.interpreters.residual.narrowing import narrowed
from effax.interpreters.residual.partition import SplitPlan, plan_call, split
from effax.interpreters.residual.replaying import asks
from effax.interpreters.residual.verdicts import Offloadable

_log: Final = logging.getLogger("effax")


def plan_remat(unknown: tuple[bool, ...], attributes: dict[str, Any]) -> SplitPlan:
    """The linear half does the work again, except for the values that the policy keeps.

    The answers of effects (a number that is drawn) are kept whatever the policy says. Where one is
    performed inside a loop or a branch of which the rest is to be done again, all is kept.
    """
    program: Program = attributes["program"]
    policy, once = attributes["policy"], asks(program)
    if policy is not None or once:
        program = opened(program)
    moving = [x for x, u in zip(program.inputs, unknown, strict=True) if u]
    parts = expose(program.equations, moving, policy, once)
    if parts is None:
        return plan_call(unknown, attributes)
    return _plan(program, unknown, attributes, parts)


def _plan(
    program: Program,
    unknown: tuple[bool, ...],
    attributes: dict[str, Any],
    parts: Exposed,
) -> SplitPlan:
    later = split(program, unknown).unknown_outputs
    kept = {x: v if isinstance(v, Offloadable) else None for x, v in parts.kept.items()}
    linear_program = narrowed(
        Program([*program.inputs, *kept], parts.again, program.outputs, program.name), later
    )
    used = used_inputs(linear_program)
    own = len(program.inputs)
    stored = {x: place for (x, place), u in zip(kept.items(), used[own:], strict=True) if u}
    given = tuple([u or moves for u, moves in zip(used, unknown, strict=False)])
    level = logging.WARNING if read("log_checkpoint_residuals") else logging.DEBUG
    if _log.isEnabledFor(level):
        known_inputs = [g and not u for g, u in zip(given, unknown, strict=True)]
        _log_residuals(level, program, parts.first, known_inputs, list(stored))
    away, back, residuals = _moves(stored)
    linear_program = Program(
        [*pick(program.inputs, given, True), *residuals],
        [*back, *linear_program.equations],
        linear_program.outputs,
        program.name,
    )
    whole = Program(
        program.inputs,
        [*parts.first, *away],
        [*program.outputs, *residuals],
        program.name,
    )
    known = split(whole, unknown).known
    results = later.count(False) + len(residuals)
    known_program = narrowed(
        Program(known.inputs, known.equations, known.outputs[:results], program.name)
    )
    return SplitPlan(
        {**attributes, "program": known_program},
        {**attributes, "program": linear_program, "again": True},
        later,
        lambda operands: pick(operands, unknown, False),
        lambda operands, residuals: [*pick(operands, given, True), *residuals],
    )


def _moves(
    stored: dict[Variable, Offloadable | None],
) -> tuple[list[Equation], list[Equation], list[Variable]]:
    """Equations that put residuals into their memories and fetch them, and what is stored."""
    away, back, residuals = [], [], []
    for x, place in stored.items():
        there = x if place is None else Variable(None, x.type)
        residuals.append(there)
        if place is not None:
            src, dst = place.src, place.dst
            away.append(Equation(naming.moved, [x], {"src": src, "dst": dst}, [there]))
            back.append(Equation(naming.moved, [there], {"src": dst, "dst": src}, [x]))
    return away, back, residuals


def _log_residuals(
    level: int,
    program: Program,
    equations: Sequence[Any],
    inputs: Sequence[bool],
    kept: Sequence[Variable],
) -> None:
    """Log the values that a checkpointed function keeps in memory until the backward pass."""
    made = {x: e for e in equations for x in e.outputs}
    inside = [f"  {x.type!r} from {made[x].effect} at {describe(made[x].frame)}" for x in kept]
    given = [
        f"  {x.type!r} from argument {i} of {program.name}"
        for i, (x, stored) in enumerate(zip(program.inputs, inputs, strict=True))
        if stored
    ]
    parts = []
    if given:
        parts += ["saving inputs with shapes:", *given]
    if inside:
        parts += ["and saving these intermediates:" if given else "saving these intermediates:"]
        parts += inside
    told = "checkpoint of %s: remat-decorated function %s"
    _log.log(level, told, program.name, "\n".join(parts) or "saving nothing")
