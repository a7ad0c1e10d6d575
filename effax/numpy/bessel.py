"""Modified Bessel functions of the first kind, each the derivative of the other."""

from __future__ import annotations

from typing import Any

from effax.api.custom.jvp import custom_jvp
from effax.effects.rows.elementwise import abs, mul, sub
from effax.effects.rows.special import bessel_i0e, bessel_i1e
from effax.effects.rows.transcendental import exp
from effax.effects.value import Array
from effax.interpreters.composites.calculus import bessel_part


def _unscaled(x: Array, scaled: Array) -> Array:
    """Times `exp(abs(x))`, in two steps: it is infinite before the product is."""
    half = exp(mul(abs(x), 0.5))
    return mul(half, mul(half, scaled))


@custom_jvp
def i0(x: Any) -> Array:
    """The function of order 0 of a real array."""
    return _unscaled(x, bessel_i0e(x))


@i0.defjvp
def _i0_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (dx,) = primals, tangents
    return i0(x), mul(dx, i1(x))


@custom_jvp
def i1(x: Any) -> Array:
    """The function of order 1 of a real array."""
    return _unscaled(x, bessel_i1e(x))


@i1.defjvp
def _i1_jvp(primals: Any, tangents: Any) -> Any:
    """The slope is `i0(x) - i1(x) / x`, in which i1 is about x / 2 near 0."""
    (x,), (dx,) = primals, tangents
    value = i1(x)
    return value, mul(dx, sub(i0(x), bessel_part(value, x)))
