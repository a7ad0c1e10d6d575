"""Quotients of gamma functions: beta functions, binomial coefficients, rising factorials.

The logarithms of their parts are as large as `a log(a)`, and cancel: beside a large number a
difference of two of them has no correct digit. In Stirling's formula they cancel on paper.
"""

from __future__ import annotations

import math
from typing import Any

import effax.numpy as jnp
from effax.eager.whole import whole
from effax.effects.value import Array, ArrayLike
from effax.interpreters.composites.gamma_ratios import stirling_error
from effax.lax import lgamma, stop_gradient
from effax.numpy.arithmetic import in_order
from effax.scipy.normal import _LOG_ROOT_2PI, real

FAR = 15
"""From here on Stirling's formula is taken."""


def _turn(z: Array, m: Array) -> Array:
    """`(z - 1/2) log(1 + m/z)`, and what Stirling's series is more at z + m than at z."""
    # A quotient below the normal numbers would be taken as 0, and its product with z lost.
    quotient = m / z
    tiny = jnp.abs(quotient) < jnp.finfo(quotient.dtype).eps
    turn = (z - 0.5) * jnp.log1p(jnp.where(tiny, 1, quotient))
    turn = jnp.where(tiny, (m - 0.5 * quotient) * (1 - 0.5 * quotient), turn)
    return turn + (stirling_error(z + m) - stirling_error(z))


def _rising(z: Array, m: Array) -> Array:
    """`log(gamma(z + m) / gamma(z))`, where both numbers are `FAR` at least."""
    return _turn(z, m) - m + m * jnp.log(z + m)


def log_rising(z: Any, m: Any) -> Array:
    """`log(abs(gamma(z + m) / gamma(z)))`."""
    far = (z >= FAR) & (z + m >= FAR)
    large = _rising(jnp.where(far, z, FAR), jnp.where(far, m, 0))
    return jnp.where(far, large, lgamma(z + m) - lgamma(z))


def log_choices(n: Any, k: Any) -> Array:
    """The logarithm of the number of ways to choose k of n things, for k from 0 to n."""
    less, _ = in_order(k, n - k)
    return log_rising(n - less + 1, less) - lgamma(less + 1)


def counted(value: Array, *whole: Array) -> Array:
    """A count of things, without its rounding errors where all these numbers are whole."""
    known = value < 0.5 / float(jnp.finfo(value.dtype).eps)
    for number in whole:
        known &= number == jnp.floor(number)
    exact = jnp.where(known, jnp.round(value), value)
    return value + stop_gradient(jnp.where(jnp.isfinite(value), exact - value, 0))


@whole("repetition")
def comb(
    N: ArrayLike,  # noqa: N803  (SciPy's name)
    k: ArrayLike,
    *,
    repetition: bool = False,
) -> Array:
    """Compute the number of ways to choose k of N things, by the gamma function.

    Args:
      N, k: array_like of real numbers, broadcast against each other.
      repetition: whether a thing may be chosen more than once.

    >>> from effax.scipy import special
    >>> float(special.comb(5, 2))
    10.0
    """
    n, m = real("comb", N, k)
    if repetition:
        return jnp.where((m == 0) & (n >= 0), 1.0, comb(n + m - 1, m))
    possible = (m <= n) & (n >= 0) & (m >= 0)
    n, m = jnp.where(possible, n, 0), jnp.where(possible, m, 0)
    return jnp.where(possible, counted(jnp.exp(log_choices(n, m)), n, m), 0)


@whole()
def betaln(a: ArrayLike, b: ArrayLike) -> Array:
    """Compute the logarithm of the beta function, `gammaln(a) + gammaln(b) - gammaln(a + b)`.

    >>> from effax.scipy import special
    >>> float(special.betaln(2.0, 3.0))
    -2.484...
    """
    a, b = real("betaln", a, b)
    small, large = in_order(a, b)
    far = (small + large >= FAR) & (large >= FAR) & (small != 0)
    both = far & (small >= FAR)
    # Beside a zero the difference is 0, also where both of its logarithms are infinite.
    gap = lgamma(large) - lgamma(small + large)
    near = lgamma(small) + jnp.where((small == 0) & ~jnp.isnan(large), 0, gap)
    safe, x = jnp.where(far, small, FAR), jnp.where(far, large, FAR)
    one = lgamma(safe) - _rising(x, safe)
    s = jnp.where(both, small, FAR)
    two = s * jnp.log(s / (s + x)) - 0.5 * jnp.log(s) + _LOG_ROOT_2PI + stirling_error(s)
    value = jnp.where(both, two - _turn(x, s), jnp.where(far, one, near))
    return jnp.where((small > 0) & (small < math.inf) & (large == math.inf), -math.inf, value)
