"""Spherical harmonics, Bessel functions of integer order, Bernoulli's numbers."""

from __future__ import annotations

import math
from typing import Any

import effax.numpy as jnp
from effax import lax
from effax.eager.whole import own_promotion, whole
from effax.effects.types import default_float, is_complex
from effax.effects.value import Array, ArrayLike
from effax.numpy.decompositions import floats, floats_or_lists
from effax.operands.arguments import concrete_int
from effax.operands.promoting import arraylike
from effax.scipy.faddeeva import widened
from effax.scipy.legendre import FIRST, recurrence


@whole("n")
def bernoulli(n: int) -> Array:
    """Compute the first n + 1 of Bernoulli's numbers, B1 being -1/2.

    >>> from effax.scipy import special
    >>> special.bernoulli(2)
    Array([ 1. , -0.5 , 0.16666667], dtype=float32)
    """
    last = concrete_int(n, "the n of bernoulli")
    if last < 0:
        raise ValueError("n must be a non-negative integer.")
    numbers = [1.0, -0.5] + [0.0] * last
    # Those of even index are 2 (2k)! zeta(2k) / (2 pi)^(2k), with alternating signs.
    size = 2.0
    for k in range(2, last + 1, 2):
        size *= k * (k - 1) / (4 * math.pi**2)
        zeta = math.fsum(j**-k for j in range(1, 2 + int(1e16 ** (1 / k)))) if k > 4 else None
        exact = {2: math.pi**2 / 6, 4: math.pi**4 / 90}.get(k, zeta)
        numbers[k] = (-1) ** (k // 2 + 1) * size * exact
    return jnp.array(numbers[: last + 1], float)


@own_promotion
@whole("v", "n_iter")
def bessel_jn(z: ArrayLike, *, v: int, n_iter: int = 50) -> Array:
    """Compute Bessel functions of the first kind of orders 0, 1, ..., v, along a new first axis.

    By recurrence downwards from the order `n_iter` (Miller's algorithm), which has to be well
    above v and z: NaN where z is so large (with 50 above 36, with 200 above 179) that the result
    would have fewer than four digits.

    Args:
      z: array_like, real.
      v: the last order.
      n_iter: the order to begin with.

    >>> from effax.scipy import special
    >>> [round(float(y), 3) for y in special.bessel_jn(1.0, v=1)]
    [0.765, 0.44]
    """
    (x,) = floats_or_lists("bessel_jn", z)
    if is_complex(x.dtype):
        raise TypeError(f"bessel_jn: z must be real, got {x.dtype}")
    orders = concrete_int(v, "the v of bessel_jn")
    if orders < 0:
        raise ValueError(f"bessel_jn: v, the last order, must not be negative, got {orders}")
    start = max(concrete_int(n_iter, "the n_iter of bessel_jn"), orders + 1)
    wide = widened(x)
    none = wide == 0
    inverse = 2 / jnp.where(none, 1, wide)
    limit = math.sqrt(float(jnp.finfo(wide.dtype).max)) / 1e4

    def down(state: Any, k: Array) -> Any:
        """The value of order k - 1, and how often all were scaled down since the start."""
        above, here, total, scalings = state
        below = k.astype(wide.dtype) * inverse * here - above
        total = total + jnp.where(k % 2 == 1, jnp.where(k == 1, below, 2 * below), 0)
        large = jnp.abs(below) > limit
        scale = jnp.where(large, 1 / limit, 1)
        scalings = scalings + large
        state = here * scale, below * scale, total * scale, scalings
        return state, (below * scale, scalings)

    zero = jnp.zeros_like(wide)
    first = zero, zero + 1 / limit, zero, jnp.zeros(wide.shape, jnp.int32)
    steps = jnp.arange(start, 0, -1)
    (_, _, total, scalings), (values, before) = lax.scan(down, first, steps)
    values, before = values[::-1][: orders + 1], before[::-1][: orders + 1]
    # Values that were stored early lack the scalings that were done later.
    missing = (scalings - before).astype(wide.dtype)
    values = values * jnp.exp(-missing * math.log(limit)) / total
    at_zero = (jnp.arange(orders + 1) == 0).reshape(-1, *(1,) * wide.ndim)
    values = jnp.where(none, jnp.where(at_zero, 1, 0), values)
    # What is left out is in proportion to J/Y of order n: Ai/Bi at (n - z) / (n/2)^(1/3), as DLMF
    # 10.19.8 has it.
    reach = start - 4.5 * (start / 2) ** (1 / 3)
    return (values * jnp.where(jnp.abs(wide) > reach, math.nan, 1)).astype(x.dtype)


def sph_harm_y(
    n: ArrayLike,
    m: ArrayLike,
    theta: ArrayLike,
    phi: ArrayLike,
    diff_n: int | None = None,
    n_max: int | None = None,
) -> Array:
    """Compute spherical harmonics of degrees n, orders m, at polar angles theta and azimuths phi.

    Complex. `n_max`, the largest degree that counts, must be given under `jit`, where n has no
    values; degrees above it are taken to be it. 0 where the order is larger than the degree.
    `diff_n` is refused: derivatives are `jvp`'s.

    >>> from effax.scipy import special
    >>> special.sph_harm_y(0, 0, 0.5, 0.5).real
    Array(0.2820948, dtype=float32)
    """
    if diff_n is not None:
        raise NotImplementedError(
            "The 'diff_n' argument to sph_harm_y is not supported: use jvp or grad."
        )
    if n_max is None:
        values = jnp.asarray(n)
        n_max = concrete_int(jnp.max(values), "the n_max of sph_harm_y") if values.size else 0
    return _sph_harm_y(n, m, theta, phi, n_max)


@whole("n_max")
def _sph_harm_y(n: ArrayLike, m: ArrayLike, theta: ArrayLike, phi: ArrayLike, n_max: int) -> Array:
    degrees, orders = (jnp.asarray(x) for x in arraylike("sph_harm_y", n, m))
    polar, azimuth = floats("sph_harm_y", theta, phi)
    dtype = jnp.promote_types(polar.dtype, default_float())
    polar, azimuth = polar.astype(dtype), azimuth.astype(dtype)
    degrees, orders, polar, azimuth = jnp.broadcast_arrays(degrees, orders, polar, azimuth)
    degrees = jnp.minimum(degrees, n_max)
    size = jnp.abs(orders).astype(polar.dtype)
    sine = jnp.sin(polar)
    sine = jnp.where(sine < 0, -sine, sine)  # depends on the cosine alone, beyond pi too
    step = recurrence(size, jnp.cos(polar), sine, normalized=True)

    def up(state: Any, degree: Array) -> Any:
        values, found = state
        values = step(values, degree)
        return (values, jnp.where(degrees == degree, values[1], found)), None

    first = jnp.full(polar.shape, FIRST, polar.dtype)
    start = (jnp.zeros_like(first), first), jnp.where(degrees == 0, first, 0)
    (_, found), _ = lax.scan(up, start, jnp.arange(1, n_max + 1))
    found = jnp.where((size > degrees) | (degrees < 0), 0, found)
    turns = orders.astype(polar.dtype) * azimuth
    sign = jnp.where((orders < 0) & (orders % 2 == 1), -1, 1)
    return lax.complex(sign * found * jnp.cos(turns), sign * found * jnp.sin(turns))
