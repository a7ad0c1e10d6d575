"""Faddeeva's function and its kin: the error function scaled, and Dawson's integral.

Source: Weideman 1994, "Computation of the complex error function": a rational function that is
exact to rounding in the upper half of the plane.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import effax.numpy as jnp
from effax import lax
from effax.api.custom.jvp import custom_jvp
from effax.eager.whole import own_promotion, whole
from effax.effects.types import is_complex
from effax.effects.value import Array, ArrayLike
from effax.operands.arguments import strong
from effax.scipy.normal import real, spread

_ROOT_PI = math.sqrt(math.pi)


def widened(x: Array) -> Array:
    """Strong numbers of at least 32 bits, in which the functions of this kind are computed."""
    return strong(x) if x.dtype.itemsize > 2 else x.astype(jnp.float32)


@functools.cache
def _coefficients(count: int) -> tuple[float, tuple[float, ...]]:
    """The scale, and the coefficients of the polynomial, the highest last."""
    m, scale = 2 * count, math.sqrt(count / math.sqrt(2))
    angles = [k * math.pi / m for k in range(-m + 1, m)]
    points = [scale * math.tan(angle / 2) for angle in angles]
    values = [math.exp(-t * t) * (scale * scale + t * t) for t in points]
    pairs = list(zip(values, angles, strict=True))
    return scale, tuple(
        sum(value * math.cos(n * angle) for value, angle in pairs) / (2 * m)
        for n in range(1, count + 1)
    )


def _rational(z: Array, turned: Array, bits: int) -> Array:
    """The function of z, given `turned = -i z` to which it is a real function."""
    scale, coefficients = _coefficients(40 if bits == 64 else 24)
    over = 1 / (scale + turned)
    moved = (scale - turned) * over
    value = jnp.zeros_like(moved)
    for coefficient in reversed(coefficients):
        value = value * moved + coefficient
    return (2 * value * over + 1 / _ROOT_PI) * over


def _bits(x: Array) -> int:
    return 64 if jnp.finfo(x.dtype).bits == 64 else 32


@custom_jvp
def faddeeva(z: Array) -> Array:
    """The function of complex arrays."""
    below = z.imag < 0
    up = jnp.where(below, -z, z)
    far = jnp.abs(up) > 1e4
    near = jnp.where(far, 1j, up)
    value = _rational(near, -1j * near, _bits(z.real))
    value = jnp.where(far, 1j / _ROOT_PI / jnp.where(far, up, 1), value)
    # On the real axis the real part is known exactly; far out it is much smaller than the other.
    on_axis = z.imag == 0
    flat = jnp.exp(-jnp.square(jnp.where(on_axis, z.real, 0)))
    value = jnp.where(on_axis, lax.complex(flat, value.imag), value)
    lower = 2 * jnp.exp(-jnp.square(jnp.where(below, z, 0))) - value
    return jnp.where(below, lower, jnp.where(jnp.isnan(z), math.nan, value))


@faddeeva.defjvp
def _faddeeva_rule(primals: Any, tangents: Any) -> Any:
    (z,), (t,) = primals, tangents
    value = faddeeva(z)
    return value, t * (2j / _ROOT_PI - 2 * z * value)


@own_promotion
@whole()
def wofz(z: ArrayLike) -> Array:
    """Compute Faddeeva's function, `exp(-z**2) * erfc(-i * z)`, complex.

    >>> from effax.scipy import special
    >>> special.wofz(0.0)
    Array(1.+0.j, dtype=complex64)
    """
    (x,) = spread("special.wofz", z)
    x = widened(x)
    return faddeeva(x if is_complex(x.dtype) else x.astype(jnp.result_type(x, jnp.complex64)))


@custom_jvp
def _scaled_erfc(x: Array) -> Array:
    right = jnp.minimum(jnp.abs(x), 1e18)
    value = _rational(right, right, _bits(x))
    value = jnp.where(jnp.abs(x) > right, 1 / (_ROOT_PI * jnp.abs(x)), value)
    left = 2 * jnp.exp(jnp.square(jnp.minimum(x, 0))) - value
    return jnp.where(x < 0, left, jnp.where(jnp.isnan(x), math.nan, value))


@_scaled_erfc.defjvp
def _scaled_erfc_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    value = _scaled_erfc(x)
    return value, t * (2 * x * value - 2 / _ROOT_PI)


@own_promotion
@whole()
def erfcx(x: ArrayLike) -> Array:
    """Return `exp(x**2) * erfc(x)`, which does not vanish where erfc does; of complex numbers too.

    >>> from effax.scipy import special
    >>> float(special.erfcx(10.0))
    0.0561...
    """
    (x,) = spread("special.erfcx", x)
    if is_complex(x.dtype):
        return faddeeva(1j * strong(x))
    return _scaled_erfc(widened(x)).astype(x.dtype)


@custom_jvp
def _dawson(x: Array) -> Array:
    """By its power series near zero, where the rational function has no relative accuracy."""
    small = jnp.abs(x) < 1
    square = jnp.square(jnp.where(small, x, 0))
    series = jnp.zeros_like(x)
    for k in range(22, 0, -1):
        series = (1 + series) * square * (-2 / (2 * k + 1))
    far = jnp.where(small, 1, x)
    beyond = faddeeva(lax.complex(far, jnp.zeros_like(far))).imag * (_ROOT_PI / 2)
    value = jnp.where(small, x * (1 + series), beyond)
    return jnp.where(jnp.isnan(x), math.nan, value)


@_dawson.defjvp
def _dawson_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    value = _dawson(x)
    return value, t * (1 - 2 * x * value)


@whole()
def dawsn(x: ArrayLike) -> Array:
    """Compute Dawson's integral, `exp(-x**2)` times the integral of `exp(t**2)` from 0 to x.

    >>> from effax.scipy import special
    >>> float(special.dawsn(1.0))
    0.538...
    """
    (x,) = real("dawsn", x)
    return _dawson(widened(x)).astype(x.dtype)
