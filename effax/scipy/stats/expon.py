"""The exponential distribution."""

from __future__ import annotations

import math
from typing import Any

import effax.numpy as jnp
from effax.effects.value import Array, ArrayLike
from effax.scipy.stats.forms import defined, elementwise, exponential, log1mexp

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


def _standard(x: ArrayLike, loc: ArrayLike, scale: ArrayLike) -> tuple[Any, Any]:
    """Whether x is below the support, and where it is at loc 0 and scale 1 (0 if below)."""
    z = (x - loc) / scale
    return z < 0, jnp.where(z < 0, 0, z)


@elementwise(weak="kept")
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Evaluate the logarithm of the density, `exp(-x)` on x >= 0 at loc 0 and scale 1.

    Args:
      x: array_like, the points; all arguments are broadcast together.
      loc: array_like, the offset of the distribution.
      scale: array_like, the scale of the distribution, positive.

    >>> from effax.scipy.stats import expon
    >>> round(float(expon.logpdf(2.0)), 3)
    -2.0
    """
    below, z = _standard(x, loc, scale)
    return defined(jnp.where(below, -math.inf, -jnp.log(scale) - z), scale > 0)


pdf = exponential("pdf", logpdf, "2.0", "0.135")


@elementwise(weak="kept")
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Evaluate the cumulative distribution function, the probability of at most x.

    Args:
      x: array_like, the points; all arguments are broadcast together.
      loc: array_like, the offset of the distribution.
      scale: array_like, the scale of the distribution, positive.

    >>> from effax.scipy.stats import expon
    >>> round(float(expon.cdf(2.0)), 3)
    0.865
    """
    return defined(-jnp.expm1(-_standard(x, loc, scale)[1]), scale > 0)


@elementwise(weak="kept")
def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Evaluate the logarithm of `cdf`.

    Args:
      x: array_like, the points; all arguments are broadcast together.
      loc: array_like, the offset of the distribution.
      scale: array_like, the scale of the distribution, positive.

    >>> from effax.scipy.stats import expon
    >>> round(float(expon.logcdf(2.0)), 3)
    -0.145
    """
    below, z = _standard(x, loc, scale)
    return defined(jnp.where(below, -math.inf, log1mexp(z)), scale > 0)


@elementwise(weak="kept")
def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Evaluate the logarithm of the survival function.

    Args:
      x: array_like, the points; all arguments are broadcast together.
      loc: array_like, the offset of the distribution.
      scale: array_like, the scale of the distribution, positive.

    >>> from effax.scipy.stats import expon
    >>> round(float(expon.logsf(2.0)), 3)
    -2.0
    """
    return defined(-_standard(x, loc, scale)[1], scale > 0)


sf = exponential("sf", logsf, "2.0", "0.135")


@elementwise(weak="kept", complex=True)
def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Evaluate the quantile function, the inverse of `cdf`; NaN outside of 0 to 1.

    Args:
      q: array_like, the probabilities; all arguments are broadcast together.
      loc: array_like, the offset of the distribution.
      scale: array_like, the scale of the distribution, positive.

    >>> from effax.scipy.stats import expon
    >>> round(float(expon.ppf(0.865)), 3)
    2.002
    """
    inside = (q >= 0) & (q <= 1)
    z = -jnp.log1p(-jnp.where(inside, q, 0))
    return jnp.where(inside, z * scale + loc, math.nan)
