"""Von Mises's distribution, on the circle."""

from __future__ import annotations

import math

import effax.numpy as jnp
from effax.effects.value import Array, ArrayLike
from effax.scipy import special
from effax.scipy.stats.forms import defined, elementwise, exponential

__all__ = [
    "logpdf",
    "pdf",
]
__dir__ = __all__.copy


@elementwise(weak="kept")
def logpdf(x: ArrayLike, kappa: ArrayLike) -> Array:
    """Evaluate the logarithm of the density, `exp(kappa * cos(x)) / (2 * pi * i0(kappa))`.

    Args:
      x: array_like, the angles in radians; all arguments are broadcast together.
      kappa: array_like, the concentration, not negative.

    >>> from effax.scipy.stats import vonmises
    >>> round(float(vonmises.logpdf(1.0, 2.0)), 3)
    -1.581
    """
    # i0e includes exp(-kappa); 1 - cos x is computed by the half angle, exact for small x.
    half = jnp.sin(0.5 * x)
    value = -2 * kappa * half * half - jnp.log(2 * math.pi * special.i0e(kappa))
    return defined(value, kappa >= 0)


pdf = exponential("pdf", logpdf, "1.0, 2.0", "0.206")
