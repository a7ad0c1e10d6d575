"""The logarithm of the gamma function of complex numbers, continuous off the negative real axis.

Source: Hare 1997, "Computing the principal branch of log-Gamma": Stirling's series far from the
negative axis, the reflection and the recurrence near it; around the zeros 1 and 2, Taylor's.
"""

from __future__ import annotations

import math

import effax.numpy as jnp
from effax import lax
from effax.effects.value import Array
from effax.interpreters.composites.gamma_ratios import STIRLING, polynomial
from effax.interpreters.composites.gamma_zeros import taylor
from effax.operands.arguments import strong

# From here on Stirling's series is exact to rounding, in all directions but the negative one.
_FAR = 7
# Within this distance of 1 and 2, Taylor's series needs this many terms.
_NEAR, _TERMS = 0.25, 28


def _stirling(z: Array) -> Array:
    inverse = 1 / z
    square, series = inverse * inverse, jnp.zeros_like(z)
    for coefficient in reversed(STIRLING):
        series = series * square + coefficient
    return (z - 0.5) * jnp.log(z) - z + 0.5 * math.log(2 * math.pi) + series * inverse


def _around_one(w: Array) -> Array:
    return -w * polynomial(-w, taylor(_TERMS - 1))


def _risen(z: Array) -> Array:
    """By the recurrence: so many steps up, whose logarithms are taken off one by one."""
    value = _stirling(z + _FAR)
    for k in range(_FAR):
        value = value - jnp.log(z + k)
    return value


def _sine_of_pi(z: Array) -> Array:
    """`sin(pi * z)`, whose parts vanish exactly where they should: their signs tell the branch."""
    x = z.real - 2 * jnp.round(0.5 * z.real)
    y = math.pi * z.imag
    size = jnp.abs(x)
    sine = jnp.copysign(jnp.sin(math.pi * jnp.minimum(size, 1 - size)), x)
    cosine = jnp.sin(math.pi * (0.5 - size))
    return lax.complex(sine * jnp.cosh(y), cosine * jnp.sinh(y))


def complex_loggamma(z: Array) -> Array:
    """`loggamma` of a complex array; NaN at the poles."""
    z = strong(z)
    x, y = z.real, z.imag
    far = (x >= _FAR) | (jnp.abs(y) >= _FAR)
    one, two = jnp.abs(z - 1) < _NEAR, jnp.abs(z - 2) < _NEAR
    turned = ~far & (x < 0.5)
    middle = ~(far | one | two)
    risen = _risen(jnp.where(middle, jnp.where(turned, 1 - z, z), 1.5))
    value = jnp.where(far, _stirling(jnp.where(far, z, _FAR)), risen)
    value = jnp.where(one, _around_one(jnp.where(one, z - 1, 0)), value)
    w = jnp.where(two, z - 2, 0)
    value = jnp.where(two, _around_one(w) + jnp.log1p(w), value)
    # In the reflection formula the logarithm of the sine winds once in two units.
    winds = jnp.where(jnp.signbit(y), -1, 1) * 2 * math.pi * jnp.floor(0.5 * x + 0.25)
    sine = jnp.log(_sine_of_pi(jnp.where(turned, z, 0.5)))
    reflected = lax.complex(jnp.full_like(x, math.log(math.pi)), winds) - sine - value
    pole = (y == 0) & (x <= 0) & (x == jnp.floor(x))
    return jnp.where(pole, math.nan, jnp.where(turned, reflected, value))
