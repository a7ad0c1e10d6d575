"""Exponential, sine, cosine and Fresnel integrals, and Spence's function."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import effax.numpy as jnp
from effax import lax
from effax.api.custom.jvp import custom_jvp
from effax.eager.whole import own_promotion, whole
from effax.effects.types import is_complex
from effax.effects.value import Array, ArrayLike
from effax.numpy.decompositions import opened_list
from effax.scipy.faddeeva import faddeeva, widened
from effax.scipy.normal import real, spread

_EULER = 0.57721566490153286061


def with_derivative(
    derivative: Callable[[Array], Array],
) -> Callable[[Callable[[Array], Array]], Callable[[Array], Array]]:
    """A function of one array with its derivative given."""

    def decorate(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
        known = custom_jvp(function)

        @known.defjvp
        def rule(primals: Any, tangents: Any) -> Any:
            (x,), (t,) = primals, tangents
            return known(x), t * derivative(x)

        return known

    return decorate


def _tail(x: Array, n: Array | float = 1.0) -> Array:
    """`exp(x)` times the exponential integral of order n, by its continued fraction, x >= 1."""

    def deeper(step: Array, below: Array) -> Array:
        k = jnp.asarray(100 - step, jnp.finfo(x.dtype).dtype)
        return x + n + 2 * (k - 1) - k * (n + k - 1) / below

    return 1 / lax.fori_loop(0, 100, deeper, x + n + 200)


def _entire(x: Array, terms: int) -> Array:
    """The sum of `x**k / (k * k!)` for k = 1, 2, ...: what is left of the integral's logarithm."""

    def add(k: Array, state: Any) -> Any:
        total, power = state
        k = jnp.asarray(k + 1, x.dtype)
        power = power * x / k
        return total + power / k, power

    return lax.fori_loop(0, terms, add, (jnp.zeros_like(x), jnp.ones_like(x)))[0]


@with_derivative(lambda x: jnp.where(x < 0, math.nan, -jnp.exp(-x) / x))
def _exp1(x: Array) -> Array:
    near = x < 1
    small = jnp.where(near & (x > 0), x, 1)
    series = -_EULER - jnp.log(small) - _entire(-small, 40)
    large = jnp.where(near, 1, x)
    beyond = jnp.where(jnp.isinf(large), 0, jnp.exp(-large) * _tail(jnp.minimum(large, 1e30)))
    value = jnp.where(near, series, beyond)
    value = jnp.where(x == 0, math.inf, value)
    return jnp.where((x < 0) | jnp.isnan(x), math.nan, value)


@whole()
def exp1(x: ArrayLike) -> Array:
    """Compute the integral of `exp(-t) / t` from x on; NaN for negative x.

    >>> from effax.scipy import special
    >>> float(special.exp1(1.0))
    0.219...
    """
    (x,) = real("exp1", x)
    return _exp1(widened(x)).astype(x.dtype)


@with_derivative(lambda x: jnp.exp(x) / x)
def _expi(x: Array) -> Array:
    """By its power series, and from 40 on by its asymptotic one."""
    far = x > 40
    small = jnp.where(far | ~(x > 0), 1, x)
    series = _EULER + jnp.log(small) + _entire(small, 140)
    large = jnp.where(far, x, 40)
    inverse, total = 1 / large, jnp.zeros_like(x)
    for k in range(38, 0, -1):
        total = (1 + total) * k * inverse
    # Multiply by the exponential in two halves, since it overflows before the product does.
    half = jnp.exp(0.5 * jnp.minimum(large, 2e3))
    beyond = jnp.where(jnp.isinf(large), math.inf, half * (inverse * (1 + total)) * half)
    value = jnp.where(far, beyond, series)
    value = jnp.where(x < 0, -_exp1(jnp.where(x < 0, -x, 1)), value)
    return jnp.where(x == 0, -math.inf, jnp.where(jnp.isnan(x), math.nan, value))


@whole()
def expi(x: ArrayLike) -> Array:
    """Compute the integral of `exp(t) / t` from -inf to x, its principal value for positive x.

    >>> from effax.scipy import special
    >>> float(special.expi(1.0))
    1.895...
    """
    (x,) = real("expi", x)
    return _expi(widened(x)).astype(x.dtype)


