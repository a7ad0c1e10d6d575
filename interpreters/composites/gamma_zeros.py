"""The logarithm of the gamma function around 1 and 2, where it is 0.

Lanczos's formula, which XLA uses, is a sum of numbers of the size of 1: around the zeros it is off
by their rounding errors, which is all of the result.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, Final

from effax.effects.rows.comparison import lt
from effax.effects.rows.elementwise import abs, add, div, mul, neg, sub
from effax.effects.rows.transcendental import exp, expm1, log
from effax.interpreters.composites.calculus import like, where
from effax.interpreters.composites.gamma_ratios import double, polynomial

EULER: Final = 0.57721566490153286
_NEAR: Final = 0.25
"""Within this distance of the zeros Taylor's series are short."""


def zeta_surplus(k: int, count: int = 200) -> float:
    """Riemann's zeta function at k, less 1, by Euler's and Maclaurin's formula."""
    summed = math.fsum(n**-k for n in range(2, count))
    rest = count ** (1 - k) / (k - 1) + count**-k / 2 + k * count ** (-k - 1) / 12
    return float(summed + rest - k * (k + 1) * (k + 2) * count ** (-k - 3) / 720)


@lru_cache
def taylor(terms: int) -> tuple[float, ...]:
    """The coefficients of v, v**2, ... in `lgamma(1 - v)` (DLMF 5.7.3)."""
    return (EULER, *((1 + zeta_surplus(k)) / k for k in range(2, terms + 1)))


@lru_cache
def _taylor_at_two(terms: int) -> tuple[float, ...]:
    """The coefficients of w, w**2, ... in `lgamma(2 + w)`."""
    return (1 - EULER, *((-1) ** k * zeta_surplus(k) / k for k in range(2, terms + 1)))


def _before_one(v: Any) -> Any:
    """`lgamma(1 - v)`, for v within `_NEAR`."""
    return mul(v, polynomial(v, taylor(26 if double(v) else 12)))


def _after_two(w: Any) -> Any:
    """`lgamma(2 + w)`, for w within `_NEAR`."""
    return mul(w, polynomial(w, _taylor_at_two(15 if double(w) else 8)))


def with_zeros(x: Any, far: Any) -> Any:
    """`lgamma(x)`, where `far` is what Lanczos's formula makes of it."""
    for w, series in ((sub(1.0, x), _before_one), (sub(x, 2.0), _after_two)):
        near = lt(abs(w), _NEAR)
        far = where(near, series(where(near, w, 0.0)), far)
    return far


def upper_of_small(a: Any, x: Any) -> Any:
    """The upper incomplete gamma function for a below 1/4 and x from 0 to 3/2, both positive.

    Gamma's series without its first term, which is nearly 1 (DLMF 8.7.1): all is of the size of a.
    """
    series = like(x, 0.0)
    for n in reversed(range(1, 22 if double(x) else 13)):
        series = mul(sub(div(1.0, add(a, float(n))), series), mul(x, 1 / n))
    power = sub(mul(a, log(x)), _before_one(neg(a)))
    return sub(mul(mul(a, exp(power)), series), expm1(power))
