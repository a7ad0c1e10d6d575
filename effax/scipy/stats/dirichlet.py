"""Dirichlet's distribution, of probabilities."""

from __future__ import annotations

import math

import effax.numpy as jnp
from effax.eager.whole import whole
from effax.effects.value import Array, ArrayLike
from effax.numpy.decompositions import floats
from effax.scipy import special
from effax.scipy.stats import gamma
from effax.scipy.stats.forms import exponential
from effax.scipy.stats.saddle_points import MANY

__all__ = [
    "logpdf",
    "pdf",
]
__dir__ = __all__.copy


@whole()
def logpdf(x: ArrayLike, alpha: ArrayLike) -> Array:
    """Evaluate the logarithm of the density at x, whose first axis is as long as alpha.

    Or one fewer: the last is then what the others leave. `-inf` where they are no probabilities.

    Args:
      x: array_like, (n, ...) or (n - 1, ...), the probabilities.
      alpha: array_like, (n,), the concentrations, positive.

    >>> import effax.numpy as jnp
    >>> from effax.scipy.stats import dirichlet
    >>> round(float(dirichlet.logpdf(jnp.array([0.2, 0.3, 0.5]), jnp.array([1.0, 2.0, 2.0]))), 3)
    1.281
    """
    x, alpha = floats("dirichlet.logpdf", x, alpha)
    if alpha.ndim != 1:
        raise ValueError(f"`alpha` must be one-dimensional; got alpha.shape={alpha.shape}")
    n = alpha.shape[0]
    if x.ndim < 1 or x.shape[0] not in (n, n - 1):
        raise ValueError(
            f"dirichlet: alpha has {n} entries, so the first axis of x must have the length {n}, "
            f"or {n - 1} if the last is left out; got x.shape={x.shape}"
        )
    if x.shape[0] != n:
        x = jnp.concatenate([x, 1 - jnp.sum(x, axis=0, keepdims=True)])
    shapes = alpha.reshape(n, *(1,) * (x.ndim - 1))
    total, whole = jnp.sum(alpha), jnp.sum(x, axis=0)
    constant = jnp.sum(special.gammaln(alpha)) - special.gammaln(total)
    few = jnp.sum(special.xlogy(shapes - 1, x), axis=0) - constant
    # Of large parameters these terms are large and cancel. Gamma variables over their sum are
    # Dirichlet's.
    each = gamma.logpdf(total * x, shapes) + jnp.log(total)
    sum_ = gamma.logpdf(total, total) + jnp.log(total)
    value = jnp.where(total < MANY, few, jnp.sum(each, axis=0) - sum_ + total * (whole - 1))
    near_one = jnp.abs(whole - 1) < 1e-6
    return jnp.where(jnp.all(x >= 0, axis=0) & near_one, value, -math.inf)


pdf = exponential("pdf", logpdf, "jnp.array([0.2, 0.8]), jnp.array([1.0, 2.0])", "1.6")
