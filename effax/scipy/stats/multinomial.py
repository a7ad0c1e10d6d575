"""The multinomial distribution: how often each of several outcomes came in n trials."""

from __future__ import annotations

import math

import effax.numpy as jnp
from effax.eager.whole import whole
from effax.effects.value import Array, ArrayLike
from effax.numpy.decompositions import floats
from effax.scipy import special
from effax.scipy.stats import poisson
from effax.scipy.stats.forms import exponential
from effax.scipy.stats.saddle_points import MANY

__all__ = [
    "logpmf",
    "pmf",
]
__dir__ = __all__.copy


@whole()
def logpmf(x: ArrayLike, n: ArrayLike, p: ArrayLike) -> Array:
    """Evaluate the logarithm of the probability of the counts x; the outcomes are the last axis.

    `-inf` where the counts don't add up to n. Raises `ValueError` unless x and n are integers.

    Args:
      x: array_like of integers, (..., m), the counts of the m outcomes.
      n: array_like of integers, the number of trials, broadcast against `x` without its last axis.
      p: array_like, (..., m), the probabilities of the outcomes.

    >>> import effax.numpy as jnp
    >>> from effax.scipy.stats import multinomial
    >>> round(float(multinomial.logpmf(jnp.array([1, 2]), 3, jnp.array([0.25, 0.75]))), 3)
    -0.863
    """
    (p,) = floats("multinomial.logpmf", p)
    x, n = jnp.asarray(x), jnp.asarray(n)
    common = jnp.result_type(x, n)
    x, n = x.astype(common), n.astype(common)
    if not (jnp.issubdtype(x.dtype, jnp.integer) and jnp.issubdtype(n.dtype, jnp.integer)):
        raise ValueError(
            f"x and n must be of integer type; got x.dtype={x.dtype}, n.dtype={n.dtype}"
        )
    counts, trials = x.astype(p.dtype), n.astype(p.dtype)
    ways = special.gammaln(trials + 1) - jnp.sum(special.gammaln(counts + 1), axis=-1)
    few = ways + jnp.sum(special.xlogy(counts, p), axis=-1)
    # Of many trials these terms are large and cancel. Poisson's counts are multinomial, given
    # their sum.
    each = poisson.logpmf(counts, trials[..., None] * p)
    surplus = trials * (jnp.sum(p, axis=-1) - 1)
    many = jnp.sum(each, axis=-1) - poisson.logpmf(trials, trials) + surplus
    value = jnp.where(trials < MANY, few, many)
    return jnp.where(jnp.sum(x, axis=-1) == n, value, -math.inf)


pmf = exponential("pmf", logpmf, "jnp.array([1, 2]), 3, jnp.array([0.25, 0.75])", "0.422")
