"""Gumbel's distribution of the largest of many values."""

from __future__ import annotations

import math
from typing import Any

import effax.numpy as jnp
from effax.effects.value import Array, ArrayLike
from effax.scipy.stats.forms import defined, elementwise, exponential, log1mexp_of_exp

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


def log_density(z: Any, scale: Any) -> Array:
    """The logarithm of `exp(-z - exp(-z)) / scale`, of the largest values and of the smallest."""
    # At minus infinity, z and exp(-z) are infinities of opposite signs; the density there is 0.
    linear = jnp.where(z == -math.inf, 0, z)
    return defined(-jnp.log(scale) - (linear + jnp.exp(-z)), scale > 0)


@elementwise(weak="kept")
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Evaluate the logarithm of the density, `exp(-x - exp(-x))` at loc 0 and scale 1.

    Args:
      x: array_like, the points; all arguments are broadcast together.
      loc: array_like, the offset of the distribution.
      scale: array_like, the scale of the distribution, positive.

    >>> from effax.scipy.stats import gumbel_r
    >>> round(float(gumbel_r.logpdf(1.0)), 3)
    -1.368
    """
    return log_density((x - loc) / scale, scale)


pdf = exponential("pdf", logpdf, "1.0", "0.255")


@elementwise(weak="kept")
def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Evaluate the logarithm of `cdf`.

    Args:
      x: array_like, the points; all arguments are broadcast together.
      loc: array_like, the offset of the distribution.
      scale: array_like, the scale of the distribution, positive.

    >>> from effax.scipy.stats import gumbel_r
    >>> round(float(gumbel_r.logcdf(1.0)), 3)
    -0.368
    """
    return defined(-jnp.exp(-((x - loc) / scale)), scale > 0)


cdf = exponential("cdf", logcdf, "1.0", "0.692")


@elementwise
def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Evaluate the survival function, the probability of more than x.

    Args:
      x: array_like, the points; all arguments are broadcast together.
      loc: array_like, the offset of the distribution.
      scale: array_like, the scale of the distribution, positive.

    >>> from effax.scipy.stats import gumbel_r
    >>> round(float(gumbel_r.sf(1.0)), 3)
    0.308
    """
    return defined(-jnp.expm1(-jnp.exp(-((x - loc) / scale))), scale > 0)


@elementwise(weak="kept")
def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Evaluate the logarithm of the survival function.

    Args:
      x: array_like, the points; all arguments are broadcast together.
      loc: array_like, the offset of the distribution.
      scale: array_like, the scale of the distribution, positive.

    >>> from effax.scipy.stats import gumbel_r
    >>> round(float(gumbel_r.logsf(1.0)), 3)
    -1.178
    """
    return defined(log1mexp_of_exp(-((x - loc) / scale)), scale > 0)


@elementwise(weak="kept")
def ppf(p: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Evaluate the quantile function, the inverse of `cdf`.

    Args:
      p: array_like, the probabilities; all arguments are broadcast together.
      loc: array_like, the offset of the distribution.
      scale: array_like, the scale of the distribution, positive.

    >>> from effax.scipy.stats import gumbel_r
    >>> round(float(gumbel_r.ppf(0.692)), 2)
    1.0
    """
    return defined(loc - scale * jnp.log(-jnp.log(p)), scale > 0)
