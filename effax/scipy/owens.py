"""Owen's T function."""

from __future__ import annotations

import functools
import math
from typing import Any

import effax.numpy as jnp
from effax.api.custom.jvp import custom_jvp
from effax.eager.whole import whole
from effax.effects.rows import special
from effax.effects.types import default_float
from effax.effects.value import Array, ArrayLike
from effax.scipy.normal import real


@functools.cache
def _legendre(count: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Gauss and Legendre's points and weights, on 0 to 1."""
    points, weights = [], []
    for i in range(count):
        x = math.cos(math.pi * (i + 0.75) / (count + 0.5))
        slope = 1.0
        for _ in range(8):
            before, here = 1.0, x
            for k in range(2, count + 1):
                before, here = here, ((2 * k - 1) * x * here - (k - 1) * before) / k
            slope = count * (x * here - before) / (x * x - 1)
            x -= here / slope
        points.append(0.5 * (1 + x))
        weights.append(1 / ((1 - x * x) * slope * slope))
    return tuple(points), tuple(weights)


def _upper(x: Array) -> Array:
    """The normal distribution's mass above x."""
    return 0.5 * special.erfc(x * math.sqrt(0.5))


def _inner(h: Array, a: Array) -> Array:
    """For h >= 0 and a from 0 to 1: the integral itself, as far as it is not negligible."""
    end = jnp.minimum(a, 9 / jnp.maximum(h, 1e-3))
    total = jnp.zeros_like(h)
    for point, weight in zip(*_legendre(32), strict=True):
        square = jnp.square(end * point)
        total = total + weight * jnp.exp(-0.5 * h * h * square) / (1 + square)
    return jnp.exp(-0.5 * h * h) * end * total / (2 * math.pi)


@custom_jvp
def _owens_t(h: Array, a: Array) -> Array:
    h, size = jnp.abs(h), jnp.abs(a)
    outside = size > 1
    far = jnp.where(h == 0, 0, h * jnp.where(outside, size, 1))
    inverse = 1 / jnp.where(outside, size, 1)
    at = jnp.minimum(jnp.where(outside, far, h), 1e3)
    inner = _inner(at, jnp.where(outside, inverse, size))
    one, other = _upper(h), _upper(far)
    value = jnp.where(outside, 0.5 * (one + other) - one * other - inner, inner)
    value = jnp.where(jnp.isnan(h) | jnp.isnan(a), math.nan, jnp.where(jnp.isinf(h), 0, value))
    return jnp.where(a < 0, -value, value)


@_owens_t.defjvp
def _owens_t_jvp(primals: Any, tangents: Any) -> Any:
    h, a = primals
    value = _owens_t(h, a)
    in_h = -jnp.exp(-0.5 * h * h) * special.erf(a * h * math.sqrt(0.5)) / math.sqrt(8 * math.pi)
    in_a = jnp.exp(-0.5 * h * h * (1 + a * a)) / (2 * math.pi * (1 + a * a))
    return value, tangents[0] * in_h + tangents[1] * in_a


@whole()
def owens_t(h: ArrayLike, a: ArrayLike) -> Array:
    """Compute the probability that a normal variable is above h, another between 0 and a times it.

    >>> from effax.scipy import special
    >>> round(float(special.owens_t(0.0, 1.0)), 4)
    0.125
    """
    h, a, _ = real("owens_t", h, a, jnp.zeros((), default_float()))
    return _owens_t(h, a)
