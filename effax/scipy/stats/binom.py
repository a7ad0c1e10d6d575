"""The binomial distribution: successes among n trials of probability p."""

from __future__ import annotations

import math

import effax.numpy as jnp
from effax.effects.value import Array, ArrayLike
from effax.scipy import special
from effax.scipy.gamma_quotients import log_choices
from effax.scipy.stats.forms import defined, elementwise, exponential
from effax.scipy.stats.saddle_points import MANY, binomial_log

__all__ = [
    "logpmf",
    "pmf",
]
__dir__ = __all__.copy


@elementwise(weak="kept")
def logpmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Evaluate the logarithm of the probability of k.

    Args:
      k: array_like, the counts; all arguments are broadcast together.
      n: array_like, the number of trials.
      p: array_like, the probability of success of each trial.
      loc: array_like, the offset of the distribution.

    >>> from effax.scipy.stats import binom
    >>> round(float(binom.logpmf(1, 3, 0.25)), 3)
    -0.863
    """
    y = k - loc
    outside = (y < 0) | (y > n)
    y = jnp.where(outside, 0, y)
    value = log_choices(n, y) + special.xlogy(y, p) + special.xlog1py(n - y, -p)
    # For many trials these terms are large and cancel.
    many = (y >= MANY) & (n - y >= MANY) & (p > 0) & (p < 1)
    large = binomial_log(
        jnp.where(many, y, MANY), jnp.where(many, n - y, MANY), jnp.where(many, p, 0.5)
    )
    value = jnp.where(many, large, value)
    return defined(jnp.where(outside, -math.inf, value), p >= 0, p <= 1)


pmf = exponential("pmf", logpmf, "1, 3, 0.25", "0.422")
