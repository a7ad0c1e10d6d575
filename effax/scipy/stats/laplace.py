"""Laplace's distribution."""

from __future__ import annotations

import effax.numpy as jnp
from effax.effects.value import Array, ArrayLike
from effax.scipy.stats.forms import elementwise, exponential

__all__ = [
    "cdf",
    "logpdf",
    "pdf",
]
__dir__ = __all__.copy


@elementwise
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Evaluate the logarithm of the density, `exp(-abs(x)) / 2` at loc 0 and scale 1.

    Args:
      x: array_like, the points; all arguments are broadcast together.
      loc: array_like, the offset of the distribution.
      scale: array_like, the scale of the distribution, positive.

    >>> from effax.scipy.stats import laplace
    >>> round(float(laplace.logpdf(1.0)), 3)
    -1.693
    """
    return -jnp.abs(x - loc) / scale - jnp.log(2 * scale)


pdf = exponential("pdf", logpdf, "1.0", "0.184")


@elementwise
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Evaluate the cumulative distribution function, the probability of at most x.

    Args:
      x: array_like, the points; all arguments are broadcast together.
      loc: array_like, the offset of the distribution.
      scale: array_like, the scale of the distribution, positive.

    >>> from effax.scipy.stats import laplace
    >>> round(float(laplace.cdf(1.0)), 3)
    0.816
    """
    z = (x - loc) / scale
    # Not of abs(z), whose slope at 0 is 1: there the left branch counts, which rises.
    tail = 0.5 * jnp.exp(jnp.where(z <= 0, z, -z))
    return jnp.where(z <= 0, tail, 1 - tail)
