"""Gumbel's distribution of the smallest of many values."""

from __future__ import annotations

import effax.numpy as jnp
from effax.effects.value import Array, ArrayLike
from effax.scipy.stats.forms import defined, elementwise, exponential, log1mexp_of_exp
from effax.scipy.stats.gumbel_r import log_density

__all__ = [
    "cdf",
    "logcdf",
    "logpdf",
    "logsf",
    "pdf",
    "ppf",
    "sf",
]
__dir__ = __all__.copy


@elementwise(weak="kept")
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Evaluate the logarithm of the density, `exp(x - exp(x))` at loc 0 and scale 1.

    Args:
      x: array_like, the points; all arguments are broadcast together.
      loc: array_like, the offset of the distribution.
      scale: array_like, the scale of the distribution, positive.

    >>> from effax.scipy.stats import gumbel_l
    >>> round(float(gumbel_l.logpdf(1.0)), 3)
    -1.718
    """
    return log_density((loc - x) / scale, scale)


pdf = exponential("pdf", logpdf, "1.0", "0.179")


@elementwise(weak="kept")
def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Evaluate the logarithm of the survival function.

    Args:
      x: array_like, the points; all arguments are broadcast together.
      loc: array_like, the offset of the distribution.
      scale: array_like, the scale of the distribution, positive.

    >>> from effax.scipy.stats import gumbel_l
    >>> round(float(gumbel_l.logsf(1.0)), 3)
    -2.718
    """
    return defined(-jnp.exp(-((loc - x) / scale)), scale > 0)


sf = exponential("sf", logsf, "1.0", "0.066")


@elementwise(weak="kept")
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Evaluate the cumulative distribution function, the probability of at most x.

    Args:
      x: array_like, the points; all arguments are broadcast together.
      loc: array_like, the offset of the distribution.
      scale: array_like, the scale of the distribution, positive.

    >>> from effax.scipy.stats import gumbel_l
    >>> round(float(gumbel_l.cdf(1.0)), 3)
    0.934
    """
    return defined(-jnp.expm1(-jnp.exp(-((loc - x) / scale))), scale > 0)


@elementwise(weak="kept")
def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Evaluate the logarithm of `cdf`.

    Args:
      x: array_like, the points; all arguments are broadcast together.
      loc: array_like, the offset of the distribution.
      scale: array_like, the scale of the distribution, positive.

    >>> from effax.scipy.stats import gumbel_l
    >>> round(float(gumbel_l.logcdf(1.0)), 3)
    -0.068
    """
    return defined(log1mexp_of_exp(-((loc - x) / scale)), scale > 0)


@elementwise(weak="kept")
def ppf(p: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Evaluate the quantile function, the inverse of `cdf`.

    Args:
      p: array_like, the probabilities; all arguments are broadcast together.
      loc: array_like, the offset of the distribution.
      scale: array_like, the scale of the distribution, positive.

    >>> from effax.scipy.stats import gumbel_l
    >>> round(float(gumbel_l.ppf(0.934)), 2)
    1.0
    """
    return defined(loc + scale * jnp.log(-jnp.log1p(-p)), scale > 0)
