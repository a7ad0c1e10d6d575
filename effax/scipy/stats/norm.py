"""The normal distribution."""

from __future__ import annotations

import math
from typing import Any

import effax.numpy as jnp
from effax.effects.value import Array, ArrayLike
from effax.scipy import special
from effax.scipy.stats.forms import elementwise, exponential

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


_LOG_2PI = math.log(2 * math.pi)


@elementwise(complex=True)
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Evaluate the logarithm of the density, `exp(-x**2 / 2) / sqrt(2 * pi)` at loc 0 and scale 1.

    Args:
      x: array_like, the points; all arguments are broadcast together.
      loc: array_like, the mean.
      scale: array_like, the standard deviation, positive.

    >>> from effax.scipy.stats import norm
    >>> round(float(norm.logpdf(1.0)), 3)
    -1.419
    """
    z: Any = (x - loc) / scale
    if jnp.iscomplexobj(scale):
        return -0.5 * (_LOG_2PI + z * z + jnp.log(scale * scale))
    return -0.5 * (_LOG_2PI + z * z) - jnp.log(jnp.abs(scale))


pdf = exponential("pdf", logpdf, "1.0", "0.242")


@elementwise(weak="never")
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Evaluate the cumulative distribution function, the probability of at most x.

    Args:
      x: array_like, the points; all arguments are broadcast together.
      loc: array_like, the mean.
      scale: array_like, the standard deviation, positive.

    >>> from effax.scipy.stats import norm
    >>> round(float(norm.cdf(1.0)), 3)
    0.841
    """
    return special.ndtr((x - loc) / scale)


@elementwise(weak="never")
def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Evaluate the logarithm of `cdf`, exact far out in the tail.

    Args:
      x: array_like, the points; all arguments are broadcast together.
      loc: array_like, the mean.
      scale: array_like, the standard deviation, positive.

    >>> from effax.scipy.stats import norm
    >>> round(float(norm.logcdf(-30.0)), 3)
    -454.321
    """
    return special.log_ndtr((x - loc) / scale)


@elementwise(weak="never")
def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Evaluate the quantile function, the inverse of `cdf`, in the default dtype of floats.

    Args:
      q: array_like, the probabilities; all arguments are broadcast together.
      loc: array_like, the mean.
      scale: array_like, the standard deviation, positive.

    >>> from effax.scipy.stats import norm
    >>> round(float(norm.ppf(0.841)), 3)
    0.999
    """
    return (special.ndtri(q) * scale + loc).astype(float)


@elementwise(weak="never")
def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Evaluate the survival function, the probability of more than x, exact far out in the tail.

    Args:
      x: array_like, the points; all arguments are broadcast together.
      loc: array_like, the mean.
      scale: array_like, the standard deviation, positive.

    >>> from effax.scipy.stats import norm
    >>> round(float(norm.sf(1.0)), 3)
    0.159
    """
    return special.ndtr((loc - x) / scale)


@elementwise(weak="never")
def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Evaluate the logarithm of the survival function.

    Args:
      x: array_like, the points; all arguments are broadcast together.
      loc: array_like, the mean.
      scale: array_like, the standard deviation, positive.

    >>> from effax.scipy.stats import norm
    >>> round(float(norm.logsf(30.0)), 3)
    -454.321
    """
    return special.log_ndtr((loc - x) / scale)


@elementwise(weak="never")
def isf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Evaluate the inverse survival function, the inverse of `sf`, in the default dtype of floats.

    Args:
      q: array_like, the probabilities; all arguments are broadcast together.
      loc: array_like, the mean.
      scale: array_like, the standard deviation, positive.

    >>> from effax.scipy.stats import norm
    >>> round(float(norm.isf(0.841)), 3)
    -0.999
    """
    value: Any = loc - special.ndtri(q) * scale
    return value.astype(float)
