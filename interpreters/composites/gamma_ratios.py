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
from effax.effects.rows.selection import select_n
from effax.effects.rows.special import erfc, lgamma
from effax.effects.rows.transcendental import exp, log, log1p
from effax.effects.types import finfo, typeof

LARGE: Final = 8.0
"""From here on Stirling's series converges to double precision."""
UNIFORM: Final = 20.0
"""From here on the uniform expansion does, where x is within 0.3 a of a."""

# B(2 i) / (2 i (2 i - 1)) for i = 1, 2, ... (DLMF 5.11.1)
_STIRLING: Final = (
    *(1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400),
)


def _where(condition: Any, yes: Any, no: Any) -> Any:
    return select_n(condition, no, yes)


def _polynomial(x: Any, coefficients: Any) -> Any:
    """The sum of `coefficients[i] x**i`, by Horner's rule."""
    *lower, found = coefficients
    for c in reversed(lower):
        found = add(mul(x, found), c)
    return found


def _large(a: Any) -> Any:
    """a, or `LARGE` where it is less; with a's own derivative at `LARGE`, unlike the maximum."""
    return _where(lt(a, LARGE), LARGE, a)


def stirling_error(a: Any) -> Any:
    """`log(gamma(a))` less `(a - 1/2) log(a) - a + log(2 pi) / 2`, for a from `LARGE` on."""
    return div(_polynomial(div(1.0, square(a)), _STIRLING), a)


def surplus(d: Any) -> Any:
    """`d - log(1 + d)`, to full precision also near 0. (C. Loader, 2000: the saddle point form.)"""
    near = _where(lt(abs(d), 0.3), d, 0.0)
    v = div(near, add(near, 2.0))
    odd = _polynomial(square(v), [1 / (2 * i + 3) for i in range(9)])
    close = sub(mul(near, v), mul(mul(mul(square(v), v), 2.0), odd))
    return _where(lt(abs(d), 0.3), close, sub(d, log(add(d, 1.0))))


def deviance(a: Any, x: Any) -> Any:
    """`a log(a / x) + x - a`, which is not negative."""
    return mul(a, surplus(div(sub(x, a), a)))


def gamma_scale(a: Any, x: Any) -> Any:
    """`x**a exp(-x) / gamma(a)` for positive numbers, a finite."""
    plain = exp(sub(sub(mul(a, log(x)), x), lgamma(a)))
    safe = _large(a)
    power = neg(add(deviance(safe, x), stirling_error(safe)))
    return _where(lt(a, LARGE), plain, mul(exp(power), sqrt(mul(safe, 1 / (2 * math.pi)))))


def beta_scale(p: Any, q: Any, y: Any, z: Any) -> Any:
    """`y**p z**q / (p beta(p, q))` for positive numbers, where z is `1 - y`.

    Both of p and q are below `LARGE`, or both are not, or one of them.
    """
    small, large = lt(max(p, q), LARGE), ge(min(p, q), LARGE)
    first = _where(small, add(mul(log(y), p), mul(log(z), q)), 0.0)
    known = sub(lgamma(add(_where(small, p, 1.0), q)), add(lgamma(q), lgamma(add(p, 1.0))))
    plain = exp(add(first, _where(small, known, 0.0)))
    errors = [stirling_error(_large(v)) for v in (p, q, add(p, q))]
    both = div(_large_beta(_large(p), _large(q), y, z, errors), p)
    return _where(small, plain, _where(large, both, _uneven_beta(p, q, y, z, errors)))


def _large_beta(p: Any, q: Any, y: Any, z: Any, errors: Sequence[Any]) -> Any:
    total, (of_p, of_q, of_both) = add(p, q), errors
    far = add(deviance(p, mul(total, y)), deviance(q, mul(total, z)))
    share = mul(div(q, total), mul(p, 1 / (2 * math.pi)))
    return mul(sqrt(share), exp(neg(add(far, sub(add(of_p, of_q), of_both)))))


def _uneven_beta(p: Any, q: Any, y: Any, z: Any, errors: Sequence[Any]) -> Any:
    """The same where one of p and q is `LARGE`: gammas of the large one by Stirling's formula."""
    of_p, of_q, of_both = errors
    turned = gt(p, q)
    less, more = min(p, q), _large(max(p, q))
    y, z = _where(turned, z, y), _where(turned, y, z)
    total = add(more, less)
    far = mul(more, _where(lt(y, 0.5), log1p(neg(y)), log(z)))
    rise = sub(mul(sub(more, 0.5), log1p(div(less, more))), less)
    rise = add(rise, sub(of_both, _where(turned, of_p, of_q)))
    power = add(add(mul(less, log(mul(y, total))), far), rise)
    divided = sub(power, lgamma(_where(turned, less, add(less, 1.0))))
    return div(exp(divided), _where(turned, more, 1.0))


def uniform_gammas(a: Any, x: Any) -> tuple[Any, Any]:
    """The lower and the upper incomplete gamma function, regularised, where a is `UNIFORM` at least
    and x within 0.3 a of it: Temme's expansion (DLMF 8.12.3 to 8.12.9)."""
    d = div(sub(x, a), a)
    half = surplus(d)
    eta = mul(sqrt(mul(half, 2.0)), sign(d))
    inverse = div(1.0, a)
    orders, terms = (11, 17) if finfo(typeof(a).dtype).bits == 64 else (4, 8)
    rows = [_polynomial(eta, row) for row in _temme(orders, terms)]
    rest = mul(exp(neg(mul(a, half))), sqrt(mul(inverse, 1 / (2 * math.pi))))
    rest = mul(rest, _polynomial(inverse, rows))
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
