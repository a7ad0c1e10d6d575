"""Samplers that draw until a draw is accepted: gamma and its kin, Poisson, binomial."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any

import numpy as np

from effax import lax
from effax import numpy as jnp
from effax.api.custom.jvp import custom_jvp
from effax.api.mapping.vmap import vmap
from effax.api.placing.output_sharding import placed
from effax.custom_batching import custom_vmap
from effax.eager.whole import own_promotion, whole
from effax.effects.types import DType, canonical_shape, finfo, float32, iinfo
from effax.effects.value import Array, ArrayLike, DTypeLike, OutSharding, Shape
from effax.keys.arrays import KeyArray
from effax.random.bits import float_dtype, int_dtype, parameter, result_shape, shape_of, spread
from effax.random.keys import split_words, twin, words_of
from effax.random.samplers import (
    exponential_words,
    normal_words,
    uniform_words,
)


def _uniform(words: Any, shape: tuple[int, ...], dtype: DType) -> Any:
    return uniform_words(words, 0.0, 1.0, shape=shape, dtype=dtype)


def _gamma_one(words: Any, alpha: Any, log_space: bool) -> Any:
    """One gamma number by Marsaglia and Tsang (2000).

    For alpha < 1 it is one for alpha + 1, times a uniform number to the power of 1 / alpha.
    """
    dtype = alpha.dtype
    zero, one, two = (np.array(c, dtype)[()] for c in (0, 1, 2))
    large = alpha >= one
    raised = lax.select(large, alpha, alpha + one)
    third = np.array(1.0 / 3.0, dtype)[()]
    d = raised - third
    c = third / lax.sqrt(d)

    def rejected(state: Any) -> Any:
        _, x, v, u = state
        squeezed = u >= one - np.array(0.0331, dtype)[()] * (x * x)
        half = np.array(0.5, dtype)[()]
        return squeezed & (lax.log(u) >= x * half + d * ((one - v) + lax.log(v)))

    def draw(state: Any) -> Any:
        words = state[0]
        keys = split_words(words, shape=(3,))

        def redraw(state: Any) -> Any:
            keys = split_words(state[0], shape=(2,))
            x = normal_words(keys[1], shape=(), dtype=dtype)
            return keys[0], x, one + x * c

        start = keys[1], jnp.asarray(zero), jnp.asarray(-one)
        _, x, v = lax.while_loop(lambda state: state[2] <= zero, redraw, start)
        return keys[0], x * x, v * v * v, _uniform(keys[2], (), dtype)

    keys = split_words(words, shape=(2,))
    start = keys[0], jnp.asarray(zero), jnp.asarray(one), jnp.asarray(two)
    _, _, v, _ = lax.while_loop(rejected, draw, start)
    if log_space:
        logs = lax.neg(exponential_words(keys[1], shape=(), dtype=dtype))
        boost = lax.select(large | (logs == zero), jnp.asarray(zero), logs * (one / alpha))
        return lax.log(d) + lax.log(v) + boost
    u = one - _uniform(keys[1], (), dtype)
    return d * v * lax.select(large, jnp.asarray(one), lax.pow(u, one / alpha))


@whole("shape", "dtype", "log_space")
def gamma_words(
    words: Any, a: Any, shape: tuple[int, ...], dtype: DType, log_space: bool = False
) -> Any:
    """Gamma numbers, or their logarithms, each from a key of its own."""
    alphas = lax.reshape(spread(a, shape, dtype), (prod(shape),))
    keys = split_words(words, shape=alphas.shape)
    return lax.reshape(_gamma_many(keys, alphas, log_space), shape)


@partial(custom_jvp, nondiff_argnums=(2,))
def _gamma_many(keys: Any, alphas: Any, log_space: bool) -> Any:
    if type(keys) is KeyArray:
        return _gamma_each(log_space)(keys, alphas)
    return vmap(lambda k, a: _gamma_one(k, a, log_space))(keys, alphas)


def _gamma_each(log_space: bool) -> Any:
    """Draw one number after the other, in a batch too.

    Keys of `rbg` make another stream in a batch than each makes alone, so that a batch of draws is
    one longer row of draws.
    """

    @custom_vmap
    def each(keys: Any, alphas: Any) -> Any:
        return lax.map(lambda x: _gamma_one(x[0], x[1], log_space), (keys, alphas))

    @each.def_vmap
    def all_lanes(size: int, batched: Any, keys: Any, alphas: Any) -> Any:
        keys, alphas = (
            x if b else jnp.broadcast_to(x, (size, *x.shape))
            for x, b in zip((keys, alphas), batched, strict=True)
        )
        drawn = each(keys.reshape(-1), alphas.reshape(-1))
        return drawn.reshape(size, -1), True

    return each


@_gamma_many.defjvp
def _gamma_many_jvp(log_space: bool, primals: Any, tangents: Any) -> Any:
    """The derivative that moving alpha at a fixed quantile has (implicit reparametrisation)."""
    keys, alphas = primals
    drawn = _gamma_many(keys, alphas, log_space)
    if not log_space:
        return drawn, tangents[1] * lax.random_gamma_grad(primals[1], drawn)
    values = lax.exp(drawn)
    tiny = np.array(finfo(drawn.dtype).tiny, drawn.dtype)[()]
    values = jnp.where(values == 0, tiny, values)
    return drawn, tangents[1] * lax.random_gamma_grad(primals[1], values) / values


@placed
def gamma(
    key: ArrayLike,
    a: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Draw gamma numbers of rate 1.

    Args:
      key: a random key (or its words).
      a: array_like, the shape parameter of the distribution.
      shape: the shape of the result; by default that of `a`.
      dtype: the float dtype of the result; by default float32 (float64 with x64).
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    >>> from effax import random
    >>> random.gamma(random.key(0), 2.0, (3,)).round(1)
    Array([1.6      , 1.8000001, 1.1      ], dtype=float32)
    """
    words = words_of("gamma", key)
    asked = float_dtype("gamma", dtype)
    found = result_shape("gamma", shape, shape_of(a))
    return gamma_words(words, a, shape=found, dtype=asked)


