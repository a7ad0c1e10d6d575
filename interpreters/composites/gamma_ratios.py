"""Powers over gamma functions, and the incomplete gamma functions of large numbers.

`x**a exp(-x) / gamma(a)` by logarithms of its parts has no correct digit once a is as large as one
over the precision: they are numbers of the size of `a log(a)`, whose difference is small. In
Stirling's formula they cancel, and what is left is the deviance of a from x.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

from effax.effects.rows.comparison import ge, gt, lt
from effax.effects.rows.elementwise import (
    abs,
    add,
    div,
    max,
    min,
    mul,
    neg,
    sign,
    sqrt,
    square,
    sub,
)
from effax.effects.rows.special import erfc, lgamma
from effax.effects.rows.transcendental import exp, log, log1p
from effax.effects.types import finfo, typeof
from effax.interpreters.composites.calculus import where

LARGE: Final = 8.0
"""From here on Stirling's series converges to double precision."""
UNIFORM: Final = 20.0
"""From here on the uniform expansion does, where x is within 0.3 a of a."""

# The Bernoulli numbers B2, B4, ..., as numerators and denominators.
_BERNOULLI: Final = (
    *((1, 6), (-1, 30), (1, 42), (-1, 30), (5, 66), (-691, 2730), (7, 6), (-3617, 510)),
    *((43867, 798), (-174611, 330)),
)
STIRLING: Final = tuple(
    over / (under * 2 * k * (2 * k - 1)) for k, (over, under) in enumerate(_BERNOULLI, 1)
)
"""The coefficients of 1/z, 1/z**3, ... that Stirling's formula lacks (DLMF 5.11.1)."""


def double(x: Any) -> bool:
    """Whether x is of double precision, to which series need more terms."""
    return bool(finfo(typeof(x).dtype).bits == 64)


def polynomial(x: Any, coefficients: Any) -> Any:
    """The sum of `coefficients[i] x**i`, by Horner's rule."""
    *lower, found = coefficients
    for c in reversed(lower):
        found = add(mul(x, found), c)
    return found


def stirling_error(a: Any) -> Any:
    """`log(gamma(a))` less `(a - 1/2) log(a) - a + log(2 pi) / 2`, for a from `LARGE` on."""
    return div(polynomial(div(1.0, square(a)), STIRLING), a)


def near_surplus(d: Any) -> Any:
    """`d - log1p(d)` for d from -1/2 to 1, by `log1p(d) = 2 atanh(v)`, v = d / (2 + d)."""
    terms = 17 if double(d) else 9
    v = div(d, add(d, 2.0))
    series = polynomial(square(v), [0.0, *(1 / (2 * k + 1) for k in range(1, terms + 1))])
    return mul(v, sub(d, mul(series, 2.0)))


def surplus(d: Any) -> Any:
    """`d - log1p(d)`, to full precision also near 0 (Loader 2000)."""
    near = lt(abs(d), 0.5)
    return where(near, near_surplus(where(near, d, 0.0)), sub(d, log1p(d)))


def deviance(a: Any, x: Any) -> Any:
    """`a log(a / x) + x - a`, which is not negative."""
    return mul(a, surplus(div(sub(x, a), a)))


def gamma_scale(a: Any, x: Any, over: Any = 0.0) -> Any:
    """`x**a exp(-x) / gamma(a)` for positive numbers, a finite, over the exponential of `over`."""
    plain = exp(sub(sub(sub(mul(a, log(x)), over), x), lgamma(a)))
    safe = max(a, LARGE)
    power = neg(add(add(deviance(safe, x), stirling_error(safe)), over))
    return where(lt(a, LARGE), plain, mul(exp(power), sqrt(mul(safe, 1 / (2 * math.pi)))))


