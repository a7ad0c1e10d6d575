"""Samplers of real numbers that are functions of uniform ones: an inverse of a distribution."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from effax import lax
from effax import numpy as jnp
from effax.api.placing.output_sharding import placed
from effax.eager.whole import own_promotion, whole
from effax.effects.config import read
from effax.effects.types import (
    DType,
    canonical_shape,
    finfo,
    float32,
    real_dtype,
    uint32,
)
from effax.effects.value import Array, ArrayLike, DTypeLike, OutSharding, Shape
from effax.random.bits import (
    UNSIGNED,
    float_dtype,
    parameter,
    random_bits,
    result_shape,
    shape_of,
    spread,
)
from effax.random.keys import split_words, words_of

_ONE: Final = np.float32(1)


@whole("shape", "dtype")
def uniform_words(
    words: Any, minval: Any, maxval: Any, shape: tuple[int, ...], dtype: DType
) -> Any:
    """Uniform floats from the words of a key: random mantissas under the exponent of 1, less 1."""
    info = finfo(float_dtype("uniform", dtype))
    if info.bits not in UNSIGNED or not info.nmant:
        raise TypeError(
            "uniform numbers are drawn in floats of 8, 16, 32 or 64 bits that have a mantissa, not "
            f"in {dtype}; draw float32 and convert"
        )
    width = 8 if info.nmant < 8 else info.bits
    unsigned = UNSIGNED[info.bits]
    bits = random_bits(words, width, shape)
    if width != info.bits:
        bits = lax.convert_element_type(bits, unsigned)
    one = np.array(1, dtype).view(unsigned)[()]
    mantissa = lax.shift_right_logical(bits, lax.full_like(bits, width - info.nmant))
    floats = (
        lax.bitcast_convert_type(lax.bitwise_or(mantissa, lax.full_like(bits, one)), dtype)
        - np.array(1, dtype)[()]
    )
    low, high = spread(minval, shape, dtype), spread(maxval, shape, dtype)
    return lax.max(low, floats * (high - low) + low)


@placed
def uniform(
    key: ArrayLike,
    shape: Shape = (),
    dtype: DTypeLike | None = None,
    minval: ArrayLike = 0.0,
    maxval: ArrayLike = 1.0,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Draw uniform floats in [minval, maxval).

    Args:
      key: a random key (or its words).
      shape: the shape of the result.
      dtype: the float dtype of the result; by default float32 (float64 with x64).
      minval, maxval: array_like, the bounds; they broadcast to `shape`. For the shape () they may
        also be arrays of one element, whose shape the result then has (as flashbax asks of JAX).
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    Raises:
      ValueError: for a dtype that is not a float's.
      TypeError: for bounds that do not broadcast.

    >>> from effax import random
    >>> random.uniform(random.PRNGKey(0), (2,)).shape
    (2,)
    """
    words = words_of("uniform", key)
    asked = float_dtype("uniform", dtype)
    bounds = shape_of(minval), shape_of(maxval)
    scalar = isinstance(shape, tuple | list) and not shape
    of_bounds = scalar and {n for lengths in bounds for n in lengths} == {1}
    try:
        found = result_shape("uniform", None if of_bounds else shape, *bounds)
    except ValueError as error:  # JAX raises this class for this one sampler
        raise TypeError(str(error)) from None
    if type(minval) is float and minval == 0 and type(maxval) is float and maxval == 1:
        return _uniform_unit(words, shape=found, dtype=asked)
    return uniform_words(words, minval, maxval, shape=found, dtype=asked)


@whole("shape", "dtype")
def _uniform_unit(words: Any, shape: tuple[int, ...], dtype: DType) -> Any:
    return _unit(words, shape, dtype)


def _unit(words: Any, shape: tuple[int, ...], dtype: DType, low: Any = 0.0) -> Any:
    return uniform_words(words, low, 1.0, shape=shape, dtype=dtype)


