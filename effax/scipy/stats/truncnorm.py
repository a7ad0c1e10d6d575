"""The normal distribution between a and b, in units of the scale and from loc."""

from __future__ import annotations

import math

import effax.numpy as jnp
from effax.effects.value import Array, ArrayLike
from effax.scipy import special
from effax.scipy.stats import norm
from effax.scipy.stats.forms import elementwise, exponential, log1mexp

__all__ = [
    "cdf",
    "logcdf",
    "logpdf",
    "logsf",
    "pdf",
    "sf",
]
__dir__ = __all__.copy


_NARROW = (0.03, 1e-3)
"""Widths for single and double precision, to which two terms in the width are exact."""


def _log_mass(a: ArrayLike, b: Array) -> Array:
    """The logarithm of the normal distribution's mass between a and b, a below b.

    A difference of its logarithms in the left tail, where they are exact: right of zero, of the
    mirror image. Where they are too near for that, width times density in the middle.
    """
    mirrored = a > 0
    low, high = jnp.where(mirrored, -b, a), jnp.where(mirrored, -a, b)
    width = high - low
    narrow = width * jnp.maximum(-low, 1) < _NARROW[jnp.finfo(width.dtype).bits == 64]
    most = special.log_ndtr(high)
    wide = most + log1mexp(most - special.log_ndtr(jnp.where(narrow, high - 1, low)))
    middle, width = jnp.where(narrow, 0.5 * (low + high), 0), jnp.where(narrow, width, 1)
    bend = (middle * middle - 1) * (width * width) / 24
    return jnp.where(narrow, norm.logpdf(middle) + jnp.log(width) + jnp.log1p(bend), wide)


@elementwise(weak="never")
def logpdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Evaluate the logarithm of the density; NaN where b is not above a.

    Args:
      x: array_like, the points; all arguments are broadcast together.
      a, b: array_like, the bounds, in units of `scale` from `loc`; a is below b.
      loc: array_like, the mean of the normal distribution that is truncated.
      scale: array_like, the standard deviation of that distribution, positive.

    >>> from effax.scipy.stats import truncnorm
    >>> round(float(truncnorm.logpdf(0.5, -1.0, 1.0)), 3)
    -0.662
    """
    z = (x - loc) / scale
    value = norm.logpdf(z) - _log_mass(a, jnp.where(a < b, b, a + 1)) - jnp.log(scale)
    value = jnp.where((z < a) | (z > b), -math.inf, value)
    return jnp.where(a >= b, math.nan, value)


pdf = exponential("pdf", logpdf, "0.5, -1.0, 1.0", "0.516")


@elementwise(weak="never")
def logcdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Evaluate the logarithm of `cdf`; NaN where b is not above a.

    Args:
      x: array_like, the points; all arguments are broadcast together.
      a, b: array_like, the bounds, in units of `scale` from `loc`; a is below b.
      loc: array_like, the mean of the normal distribution that is truncated.
      scale: array_like, the standard deviation of that distribution, positive.

    >>> from effax.scipy.stats import truncnorm
    >>> round(float(truncnorm.logcdf(0.5, -1.0, 1.0)), 3)
    -0.248
    """
    return _log_part((x - loc) / scale, a, b)


@elementwise(weak="never")
def logsf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Evaluate the logarithm of the survival function: `logcdf` of the mirror image.

    Args:
      x: array_like, the points; all arguments are broadcast together.
      a, b: array_like, the bounds, in units of `scale` from `loc`; a is below b.
      loc: array_like, the mean of the normal distribution that is truncated.
      scale: array_like, the standard deviation of that distribution, positive.

    >>> from effax.scipy.stats import truncnorm
    >>> round(float(truncnorm.logsf(0.5, -1.0, 1.0)), 3)
    -1.516
    """
    return _log_part((loc - x) / scale, -b, -a)


def _log_part(z: ArrayLike, a: ArrayLike, b: ArrayLike) -> Array:
    """The part of the mass between a and b that is below z."""
    below, above = z <= a, z >= b
    outside = below | above
    low, high = jnp.where(outside, -1, a), jnp.where(outside, 1, b)
    inner = jnp.where(outside, 0, z)
    part = -jnp.logaddexp(0, _log_mass(inner, high) - _log_mass(low, inner))
    value = jnp.where(below, -math.inf, jnp.where(above, 0, part))
    return jnp.where(a >= b, math.nan, value)


cdf = exponential("cdf", logcdf, "0.5, -1.0, 1.0", "0.78")
sf = exponential("sf", logsf, "0.5, -1.0, 1.0", "0.22")
