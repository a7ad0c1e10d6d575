"""The gamma distribution."""

from __future__ import annotations

import math
from collections.abc import Callable

import effax.numpy as jnp
from effax.effects.value import Array, ArrayLike
from effax.scipy import special
from effax.scipy.stats.forms import defined, elementwise, exponential, logarithm
from effax.scipy.stats.saddle_points import MANY, poisson_log

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
def logpdf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Evaluate the log of the density, `x**(a - 1) * exp(-x) / gamma(a)` at loc 0 and scale 1.

    Args:
      x: array_like, the points; all arguments are broadcast together.
      a: array_like, the shape parameter, positive.
      loc: array_like, the offset of the distribution.
      scale: array_like, the scale of the distribution, positive.

    >>> from effax.scipy.stats import gamma
    >>> round(float(gamma.logpdf(2.0, 3.0)), 3)
    -1.307
    """
    z = (x - loc) / scale
    below = z < 0
    z = jnp.where(below, 1, z)
    value = special.xlogy(a - 1, z) - z - special.gammaln(a)
    many = (a >= MANY + 1) & (z > 0) & jnp.isfinite(z)  # then these terms are large and cancel
    large = poisson_log(jnp.where(many, a - 1, MANY), jnp.where(many, z, MANY))
    value = jnp.where(many, large, value) - jnp.log(scale)
    return defined(jnp.where(below, -math.inf, value), scale > 0)


pdf = exponential("pdf", logpdf, "2.0, 3.0", "0.271")


def _within(tail: Callable[..., Array], outside: int, x: ArrayLike, a: ArrayLike) -> Array:
    """`tail(a, x)`, and what it is below 0, where it does not move."""
    below = x < 0
    value = jnp.where(below, outside, tail(a, jnp.where(below, 1, x)))
    return defined(value, a > 0)


@elementwise
def cdf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Evaluate the cumulative distribution function, the probability of at most x.

    Args:
      x: array_like, the points; all arguments are broadcast together.
      a: array_like, the shape parameter, positive.
      loc: array_like, the offset of the distribution.
      scale: array_like, the scale of the distribution, positive.

    >>> from effax.scipy.stats import gamma
    >>> round(float(gamma.cdf(2.0, 3.0)), 3)
    0.323
    """
    return _within(special.gammainc, 0, (x - loc) / scale, a)


logcdf = logarithm("logcdf", cdf, "2.0, 3.0", "-1.129")


@elementwise(weak="kept")
def sf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Evaluate the survival function, the probability of more than x.

    Args:
      x: array_like, the points; all arguments are broadcast together.
      a: array_like, the shape parameter, positive.
      loc: array_like, the offset of the distribution.
      scale: array_like, the scale of the distribution, positive.

    >>> from effax.scipy.stats import gamma
    >>> round(float(gamma.sf(2.0, 3.0)), 3)
    0.677
    """
    return _within(special.gammaincc, 1, (x - loc) / scale, a)


logsf = logarithm("logsf", sf, "2.0, 3.0", "-0.391")
