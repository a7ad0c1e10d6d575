"""Student's distribution."""

from __future__ import annotations

import math
from typing import Any

import effax.numpy as jnp
from effax.scipy import special
from effax.scipy.stats.forms import elementwise, exponential

Array = Any
ArrayLike = Any


@elementwise
def logpdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density, which goes as `(1 + x**2 / df)**(-(df + 1) / 2)`.

    >>> from effax.scipy.stats import t
    >>> round(float(t.logpdf(1.0, 3.0)), 3)
    -1.576
    """
    z = (x - loc) / scale
    more = 0.5 * (df + 1)
    constant = special.gammaln(more) - special.gammaln(0.5 * df)
    width = 0.5 * jnp.log(math.pi * df) + jnp.log(scale)
    return constant - width - more * jnp.log1p(z * z / df)


pdf = exponential("pdf", logpdf, "1.0, 3.0", "0.207")
