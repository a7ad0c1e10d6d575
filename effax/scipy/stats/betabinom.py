"""The beta-binomial distribution: binomial, of a probability from the beta distribution."""

from __future__ import annotations

import math

import effax.numpy as jnp
from effax.effects.value import Array, ArrayLike
from effax.scipy import special
from effax.scipy.stats.forms import defined, elementwise, exponential
from effax.scipy.stats.saddle_points import MANY, binomial_log

__all__ = [
    "logpmf",
    "pmf",
]
__dir__ = __all__.copy


@elementwise
def logpmf(k: ArrayLike, n: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Evaluate the logarithm of the probability of k.

    Args:
      k: array_like, the counts; all arguments are broadcast together.
      n: array_like, the number of trials.
      a, b: array_like, the parameters of the beta distribution, positive.
      loc: array_like, the offset of the distribution.

    >>> from effax.scipy.stats import betabinom
    >>> round(float(betabinom.logpmf(1, 3, 1.0, 1.0)), 3)
    -1.386
    """
    y = jnp.floor(k - loc)
    outside = (y < 0) | (y > n)
    y = jnp.where(outside, 0, y)
    ways = -jnp.log1p(n) - special.betaln(n - y + 1, y + 1)
    # With n = 0 the probability is 1; the terms would cancel only up to rounding.
    value = ways + special.betaln(y + a, n - y + b) - special.betaln(a, b)
    value = jnp.where(n == 0, 0, value)
    many = (y >= MANY) & (n - y >= MANY) & (a > 0) & (b > 0) & jnp.isfinite(n + a + b)
    parts = (jnp.where(many, v, MANY) for v in (y, n - y, a, b))
    value = jnp.where(many, _of_many(*parts), value)
    return defined(jnp.where(outside, -math.inf, value), n >= 0, a > 0, b > 0)


def _of_many(y: Array, z: Array, a: Array, b: Array) -> Array:
    """The same for y successes and z failures, both from `MANY` on: all that is large in the
    logarithms of the beta functions is in binomial probabilities, here of the mean."""
    p = (y + a) / (y + z + a + b)
    both = (a >= MANY) & (b >= MANY)
    prior = _log_power(jnp.where(both, a, MANY), jnp.where(both, b, MANY), p)
    few = special.xlogy(a, p) + special.xlog1py(b, -p) - special.betaln(a, b)
    posterior = _log_power(y + a, z + b, p)
    return binomial_log(y, z, p) + jnp.where(both, prior, few) - posterior


def _log_power(a: Array, b: Array, p: Array) -> Array:
    """`log(p**a * (1 - p)**b / beta(a, b))`."""
    return binomial_log(a, b, p) + jnp.log(a) - jnp.log1p(a / b)


pmf = exponential("pmf", logpmf, "1, 3, 1.0, 1.0", "0.25")
