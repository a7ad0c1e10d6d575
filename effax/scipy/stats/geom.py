"""The geometric distribution: the number of the first trial that succeeds."""

from __future__ import annotations

import math

import effax.numpy as jnp
from effax.effects.value import Array, ArrayLike
from effax.scipy import special
from effax.scipy.stats.forms import elementwise, exponential

__all__ = [
    "logpmf",
    "pmf",
]
__dir__ = __all__.copy


@elementwise
def logpmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Evaluate the logarithm of the probability of k, `p * (1 - p)**(k - 1)` from k = 1 on.

    Args:
      k: array_like, the numbers of trials; all arguments are broadcast together.
      p: array_like, the probability of success of each trial.
      loc: array_like, the offset of the distribution.

    >>> from effax.scipy.stats import geom
    >>> round(float(geom.logpmf(2, 0.25)), 3)
    -1.674
    """
    y = k - loc
    return jnp.where(y <= 0, -math.inf, special.xlog1py(y - 1, -p) + jnp.log(p))


pmf = exponential("pmf", logpmf, "2, 0.25", "0.188")
