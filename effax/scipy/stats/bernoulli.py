"""Bernoulli's distribution: 1 with probability p, else 0."""

from __future__ import annotations

import math

import effax.numpy as jnp
from effax.effects.value import Array, ArrayLike
from effax.scipy import special
from effax.scipy.stats.forms import elementwise, exponential

__all__ = [
    "cdf",
    "logpmf",
    "pmf",
    "ppf",
]
__dir__ = __all__.copy


@elementwise
def logpmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Evaluate the logarithm of the probability of k.

    Args:
      k: array_like, the values; all arguments are broadcast together.
      p: array_like, the probability of 1.
      loc: array_like, the offset of the distribution.

    >>> from effax.scipy.stats import bernoulli
    >>> round(float(bernoulli.logpmf(1, 0.25)), 3)
    -1.386
    """
    n = k - loc
    value = special.xlogy(n, p) + special.xlog1py(1 - n, -p)
    return jnp.where((n < 0) | (n > 1), -math.inf, value)


pmf = exponential("pmf", logpmf, "1, 0.25", "0.25")


@elementwise
def cdf(k: ArrayLike, p: ArrayLike) -> Array:
    """Evaluate the cumulative distribution function; NaN where p is no probability.

    Args:
      k: array_like, the values; all arguments are broadcast together.
      p: array_like, the probability of 1.

    >>> from effax.scipy.stats import bernoulli
    >>> round(float(bernoulli.cdf(0, 0.25)), 3)
    0.75
    """
    value = jnp.where(k < 0, 0, jnp.where(k < 1, 1 - p, 1))
    return jnp.where(jnp.isnan(k) | jnp.isnan(p) | (p < 0) | (p > 1), math.nan, value)


@elementwise
def ppf(q: ArrayLike, p: ArrayLike) -> Array:
    """Evaluate the least k of which `cdf` is at least q; NaN where q or p is no probability.

    Args:
      q: array_like, the probabilities; all arguments are broadcast together.
      p: array_like, the probability of 1.

    >>> from effax.scipy.stats import bernoulli
    >>> round(float(bernoulli.ppf(0.8, 0.25)), 3)
    1.0
    """
    good = (q >= 0) & (q <= 1) & (p >= 0) & (p <= 1)
    least = jnp.where(q <= 1 - p, jnp.zeros_like(q), jnp.ones_like(q))
    return jnp.where(good, least, math.nan)
