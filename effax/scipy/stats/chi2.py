"""The chi-squared distribution: of a sum of df squares of standard normal variables."""

from __future__ import annotations

from effax.effects.value import Array, ArrayLike
from effax.scipy.stats import gamma
from effax.scipy.stats.forms import elementwise, exponential, logarithm

__all__ = [
    "cdf",
    "logcdf",
    "logpdf",
    "logsf",
    "pdf",
    "sf",
]
__dir__ = __all__.copy


@elementwise
def logpdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Evaluate the logarithm of the density: that of `gamma` of shape `df / 2` and twice the scale.

    Args:
      x: array_like, the points; all arguments are broadcast together.
      df: array_like, the degrees of freedom, positive.
      loc: array_like, the offset of the distribution.
      scale: array_like, the scale of the distribution, positive.

    >>> from effax.scipy.stats import chi2
    >>> round(float(chi2.logpdf(2.0, 3.0)), 3)
    -1.572
    """
    return gamma.logpdf(x, df / 2, loc, 2 * scale)


pdf = exponential("pdf", logpdf, "2.0, 3.0", "0.208")


@elementwise
def cdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Evaluate the cumulative distribution function, the probability of at most x.

    Args:
      x: array_like, the points; all arguments are broadcast together.
      df: array_like, the degrees of freedom, positive.
      loc: array_like, the offset of the distribution.
      scale: array_like, the scale of the distribution, positive.

    >>> from effax.scipy.stats import chi2
    >>> round(float(chi2.cdf(2.0, 3.0)), 3)
    0.428
    """
    return gamma.cdf(x, df / 2, loc, 2 * scale)


logcdf = logarithm("logcdf", cdf, "2.0, 3.0", "-0.85")


@elementwise
def sf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Evaluate the survival function, the probability of more than x.

    Args:
      x: array_like, the points; all arguments are broadcast together.
      df: array_like, the degrees of freedom, positive.
      loc: array_like, the offset of the distribution.
      scale: array_like, the scale of the distribution, positive.

    >>> from effax.scipy.stats import chi2
    >>> round(float(chi2.sf(2.0, 3.0)), 3)
    0.572
    """
    return gamma.sf(x, df / 2, loc, 2 * scale)


logsf = logarithm("logsf", sf, "2.0, 3.0", "-0.558")
