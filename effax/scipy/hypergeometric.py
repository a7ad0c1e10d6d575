"""Hypergeometric functions of one variable: Kummer's 1F1 and Gauss's 2F1.

Sources: Abramowitz & Stegun, chapters 13 and 15.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import effax.numpy as jnp
from effax import lax
from effax.api.custom.jvp import custom_jvp
from effax.api.derivatives.forward import jvp
from effax.eager.whole import whole
from effax.effects.value import Array, ArrayLike
from effax.scipy.faddeeva import widened
from effax.scipy.normal import real

_TERMS = 2000


def _by_forward_mode(function: Callable[..., Array]) -> Callable[..., Array]:
    """A function whose partial derivatives forward mode finds, through loops that stop early.

    Reverse mode, which can't go through such loops, sees their products with tangents only.
    """
    known = custom_jvp(function)

    @known.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        value = known(*primals)
        total = jnp.zeros_like(value)
        for i, tangent in enumerate(tangents):
            # Differentiated in the same way, so that derivatives of any order exist.
            partial = _by_forward_mode(functools.partial(_partial, function, i))
            total = total + tangent * partial(*primals)
        return value, total

    return known


def _partial(function: Callable[..., Array], i: int, *primals: Array) -> Array:
    def of_one(x: Array) -> Array:
        return function(*primals[:i], x, *primals[i + 1 :])

    return jvp(of_one, (primals[i],), (jnp.ones_like(primals[i]),))[1]


def _series(ratio: Callable[[Array], Array], like: Array, active: Array) -> Array:
    """`1 + r(0) + r(0) r(1) + ...`, until no active element changes, nor its derivative would.

    It is NaN where terms were so large that not one digit of the sum is right.
    """
    precision = jnp.finfo(like.dtype).eps

    def going(state: Any) -> Array:
        step, *_, change = state
        return jnp.any(change & active) & (step < _TERMS)

    def add(state: Any) -> Any:
        step, total, term, size, largest, _ = state
        factor = ratio(step)
        # A series that has ended stays ended, whatever its later ratios are; its derivatives go on.
        term = jnp.where((term == 0) & ~jnp.isfinite(factor), 0, term * factor)
        following = total + term
        length = lax.stop_gradient(jnp.abs(factor))
        size = jnp.where((length == 0) | ~jnp.isfinite(length), size, size * length)
        diverges = (length >= 1) & (step > _TERMS // 10)
        enough = 0.25 * precision * jnp.abs(following)
        # Small terms before larger ones are not the last.
        descends = ~(lax.stop_gradient(jnp.abs(ratio(step + 1))) >= 1)
        small = jnp.where(
            term == 0, (size <= enough) | diverges, (jnp.abs(term) <= enough) & descends
        )
        largest = jnp.maximum(largest, lax.stop_gradient(jnp.abs(term)))
        return step + 1, following, term, size, largest, ~small & jnp.isfinite(following)

    one = jnp.ones_like(like)
    start = (jnp.asarray(0, like.dtype), one, one, one, one, jnp.ones_like(like, dtype=bool))
    _, total, _, _, largest, _ = lax.while_loop(going, add, start)
    lost = precision * largest > 0.1 * jnp.maximum(jnp.abs(total), 1)
    return total * jnp.where(lost & jnp.isfinite(total), math.nan, 1)


def _reciprocal_gamma(x: Array) -> Array:
    """`1 / gamma(x)`, zero at the poles."""
    pole = (x <= 0) & (x == jnp.floor(x))
    safe = jnp.where(pole, 1, x)
    odd = (safe < 0) & (jnp.floor(safe) % 2 != 0)
    return jnp.where(pole, 0, jnp.where(odd, -1, 1) * jnp.exp(-lax.lgamma(safe)))


def _is_negative_integer(x: Array) -> Array:
    return (x <= 0) & (x == jnp.floor(x))


def _kummer(a: Array, b: Array, x: Array) -> Array:
    # For negative arguments use Kummer's transformation, unless the series ends by itself.
    ends = _is_negative_integer(a)
    turn = (x < 0) & ~ends
    top, at = jnp.where(turn, b - a, a), jnp.where(turn, -x, x)
    ends = _is_negative_integer(top)
    far = (at > 100) & ~ends
    near = jnp.where(far | jnp.isnan(at), 0, at)
    bad = _is_negative_integer(b) & ~(ends & (top >= b))
    base = jnp.where(bad, 1, b)
    # All terms but the first have the factor 1 / b, and may overflow with both signs, so it is
    # taken out.
    tiny = (jnp.abs(base) < 1e-30) & (base != 0)

    def ratio(k: Array) -> Array:
        k = k + jnp.where(tiny, 1, 0)
        below = base + k
        met = below == 0  # only after the last term, whose numerator is zero too
        return jnp.where(met, 0, (top + k) / jnp.where(met, 1, below)) * (near / (k + 1))

    series = _series(ratio, near, ~bad & ~far)
    series = jnp.where(tiny, 1 + top * near * series / jnp.where(tiny, base, 1), series)
    large = jnp.where(far, jnp.minimum(at, 1e30), 100)
    tail = _asymptotic(top, base, large)
    growth = jnp.exp(jnp.where(turn, jnp.where(far, large, 0) + x, jnp.where(far, large, 0)))
    power = (top - base) * jnp.log(large)
    gammas = _reciprocal_gamma(top) / _reciprocal_gamma(base)
    beyond = growth * jnp.exp(power) * gammas * tail
    value = jnp.where(far, beyond, jnp.where(turn, jnp.exp(x), 1) * series)
    value = jnp.where(bad, math.inf, value)
    return jnp.where(jnp.isnan(a) | jnp.isnan(b) | jnp.isnan(x), math.nan, value)


def _asymptotic(a: Array, b: Array, x: Array) -> Array:
    """The sum of `(b - a)_k (1 - a)_k / (k! x**k)`, as far as its terms descend."""

    def add(k: Array, state: Any) -> Any:
        total, term, least = state
        k = jnp.asarray(k, x.dtype)
        term = term * (b - a + k) * (1 - a + k) / ((k + 1) * x)
        descends = jnp.abs(term) < jnp.maximum(least, 1)
        total = total + jnp.where(descends, term, 0)
        return total, term, jnp.where(descends, jnp.abs(term), 0)

    one = jnp.ones_like(x)
    return lax.fori_loop(0, 40, add, (one, one, one))[0]


@whole()
def hyp1f1(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """Compute Kummer's function, the sum of `(a)_k / (b)_k * x**k / k!`.

    Where b is 0, -1, ... it is inf, unless a is one of 0, -1, ..., b: the sum then ends before.

    >>> from effax.scipy import special
    >>> round(float(special.hyp1f1(1.0, 1.0, 1.0)), 3)
    2.718
    """
    a, b, x = real("hyp1f1", *map(jnp.asarray, (a, b, x)))
    endless = jnp.isinf(b)  # then all terms but the first are 0
    value = _by_forward_mode(_kummer)(
        widened(a), widened(jnp.where(endless, 1, b)), widened(jnp.where(endless, 0, x))
    )
    value = jnp.where(endless & jnp.isnan(x), math.nan, value)
    return value.astype(x.dtype)


def _plain(a: Array, b: Array, c: Array, x: Array, active: Array) -> Array:
    at = jnp.where(active, x, 0)
    base = jnp.where(active, c, 1)
    return _series(lambda k: (a + k) * (b + k) / ((base + k) * (k + 1)) * at, at, active)


def _around_one(a: Array, b: Array, c: Array, y: Array, active: Array) -> Array:
    """The function at 1 - y, where `c - a - b` is no integer (15.3.6)."""
    d = c - a - b
    g = _reciprocal_gamma
    first = g(-d) * _plain(a, b, 1 - d, y, active) * g(c - a) * g(c - b)
    second = g(d) * _plain(c - a, c - b, 1 + d, y, active) * g(a) * g(b)
    power = jnp.exp(d * jnp.log(jnp.where(active, y, 0.5)))
    # gamma(d) gamma(-d) = -pi / (d sin(pi d)), which avoids the overflow of both factors.
    both = -math.pi / (d * jnp.sin(math.pi * jnp.where(active, d, 0.5)))
    return both * (first * jnp.where(active, 1, 0) + power * second) / g(c)


def _around_one_logarithmic(a: Array, b: Array, m: Array, y: Array, active: Array) -> Array:
    """The function of `c = a + b + m` at 1 - y, for integers m >= 0 (15.3.10 and 15.3.11)."""
    g = _reciprocal_gamma
    c = a + b + m
    safe = jnp.where(active, y, 0.5)

    def finite(k: Array, state: Any) -> Any:
        total, term = state
        k = jnp.asarray(k, y.dtype)
        total = total + jnp.where(k < m, term, 0)
        gap = k + 1 - m
        ratio = (a + k) * (b + k) / ((k + 1) * jnp.where(gap == 0, 1, gap)) * safe
        return total, term * ratio

    zero, one = jnp.zeros_like(y), jnp.ones_like(y)
    first, _ = lax.fori_loop(0, 60, finite, (zero, one))
    first = first * jnp.exp(lax.lgamma(jnp.maximum(m, 1))) * g(a + m) * g(b + m)
    first = jnp.where(m > 0, first, 0)
    logarithm = jnp.log(safe)
    psi = lax.digamma
    start = logarithm - psi(one) - psi(m + 1) + psi(a + m) + psi(b + m)

    def infinite(k: Array, state: Any) -> Any:
        total, term, bracket = state
        k = jnp.asarray(k, y.dtype)
        total = total + term * bracket
        bracket = bracket - 1 / (k + 1) - 1 / (k + m + 1) + 1 / (a + m + k) + 1 / (b + m + k)
        return total, term * (a + m + k) * (b + m + k) / ((k + 1) * (k + m + 1)) * safe, bracket

    second, _, _ = lax.fori_loop(0, 80, infinite, (zero, one, start))
    sign = 1 - 2 * (m % 2)
    second = sign * second * safe**m * g(a) * g(b) * jnp.exp(-lax.lgamma(m + 1))
    return (first - second) / g(c)


def _gauss(a: Array, b: Array, c: Array, x: Array) -> Array:
    ends = _is_negative_integer(a) | _is_negative_integer(b)
    # If both parameters end the series, take the one that ends it first.
    length = jnp.minimum(
        jnp.where(_is_negative_integer(a), -a, math.inf),
        jnp.where(_is_negative_integer(b), -b, math.inf),
    )
    bad = _is_negative_integer(c) & ~(ends & (length < -c + 1))
    gap = jnp.isnan(a) | jnp.isnan(b) | jnp.isnan(c) | jnp.isnan(x)
    c = jnp.where(bad, 1, c)
    # Map negative arguments to [0, 1] by Pfaff's transformation.
    turn = (x < 0) & ~ends
    second, at = jnp.where(turn, c - b, b), jnp.where(turn, x / (x - 1), x)
    at = jnp.where(turn & jnp.isinf(x), 1, at)
    ends = _is_negative_integer(a) | _is_negative_integer(second)
    inside = ~bad & ~gap & (ends | (jnp.abs(at) <= 0.6))
    value = _plain(a, second, c, at, inside)
    d = c - a - second
    nearest = jnp.round(d)
    whole_gap = jnp.abs(d - nearest) < 1e-9
    high = ~inside & ~bad & ~gap & (at < 1)
    simple = high & ~whole_gap
    value = jnp.where(
        simple, _around_one(a, second, c, jnp.where(simple, 1 - at, 0.1), simple), value
    )
    double = high & whole_gap
    value = jnp.where(double, _degenerate(a, second, c, nearest, at, double), value)
    at_one = (at == 1) & ~inside
    g = _reciprocal_gamma
    limit = g(c - a) * g(c - second) / (g(c) * g(jnp.where(d > 0, d, 1)))
    value = jnp.where(at_one, jnp.where(d > 0, limit, math.inf), value)
    value = jnp.where((at > 1) & ~ends, math.inf, value)
    value = jnp.where(turn, jnp.exp(-a * jnp.log1p(-jnp.where(turn, x, 0))) * value, value)
    value = jnp.where(x == 0, 1, jnp.where(bad, math.inf, value))
    return jnp.where(gap, math.nan, value)


def _degenerate(a: Array, b: Array, c: Array, m: Array, x: Array, active: Array) -> Array:
    """Compute the case in which `c - a - b` is an integer; a negative one by Euler's
    transformation.
    """
    below = m < 0
    first, second = jnp.where(below, c - a, a), jnp.where(below, c - b, b)
    y = jnp.where(active, 1 - x, 0.1)
    value = _around_one_logarithmic(first, second, jnp.abs(m), y, active)
    return jnp.where(below, y ** jnp.where(below, m, 1), 1) * value


@whole()
def hyp2f1(a: ArrayLike, b: ArrayLike, c: ArrayLike, x: ArrayLike) -> Array:
    """Compute Gauss's function, the sum of `(a)_k (b)_k / (c)_k * x**k / k!`, continued below -1.

    inf above 1, and where c is 0, -1, ...

    >>> from effax.scipy import special
    >>> round(float(special.hyp2f1(1.0, 1.0, 2.0, 0.5)), 3)
    1.386
    """
    operands = real("hyp2f1", a, b, c, x)
    function = _by_forward_mode(_gauss)
    return function(*map(widened, operands)).astype(operands[0].dtype)
