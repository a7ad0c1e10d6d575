"""The logistic distribution."""

from __future__ import annotations

import effax.numpy as jnp
from effax.effects.value import Array, ArrayLike
from effax.scipy import special
from effax.scipy.stats.forms import elementwise, exponential

__all__ = [
    "cdf",
    "isf",
    "logpdf",
    "pdf",
    "ppf",
    "sf",
]
__dir__ = __all__.copy


@elementwise(weak="scalars", complex=True)
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Evaluate the logarithm of the density, `exp(-x) / (1 + exp(-x))**2` at loc 0 and scale 1.

    Args:
      x: array_like, the points; all arguments are broadcast together.
      loc: array_like, the offset of the distribution.
      scale: array_like, the scale of the distribution, positive.

    >>> from effax.scipy.stats import logistic
    >>> round(float(logistic.logpdf(1.0)), 3)
    -1.627
    """
    half = 0.5 * (x - loc) / scale
    return -2 * jnp.logaddexp(half, -half) - jnp.log(scale)


pdf = exponential("pdf", logpdf, "1.0", "0.197")


@elementwise(weak="kept", complex=True)
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Evaluate the cumulative distribution function, `1 / (1 + exp(-x))` at loc 0 and scale 1.

    Args:
      x: array_like, the points; all arguments are broadcast together.
      loc: array_like, the offset of the distribution.
      scale: array_like, the scale of the distribution, positive.

    >>> from effax.scipy.stats import logistic
    >>> round(float(logistic.cdf(1.0)), 3)
    0.731
    """
    return special.expit((x - loc) / scale)


@elementwise(weak="kept", complex=True)
def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Evaluate the survival function, the probability of more than x.

    Args:
      x: array_like, the points; all arguments are broadcast together.
      loc: array_like, the offset of the distribution.
      scale: array_like, the scale of the distribution, positive.

    >>> from effax.scipy.stats import logistic
    >>> round(float(logistic.sf(1.0)), 3)
    0.269
    """
    return special.expit((loc - x) / scale)


@elementwise(complex=True)
def ppf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Evaluate the quantile function, the inverse of `cdf`.

    Args:
      x: array_like, the probabilities; all arguments are broadcast together.
      loc: array_like, the offset of the distribution.
      scale: array_like, the scale of the distribution, positive.

    >>> from effax.scipy.stats import logistic
    >>> round(float(logistic.ppf(0.731)), 3)
    1.0
    """
    return special.logit(x) * scale + loc


@elementwise(complex=True)
def isf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Evaluate the inverse survival function, the inverse of `sf`.

    Args:
      x: array_like, the probabilities; all arguments are broadcast together.
      loc: array_like, the offset of the distribution.
      scale: array_like, the scale of the distribution, positive.

    >>> from effax.scipy.stats import logistic
    >>> round(float(logistic.isf(0.731)), 3)
    -1.0
    """
    return -special.logit(x) * scale + loc