def _expn(n: Array, x: Array) -> Array:
    near = x < 1
    small = jnp.where(near & (x > 0), x, 1)
    large = jnp.where(near, 1, x)
    beyond = jnp.exp(-large) * _tail(jnp.minimum(large, 1e30), n)

    def add(k: Array, state: Any) -> Any:
        """The series without the term whose denominator is zero."""
        total, power, harmonic = state
        k = jnp.asarray(k, x.dtype)
        gap = k - (n - 1)
        total = total + jnp.where(gap == 0, 0, power / jnp.where(gap == 0, 1, gap))
        harmonic = harmonic + jnp.where((k > 0) & (k <= n - 1), 1 / jnp.maximum(k, 1), 0)
        return total, power * -small / (k + 1), harmonic

    zero, one = jnp.zeros_like(small), jnp.ones_like(small)
    # The series needs 40 terms; the harmonic sum needs n of them, as long as its power matters.
    total, _, harmonic = lax.fori_loop(0, 60, add, (zero, one, zero))
    power = jnp.exp((n - 1) * jnp.log(small) - lax.lgamma(jnp.maximum(n, 1)))
    sign = 1 - 2 * jnp.abs((n - 1) % 2)
    series = sign * power * (harmonic - _EULER - jnp.log(small)) - total
    value = jnp.where(near, jnp.where(n == 0, jnp.exp(-small) / small, series), beyond)
    value = jnp.where(jnp.isinf(x), 0, value)
    value = jnp.where(x == 0, jnp.where(n < 2, math.inf, 1 / jnp.where(n < 2, 1, n - 1)), value)
    value = jnp.where((n != jnp.floor(n)) & near, math.nan, value)
    return jnp.where((x < 0) | (n < 0) | jnp.isnan(x), math.nan, value)


@whole()
def expn(n: ArrayLike, x: ArrayLike) -> Array:
    """Compute the integral of `exp(-x * t) / t**n` from 1 on, n an integer; NaN if n < 0 or x < 0.

    There is a derivative in x, none in n.

    >>> from effax.scipy import special
    >>> float(special.expn(2, 1.0))
    0.148...
    """
    n, x = real("expn", jnp.asarray(n), jnp.asarray(x))

    @custom_jvp
    def function(n: Array, x: Array) -> Array:
        return _expn(widened(n), widened(x)).astype(x.dtype)

    def function_jvp(primals: Any, tangents: Any) -> Any:
        n, x = primals
        value = function(n, x)
        below = jnp.where(n == 0, value * (1 + 1 / x), function(jnp.maximum(n - 1, 0), x))
        return value, tangents[1] * -below

    function.defjvp(function_jvp)
    return function(lax.stop_gradient(n), x)


def _sine_cosine(x: Array) -> tuple[Array, Array]:
    """Power series for small x; the exponential integral of an imaginary argument beyond 4."""
    size = jnp.abs(x)
    near = size < 4
    small = jnp.where(near, size, 0)
    square = -small * small
    sine, cosine, power, other = small, jnp.zeros_like(x), small, jnp.ones_like(x)
    for k in range(1, 20):
        power = power * square / (2 * k * (2 * k + 1))
        other = other * square / (2 * k * (2 * k - 1))
        sine = sine + power / (2 * k + 1)
        cosine = cosine + other / (2 * k)
    cosine = cosine + _EULER + jnp.log(jnp.where(near & (size > 0), size, 1))
    large = jnp.where(near, 4, jnp.minimum(size, 1e30))
    turned = lax.complex(jnp.zeros_like(large), large)
    found = lax.complex(jnp.cos(large), -jnp.sin(large)) * _tail(turned)
    sine = jnp.where(near, sine, math.pi / 2 + found.imag)
    cosine = jnp.where(near, cosine, -found.real)
    infinite = jnp.isinf(x)
    sine = jnp.where(infinite, math.pi / 2, sine)
    cosine = jnp.where(infinite, jnp.where(x > 0, 0, math.nan), cosine)
    cosine = jnp.where(x == 0, -math.inf, cosine)
    gap = jnp.isnan(x)
    return jnp.where(gap, x, jnp.copysign(sine, x)), jnp.where(gap, x, cosine)


@own_promotion
@whole()
def sici(x: ArrayLike) -> tuple[Array, Array]:
    """Compute the integrals of `sin(t) / t` from 0, and of `cos(t) / t` from -inf, to x.

    >>> from effax.scipy import special
    >>> [round(float(y), 3) for y in special.sici(1.0)]
    [0.946, 0.337]
    """
    (x,) = spread("special.sici", x)
    if is_complex(x.dtype):
        raise ValueError(f"Argument `x` to sici must be real-valued. Got dtype {x.dtype}.")

    @custom_jvp
    def function(x: Array) -> tuple[Array, Array]:
        sine, cosine = _sine_cosine(widened(x))
        return sine.astype(x.dtype), cosine.astype(x.dtype)

    def function_jvp(primals: Any, tangents: Any) -> Any:
        (x,), (t,) = primals, tangents
        return function(x), (t * jnp.sinc(x / math.pi), t * jnp.cos(x) / x)

    function.defjvp(function_jvp)
    return function(x)


