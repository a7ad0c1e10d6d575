"""Programs in two parts: the known one is performed first, the rest is linear over residuals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import attrs

from effax.effects.effect import Effect
from effax.effects.program import Equation, Program, Variable, programs_in, without_dead_code
from effax.effects.provenance import source
from effax.effects.rows import control, custom
from effax.interpreters.functor.masks import pick
from effax.interpreters.residual.recomputing import recompute


@attrs.frozen(slots=True, eq=False)
class SplitPlan:
    """The known and the linear half of one higher-order effect.

    `known(operands)` are the operands of the known half; `linear(operands, residuals)` those of
    the linear half, given the results of the known half after the effect's own known results.
    `given` says which of the effect's results the linear half gives, if others than the unknown:
    known ones among them are given again, and not used.
    `known_effect` and `linear_effect` are what the halves perform where that is another effect.
    """

    known_attributes: dict[str, Any]
    linear_attributes: dict[str, Any]
    unknown_outputs: tuple[bool, ...]
    known: Callable[[Sequence[Any]], list[Any]]
    linear: Callable[[Sequence[Any], Sequence[Any]], list[Any]]
    given: tuple[bool, ...] | None = None
    known_effect: Effect | None = None
    linear_effect: Effect | None = None


planners: Final[dict[Effect, Callable[..., SplitPlan]]] = {}
"""A function that splits a higher-order effect, given its unknown operands and attributes."""


@attrs.frozen(slots=True, eq=False)
class Split:
    """A program in two parts: one of the known inputs alone, and the rest.

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


def settle(program: Program, unknown: Sequence[bool]) -> Program:
    """Mark a program as already linear, so that partitioning it again returns it unchanged."""
    program.memo["settled"] = tuple(unknown)
    return program


_SETTLING: Final = frozenset({control.call, control.cond, control.scan, custom.custom_vmap_call})


def settled(effect: Effect, unknown: tuple[bool, ...], attributes: dict[str, Any]) -> bool:
    """Whether a higher-order effect is a linear half already, in these operands.

    Without asking, each level of a nest would be split once for every level around it.
    """
    if effect not in _SETTLING:
        return False
    if effect is control.cond:
        if unknown[0]:
            return False
        unknown = unknown[1:]
    return all(p.memo.get("settled") == unknown for p in programs_in(attributes))


def split(
    program: Program,
    unknown: tuple[bool, ...],
    force: tuple[bool, ...] | None = None,
    fixed: tuple[int, ...] = (),
) -> Split:
    """Split a program by which of its inputs are unknown.

    `force` marks results to be given by the linear program even where they are known. `fixed`
    are positions of inputs that cost nothing to be kept: a loop's constants. What is cheap is done
    again by the linear program where less is stored so.
    """
    key = "split", unknown, force, fixed
    found = program.memo.get(key)
    if found is None:
        found = program.memo[key] = _split(program, unknown, force, fixed)
    return found


def _split(
    program: Program,
    unknown: tuple[bool, ...],
    force: tuple[bool, ...] | None,
    fixed: tuple[int, ...],
) -> Split:
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
    positions = {x: i for i, x in enumerate(known_inputs)}
    constants = {program.inputs[i] for i in fixed}
    again, needed = recompute(known_equations, _free_variables(draft), constants)
    forwarded = [x for x in needed if x in positions]
    made = [x for x in needed if x not in positions]
    linear = Program(
        [*forwarded, *made, *linear_inputs],
        [*again, *draft.equations],
        draft.outputs,
        program.name,
    )
    settle(linear, [*[False] * len(needed), *[True] * len(linear_inputs)])
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
        if e.effect.higher_order:
            e = _called(e)
        planner = planners.get(e.effect)
        if planner is not None:
            self.halves(e, planner)
        else:
            self.linear.append(e)
            self.mark(e.outputs)

    def halves(self, e: Equation, planner: Callable[..., SplitPlan]) -> None:
        """Write both halves of a higher-order effect as equations."""
        unknown = tuple(map(self.is_unknown, e.inputs))
        if settled(e.effect, unknown, e.attributes):
            self.linear.append(e)
            self.mark(e.outputs)
            return
        before, source.at = source.at, e
        try:
            plan = planner(unknown, e.attributes)
        finally:
            source.at = before
        operands = plan.known(e.inputs)
        effect = plan.known_effect or e.effect
        types = effect.infer(tuple(x.type for x in operands), plan.known_attributes)
        own = plan.unknown_outputs.count(False)
        outputs = [
            *pick(e.outputs, plan.unknown_outputs, False),
            *(Variable(None, t) for t in types[own:]),
        ]
        self.known.append(
            Equation(effect, operands, plan.known_attributes, outputs, e.frame, e.scope)
        )
        later = pick(e.outputs, plan.unknown_outputs, True)
        inputs = plan.linear(e.inputs, outputs[own:])
        all_later: Sequence[Variable] = later
        if plan.given is not None:
            all_later = [
                x if u else Variable(None, x.type)
                for x, u, g in zip(e.outputs, plan.unknown_outputs, plan.given, strict=True)
                if g
            ]
        self.linear.append(
            Equation(
                plan.linear_effect or e.effect,
                inputs,
                plan.linear_attributes,
                all_later,
                e.frame,
                e.scope,
            )
        )
        self.mark(later)


def _called(e: Equation) -> Equation:
    """A higher-order effect from outside as a call of its definition.

    Where that closes over arrays, which a program can't mention, the equation stays: it is known or
    unknown as a whole.
    """
    if e.effect in planners:
        return e
    from effax.interpreters.functor.meanings import meaning

    found = meaning(e.effect, tuple(x.type for x in e.inputs), e.attributes)
    if found is None or found.captured:
        return e
    told = {"program": found.program, "name": e.effect.name}
    return Equation(control.call, e.inputs, told, e.outputs, e.frame, e.scope)


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


def plan_call(unknown: tuple[bool, ...], attributes: dict[str, Any]) -> SplitPlan:
    """A call in two: each half of its program is called."""
    parts = split(attributes["program"], unknown)

    def known(operands: Sequence[Any]) -> list[Any]:
        return pick(operands, unknown, False)

    def linear(operands: Sequence[Any], residuals: Sequence[Any]) -> list[Any]:
        plain = known(operands)
        return [
            *(plain[i] for i in parts.forwarded),
            *residuals,
            *pick(operands, unknown, True),
        ]

    return SplitPlan(
        {**attributes, "program": parts.known},
        {**attributes, "program": parts.linear},
        parts.unknown_outputs,
        known,
        linear,
    )
