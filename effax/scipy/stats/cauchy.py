"""Cauchy's distribution."""

from __future__ import annotations

import math

import effax.numpy as jnp
from effax.effects.value import Array, ArrayLike
from effax.scipy.stats.forms import defined, elementwise, exponential, logarithm

__all__ = [
    "cdf",
    "isf",
    "logcdf",
    "logpdf",
    "logsf",
    "pdf",
    "ppf",
    "sf",
]
__dir__ = __all__.copy


@elementwise(complex=True)
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Evaluate the logarithm of the density, `1 / (pi * (1 + x**2))` at loc 0 and scale 1.

    Args:
      x: array_like, the points; all arguments are broadcast together.
      loc: array_like, the offset of the distribution.
      scale: array_like, the scale of the distribution, positive.

    >>> from effax.scipy.stats import cauchy
    >>> round(float(cauchy.logpdf(1.0)), 3)
    -1.838
    """
    z = (x - loc) / scale
    return -jnp.log(math.pi * scale) - jnp.log1p(z * z)


pdf = exponential("pdf", logpdf, "1.0", "0.159")


@elementwise(complex=True)
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Evaluate the cumulative distribution function, the probability of at most x.

    Args:
      x: array_like, the points; all arguments are broadcast together.
      loc: array_like, the offset of the distribution.
      scale: array_like, the scale of the distribution, positive.

    >>> from effax.scipy.stats import cauchy
    >>> round(float(cauchy.cdf(1.0)), 3)
    0.75
    """
    return jnp.arctan2(1, -(x - loc) / scale) / math.pi


logcdf = logarithm("logcdf", cdf, "1.0", "-0.288")


@elementwise(complex=True)
def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Evaluate the survival function, the probability of more than x.

    Args:
      x: array_like, the points; all arguments are broadcast together.
      loc: array_like, the offset of the distribution.
      scale: array_like, the scale of the distribution, positive.

    >>> from effax.scipy.stats import cauchy
    >>> round(float(cauchy.sf(1.0)), 3)
    0.25
    """
    return jnp.arctan2(1, (x - loc) / scale) / math.pi


logsf = logarithm("logsf", sf, "1.0", "-1.386")


def _cotangent(q: ArrayLike) -> Array:
    """Return the cotangent of pi * q, exact near both ends, where it is large."""
    high = q > 0.5
    tail = jnp.where(high, 1 - q, q)
    low = tail < 0.25
    value = jnp.where(
        low,
        1 / jnp.tan(math.pi * jnp.where(low, tail, 0.25)),
        jnp.tan(math.pi * (0.5 - jnp.where(low, 0.5, tail))),
    )
    return jnp.where(high, -value, value)


@elementwise(complex=True)
def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Evaluate the quantile function, the inverse of `cdf`.

    Args:
      q: array_like, the probabilities; all arguments are broadcast together.
      loc: array_like, the offset of the distribution.
      scale: array_like, the scale of the distribution, positive.

    >>> from effax.scipy.stats import cauchy
    >>> round(float(cauchy.ppf(0.75)), 3)
    1.0
    """
    return defined(-_cotangent(q) * scale + loc, q >= 0, q <= 1, scale > 0)


@elementwise(complex=True)
def isf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Evaluate the inverse survival function, the inverse of `sf`.

    Args:
      q: array_like, the probabilities; all arguments are broadcast together.
      loc: array_like, the offset of the distribution.
      scale: array_like, the scale of the distribution, positive.

    >>> from effax.scipy.stats import cauchy
    >>> round(float(cauchy.isf(0.25)), 3)
    1.0
    """
    return defined(_cotangent(q) * scale + loc, q >= 0, q <= 1, scale > 0)
