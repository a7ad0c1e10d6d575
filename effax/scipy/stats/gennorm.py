"""The generalised normal distribution."""

from __future__ import annotations

import effax.numpy as jnp
from effax.effects.value import Array, ArrayLike
from effax.scipy import special
from effax.scipy.stats.forms import defined, elementwise, exponential

__all__ = [
    "cdf",
    "logpdf",
    "pdf",
]
__dir__ = __all__.copy


@elementwise(weak="kept")
def logpdf(x: ArrayLike, beta: ArrayLike) -> Array:
    """Evaluate the logarithm of the density, which goes as `exp(-abs(x)**beta)`.

    Args:
      x: array_like, the points; all arguments are broadcast together.
      beta: array_like, the exponent, positive.

    >>> from effax.scipy.stats import gennorm
    >>> round(float(gennorm.logpdf(1.0, 2.0)), 3)
    -1.572
    """
    return jnp.log(0.5 * beta) - special.gammaln(1 / beta) - jnp.abs(x) ** beta


pdf = exponential("pdf", logpdf, "1.0, 2.0", "0.208")


@elementwise(weak="kept")
def cdf(x: ArrayLike, beta: ArrayLike) -> Array:
    """Evaluate the cumulative distribution function, the probability of at most x.

    Args:
      x: array_like, the points; all arguments are broadcast together.
      beta: array_like, the exponent, positive.

    >>> from effax.scipy.stats import gennorm
    >>> round(float(gennorm.cdf(1.0, 2.0)), 3)
    0.921
    """
    # Not abs(x), whose slope at 0 is 1: there the left branch counts, which rises.
    distance = jnp.where(x > 0, x, 0 - x)
    tail = 0.5 * special.gammaincc(1 / beta, distance**beta)
    return defined(jnp.where(x > 0, 1 - tail, tail), beta > 0)