@whole("shape", "dtype")
def normal_words(words: Any, shape: tuple[int, ...], dtype: DType) -> Any:
    """Standard normal numbers from the words of a key; complex ones of variance 1 in all."""
    if dtype.kind == "c":
        keys = split_words(words, shape=(2,))
        parts = real_dtype(dtype)
        real, imag = (_normal_real(keys[i], shape, parts) for i in (0, 1))
        return lax.complex(real, imag) / np.array(np.sqrt(2), dtype)[()]
    return _normal_real(words, shape, dtype)


def _normal_real(words: Any, shape: tuple[int, ...], dtype: DType) -> Any:
    above_minus_one = np.nextafter(np.array(-1, dtype), np.array(0, dtype), dtype=dtype)[()]
    u = _unit(words, shape, dtype, above_minus_one)
    return lax.mul(lax.full_like(u, np.array(np.sqrt(2), dtype)[()]), lax.erf_inv(u))


@placed
def normal(
    key: ArrayLike,
    shape: Shape = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Draw standard normal numbers, real or complex (of variance 1 in all).

    Args:
      key: a random key (or its words).
      shape: the shape of the result.
      dtype: the float or complex dtype of the result; by default float32 (float64 with x64).
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    >>> from effax import random
    >>> random.normal(random.PRNGKey(0), (3,)).dtype
    dtype('float32')
    """
    words = words_of("normal", key)
    asked = float_dtype("normal", dtype, inexact=True)
    return normal_words(words, shape=canonical_shape(shape), dtype=asked)


@own_promotion
@whole("shape", "dtype")
def _truncated_normal(
    words: Any, lower: Any, upper: Any, shape: tuple[int, ...], dtype: DType
) -> Any:
    sqrt2 = np.array(np.sqrt(2), dtype)[()]
    lower, upper = parameter(lower, dtype), parameter(upper, dtype)
    u = uniform_words(
        words, lax.erf(lower / sqrt2), lax.erf(upper / sqrt2), shape=shape, dtype=dtype
    )
    out = sqrt2 * lax.erf_inv(u)
    # Clip, so that rounding does not leave the open interval.
    low = lax.stop_gradient(lower)
    high = lax.stop_gradient(upper)
    low = lax.nextafter(low, lax.full_like(low, np.inf))
    high = lax.nextafter(high, lax.full_like(high, -np.inf))
    return jnp.clip(out, low, high)


@placed
def truncated_normal(
    key: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Draw standard normal numbers that lie between `lower` and `upper`, both excluded.

    Args:
      key: a random key (or its words).
      lower, upper: array_like, the bounds; they broadcast to `shape`.
      shape: the shape of the result; by default that of the bounds broadcast together.
      dtype: the float dtype of the result; by default float32 (float64 with x64).
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    >>> from effax import random
    >>> random.truncated_normal(random.key(0), -1.0, 1.0, (3,)).round(2)
    Array([ 0.85999995,  0.94      , -0.29      ], dtype=float32)
    """
    words = words_of("truncated_normal", key)
    asked = float_dtype("truncated_normal", dtype)
    found = result_shape("truncated_normal", shape, shape_of(lower), shape_of(upper))
    return _truncated_normal(words, lower, upper, shape=found, dtype=asked)


@whole("shape", "dtype")
def exponential_words(words: Any, shape: tuple[int, ...], dtype: DType) -> Any:
    """Exponential numbers from the words of a key: `-log(1 - u)`."""
    return lax.neg(lax.log1p(lax.neg(_unit(words, shape, dtype))))


@placed
def exponential(
    key: ArrayLike,
    shape: Shape = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Draw exponential numbers of rate 1.

    Args:
      key: a random key (or its words).
      shape: the shape of the result.
      dtype: the float dtype of the result; by default float32 (float64 with x64).
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    >>> from effax import random
    >>> random.exponential(random.key(0), (3,)).round(2)
    Array([2.95      , 3.84      , 0.39999998], dtype=float32)
    """
    words = words_of("exponential", key)
    asked = float_dtype("exponential", dtype)
    return exponential_words(words, shape=canonical_shape(shape), dtype=asked)


@whole("shape", "dtype", "mode")
def gumbel_words(words: Any, shape: tuple[int, ...], dtype: DType, mode: str) -> Any:
    """Gumbel numbers from the words of a key; `mode` says how far the tail reaches."""
    info = finfo(float_dtype("gumbel", dtype))
    if mode == "highest" and dtype == float32:
        return _gumbel_highest(words, shape)
    if mode in ("high", "highest"):
        pair = _unit(words, (2, *shape), dtype)
        high, low = pair[0], pair[1]
        finer = high + 2.0 ** -int(info.nmant) * low + np.array(info.tiny, dtype)[()]
        x = jnp.where(high >= 0.5, high, finer)
        return -lax.log(-lax.log1p(-x))
    return -lax.log(-lax.log(_unit(words, shape, dtype, np.array(info.tiny, dtype)[()])))


def _gumbel_highest(words: Any, shape: tuple[int, ...]) -> Any:
    """From 64 bits taken as a fixed-point number, of which the smaller end is kept exactly."""
    bits = random_bits(words, 32, (2, *shape))
    high, low = bits[0], bits[1]
    carry = lax.convert_element_type(~low == np.uint32(0xFFFFFFFF), uint32)
    below_half = high < np.uint32(1 << 31)
    x = _fixed_point(
        jnp.where(below_half, high, ~high + carry), jnp.where(below_half, low, ~low + np.uint32(1))
    )
    return jnp.where(below_half, -lax.log(-lax.log1p(-x)), -lax.log(-lax.log(x)))


def _fixed_point(high: Any, low: Any) -> Any:
    """The float32 nearest to zero's side of 0.high:low, its mantissa cut, in (0, 1)."""
    high_zeros, low_zeros = lax.clz(high), lax.clz(low)
    no_high = high_zeros == np.uint32(32)
    rest = jnp.where(
        no_high,
        lax.shift_left(low, low_zeros),
        lax.shift_right_logical(low, np.uint32(32) - high_zeros),
    )
    leading = lax.shift_left(high, high_zeros) | rest
    mantissa = lax.shift_right_logical(leading, lax.full_like(low, 8))
    mantissa = mantissa & np.uint32((1 << 23) - 1)
    zeros = jnp.where(no_high, np.uint32(32) + low_zeros, high_zeros)
    exponent = lax.shift_left(np.uint32(126) - zeros, lax.full_like(low, 23))
    exponent = exponent & np.uint32((1 << 30) - (1 << 22))
    return lax.bitcast_convert_type(exponent | mantissa, float32)


def gumbel_mode(mode: str | None) -> str:
    """The mode of Gumbel samplers, by default the one that is set."""
    if mode is None:
        mode = "high" if read("use_high_dynamic_range_gumbel") else "low"
    if mode not in ("highest", "high", "low"):
        raise ValueError(f"Must provide valid mode for gumbel got: {mode}")
    return mode


@placed
def gumbel(
    key: ArrayLike,
    shape: Shape = (),
    dtype: DTypeLike | None = None,
    mode: str | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Draw Gumbel numbers: `-log(-log(u))` for a uniform `u`.

    Args:
      key: a random key (or its words).
      shape: the shape of the result.
      dtype: the float dtype of the result; by default float32 (float64 with x64).
      mode: "low", "high" or "highest"; float32 numbers reach about 16 in the mode "low" and about
        32 in "high", for twice the bits. None for the mode that the configuration sets.
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    >>> from effax import random
    >>> random.gumbel(random.key(0), (3,)).round(2)
    Array([ 2.9199998 ,  3.83      , -0.09999999], dtype=float32)
    """
    words = words_of("gumbel", key)
    asked = float_dtype("gumbel", dtype)
    found = canonical_shape(shape)
    return gumbel_words(words, shape=found, dtype=asked, mode=gumbel_mode(mode))


@whole("shape", "dtype")
def _laplace(words: Any, shape: tuple[int, ...], dtype: DType) -> Any:
    low = np.array(-1.0 + finfo(dtype).epsneg, dtype)[()]
    u = _unit(words, shape, dtype, low)
    return lax.mul(lax.sign(u), lax.log1p(lax.neg(lax.abs(u))))


@placed
def laplace(
    key: ArrayLike,
    shape: Shape = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Draw Laplace numbers of scale 1.

    Args:
      key: a random key (or its words).
      shape: the shape of the result.
      dtype: the float dtype of the result; by default float32 (float64 with x64).
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    >>> from effax import random
    >>> random.laplace(random.key(0), (3,)).round(2)
    Array([-2.26     , -3.1499999,  0.41     ], dtype=float32)
    """
    words = words_of("laplace", key)
    asked = float_dtype("laplace", dtype)
    return _laplace(words, shape=canonical_shape(shape), dtype=asked)


@whole("shape", "dtype")
def _logistic(words: Any, shape: tuple[int, ...], dtype: DType) -> Any:
    u = _unit(words, shape, dtype, np.array(finfo(dtype).tiny, dtype)[()])
    return lax.sub(lax.log(u), lax.log1p(lax.neg(u)))


@placed
def logistic(
    key: ArrayLike,
    shape: Shape = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Draw logistic numbers: `log(u / (1 - u))` for a uniform `u`.

    Args:
      key: a random key (or its words).
      shape: the shape of the result.
      dtype: the float dtype of the result; by default float32 (float64 with x64).
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    >>> from effax import random
    >>> random.logistic(random.key(0), (3,)).round(2)
    Array([ 2.8999999,  3.82     , -0.7      ], dtype=float32)
    """
    words = words_of("logistic", key)
    asked = float_dtype("logistic", dtype)
    return _logistic(words, shape=canonical_shape(shape), dtype=asked)


@whole("shape", "dtype")
def _cauchy(words: Any, shape: tuple[int, ...], dtype: DType) -> Any:
    u = _unit(words, shape, dtype, np.array(finfo(dtype).eps, dtype)[()])
    pi, half = lax.full_like(u, np.pi), lax.full_like(u, 0.5)
    return lax.tan(lax.mul(pi, lax.sub(u, half)))


@placed
def cauchy(
    key: ArrayLike,
    shape: Shape = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Draw Cauchy numbers: `tan(pi * (u - 1/2))` for a uniform `u`.

    Args:
      key: a random key (or its words).
      shape: the shape of the result.
      dtype: the float dtype of the result; by default float32 (float64 with x64).
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    >>> from effax import random
    >>> random.cauchy(random.key(0), (3,)).round(2)
    Array([ 6.0299997, 14.839999 , -0.58     ], dtype=float32)
    """
    words = words_of("cauchy", key)
    asked = float_dtype("cauchy", dtype)
    return _cauchy(words, shape=canonical_shape(shape), dtype=asked)


@whole("shape", "dtype")
def _pareto(words: Any, b: Any, shape: tuple[int, ...], dtype: DType) -> Any:
    b = spread(b, shape, dtype)
    return lax.exp(exponential_words(words, shape=shape, dtype=dtype) / b)


@placed
def pareto(
    key: ArrayLike,
    b: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Draw Pareto numbers, which are at least 1.

    Args:
      key: a random key (or its words).
      b: array_like, the exponent.
      shape: the shape of the result; by default that of `b`.
      dtype: the float dtype of the result; by default float32 (float64 with x64).
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    >>> from effax import random
    >>> random.pareto(random.key(0), 2.0, (3,)).round(2)
    Array([4.37, 6.83, 1.22], dtype=float32)
    """
    words = words_of("pareto", key)
    asked = float_dtype("pareto", dtype, given=(b,))
    found = result_shape("pareto", shape, shape_of(b))
    return _pareto(words, b, shape=found, dtype=asked)


@own_promotion
@whole("shape", "dtype")
def _weibull_min(
    words: Any, scale: Any, concentration: Any, shape: tuple[int, ...], dtype: DType
) -> Any:
    u = _unit(words, shape, dtype)
    return jnp.power(-lax.log1p(-u), 1.0 / concentration) * scale


def weibull_min(
    key: ArrayLike,
    scale: ArrayLike,
    concentration: ArrayLike,
    shape: Shape = (),
    dtype: DTypeLike | None = None,
) -> Array:
    """Draw Weibull numbers.

    Args:
      key: a random key (or its words).
      scale, concentration: array_like, the parameters, which broadcast to `shape`.
      shape: the shape of the result.
      dtype: the float dtype of the result; by default float32 (float64 with x64).

    Raises:
      ValueError: where the parameters don't broadcast to `shape`: a draw would serve several.

    >>> from effax import random
    >>> random.weibull_min(random.key(0), 1.0, 2.0, (3,)).round(2)
    Array([1.7199999, 1.9599999, 0.64     ], dtype=float32)
    """
    words = words_of("weibull_min", key)
    asked = float_dtype("weibull_min", dtype)
    found = result_shape("weibull_min", shape, shape_of(scale), shape_of(concentration))
    return _weibull_min(words, scale, concentration, shape=found, dtype=asked)


@whole("shape", "dtype")
def _rayleigh(words: Any, scale: Any, shape: tuple[int, ...], dtype: DType) -> Any:
    u = _unit(words, shape, dtype)
    radius = lax.sqrt(lax.mul(lax.log(u), lax.full_like(u, -2)))
    return lax.mul(spread(scale, shape, dtype), radius)


@placed
def rayleigh(
    key: ArrayLike,
    scale: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Draw Rayleigh numbers.

    Args:
      key: a random key (or its words).
      scale: array_like, the scale.
      shape: the shape of the result; by default that of `scale`.
      dtype: the float dtype of the result; by default float32 (float64 with x64).
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    >>> from effax import random
    >>> random.rayleigh(random.key(0), 1.0, (3,)).round(2)
    Array([0.32999998, 0.21      , 1.48      ], dtype=float32)
    """
    words = words_of("rayleigh", key)
    asked = float_dtype("rayleigh", dtype, given=(scale,))
    found = result_shape("rayleigh", shape, shape_of(scale))
    return _rayleigh(words, scale, shape=found, dtype=asked)


@whole("shape", "dtype")
def _triangular(
    words: Any, left: Any, mode: Any, right: Any, shape: tuple[int, ...], dtype: DType
) -> Any:
    left, mode, right = (spread(x, shape, dtype) for x in (left, mode, right))
    below = (mode - left) / (right - left)
    u = _unit(words, shape, dtype)
    rising = left + lax.sqrt(u * (right - left) * (mode - left))
    falling = right - lax.sqrt((1 - u) * (right - left) * (right - mode))
    return lax.select(u < below, rising, falling)


@placed
def triangular(
    key: ArrayLike,
    left: ArrayLike,
    mode: ArrayLike,
    right: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Draw numbers between `left` and `right` whose density rises to `mode` and falls after it.

    Args:
      key: a random key (or its words).
      left, mode, right: array_like, the lower bound, the peak and the upper bound.
      shape: the shape of the result; by default that of the parameters broadcast together.
      dtype: the float dtype of the result; by default float32 (float64 with x64).
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    >>> from effax import random
    >>> random.triangular(random.key(0), 0.0, 1.0, 2.0, (3,)).round(2)
    Array([1.68, 1.79, 0.82], dtype=float32)
    """
    words = words_of("triangular", key)
    asked = float_dtype("triangular", dtype, given=(left, mode, right))
    found = result_shape("triangular", shape, shape_of(left), shape_of(mode), shape_of(right))
    return _triangular(words, left, mode, right, shape=found, dtype=asked)


@whole("shape", "dtype")
def _lognormal(words: Any, sigma: Any, shape: tuple[int, ...], dtype: DType) -> Any:
    normals = normal_words(words, shape=shape, dtype=dtype)
    return lax.exp(normals * spread(sigma, shape, dtype))


@placed
def lognormal(
    key: ArrayLike,
    sigma: ArrayLike = _ONE,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Draw exponentials of normal numbers of mean 0.

    Args:
      key: a random key (or its words).
      sigma: array_like, the standard deviation of the normal numbers.
      shape: the shape of the result; by default that of `sigma`.
      dtype: the float or complex dtype of the result; by default float32 (float64 with x64).
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    >>> from effax import random
    >>> random.lognormal(random.key(0), 1.0, (3,)).round(2)
    Array([5.0699997, 7.58     , 0.65     ], dtype=float32)
    """
    words = words_of("lognormal", key)
    asked = float_dtype("lognormal", dtype, inexact=True, given=(sigma,))
    found = result_shape("lognormal", shape, shape_of(sigma))
    return _lognormal(words, sigma, shape=found, dtype=asked)