def beta_scale(p: Any, q: Any, y: Any, z: Any, over: Any = 0.0) -> Any:
    """`y**p z**q / (p beta(p, q))` for positive numbers, z being `1 - y`, over `exp(over)`.

    Both of p and q are below `LARGE`, or both are not, or one of them.
    """
    small, large = lt(max(p, q), LARGE), ge(min(p, q), LARGE)
    gammas = sub(lgamma(add(p, q)), add(lgamma(q), lgamma(add(p, 1.0))))
    plain = exp(add(add(mul(log(y), p), sub(mul(log(z), q), over)), gammas))
    errors = [stirling_error(max(v, LARGE)) for v in (p, q, add(p, q))]
    both = div(_large_beta(max(p, LARGE), max(q, LARGE), y, z, errors, over), p)
    return where(small, plain, where(large, both, _uneven_beta(p, q, y, z, errors, over)))


def _large_beta(p: Any, q: Any, y: Any, z: Any, errors: Sequence[Any], over: Any) -> Any:
    total, (of_p, of_q, of_both) = add(p, q), errors
    far = add(deviance(p, mul(total, y)), add(deviance(q, mul(total, z)), over))
    share = mul(div(q, total), mul(p, 1 / (2 * math.pi)))
    return mul(sqrt(share), exp(neg(add(far, sub(add(of_p, of_q), of_both)))))


def _uneven_beta(p: Any, q: Any, y: Any, z: Any, errors: Sequence[Any], over: Any) -> Any:
    """The same where one of p and q is `LARGE`: gammas of the large one by Stirling's formula."""
    of_p, of_q, of_both = errors
    turned = gt(p, q)
    less, more = min(p, q), max(max(p, q), LARGE)
    y, z = where(turned, z, y), where(turned, y, z)
    total = add(more, less)
    far = mul(more, where(lt(y, 0.5), log1p(neg(y)), log(z)))
    rise = sub(mul(sub(more, 0.5), log1p(div(less, more))), less)
    rise = add(rise, sub(of_both, where(turned, of_p, of_q)))
    power = sub(add(add(mul(less, log(mul(y, total))), far), rise), over)
    divided = sub(power, lgamma(where(turned, less, add(less, 1.0))))
    return div(exp(divided), where(turned, more, 1.0))


def uniform_gammas(a: Any, x: Any) -> tuple[Any, Any]:
    """The lower and the upper incomplete gamma function, regularised, where a is `UNIFORM` at least
    and x within 0.3 a of it: Temme's expansion (DLMF 8.12.3 to 8.12.9)."""
    d = div(sub(x, a), a)
    half = surplus(d)
    eta = mul(sqrt(mul(half, 2.0)), sign(d))
    inverse = div(1.0, a)
    orders, terms = (11, 17) if double(a) else (4, 8)
    rows = [polynomial(eta, row) for row in _temme(orders, terms)]
    rest = mul(exp(neg(mul(a, half))), sqrt(mul(inverse, 1 / (2 * math.pi))))
    rest = mul(rest, polynomial(inverse, rows))
    at = mul(eta, sqrt(mul(a, 0.5)))
    return sub(mul(erfc(neg(at)), 0.5), rest), add(mul(erfc(at), 0.5), rest)


@lru_cache
def _temme(orders: int, terms: int) -> list[list[float]]:
    """The coefficients of `c_k(eta)`, for k below `orders`, as polynomials of so many terms.

    With `mu - log(1 + mu) = eta**2 / 2`, c_0 is `1/mu - 1/eta`, and c_k is the derivative of
    c_(k-1) over eta, and that multiple of 1/mu which takes its pole away.
    """
    count = terms + 2 * orders + 2
    mu = [Fraction(0), Fraction(1)]
    for n in range(2, count):
        pairs = sum((mu[i] * mu[n + 1 - i] for i in range(2, n)), Fraction(0))
        mu.append(mu[n - 1] / (n + 1) - pairs / 2)
    over = [Fraction(1)]  # eta / mu
    for n in range(1, count - 1):
        over.append(-sum((mu[i + 1] * over[n - i] for i in range(1, n + 1)), Fraction(0)))
    c, found = over[1:], []
    for _ in range(orders):
        found.append([float(y) for y in c[:terms]])
        c = [(n + 2) * c[n + 2] - c[1] * over[n + 1] for n in range(len(c) - 2)]
    return found