def _quarter_turns(x: Array) -> Array:
    """Return `pi / 2 * x**2` up to full turns, of period 4 in x**2.

    The bits of x are shared out to its integer n and to what is left, r, so the product of both is
    exact; `x * x` would be rounded by more than a period from 3000 on.
    """
    n = jnp.round(x)
    r = x - n
    return 0.5 * math.pi * (jnp.square(n % 4) + 2 * ((n * r) % 2) + r * r)


def _fresnel(x: Array) -> tuple[Array, Array]:
    """Power series for small x, then by the complex error function."""
    size = jnp.abs(x)
    near = size < 1.5
    small = jnp.where(near, size, 0)
    square = 0.5 * math.pi * small * small
    power, sine, cosine = small, jnp.zeros_like(x), jnp.zeros_like(x)
    for k in range(36):
        sign = 1 - 2 * ((k // 2) % 2)
        part = sign * power / (2 * k + 1)
        sine, cosine = (sine, cosine + part) if k % 2 == 0 else (sine + part, cosine)
        power = power * square / (k + 1)
    large = jnp.where(near, 1.5, jnp.minimum(size, 1e15))
    angle = _quarter_turns(large)
    turned = lax.complex(large, large) * (0.5 * math.sqrt(math.pi))
    rest = lax.complex(jnp.cos(angle), jnp.sin(angle)) * faddeeva(turned)
    found = (0.5 + 0.5j) * (1 - rest)
    sine, cosine = jnp.where(near, sine, found.imag), jnp.where(near, cosine, found.real)
    gap = jnp.isnan(x)
    sine, cosine = (jnp.where(gap, x, jnp.copysign(y, x)) for y in (sine, cosine))
    return sine, cosine


@whole()
def fresnel(x: ArrayLike) -> tuple[Array, Array]:
    """Compute the integrals of `sin(pi / 2 * t**2)` and of `cos(pi / 2 * t**2)` from 0 to x.

    >>> from effax.scipy import special
    >>> [round(float(y), 3) for y in special.fresnel(1.0)]
    [0.438, 0.78]
    """
    (x,) = spread("special.fresnel", x)
    if is_complex(x.dtype):
        raise NotImplementedError("fresnel: Support for complex-valued inputs is not implemented")

    @custom_jvp
    def function(x: Array) -> tuple[Array, Array]:
        sine, cosine = _fresnel(widened(x))
        return sine.astype(x.dtype), cosine.astype(x.dtype)

    def function_jvp(primals: Any, tangents: Any) -> Any:
        (x,), (t,) = primals, tangents
        angle = _quarter_turns(x)
        return function(x), (t * jnp.sin(angle), t * jnp.cos(angle))

    function.defjvp(function_jvp)
    return function(x)


# Bernoulli numbers of even index over factorials: of u / (exp(u) - 1), integrated term by term.
_DEBYE = [
    1 / 36,
    -1 / 3600,
    1 / 211680,
    -1 / 10886400,
    1 / 526901760,
    -691 / 16999766784000,
    1 / 1120863744000,
]


def _dilogarithm(x: Array) -> Array:
    """Of 1 - x for x from 1 / 2 to 2, by a series in the logarithm of x."""
    u = -jnp.log(x)
    square, series = u * u, jnp.zeros_like(u)
    for coefficient in reversed(_DEBYE):
        series = (series + coefficient) * square
    return u * (1 - 0.25 * u + series)


def _spence_slope(x: Array) -> Array:
    """`log(x) / (1 - x)`; near 1 its series, of which the derivatives are right there too."""
    u = x - 1
    near = jnp.abs(u) < 1 / 32
    series, small = jnp.zeros_like(u), jnp.where(near, u, 0)
    for k in reversed(range(12)):
        series = 1 / (k + 1) - small * series
    return jnp.where(near, -series, -jnp.log(x) / jnp.where(near, 1, u))


@with_derivative(_spence_slope)
def _spence(x: Array) -> Array:
    high = x > 2
    inside = jnp.where(high, 1 / jnp.where(high, x, 1), jnp.where(x >= 0, x, 1))
    low = inside < 0.5
    safe = jnp.where(low & (inside > 0), inside, 0.25)
    value = _dilogarithm(jnp.where(low, 1 - safe, inside))
    value = jnp.where(low, math.pi**2 / 6 - jnp.log(safe) * jnp.log1p(-safe) - value, value)
    value = jnp.where(inside == 0, math.pi**2 / 6, value)
    value = jnp.where(high, -0.5 * jnp.square(jnp.log(jnp.where(high, x, 1))) - value, value)
    return jnp.where(x >= 0, value, math.nan)


@whole()
def spence(x: ArrayLike) -> Array:
    """Compute Spence's function, the integral of `log(t) / (1 - t)` from 1 to x; NaN for x < 0.

    >>> from effax.scipy import special
    >>> float(special.spence(0.0))
    1.644...
    """
    (x,) = real("spence", opened_list(x))
    return _spence(widened(x)).astype(x.dtype)
