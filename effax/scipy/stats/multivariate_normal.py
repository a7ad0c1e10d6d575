"""The normal distribution of vectors."""

from __future__ import annotations

import math

import effax.numpy as jnp
from effax.eager.whole import whole
from effax.effects.value import Array, ArrayLike
from effax.lax import linalg
from effax.lax.shapes import broadcast_shapes, repeated
from effax.numpy.decompositions import floats
from effax.scipy.stats.forms import exp

__all__ = [
    "logpdf",
    "pdf",
]
__dir__ = __all__.copy


@whole("allow_singular")
def logpdf(x: ArrayLike, mean: ArrayLike, cov: ArrayLike, allow_singular: None = None) -> Array:
    """Evaluate the logarithm of the density at x.

    `mean` is a vector and `cov` a matrix, or batches of them; both may be scalars, x then holds
    numbers and not vectors. NaN where cov is not positive definite; `allow_singular` is refused.

    >>> import effax.numpy as jnp
    >>> from effax.scipy.stats import multivariate_normal
    >>> round(float(multivariate_normal.logpdf(jnp.ones(2), jnp.zeros(2), jnp.eye(2))), 3)
    -2.838
    """
    if allow_singular is not None:
        raise NotImplementedError(
            "multivariate_normal.logpdf: allow_singular is not supported: a singular covariance "
            "has no density; leave the argument out"
        )
    x, mean, cov = floats("multivariate_normal.logpdf", x, mean, cov)
    if mean.ndim == 0:
        if cov.ndim != 0:
            raise ValueError("multivariate_normal.logpdf: a scalar mean needs a scalar cov")
        z = x - mean
        return -0.5 * z * z / cov - 0.5 * jnp.log(2 * math.pi * cov)
    n = mean.shape[-1]
    if cov.ndim == 0:
        scaled = (x - mean) / jnp.sqrt(cov)
        logdet = n * jnp.log(cov)
    else:
        if cov.ndim < 2 or cov.shape[-2:] != (n, n):
            raise ValueError("multivariate_normal.logpdf got incompatible shapes")
        factor = linalg.cholesky(cov)
        gap = x - mean
        batch = broadcast_shapes(gap.shape[:-1], cov.shape[:-2])
        scaled = linalg.triangular_solve(
            repeated(factor, (*batch, n, n)),
            repeated(gap, (*batch, n))[..., None],
            left_side=True,
            lower=True,
        )[..., 0]
        logdet = 2 * jnp.sum(jnp.log(jnp.diagonal(factor, axis1=-2, axis2=-1)), axis=-1)
    return -0.5 * (jnp.sum(scaled * scaled, axis=-1) + n * math.log(2 * math.pi) + logdet)


@whole()
def pdf(x: ArrayLike, mean: ArrayLike, cov: ArrayLike) -> Array:
    """Evaluate the density: `exp(logpdf(x, mean, cov))`.

    >>> import effax.numpy as jnp
    >>> from effax.scipy.stats import multivariate_normal
    >>> round(float(multivariate_normal.pdf(jnp.ones(2), jnp.zeros(2), jnp.eye(2))), 3)
    0.059
    """
    return exp(logpdf(x, mean, cov))
