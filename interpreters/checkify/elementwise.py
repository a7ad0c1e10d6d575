"""Elementwise arithmetic under checkify: what may give NaN, and divisions by zero."""

from __future__ import annotations

from typing import Any

from effax.effects.comparison import eq
from effax.effects.effect import LITERALS, Effect
from effax.effects.elementwise import (
    abs,
    add,
    cbrt,
    ceil,
    copy,
    div,
    floor,
    integer_pow,
    is_finite,
    max,
    min,
    mul,
    neg,
    nextafter,
    pow,
    rem,
    round,
    rsqrt,
    sign,
    sqrt,
    square,
    stop_gradient,
    sub,
)
from effax.effects.failures import DivisionByZeroError
from effax.effects.shape import full
from effax.effects.types import bool_
from effax.interpreters.checkify.checking import (
    Checkify,
    OfPrimitive,
    any_of,
    arithmetic,
    cannot_fail,
    computes,
    rule,
)

computes(add, sub, mul, pow, integer_pow, square, sqrt, rsqrt, cbrt)
cannot_fail(neg, abs, sign, max, min, floor, ceil, round, nextafter, is_finite, copy, stop_gradient)


@rule(div, rem)
def division_check(
    handler: Checkify, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]
) -> Any:
    if DivisionByZeroError in handler.kinds:
        divisor = operands[1]
        if type(divisor) not in LITERALS:
            site = handler.site(DivisionByZeroError, OfPrimitive("division by zero", effect))
            handler.note(site, any_of(eq(divisor, 0)))
        elif divisor == 0:
            site = handler.site(DivisionByZeroError, OfPrimitive("division by zero", effect))
            handler.note(site, full((), True, bool_))
    return arithmetic(handler, effect, operands, attributes)
