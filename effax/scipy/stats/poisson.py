"""Poisson's distribution."""

from __future__ import annotations

import math

import effax.numpy as jnp
from effax.effects.value import Array, ArrayLike
from effax.scipy import special
from effax.scipy.stats.forms import defined, elementwise, exponential
from effax.scipy.stats.saddle_points import MANY, poisson_log

__all__ = [
    "cdf",
    "entropy",
    "logpmf",
    "pmf",
]
__dir__ = __all__.copy


@elementwise(weak="kept")
def logpmf(k: ArrayLike, mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Evaluate the logarithm of the probability of k, `exp(-mu) * mu**k / factorial(k)` at loc 0.

    Args:
      k: array_like, the counts; all arguments are broadcast together.
      mu: array_like, the mean at loc 0, not negative.
      loc: array_like, the offset of the distribution.

    >>> from effax.scipy.stats import poisson
    >>> round(float(poisson.logpmf(2, 3.0)), 3)
    -1.496
    """
    n = k - loc
    outside = (n < 0) | (n > jnp.floor(n)) | (n == math.inf)
    n = jnp.where(outside, 0, n)
    value = special.xlogy(n, mu) - special.gammaln(n + 1) - mu
    many = (n >= MANY) & (mu > 0) & jnp.isfinite(mu)  # then these terms are large and cancel
    large = poisson_log(jnp.where(many, n, MANY), jnp.where(many, mu, MANY))
    value = jnp.where(many, large, value)
    return defined(jnp.where(outside, -math.inf, value), mu >= 0)


pmf = exponential("pmf", logpmf, "2, 3.0", "0.224")


@elementwise
def cdf(k: ArrayLike, mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Evaluate the cumulative distribution function, the probability of at most k.

    Args:
      k: array_like, the counts; all arguments are broadcast together.
      mu: array_like, the mean at loc 0, not negative.
      loc: array_like, the offset of the distribution.

    >>> from effax.scipy.stats import poisson
    >>> round(float(poisson.cdf(2, 3.0)), 3)
    0.423
    """
    n = k - loc
    return jnp.where(n < 0, 0, special.gammaincc(jnp.floor(jnp.where(n < 0, 0, n)) + 1, mu))


# Coefficients of the entropy's expansion in powers of 1 / mu (Evans & Boersma 1988, "The entropy of
# a Poisson distribution"), after `log(2 * pi * e * mu) / 2`.
_ENTROPY = (-1 / 12, -1 / 24, -19 / 360, -9 / 80, -863 / 2520)
_FEW, _MANY = 100, 220


@elementwise
def entropy(mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Evaluate the entropy, in nats: a sum for small mu, an expansion for large; NaN for mu < 0.

    Args:
      mu: array_like, the mean.
      loc: array_like, the offset, broadcast against `mu`; the entropy does not depend on it.

    >>> from effax.scipy.stats import poisson
    >>> round(float(poisson.entropy(3.0)), 3)
    1.931
    """
    few = mu < _FEW
    small = jnp.where(few & (mu >= 0), mu, 1)[..., None]
    k = jnp.arange(_MANY).astype(mu.dtype)
    # XLA's gammaln has an error of 5e-7 at 1 and 2, which is all of the sum at mu = 0.
    factorials = jnp.asarray([math.lgamma(n + 1) for n in range(_MANY)], mu.dtype)
    logarithm = special.xlogy(k, small) - factorials - small
    summed = -jnp.sum(jnp.where(jnp.isinf(logarithm), 0, jnp.exp(logarithm) * logarithm), axis=-1)
    large = jnp.where(few, _FEW, mu)
    inverse, series = 1 / large, jnp.zeros_like(large)
    for coefficient in reversed(_ENTROPY):
        series = (series + coefficient) * inverse
    expanded = 0.5 * jnp.log(2 * math.pi * math.e * large) + series
    value = jnp.where(few, summed, expanded) + 0 * loc
    return jnp.where(mu < 0, math.nan, value)
