"""Elementwise effects under batch: the batch axis is one more axis."""

from __future__ import annotations

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
from effax.interpreters.batch.batched import elementwise

elementwise(abs, add, cbrt, ceil, copy, div, floor, integer_pow, is_finite, max, min, mul)
elementwise(neg, nextafter, pow, rem, round, rsqrt, sign, sqrt, square, stop_gradient, sub)
