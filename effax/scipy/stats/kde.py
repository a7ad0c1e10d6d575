"""Densities estimated from samples, by a normal distribution around each."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import effax.numpy as jnp
from effax import random
from effax.eager.whole import whole
from effax.effects.tree import register_pytree_node_class
from effax.effects.value import Array, ArrayLike
from effax.lax import linalg
from effax.nn import logsumexp
from effax.numpy.decompositions import floats
from effax.operands.promoting import promote_dtypes_inexact
from effax.scipy import special


def _normal_logarithms(points: Array, centers: Array, cov: Array) -> Array:
    """The logarithms of normal densities around each center (rows) at each point (columns)."""
    points, centers, cov = promote_dtypes_inexact(points, centers, cov)
    factor = linalg.cholesky(cov)
    gaps = points[:, None, :] - centers[:, :, None]
    d = gaps.shape[0]
    scaled = linalg.triangular_solve(factor, gaps.reshape(d, -1), left_side=True, lower=True)
    logdet = jnp.sum(jnp.log(jnp.diagonal(factor)))
    distances = jnp.sum(jnp.square(scaled), axis=0).reshape(gaps.shape[1:])
    return -0.5 * distances - logdet - 0.5 * d * math.log(2 * math.pi)


@whole()
def _spread(dataset: Array, weights: Array) -> Array:
    """The covariance of the samples, with their weights."""
    return jnp.atleast_2d(jnp.cov(dataset, rowvar=True, bias=False, aweights=weights))


@register_pytree_node_class
class gaussian_kde:  # noqa: N801  (SciPy's name)
    """A density: the weighted mean of normal densities around samples, all of one covariance.

    Args:
      dataset: the samples, a vector or a matrix with one column for each.
      bw_method: how wide: "scott" (the default) or "silverman", a number, or a function of this
        object that gives one; the covariance is that of the samples times its square.
      weights: of the samples, by default equal.

    It is a node of trees, so functions under `jit` may take and return it. The attributes are
    `dataset`, `weights`, `neff` (the effective number of samples), `covariance`, `inv_cov`.

    >>> import effax.numpy as jnp
    >>> from effax.scipy import stats
    >>> density = stats.gaussian_kde(jnp.array([0.0, 1.0, 2.0]))
    >>> density(jnp.array([0.0, 1.0]))
    Array([0.249..., 0.318...], dtype=float32)
    """

    neff: Array
    dataset: Array
    weights: Array
    covariance: Array
    inv_cov: Array

    def __init__(
        self,
        dataset: ArrayLike,
        bw_method: str | ArrayLike | Callable[[Any], ArrayLike] | None = None,
        weights: ArrayLike | None = None,
    ) -> None:
        if weights is None:
            (samples,) = floats("gaussian_kde", dataset)
        else:
            samples, weights = floats("gaussian_kde", dataset, jnp.asarray(weights))
        samples = jnp.atleast_2d(samples)
        if jnp.issubdtype(samples.dtype, jnp.complexfloating):
            raise NotImplementedError("gaussian_kde does not support complex data")
        if samples.ndim != 2:
            raise ValueError(f"`dataset` must be a vector or a matrix; got shape {samples.shape}")
        if samples.size <= 1:
            raise ValueError("`dataset` input should have multiple elements.")
        self.dataset = samples
        n = samples.shape[1]
        if weights is None:
            self.weights = jnp.full(n, 1 / n, samples.dtype)
        else:
            given = jnp.asarray(weights)
            if given.ndim != 1:
                raise ValueError("`weights` input should be one-dimensional.")
            if given.shape[0] != n:
                raise ValueError("`weights` input should be of length n")
            self.weights = given / jnp.sum(given)
        self.neff = 1 / jnp.sum(jnp.square(self.weights))
        factor = self._bandwidth("scott" if bw_method is None else bw_method)
        self.covariance = _spread(samples, self.weights) * factor**2
        self.inv_cov = jnp.linalg.inv(self.covariance)

    def _bandwidth(self, method: Any) -> Any:
        power = -1.0 / (self.d + 4)
        if isinstance(method, str) and method == "scott":
            return jnp.power(self.neff, power)
        if isinstance(method, str) and method == "silverman":
            return jnp.power(self.neff * (self.d + 2) / 4.0, power)
        if callable(method):
            return method(self)
        if not isinstance(method, str) and jnp.ndim(method) == 0:
            return method
        raise ValueError("`bw_method` should be 'scott', 'silverman', a scalar, or a callable.")

    def tree_flatten(self) -> tuple[Sequence[Array], None]:
        """The arrays, as leaves."""
        return (self.neff, self.dataset, self.weights, self.covariance, self.inv_cov), None

    @classmethod
    def tree_unflatten(cls, aux_data: None, children: Sequence[Array]) -> gaussian_kde:
        """The density of these leaves."""
        made = object.__new__(cls)
        made.neff, made.dataset, made.weights, made.covariance, made.inv_cov = children
        return made

    def __repr__(self) -> str:
        return f"gaussian_kde(d={self.d}, n={self.n}, covariance={self.covariance!r})"

    @property
    def d(self) -> int:
        """The number of dimensions."""
        return int(self.dataset.shape[0])

    @property
    def n(self) -> int:
        """The number of samples."""
        return int(self.dataset.shape[1])

    @whole()
    def evaluate(self, points: ArrayLike) -> Array:
        """The density at points: a vector of numbers, or a matrix with one column for each."""
        each = _normal_logarithms(self._points(points), self.dataset, self.covariance)
        return jnp.sum(jnp.exp(each) * self.weights[:, None], axis=0)

    __call__ = evaluate

    def pdf(self, x: ArrayLike) -> Array:
        """The density, as `evaluate` gives it."""
        return self.evaluate(x)

    @whole()
    def logpdf(self, x: ArrayLike) -> Array:
        """The logarithm of the density."""
        points = self._points(x)
        each = _normal_logarithms(points, self.dataset, self.covariance)
        return logsumexp(each, axis=0, b=self.weights[:, None])

    @whole()
    def integrate_gaussian(self, mean: ArrayLike, cov: ArrayLike) -> Array:
        """The integral of the density times a normal density."""
        mean, cov = jnp.atleast_1d(jnp.squeeze(mean)), jnp.atleast_2d(cov)
        if mean.shape != (self.d,):
            raise ValueError(f"mean does not have dimension {self.d}")
        if cov.shape != (self.d, self.d):
            raise ValueError(f"covariance does not have dimension {self.d}")
        each = _normal_logarithms(mean[:, None], self.dataset, self.covariance + cov)
        return jnp.sum(jnp.exp(each[:, 0]) * self.weights)

    @whole()
    def integrate_box_1d(self, low: ArrayLike, high: ArrayLike) -> Array:
        """The probability between two numbers; of a density of one dimension."""
        if self.d != 1:
            raise ValueError("integrate_box_1d() only handles 1D pdfs")
        if jnp.ndim(low) != 0 or jnp.ndim(high) != 0:
            raise ValueError("the limits of integration in integrate_box_1d must be scalars")
        width = jnp.sqrt(self.covariance[0, 0])
        below = [special.ndtr((edge - self.dataset[0]) / width) for edge in (low, high)]
        return jnp.sum(self.weights * (below[1] - below[0]))

    @whole()
    def integrate_kde(self, other: gaussian_kde) -> Array:
        """The integral of the product of two densities."""
        if other.d != self.d:
            raise ValueError("KDEs are not the same dimensionality")
        each = _normal_logarithms(other.dataset, self.dataset, self.covariance + other.covariance)
        return jnp.sum(jnp.exp(each) * self.weights[:, None] * other.weights)

    def resample(self, key: Any, shape: Sequence[int] = ()) -> Array:
        """Samples of the density: of shape `(d, *shape)`."""
        which, around = random.split(key)
        centers = random.choice(which, self.n, shape=shape, replace=True, p=self.weights)
        zero = jnp.zeros(self.d, self.covariance.dtype)
        noise = random.multivariate_normal(
            around, zero, self.covariance, shape=shape, dtype=self.dataset.dtype
        )
        return jnp.moveaxis(self.dataset.T[centers] + noise, -1, 0)

    def integrate_box(
        self, low_bounds: ArrayLike, high_bounds: ArrayLike, maxpts: int | None = None
    ) -> Array:
        """Refused, as in JAX: only boxes of one dimension can be integrated."""
        raise NotImplementedError("only 1D box integrations are supported; use `integrate_box_1d`")

    def set_bandwidth(self, bw_method: Any = None) -> None:
        """Refused, as in JAX: make another `gaussian_kde` instead."""
        raise NotImplementedError(
            "dynamically changing the bandwidth method is not supported; make another gaussian_kde"
        )

    def _points(self, points: ArrayLike) -> Array:
        (x,) = floats("gaussian_kde", points)
        x = jnp.atleast_2d(x)
        if x.ndim != 2:
            raise ValueError(f"points must be a vector or a matrix; got shape {x.shape}")
        if x.shape[0] == self.d:
            return x
        if x.shape == (1, self.d):
            return x.reshape(self.d, 1)
        raise ValueError(f"points have dimension {x.shape[0]}, dataset has dimension {self.d}")
