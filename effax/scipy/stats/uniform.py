"""The uniform distribution."""

from __future__ import annotations

import math

import effax.numpy as jnp
from effax.effects.value import Array, ArrayLike
from effax.scipy.stats.forms import defined, elementwise, exponential

__all__ = [
    "cdf",
    "logpdf",
    "pdf",
    "ppf",
]
__dir__ = __all__.copy


@elementwise(weak="kept")
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Evaluate the logarithm of the density, `1 / scale` from loc to loc + scale.

    Args:
      x: array_like, the points; all arguments are broadcast together.
      loc: array_like, the lower end of the interval.
      scale: array_like, the length of the interval, positive.

    >>> from effax.scipy.stats import uniform
    >>> round(float(uniform.logpdf(0.5, 0.0, 2.0)), 3)
    -0.693
    """
    outside = (x < loc) | (x > loc + scale)
    return jnp.where(outside, -math.inf, -jnp.log(scale))


pdf = exponential("pdf", logpdf, "0.5, 0.0, 2.0", "0.5")


@elementwise(weak="never")
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Evaluate the cumulative distribution function, the probability of at most x.

    Args:
      x: array_like, the points; all arguments are broadcast together.
      loc: array_like, the lower end of the interval.
      scale: array_like, the length of the interval, positive.

    >>> from effax.scipy.stats import uniform
    >>> round(float(uniform.cdf(0.5, 0.0, 2.0)), 3)
    0.25
    """
    return defined(jnp.clip((x - loc) / scale, 0, 1), scale > 0)


@elementwise(weak="kept", complex=True)
def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Evaluate the quantile function, the inverse of `cdf`; NaN outside of 0 to 1.

    Args:
      q: array_like, the probabilities; all arguments are broadcast together.
      loc: array_like, the lower end of the interval.
      scale: array_like, the length of the interval, positive.

    >>> from effax.scipy.stats import uniform
    >>> round(float(uniform.ppf(0.25, 0.0, 2.0)), 3)
    0.5
    """
    return jnp.where((q >= 0) & (q <= 1), q * scale + loc, math.nan)
