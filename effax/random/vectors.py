"""Samplers of vectors and matrices, and those made of several simpler draws."""

from __future__ import annotations

from operator import index
from typing import Any

from effax import lax
from effax import numpy as jnp
from effax.api.placing.output_sharding import placed
from effax.eager.whole import own_promotion, whole
from effax.effects.types import DType, canonical_shape
from effax.effects.value import Array, ArrayLike, DTypeLike, OutSharding, Shape
from effax.operands.arguments import common_shape
from effax.random.bits import float_dtype, result_shape, shape_of, spread
from effax.random.integers import rademacher_words
from effax.random.keys import split_words, words_of
from effax.random.rejection import gamma_words
from effax.random.samplers import exponential_words, normal_words, uniform_words


@own_promotion
@whole("shape", "dtype", "method")
def _multivariate_normal(
    words: Any, mean: Any, cov: Any, shape: tuple[int, ...], dtype: DType, method: str
) -> Any:
    if method == "svd":
        u, s, _ = jnp.linalg.svd(cov)
        factor = u * jnp.sqrt(s[..., None, :])
    elif method == "eigh":
        w, v = jnp.linalg.eigh(cov)
        factor = v * jnp.sqrt(w[..., None, :])
    else:
        factor = jnp.linalg.cholesky(cov)
    normals = normal_words(words, shape=shape + mean.shape[-1:], dtype=dtype)
    return mean + jnp.einsum("...ij,...j->...i", factor, normals)


