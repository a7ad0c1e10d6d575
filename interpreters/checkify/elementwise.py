"""Elementwise arithmetic under checkify: what may give NaN, and divisions by zero."""

from __future__ import annotations

from typing import Any

from effax.effects.effect import LITERALS, Effect
from effax.effects.failures import DivisionByZeroError
from effax.effects.rows.check import ZERO
from effax.effects.rows.elementwise import (
    abs,
    div,
    rem,
)
from effax.effects.rows.shape import full
from effax.effects.types import bool_, is_complex, typeof
from effax.interpreters.checkify.checking import (
    Checkify,
    OfPrimitive,
    arithmetic,
    rule,
)


@rule(div, rem)
def division_check(
    handler: Checkify, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]
) -> Any:
    if DivisionByZeroError in handler.kinds:
        divisor = operands[1]
        if type(divisor) not in LITERALS:
            site = handler.site(DivisionByZeroError, OfPrimitive("division by zero", effect))
            handler.look(site, ZERO, _parts(divisor))
        elif divisor == 0:
            site = handler.site(DivisionByZeroError, OfPrimitive("division by zero", effect))
            handler.note(site, full((), True, bool_))
    return arithmetic(handler, effect, operands, attributes)


def _parts(divisor: Any) -> list[Any]:
    """Return the arrays that are zero where the divisor is: for a complex number, its magnitude."""
    return [abs(divisor)] if is_complex(typeof(divisor).dtype) else [divisor]
