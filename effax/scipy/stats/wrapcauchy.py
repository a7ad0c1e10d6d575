"""Cauchy's distribution wrapped around the circle, on 0 to 2 pi."""

from __future__ import annotations

import math

import effax.numpy as jnp
from effax.effects.value import Array, ArrayLike
from effax.scipy.stats.forms import elementwise, exponential

__all__ = [
    "logpdf",
    "pdf",
]
__dir__ = __all__.copy


@elementwise(weak="kept")
def logpdf(x: ArrayLike, c: ArrayLike) -> Array:
    """Evaluate the logarithm of the density, `(1 - c**2) / (2 * pi * (1 + c**2 - 2 * c * cos(x)))`.

    NaN where c is not between 0 and 1.

    Args:
      x: array_like, the angles, from 0 to 2 pi; all arguments are broadcast together.
      c: array_like, the concentration, between 0 and 1.

    >>> from effax.scipy.stats import wrapcauchy
    >>> round(float(wrapcauchy.logpdf(1.0, 0.5)), 3)
    -1.783
    """
    outside = (x < 0) | (x > 2 * math.pi)
    # 1 + c**2 - 2 * c * cos(x), written as a sum of positive terms.
    below = jnp.square(1 - c) + 4 * c * jnp.square(jnp.sin(0.5 * x))
    value = jnp.log((1 - c) * (1 + c) / (2 * math.pi * below))
    value = jnp.where(outside, -math.inf, value)
    return jnp.where((c > 0) & (c < 1), value, math.nan)


pdf = exponential("pdf", logpdf, "1.0, 0.5", "0.168")
