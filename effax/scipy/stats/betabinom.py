"""The beta-binomial distribution: binomial, of a probability from the beta distribution."""

from __future__ import annotations

import math

import effax.numpy as jnp
from effax.effects.value import Array, ArrayLike
from effax.scipy import special
from effax.scipy.stats.forms import defined, elementwise, exponential

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
    return defined(jnp.where(outside, -math.inf, value), n >= 0, a > 0, b > 0)


pmf = exponential("pmf", logpmf, "1, 3, 1.0, 1.0", "0.25")
