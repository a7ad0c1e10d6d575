"""Residual staging: what is known is done now, what depends on an unknown is recorded.

Installed inside forward mode it makes linearization: primal effects touch no unknown, pass
through and are evaluated (or traced by whatever is outside), tangent effects are recorded.
Sources: Frostig et al. 2021, Radul et al. 2023.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from effax.effects.effect import Effect
from effax.effects.errors import RefError
from effax.effects.frames import user_frame
from effax.effects.handler import Handler, outside
from effax.effects.program import Equation, Variable
from effax.effects.provenance import scope_of, source
from effax.effects.rows import control, custom
from effax.effects.types import ShapedArray, snapshot
from effax.interpreters.functor.masks import merge, pick
from effax.interpreters.residual.partition import SplitPlan, planners, settled


class Record(Handler):
    """Record the effects that touch an unknown; values from outside stay in the equations."""

    __slots__ = ("equations", "scope", "scoped", "snapshots")

    carrier = Variable
    owned = "a value that is differentiated"
    records = True
    linear = True

    def __init__(self, outer: Any = None) -> None:
        super().__init__(outer)
        self.equations: list[Equation] = []
        self.snapshots: dict[int, tuple[Any, Any]] = {}
        self.scope = ""
        self.scoped: Any = None

    @property
    def transform(self) -> str:
        """The transform as values show it."""
        return "grad"

    def unknown(self, type: ShapedArray) -> Variable:
        """A value not known yet."""
        return Variable(self, type, source.frame or user_frame())

    def finish(self) -> Tape:
        """Hand over what was recorded: the handler keeps no hold of it."""
        tape = Tape(self, self.equations)
        self.equations = []
        self.snapshots = {}
        return tape

    def handle(self, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        """Record an equation; programs that are partly known are split first."""
        if effect.higher_order:
            planner = planners.get(effect)
            if planner is not None:
                return self.halves(effect, operands, attributes, planner)
            if effect in opened:
                with outside(self):
                    program = attributes.get("forward") or attributes["program"]
                    return program.run(*operands)
            from effax.interpreters.functor.meanings import meaning

            found = meaning(effect, tuple(map(effect.operand_type, operands)), attributes)
            if found is not None:
                told = {"program": found.program, "name": effect.name}
                given = (*found.captured, *operands)
                return self.halves(control.call, given, told, planners[control.call])
        return self.record(effect, operands, attributes)

    def record(self, effect: Effect, operands: Sequence[Any], attributes: dict[str, Any]) -> Any:
        """Record an equation whole.

        Raises `RefError` for a write: what is recorded is pure.
        """
        if effect.references:
            raise RefError(
                f"a value of a linear function was written to a reference of type "
                f"{operands[0].type!r}, which was made outside of the function; make it inside"
            )
        result = effect.infer(tuple(map(effect.operand_type, operands)), attributes)
        types = result if effect.multiple else (result,)
        at = source.at
        frame = user_frame() if at is None else at.frame or user_frame()
        outputs = [Variable(self, t, frame) for t in types]
        operands = [snapshot(x, self.snapshots) for x in operands]
        scope = self.scope if at is None or not at.scope else scope_of(self)
        self.equations.append(Equation(effect, operands, attributes, outputs, frame, scope))
        return outputs if effect.multiple else outputs[0]

    def halves(
        self,
        effect: Effect,
        operands: tuple[Any, ...],
        attributes: dict[str, Any],
        planner: Callable[..., SplitPlan],
    ) -> list[Any]:
        """Perform the known half of a higher-order effect outside, record the linear half."""
        unknown = tuple(self.owns(x) for x in operands)
        if settled(effect, unknown, attributes):
            return self.record(effect, operands, attributes)
        plan = planner(unknown, attributes)
        results = (plan.known_effect or effect)(*plan.known(operands), **plan.known_attributes)
        own = plan.unknown_outputs.count(False)
        recorded = self.record(
            plan.linear_effect or effect,
            plan.linear(operands, results[own:]),
            plan.linear_attributes,
        )
        if plan.given is not None:
            later = [u for u, g in zip(plan.unknown_outputs, plan.given, strict=True) if g]
            recorded = pick(recorded, later, True)
        return merge(plan.unknown_outputs, recorded, results[:own])


class Tape:
    """A recording, apart from its handler.

    Variables know their handler, so a handler that knew its equations would close a cycle, and
    the residuals in them would live until the garbage collector comes round.
    """

    __slots__ = ("equations", "handler")

    def __init__(self, handler: Record, equations: list[Equation]) -> None:
        self.handler = handler
        self.equations = equations

    def owns(self, x: Any) -> bool:
        """Whether the value is one that was unknown to the handler."""
        return type(x) is Variable and x.handler is self.handler


opened = frozenset(
    {
        custom.custom_jvp_call,
        custom.custom_vjp_call,
        custom.custom_vjp_forward,
        custom.each_lane,
    }
)
"""Programs with a rule of their own, met where it is not asked for, are their equations."""
