"""Pareto's distribution."""

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
    """Whether x is below the support, and the logarithm of where it is at loc 0 and scale 1."""
    z = (x - loc) / scale
    return z < 1, jnp.log(jnp.where(z < 1, 1, z))


def _fall(x: ArrayLike, b: ArrayLike, loc: ArrayLike, scale: ArrayLike) -> Array:
    """The logarithm of the probability of more than x: 0 at the lower end, for infinite b too."""
    steps = _standard(x, loc, scale)[1]
    return defined(jnp.where(jnp.isinf(b) & (steps == 0), 0, -b * steps), scale > 0)


@elementwise
def logpdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Evaluate the logarithm of the density, `b / x**(b + 1)` on x >= 1 at loc 0 and scale 1.

    Args:
      x: array_like, the points; all arguments are broadcast together.
      b: array_like, the shape parameter, positive.
      loc: array_like, the offset of the distribution.
      scale: array_like, the scale of the distribution, positive.

    >>> from effax.scipy.stats import pareto
    >>> round(float(pareto.logpdf(2.0, 3.0)), 3)
    -1.674
    """
    below, z = _standard(x, loc, scale)
    value = jnp.log(b / scale) - (b + 1) * z
    return defined(jnp.where(below, -math.inf, value), scale > 0)


pdf = exponential("pdf", logpdf, "2.0, 3.0", "0.188")


@elementwise
def cdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Evaluate the cumulative distribution function, the probability of at most x.

    Args:
      x: array_like, the points; all arguments are broadcast together.
      b: array_like, the shape parameter, positive.
      loc: array_like, the offset of the distribution.
      scale: array_like, the scale of the distribution, positive.

    >>> from effax.scipy.stats import pareto
    >>> round(float(pareto.cdf(2.0, 3.0)), 3)
    0.875
    """
    return -jnp.expm1(_fall(x, b, loc, scale))


@elementwise(weak="kept")
def logcdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Evaluate the logarithm of `cdf`.

    Args:
      x: array_like, the points; all arguments are broadcast together.
      b: array_like, the shape parameter, positive.
      loc: array_like, the offset of the distribution.
      scale: array_like, the scale of the distribution, positive.

    >>> from effax.scipy.stats import pareto
    >>> round(float(pareto.logcdf(2.0, 3.0)), 3)
    -0.134
    """
    return log1mexp(-_fall(x, b, loc, scale))


@elementwise
def logsf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Evaluate the logarithm of the survival function.

    Args:
      x: array_like, the points; all arguments are broadcast together.
      b: array_like, the shape parameter, positive.
      loc: array_like, the offset of the distribution.
      scale: array_like, the scale of the distribution, positive.

    >>> from effax.scipy.stats import pareto
    >>> round(float(pareto.logsf(2.0, 3.0)), 3)
    -2.079
    """
    return _fall(x, b, loc, scale)


sf = exponential("sf", logsf, "2.0, 3.0", "0.125")


@elementwise(complex=True)
def ppf(q: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Evaluate the quantile function, the inverse of `cdf`; NaN outside of 0 to 1.

    Args:
      q: array_like, the probabilities; all arguments are broadcast together.
      b: array_like, the shape parameter, positive.
      loc: array_like, the offset of the distribution.
      scale: array_like, the scale of the distribution, positive.

    >>> from effax.scipy.stats import pareto
    >>> round(float(pareto.ppf(0.875, 3.0)), 3)
    2.0
    """
    inside = (q >= 0) & (q <= 1)
    z = jnp.exp(jnp.where(jnp.isinf(b), 0, -jnp.log1p(-jnp.where(inside, q, 0)) / b))
    return jnp.where(inside, z * scale + loc, math.nan)
