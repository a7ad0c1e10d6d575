"""The negative binomial distribution: failures before the n-th success."""

from __future__ import annotations

import math

import effax.numpy as jnp
from effax.effects.value import Array, ArrayLike
from effax.scipy import special
from effax.scipy.gamma_quotients import log_rising
from effax.scipy.stats.forms import elementwise, exponential
from effax.scipy.stats.saddle_points import MANY, binomial_log

__all__ = [
    "logpmf",
    "pmf",
]
__dir__ = __all__.copy


@elementwise
def logpmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Evaluate the logarithm of the probability of k.

    Args:
      k: array_like, the counts; all arguments are broadcast together.
      n: array_like, the number of successes, positive.
      p: array_like, the probability of success of each trial.
      loc: array_like, the offset of the distribution.

    >>> from effax.scipy.stats import nbinom
    >>> round(float(nbinom.logpmf(1, 3, 0.25)), 3)
    -3.348
    """
    y = k - loc
    outside = y < 0
    y = jnp.where(outside, 0, y)
    fewer = log_rising(n, y) - special.gammaln(y + 1)
    ways = jnp.where(y > n, log_rising(y + 1, n - 1) - special.gammaln(n), fewer)
    value = ways + special.xlogy(n, p) + special.xlog1py(y, -p)
    # Many of both make these terms large, and they cancel: the last trial is the n-th success.
    many = (y >= MANY) & (n >= MANY) & (p > 0) & (p < 1) & jnp.isfinite(n)
    n, y, p = (jnp.where(many, v, other) for v, other in ((n, MANY), (y, MANY), (p, 0.5)))
    value = jnp.where(many, binomial_log(n, y, p) + jnp.log(n / (n + y)), value)
    return jnp.where(outside, -math.inf, value)


pmf = exponential("pmf", logpmf, "1, 3, 0.25", "0.035")
