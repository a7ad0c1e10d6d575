"""Student's distribution."""

from __future__ import annotations

import effax.numpy as jnp
from effax.effects.value import Array, ArrayLike
from effax.scipy import special
from effax.scipy.stats.forms import elementwise, exponential

__all__ = [
    "logpdf",
    "pdf",
]
__dir__ = __all__.copy


@elementwise
def logpdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Evaluate the logarithm of the density, which goes as `(1 + x**2 / df)**(-(df + 1) / 2)`.

    Args:
      x: array_like, the points; all arguments are broadcast together.
      df: array_like, the degrees of freedom, positive.
      loc: array_like, the offset of the distribution.
      scale: array_like, the scale of the distribution, positive.

    >>> from effax.scipy.stats import t
    >>> round(float(t.logpdf(1.0, 3.0)), 3)
    -1.576
    """
    z = (x - loc) / scale
    # Use betaln: the difference of two gammaln loses all digits for large df.
    constant = special.betaln(0.5 * df, 0.5) + 0.5 * jnp.log(df) + jnp.log(scale)
    square = z * z / df
    # A square below the normal numbers would be taken as 0, and its product with df lost.
    tiny = square < jnp.finfo(jnp.result_type(square, float)).eps
    rest = 0.5 * (df + 1) * jnp.log1p(square)
    return -constant - jnp.where(tiny, 0.5 * (square + z * z) * (1 - 0.5 * square), rest)


pdf = exponential("pdf", logpdf, "1.0, 3.0", "0.207")
