"""Samplers of counts of successes: binomial and multinomial numbers."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from effax import lax
from effax import numpy as jnp
from effax.eager.whole import whole
from effax.effects.types import (
    DType,
    bit_width,
    canonical_shape,
    default_float,
    finfo,
    float32,
    int32,
    is_inexact,
    user_dtype,
)
from effax.effects.value import Array, ArrayLike, DTypeLike, Shape
from effax.random.bits import float_dtype, result_shape, shape_of, spread
from effax.random.keys import split_words, twin, words_of
from effax.random.samplers import uniform_words

# The error of Stirling's formula for log k!, for k = 0, ..., 9.
_TAILS: Final = (
    0.0810614667953272,
    0.0413406959554092,
    0.0276779256849983,
    0.02079067210376509,
    0.0166446911898211,
    0.0138761288230707,
    0.0118967099458917,
    0.0104112652619720,
    0.00925546218271273,
    0.00833056343336287,
)


def _stirling_tail(k: Any) -> Any:
    """`log k!` less Stirling's formula: from a table for small k, from its series for others."""
    small = k <= 9
    k = lax.clamp(lax.full_like(k, 0), k, lax.full_like(k, 9))
    square = (k + 1) * (k + 1)
    series = (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)
    table = jnp.asarray(np.array(_TAILS, k.dtype))
    known = table[lax.convert_element_type(lax.floor(k), int32)]
    return lax.select(small, known, series)


def _inversion(words: Any, count: Any, prob: Any, limit: float) -> Any:
    """Add geometric waiting times until they exceed the number of trials."""
    log_failure = lax.log1p(-prob)

    def body(state: Any) -> Any:
        i, drawn, waited, words = state
        keys = split_words(words, shape=(2,))
        drawn = lax.select(waited <= count, drawn + 1, drawn)
        u = uniform_words(keys[0], 0.0, 1.0, shape=prob.shape, dtype=prob.dtype)
        return i + 1, drawn, waited + lax.ceil(lax.log(u) / log_failure), keys[1]

    def more(state: Any) -> Any:
        return jnp.any(state[2] <= count) & (state[0] < limit)

    zero = lax.full_like(prob, 0)
    return lax.while_loop(more, body, (jnp.asarray(0), zero, zero, words))[1] - 1


def _rejection(words: Any, count: Any, prob: Any, limit: float) -> Any:
    """Transformed rejection with squeeze (Hörmann 1993, BTRS)."""
    deviation = lax.sqrt(count * prob * (1 - prob))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * prob
    c = count * prob + 0.5
    v_r = 0.92 - 4.2 / b
    odds = prob / (1 - prob)
    alpha = (2.83 + 5.1 / b) * deviation
    mode = lax.floor((count + 1) * prob)

    def log_ratio(k: Any) -> Any:
        """The logarithm of the density at k, over that at the mode."""
        return (
            (mode + 0.5) * lax.log((mode + 1) / (odds * (count - mode + 1)))
            + (count + 1) * lax.log((count - mode + 1) / (count - k + 1))
            + (k + 0.5) * lax.log(odds * (count - k + 1) / (k + 1))
            + _stirling_tail(mode)
            + _stirling_tail(count - mode)
            - _stirling_tail(k)
            - _stirling_tail(count - k)
        )

    def body(state: Any) -> Any:
        i, drawn, done, words = state
        keys = split_words(words, shape=(3,))
        u, v = (
            uniform_words(keys[j], 0.0, 1.0, shape=prob.shape, dtype=prob.dtype) for j in (1, 2)
        )
        u = u - 0.5
        shifted = 0.5 - lax.abs(u)
        quick = (shifted >= 0.07) & (v <= v_r)
        k = lax.floor((2 * a / shifted + b) * u + c)
        outside = (k < 0) | (k > count)
        v = lax.log(v * alpha / (a / (shifted * shifted) + b))
        accepted = quick | (~outside & (v <= log_ratio(k)))
        return i + 1, lax.select(accepted, k, drawn), done | accepted, keys[0]

    def more(state: Any) -> Any:
        return jnp.any(~state[2]) & (state[0] < limit)

    pending = lax.full(prob.shape, False, np.dtype(bool))
    start = jnp.asarray(0), lax.full_like(prob, -1), pending, words
    return lax.while_loop(more, body, start)[1]


def _counting_dtype(dtype: Any) -> DType:
    """The dtype to count in: in narrower floats sums of waiting times would stay where they are."""
    if not is_inexact(dtype):
        return default_float()
    return float32 if bit_width(dtype) < 16 else dtype


