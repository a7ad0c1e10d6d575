"""The binomial distribution: successes among n trials of probability p."""

from __future__ import annotations

import math
from typing import Any

import effax.numpy as jnp
from effax.scipy import special
from effax.scipy.stats.forms import defined, elementwise, exponential

Array = Any
ArrayLike = Any


@elementwise(weak="kept")
def logpmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The logarithm of the probability of k.

    >>> from effax.scipy.stats import binom
    >>> round(float(binom.logpmf(1, 3, 0.25)), 3)
    -0.863
    """
    y = k - loc
    outside = (y < 0) | (y > n)
    y = jnp.where(outside, 0, y)
    ways = special.gammaln(n + 1) - special.gammaln(y + 1) - special.gammaln(n - y + 1)
    value = ways + special.xlogy(y, p) + special.xlog1py(n - y, -p)
    return defined(jnp.where(outside, -math.inf, value), p >= 0, p <= 1)


pmf = exponential("pmf", logpmf, "1, 3, 0.25", "0.422")