@placed
def multivariate_normal(
    key: ArrayLike,
    mean: ArrayLike,
    cov: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    method: str = "cholesky",
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Draw normal vectors with a mean and a covariance.

    Args:
      key: a random key (or its words).
      mean: array_like, (..., n).
      cov: array_like, (..., n, n), the covariance.
      shape: the shape of the result without its last axis; by default that of the leading axes of
        `mean` and `cov` broadcast together.
      dtype: the float dtype of the draws; by default that of `mean` and `cov` together.
      method: how to factor `cov`: "cholesky", or "eigh" or "svd" where it may be singular.
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    Raises:
      ValueError: for another method, and for shapes that do not fit.

    >>> import effax.numpy as jnp
    >>> from effax import random
    >>> random.multivariate_normal(random.key(0), jnp.zeros(2), jnp.eye(2)).round(2)
    Array([1.62, 2.03], dtype=float32)
    """
    words = words_of("multivariate_normal", key)
    centre, spread = _promoted(mean, cov)
    if method not in ("svd", "eigh", "cholesky"):
        raise ValueError("method must be one of {'svd', 'eigh', 'cholesky'}")
    asked = float_dtype("multivariate_normal", centre.dtype if dtype is None else dtype)
    for name, found, least in (("mean", centre.ndim, 1), ("cov", spread.ndim, 2)):
        if found < least:
            raise ValueError(
                f"multivariate_normal requires {name}.ndim >= {least}, got {name}.ndim == {found}"
            )
    n = centre.shape[-1]
    if spread.shape[-2:] != (n, n):
        raise ValueError(
            f"multivariate_normal requires cov.shape == (..., n, n) for n={n}, but got "
            f"cov.shape == {spread.shape}."
        )
    found = result_shape("multivariate_normal", shape, centre.shape[:-1], spread.shape[:-2])
    return _multivariate_normal(words, centre, spread, shape=found, dtype=asked, method=method)


def _promoted(mean: Any, cov: Any) -> tuple[Any, Any]:
    dtype = jnp.result_type(mean, cov, 0.0)
    return jnp.asarray(mean, dtype), jnp.asarray(cov, dtype)


@whole("shape", "dtype")
def _maxwell(words: Any, shape: tuple[int, ...], dtype: DType) -> Any:
    normals = normal_words(words, shape=(*shape, 3), dtype=dtype)
    return jnp.sqrt(jnp.sum(normals * normals, axis=-1))


@placed
def maxwell(
    key: ArrayLike,
    shape: Shape = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Draw lengths of standard normal vectors in three dimensions.

    Args:
      key: a random key (or its words).
      shape: the shape of the result.
      dtype: the float dtype of the result; by default float32 (float64 with x64).
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    >>> from effax import random
    >>> random.maxwell(random.key(0), (3,)).round(2)
    Array([2.6299999 , 0.98999995, 0.96      ], dtype=float32)
    """
    words = words_of("maxwell", key)
    asked = float_dtype("maxwell", dtype)
    return _maxwell(words, shape=canonical_shape(shape), dtype=asked)


@own_promotion
@whole("shape", "dtype")
def _double_sided_maxwell(
    words: Any, loc: Any, scale: Any, shape: tuple[int, ...], dtype: DType
) -> Any:
    keys = split_words(words, shape=(2,))
    lengths = _maxwell(keys[0], shape=shape, dtype=dtype)
    return rademacher_words(keys[1], shape=shape, dtype=dtype) * lengths * scale + loc


def double_sided_maxwell(
    key: ArrayLike,
    loc: ArrayLike,
    scale: ArrayLike,
    shape: Shape = (),
    dtype: DTypeLike | None = None,
) -> Array:
    """Draw Maxwell numbers with a random sign, scaled and moved.

    Args:
      key: a random key (or its words).
      loc, scale: array_like, `loc` is added to the numbers times `scale`.
      shape: the leading axes of the result, before those of `loc` and `scale` broadcast together.
        For an empty shape these axes appear twice, as in JAX.
      dtype: the float dtype of the draws; by default float32 (float64 with x64).

    >>> from effax import random
    >>> random.double_sided_maxwell(random.key(0), 3.0, 1.0, (3,)).round(2)
    Array([4.5499997 , 4.5699997 , 0.91999996], dtype=float32)
    """
    words = words_of("double_sided_maxwell", key)
    asked = float_dtype("double_sided_maxwell", dtype)
    parameters = common_shape(shape_of(loc), shape_of(scale))
    found = (canonical_shape(shape) or parameters) + parameters
    return _double_sided_maxwell(words, loc, scale, shape=found, dtype=asked)


@whole("n", "m", "shape", "dtype")
def _orthogonal(words: Any, n: int, m: int, shape: tuple[int, ...], dtype: DType) -> Any:
    z = normal_words(words, shape=(*shape, max(n, m), min(n, m)), dtype=dtype)
    q, r = jnp.linalg.qr(z)
    signs = jnp.sign(jnp.diagonal(r, axis1=-2, axis2=-1))
    x = q * signs[..., None, :]
    return jnp.swapaxes(x, -1, -2) if n < m else x


@placed
def orthogonal(
    key: ArrayLike,
    n: int,
    shape: Shape = (),
    dtype: DTypeLike | None = None,
    m: int | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Draw matrices uniformly from the orthogonal (or unitary) group.

    Args:
      key: a random key (or its words).
      n: the number of rows.
      shape: the leading axes of the result, which has the shape `(*shape, n, m)`.
      dtype: the float or complex dtype of the result; by default float32 (float64 with x64).
      m: the number of columns; by default `n`. For other numbers the shorter side is orthonormal.
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    >>> import effax.numpy as jnp
    >>> from effax import random
    >>> q = random.orthogonal(random.key(0), 2)
    >>> jnp.allclose(q @ q.T, jnp.eye(2), atol=1e-6).item()
    True
    """
    words = words_of("orthogonal", key)
    asked = float_dtype("orthogonal", dtype, inexact=True)
    rows, columns = index(n), index(n if m is None else m)
    return _orthogonal(words, n=rows, m=columns, shape=canonical_shape(shape), dtype=asked)


@whole("shape", "dtype")
def _generalized_normal(words: Any, p: Any, shape: tuple[int, ...], dtype: DType) -> Any:
    keys = split_words(words, shape=(2,))
    drawn = gamma_words(keys[0], 1 / p, shape=shape, dtype=dtype)
    return rademacher_words(keys[1], shape=shape, dtype=dtype) * drawn ** (1 / p)


@placed
def generalized_normal(
    key: ArrayLike,
    p: float,
    shape: Shape = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Draw numbers with a density proportional to `exp(-|x| ** p)`.

    Args:
      key: a random key (or its words).
      p: the exponent, a positive number.
      shape: the shape of the result.
      dtype: the float dtype of the result; by default float32 (float64 with x64).
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    >>> import effax
    >>> from effax import random
    >>> effax.eval_shape(lambda key: random.generalized_normal(key, 2.0, (3,)), random.key(0))
    ShapeDtypeStruct(shape=(3,), dtype=float32)
    """
    words = words_of("generalized_normal", key)
    asked = float_dtype("generalized_normal", dtype)
    return _generalized_normal(words, p, shape=canonical_shape(shape), dtype=asked)


@whole("d", "shape", "dtype")
def _ball(words: Any, p: Any, d: int, shape: tuple[int, ...], dtype: DType) -> Any:
    keys = split_words(words, shape=(2,))
    g = _generalized_normal(keys[0], p, shape=(*shape, d), dtype=dtype)
    e = exponential_words(keys[1], shape=shape, dtype=dtype)
    return g / ((jnp.sum(jnp.abs(g) ** p, axis=-1) + e) ** (1 / p))[..., None]


@placed
def ball(
    key: ArrayLike,
    d: int,
    p: float = 2,
    shape: Shape = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Draw points uniformly from the unit ball of the p-norm in `d` dimensions.

    Args:
      key: a random key (or its words).
      d: the number of dimensions.
      p: the exponent of the norm, a positive number.
      shape: the leading axes of the result, which has the shape `(*shape, d)`.
      dtype: the float dtype of the result; by default float32 (float64 with x64).
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    >>> import effax
    >>> from effax import random
    >>> effax.eval_shape(lambda key: random.ball(key, 3), random.key(0))
    ShapeDtypeStruct(shape=(3,), dtype=float32)
    """
    words = words_of("ball", key)
    asked = float_dtype("ball", dtype)
    return _ball(words, p, d=index(d), shape=canonical_shape(shape), dtype=asked)


@whole("shape", "dtype")
def _wald(words: Any, mean: Any, shape: tuple[int, ...], dtype: DType) -> Any:
    keys = split_words(words, shape=(2,))
    mean = spread(mean, shape, dtype)
    y = lax.square(normal_words(keys[0], shape=shape, dtype=dtype))
    z = uniform_words(keys[1], 0.0, 1.0, shape=shape, dtype=dtype)
    squared = lax.square(mean)
    root = lax.sqrt(4 * mean * y + squared * lax.square(y))
    x = mean + squared * y / 2 - mean / 2 * root
    return lax.select(z <= mean / (mean + x), x, squared / x)


@placed
def wald(
    key: ArrayLike,
    mean: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Draw Wald (inverse Gaussian) numbers.

    Args:
      key: a random key (or its words).
      mean: array_like, the mean.
      shape: the shape of the result; by default that of `mean`.
      dtype: the float dtype of the result; by default float32 (float64 with x64).
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    >>> from effax import random
    >>> random.wald(random.key(0), 1.0, (3,)).round(2)
    Array([0.38, 0.42, 0.48], dtype=float32)
    """
    words = words_of("wald", key)
    asked = float_dtype("wald", dtype, given=(mean,))
    found = result_shape("wald", shape, shape_of(mean))
    return _wald(words, mean, shape=found, dtype=asked)