@whole("shape", "dtype")
def _binomial(words: Any, n: Any, p: Any, shape: tuple[int, ...], dtype: DType) -> Any:
    """Inversion where few successes are expected, rejection elsewhere; NaN for bad parameters."""
    p = jnp.asarray(p)
    p = lax.convert_element_type(p, _counting_dtype(p.dtype))
    count, prob = spread(n, shape, p.dtype), jnp.broadcast_to(p, shape)
    rare = prob < 0.5
    q = lax.select(rare, prob, 1.0 - prob)
    bad_count, bad_q = (count != count) | (count < 0.0), q != q
    infinite, negative = jnp.isinf(count), q < 0.0
    q = lax.select(bad_q | negative, lax.full_like(q, 0.01), q)
    few = bad_count | (count * q <= 10.0)
    count = lax.floor(count)
    limit = float(finfo(dtype).max)
    zero, many, half = (lax.full_like(count, x) for x in (0.0, 1e4, 0.5))
    inverted = _inversion(words, lax.select(few, count, zero), q, limit)
    rejected = _rejection(
        twin(words), lax.select(few, many, count), lax.select(few, half, q), limit
    )
    drawn = lax.select(
        few, lax.convert_element_type(inverted, dtype), lax.convert_element_type(rejected, dtype)
    )
    invalid = negative | bad_q | bad_count
    drawn = lax.select(invalid, lax.full_like(drawn, np.nan), drawn)
    drawn = lax.select(infinite & ~invalid, lax.full_like(drawn, np.inf), drawn)
    return lax.select(
        rare | bad_count | bad_q | infinite,
        drawn,
        lax.convert_element_type(count, dtype) - drawn,
    )


def binomial(
    key: ArrayLike,
    n: ArrayLike,
    p: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
) -> Array:
    """Draw the number of successes in `n` trials of probability `p`, as floats.

    Args:
      key: a random key (or its words).
      n: array_like, the number of trials.
      p: array_like, the probability of success.
      shape: the shape of the result; by default that of the parameters broadcast together.
      dtype: the float dtype of the result; by default float32 (float64 with x64).

    >>> from effax import random
    >>> random.binomial(random.key(0), 10, 0.5, (3,))
    Array([6., 7., 5.], dtype=float32)
    """
    words = words_of("binomial", key)
    asked = float_dtype("binomial", dtype)
    found = result_shape("binomial", shape, shape_of(n), shape_of(p))
    return _binomial(words, n, p, shape=found, dtype=asked)


@whole("shape", "dtype", "unroll")
def _multinomial(
    words: Any, n: Any, p: Any, shape: tuple[int, ...], dtype: DType, unroll: int | bool
) -> Any:
    wide = _counting_dtype(jnp.result_type(n, p, 0.0))
    remainder = spread(n, shape[:-1], wide)
    columns = jnp.moveaxis(spread(p, shape, wide), -1, 0)
    rest = lax.cumsum(columns, axis=0, reverse=True)
    ratios = columns / jnp.where(rest == 0, 1, rest)
    keys = split_words(words, shape=(ratios.shape[0],))

    def draw(remainder: Any, xs: Any) -> Any:
        ratio, words = xs
        ratio = jnp.clip(ratio, 0, 1)
        count = _binomial(words, remainder, ratio, shape=ratio.shape, dtype=wide)
        return remainder - count, count

    counts = lax.scan(draw, remainder, (ratios, keys), unroll=unroll)[1]
    return lax.convert_element_type(jnp.moveaxis(counts, 0, -1), dtype)


def multinomial(
    key: ArrayLike,
    n: ArrayLike,
    p: ArrayLike,
    *,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    unroll: int | bool = 1,
) -> Array:
    """Draw the count of each outcome in `n` trials.

    Args:
      key: a random key (or its words).
      n: array_like, the number of trials; it broadcasts to `shape[:-1]`.
      p: array_like, (..., k), the probabilities of the k outcomes.
      shape: the shape of the result, the outcomes' axis included; by default that of `p`.
      dtype: the dtype of the result; by default float32 (float64 with x64).
      unroll: as for `lax.scan`, which loops over the outcomes.

    >>> import effax, effax.numpy as jnp
    >>> from effax import random
    >>> effax.eval_shape(random.multinomial, random.key(0), 6, jnp.array([0.5, 0.5]))
    ShapeDtypeStruct(shape=(2,), dtype=float32)
    """
    words = words_of("multinomial", key)
    asked = user_dtype(float if dtype is None else dtype, "multinomial")
    found = shape_of(p) if shape is None else canonical_shape(shape)
    return _multinomial(words, n, p, shape=found, dtype=asked, unroll=unroll)
