"""The beta distribution."""

from __future__ import annotations

import math

import effax.numpy as jnp
from effax.effects.rows.special import regularized_incomplete_betac
from effax.effects.value import Array, ArrayLike
from effax.scipy import special
from effax.scipy.stats.forms import defined, elementwise, exponential, logarithm
from effax.scipy.stats.saddle_points import MANY, binomial_log

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
def logpdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Evaluate the log of the density, `x**(a - 1) * (1 - x)**(b - 1) / beta(a, b)` on 0 to 1.

    Args:
      x: array_like, the points; all arguments are broadcast together.
      a, b: array_like, the shape parameters, positive.
      loc: array_like, the offset of the distribution.
      scale: array_like, the scale of the distribution, positive.

    >>> from effax.scipy.stats import beta
    >>> round(float(beta.logpdf(0.5, 2.0, 3.0)), 3)
    0.405
    """
    z = (x - loc) / scale
    outside = (z < 0) | (z > 1)
    z = jnp.where(outside, 0.5, z)
    inside = special.xlogy(a - 1, z) + special.xlog1py(b - 1, -z)
    value = inside - special.betaln(a, b)
    # For large parameters these terms are large and cancel.
    many = (a > MANY) & (b > MANY) & (z > 0) & (z < 1)
    y, n = jnp.where(many, a - 1, MANY), jnp.where(many, b - 1, MANY)
    large = binomial_log(y, n, jnp.where(many, z, 0.5)) + jnp.log(y + n + 1)
    value = jnp.where(many, large, value) - jnp.log(scale)
    return defined(jnp.where(outside, -math.inf, value), a > 0, b > 0, scale > 0)


pdf = exponential("pdf", logpdf, "0.5, 2.0, 3.0", "1.5")


@elementwise
def cdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Evaluate the cumulative distribution function, the probability of at most x.

    Args:
      x: array_like, the points; all arguments are broadcast together.
      a, b: array_like, the shape parameters, positive.
      loc: array_like, the offset of the distribution.
      scale: array_like, the scale of the distribution, positive.

    >>> from effax.scipy.stats import beta
    >>> round(float(beta.cdf(0.5, 2.0, 3.0)), 3)
    0.688
    """
    return special.betainc(a, b, jnp.clip((x - loc) / scale, 0, 1))


logcdf = logarithm("logcdf", cdf, "0.5, 2.0, 3.0", "-0.375")


@elementwise
def sf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Evaluate the survival function, the probability of more than x, exact where it is small.

    Args:
      x: array_like, the points; all arguments are broadcast together.
      a, b: array_like, the shape parameters, positive.
      loc: array_like, the offset of the distribution.
      scale: array_like, the scale of the distribution, positive.

    >>> from effax.scipy.stats import beta
    >>> round(float(beta.sf(0.5, 2.0, 3.0)), 3)
    0.312
    """
    operands = jnp.broadcast_arrays(a, b, jnp.clip((x - loc) / scale, 0, 1))
    return regularized_incomplete_betac(*operands)


logsf = logarithm("logsf", sf, "0.5, 2.0, 3.0", "-1.163")