@placed
def loggamma(
    key: ArrayLike,
    a: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Draw logarithms of gamma numbers, exact where the numbers are too small for their dtype.

    Args:
      key: a random key (or its words).
      a: array_like, the shape parameter of the distribution.
      shape: the shape of the result; by default that of `a`.
      dtype: the float dtype of the result; by default float32 (float64 with x64).
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    >>> import effax
    >>> from effax import random
    >>> effax.eval_shape(random.loggamma, random.key(0), 1e-3)
    ShapeDtypeStruct(shape=(), dtype=float32)
    """
    words = words_of("loggamma", key)
    asked = float_dtype("loggamma", dtype)
    found = result_shape("loggamma", shape, shape_of(a))
    return gamma_words(words, a, shape=found, dtype=asked, log_space=True)


@whole("shape", "dtype")
def _beta(words: Any, a: Any, b: Any, shape: tuple[int, ...], dtype: DType) -> Any:
    keys = split_words(words, shape=(2,))
    log_a, log_b = (
        gamma_words(k, x, shape=shape, dtype=dtype, log_space=True)
        for k, x in ((keys[0], a), (keys[1], b))
    )
    larger = lax.max(log_a, log_b)
    one, other = lax.exp(log_a - larger), lax.exp(log_b - larger)
    return one / (one + other)


@placed
def beta(
    key: ArrayLike,
    a: ArrayLike,
    b: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Draw beta numbers, which lie between 0 and 1.

    Args:
      key: a random key (or its words).
      a, b: array_like, the parameters of the distribution.
      shape: the shape of the result; by default that of the parameters broadcast together.
      dtype: the float dtype of the result; by default float32 (float64 with x64).
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    >>> import effax, effax.numpy as jnp
    >>> from effax import random
    >>> effax.eval_shape(random.beta, random.key(0), jnp.ones(3), 2.0)
    ShapeDtypeStruct(shape=(3,), dtype=float32)
    """
    words = words_of("beta", key)
    asked = float_dtype("beta", dtype, given=(a, b))
    found = result_shape("beta", shape, shape_of(a), shape_of(b))
    return _beta(words, a, b, shape=found, dtype=asked)


@whole("shape", "dtype")
def _dirichlet(words: Any, alpha: Any, shape: tuple[int, ...], dtype: DType) -> Any:
    drawn = shape + shape_of(alpha)[-1:]
    if 0 in drawn:
        return jnp.zeros(drawn, dtype)
    logs = gamma_words(words, alpha, shape=drawn, dtype=dtype, log_space=True)
    largest = lax.stop_gradient(jnp.max(logs, axis=-1, keepdims=True))
    parts = lax.exp(logs - largest)
    return parts / jnp.sum(parts, axis=-1, keepdims=True)


@placed
def dirichlet(
    key: ArrayLike,
    alpha: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Draw vectors of positive numbers that sum to one.

    Args:
      key: a random key (or its words).
      alpha: array_like, (..., n), the parameters of the distribution.
      shape: the shape of the result without its last axis; by default `alpha.shape[:-1]`.
      dtype: the float dtype of the result; by default float32 (float64 with x64).
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    >>> import effax, effax.numpy as jnp
    >>> from effax import random
    >>> effax.eval_shape(random.dirichlet, random.key(0), jnp.ones((2, 3)))
    ShapeDtypeStruct(shape=(2, 3), dtype=float32)
    """
    words = words_of("dirichlet", key)
    asked = float_dtype("dirichlet", dtype)
    parameters = shape_of(alpha)
    if not parameters:
        raise ValueError("dirichlet requires alpha.ndim >= 1, got alpha.ndim == 0")
    found = result_shape("dirichlet", shape, parameters[:-1])
    return _dirichlet(words, alpha, shape=found, dtype=asked)


@whole("shape", "dtype")
def _chisquare(words: Any, df: Any, shape: tuple[int, ...], dtype: DType) -> Any:
    half = parameter(df, dtype) / np.array(2, dtype)[()]
    return lax.exp(gamma_words(words, half, shape=shape, dtype=dtype, log_space=True)) * 2


@placed
def chisquare(
    key: ArrayLike,
    df: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Draw chi-square numbers.

    Args:
      key: a random key (or its words).
      df: array_like, the degrees of freedom.
      shape: the shape of the result; by default that of `df`.
      dtype: the float dtype of the result; by default float32 (float64 with x64).
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    >>> import effax, effax.numpy as jnp
    >>> from effax import random
    >>> effax.eval_shape(random.chisquare, random.key(0), jnp.ones(3))
    ShapeDtypeStruct(shape=(3,), dtype=float32)
    """
    words = words_of("chisquare", key)
    asked = float_dtype("chisquare", dtype, given=(df,))
    found = result_shape("chisquare", shape, shape_of(df))
    return _chisquare(words, df, shape=found, dtype=asked)


@whole("shape", "dtype")
def _f(words: Any, dfnum: Any, dfden: Any, shape: tuple[int, ...], dtype: DType) -> Any:
    keys = split_words(words, shape=(2,))  # the denominator's key comes first
    numerator = _chisquare(keys[1], dfnum, shape=shape, dtype=dtype) / spread(dfnum, shape, dtype)
    return numerator / (
        _chisquare(keys[0], dfden, shape=shape, dtype=dtype) / spread(dfden, shape, dtype)
    )


@placed
def f(
    key: ArrayLike,
    dfnum: ArrayLike,
    dfden: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Draw numbers of the F distribution.

    Args:
      key: a random key (or its words).
      dfnum, dfden: array_like, the degrees of freedom of the numerator and of the denominator.
      shape: the shape of the result; by default that of the parameters broadcast together.
      dtype: the float dtype of the result; by default float32 (float64 with x64).
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    >>> import effax, effax.numpy as jnp
    >>> from effax import random
    >>> effax.eval_shape(random.f, random.key(0), jnp.ones(3), 2.0)
    ShapeDtypeStruct(shape=(3,), dtype=float32)
    """
    words = words_of("f", key)
    asked = float_dtype("f", dtype, given=(dfnum, dfden))
    found = result_shape("f", shape, shape_of(dfnum), shape_of(dfden))
    return _f(words, dfnum, dfden, shape=found, dtype=asked)


@own_promotion
@whole("shape", "dtype")
def _t(words: Any, df: Any, shape: tuple[int, ...], dtype: DType) -> Any:
    keys = split_words(words, shape=(2,))
    half = parameter(df, dtype) / np.array(2, dtype)[()]
    normals = normal_words(keys[0], shape=shape, dtype=dtype)
    return normals * lax.sqrt(half / gamma_words(keys[1], half, shape=shape, dtype=dtype))


@placed
def t(
    key: ArrayLike,
    df: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Draw numbers of Student's t distribution.

    Args:
      key: a random key (or its words).
      df: array_like, the degrees of freedom.
      shape: the shape of the result; by default that of `df`.
      dtype: the float dtype of the result; by default float32 (float64 with x64).
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    >>> import effax, effax.numpy as jnp
    >>> from effax import random
    >>> effax.eval_shape(random.t, random.key(0), jnp.ones(3))
    ShapeDtypeStruct(shape=(3,), dtype=float32)
    """
    words = words_of("t", key)
    asked = float_dtype("t", dtype, given=(df,))
    found = result_shape("t", shape, shape_of(df))
    return _t(words, df, shape=found, dtype=asked)


def _any(x: Any) -> Any:
    return jnp.any(x)


def _poisson_knuth(words: Any, lam: Any, dtype: DType, limit: int) -> Any:
    """Count the uniform numbers whose product stays above exp(-lam) (Knuth)."""

    def body(state: Any) -> Any:
        i, k, words, log_product = state
        keys = split_words(words, shape=(2,))
        u = _uniform(keys[1], lam.shape, float32)
        k = lax.select(log_product > -lam, k + 1, k)
        return i + 1, k, keys[0], log_product + lax.log(u)

    def more(state: Any) -> Any:
        return _any(state[3] > -lam) & (state[0] < limit)

    start = jnp.asarray(0, dtype), lax.full(lam.shape, 0, dtype), words, lax.full_like(lam, 0)
    return lax.while_loop(more, body, start)[1] - 1


def _poisson_rejection(words: Any, lam: Any, dtype: DType, limit: int) -> Any:
    """Transformed rejection (Hörmann 1993)."""
    log_lam = lax.log(lam)
    b = 0.931 + 2.53 * lax.sqrt(lam)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    v_r = 0.9277 - 3.6224 / (b - 2)

    def body(state: Any) -> Any:
        i, drawn, done, words = state
        keys = split_words(words, shape=(3,))
        u = _uniform(keys[1], lam.shape, lam.dtype) - 0.5
        v = _uniform(keys[2], lam.shape, lam.dtype)
        shifted = 0.5 - lax.abs(u)
        k = lax.floor((2 * a / shifted + b) * u + lam + 0.43)
        s = lax.log(v * inverse_alpha / (a / (shifted * shifted) + b))
        bound = -lam + k * log_lam - lax.lgamma(k + 1)
        quick = (shifted >= 0.07) & (v <= v_r)
        outside = (k < 0) | ((shifted < 0.013) & (v > shifted))
        accepted = quick | (~outside & (s <= bound))
        return i + 1, lax.select(accepted, k, drawn), done | accepted, keys[0]

    def more(state: Any) -> Any:
        return _any(~state[2]) & (state[0] < limit)

    start = (
        jnp.asarray(0, dtype),
        lax.full_like(lam, -1),
        lax.full(lam.shape, False, np.dtype(bool)),
        words,
    )
    return lax.convert_element_type(lax.while_loop(more, body, start)[1], dtype)


@whole("shape", "dtype")
def _poisson(words: Any, lam: Any, shape: tuple[int, ...], dtype: DType) -> Any:
    """Knuth's algorithm for small rates, rejection for others."""
    lam = spread(lam, shape, float32)
    small = (lam != lam) | (lam < 10)
    limit = int(iinfo(dtype).max)
    zero, large = lax.full_like(lam, 0), lax.full_like(lam, 1e5)
    drawn = lax.select(
        small,
        _poisson_knuth(words, lax.select(small, lam, zero), dtype, limit),
        _poisson_rejection(twin(words), lax.select(small, large, lam), dtype, limit),
    )
    return lax.select(lam == 0, lax.full_like(drawn, 0), drawn)


@placed
def poisson(
    key: ArrayLike,
    lam: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Draw Poisson numbers.

    Args:
      key: a random key (or its words).
      lam: array_like, the rate; it is rounded to float32.
      shape: the shape of the result; by default that of `lam`.
      dtype: the integer dtype of the result; by default int32 (int64 with x64).
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    Raises:
      NotImplementedError: for keys of other generators than Threefry, as in JAX.

    >>> from effax import random
    >>> random.poisson(random.key(0), 4.0, (4,)).tolist()
    [0, 1, 5, 5]
    """
    words = words_of("poisson", key)
    if type(words) is KeyArray:
        raise NotImplementedError(
            f"`poisson` is only implemented for the threefry2x32 RNG, not {words.implementation}; "
            "draw with a key of random.key(seed)"
        )
    asked = int_dtype("poisson", dtype)
    found = shape_of(lam) if shape is None else canonical_shape(shape)
    return _poisson(words, lam, shape=found, dtype=asked)
