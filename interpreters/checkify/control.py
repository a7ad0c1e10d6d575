"""Control flow and custom rules under checkify, where the functor alone does not do."""

from __future__ import annotations

from typing import Any

from effax.effects.effect import Effect
from effax.effects.program import Program
from effax.effects.rows import control, custom
from effax.interpreters.checkify.checking import Checkify, rule
from effax.interpreters.custom_linear import lift_custom_linear
from effax.interpreters.functor.lifting import PLAIN, lift, lift_while
from effax.interpreters.functor.rotation import rotated_while


def checkify_while(
    handler: Checkify, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]
) -> list[Any]:
    """A loop whose condition can fail is turned, so that its checks are made in the body."""
    condition: Program = attributes["cond"]
    modes = (PLAIN,) * len(condition.inputs)
    if lift(condition, handler, modes).state_mode:
        return rotated_while(handler, operands, attributes)
    return lift_while(handler, effect, operands, attributes)


Checkify.overrides[control.while_loop] = checkify_while


@rule(custom.custom_linear)
def checkify_custom_linear(
    handler: Checkify, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]
) -> list[Any]:
    """A backward function in forward mode is checked like any other program."""
    return lift_custom_linear(handler, effect, operands, attributes)
