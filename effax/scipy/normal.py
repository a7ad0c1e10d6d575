"""The normal distribution's functions, with their logarithms exact far out in the tails."""

from __future__ import annotations

import math
from typing import Any

import effax.numpy as jnp
from effax.api.custom.jvp import custom_jvp
from effax.eager.whole import whole
from effax.effects.rows import elementwise, special
from effax.effects.types import bit_width, is_complex, typeof
from effax.effects.value import Array, ArrayLike
from effax.numpy.decompositions import floats, opened_list
from effax.operands.arguments import strong
from effax.operands.promoting import broadcast_shapes

_LOG_ROOT_2PI = 0.5 * math.log(2 * math.pi)


def spread(name: str, *xs: ArrayLike) -> list[Array]:
    """The operands as floats of one dtype and one shape."""
    found = floats(name, *xs)
    broadcast_shapes(name, [typeof(x).shape for x in found])  # raises for ranks that may not mix
    return jnp.broadcast_arrays(*found)


class ComplexError(TypeError, ValueError):
    """A complex number where a real one is meant: a `TypeError` as in lax, or a `ValueError`."""


def real(name: str, *xs: ArrayLike) -> list[Array]:
    """The same; raises `ComplexError` for complex numbers."""
    found = spread(f"special.{name}", *xs)
    if is_complex(typeof(found[0]).dtype):
        raise ComplexError(f"{name} does not support complex-valued inputs.")
    return found


def firm(x: Array) -> Array:
    """Return an array as a strong type, and a single number as it is, like JAX's functions."""
    return strong(x) if typeof(x).ndim else x


def _ndtr(x: Array) -> Array:
    return elementwise.mul(special.erfc(elementwise.mul(x, -math.sqrt(0.5))), 0.5)


@whole()
def ndtr(x: ArrayLike) -> Array:
    """Compute the distribution function of the normal distribution.

    Args:
      x: array_like of real numbers.

    >>> from effax.scipy import special
    >>> float(special.ndtr(0.0))
    0.5
    """
    return strong(_ndtr(*real("ndtr", opened_list(x))))


def _log_ndtr(x: Array, order: int) -> Array:
    """Above: `-ndtr(-x)`; in the middle `log(ndtr(x))`; below, an asymptotic series."""
    wide = bit_width(x.dtype) > 32
    lower, upper = (-20.0, 8.0) if wide else (-10.0, 5.0)
    inside = jnp.maximum(x, lower)
    # The logarithm of a number close to 1 is computed from its difference from 1.
    left, right = jnp.minimum(inside, 0), jnp.maximum(inside, 0)
    middle = jnp.where(x > 0, jnp.log1p(-_ndtr(-right)), jnp.log(_ndtr(left)))
    far = jnp.minimum(x, lower)
    below = -0.5 * far * far - jnp.log(-far) - _LOG_ROOT_2PI + jnp.log(_tail_series(far, order))
    return jnp.where(x > upper, -_ndtr(-x), jnp.where(x > lower, middle, below))


def _log_ndtr_slope(x: Array, value: Array) -> Array:
    """The density over the distribution function: far below, `-x` over a series."""
    lower = -20.0 if bit_width(x.dtype) > 32 else -10.0
    inside = jnp.maximum(x, lower)
    far = jnp.where(x > lower, lower, x)  # not minimum, of which x has half of the slope at a tie
    near = jnp.exp(-0.5 * inside * inside - _LOG_ROOT_2PI - jnp.where(x > lower, value, 0))
    return jnp.where(x > lower, near, -far / _tail_series(far, 8))


def _tail_series(x: Array, order: int) -> Array:
    """`-x ndtr(x)` over the density, for a very negative x (Abramowitz & Stegun 26.2.12)."""
    series, term = jnp.ones_like(x), jnp.ones_like(x)
    for n in range(1, order + 1):
        term = term * (-(2 * n - 1)) / (x * x)
        series = series + term
    return series


@whole("series_order")
def log_ndtr(x: ArrayLike, series_order: int = 3) -> Array:
    """Compute the logarithm of the distribution function of the normal distribution.

    Args:
      x: array_like of real numbers.
      series_order: the number of terms after the first in the series for very negative x.

    >>> from effax.scipy import special
    >>> float(special.log_ndtr(-30.0))
    -454.3...
    """

    @custom_jvp
    def function(x: Array) -> Array:
        return _log_ndtr(x, series_order)

    @function.defjvp
    def function_jvp(primals: Any, tangents: Any) -> Any:
        (x,), (t,) = primals, tangents
        value = function(x)
        return value, t * _log_ndtr_slope(x, value)

    return function(*map(strong, real("log_ndtr", opened_list(x))))


@whole()
def ndtri(p: ArrayLike) -> Array:
    """Compute the inverse of `ndtr`.

    Args:
      p: array_like, the probabilities; the result is NaN outside of 0 to 1.

    >>> from effax.scipy import special
    >>> float(special.ndtri(0.5))
    0.0
    """

    @custom_jvp
    def function(p: Array) -> Array:
        """An approximation (Abramowitz & Stegun 26.2.22), then steps in the logarithm."""
        tail = jnp.minimum(p, 1 - p)
        inside = tail > 0
        logarithm = jnp.log(jnp.where(inside, tail, 0.25))
        t = jnp.sqrt(-2 * logarithm)
        x = (2.30753 + 0.27061 * t) / (1 + t * (0.99229 + 0.04481 * t)) - t
        for _ in range(4):
            value = _log_ndtr(x, 3)
            x = x - (value - logarithm) / _log_ndtr_slope(x, value)
        # Near the median the logarithm carries little information, and `2 * p - 1` is exact.
        middle = math.sqrt(2) * special.erf_inv(jnp.where(tail > 0.25, 2 * tail - 1, 0))
        x = jnp.where(tail > 0.25, middle, x)
        x = jnp.where(inside, x, jnp.where(tail == 0, -math.inf, math.nan))
        return jnp.where(p > 0.5, -x, x)

    @function.defjvp
    def function_jvp(primals: Any, tangents: Any) -> Any:
        (p,), (t,) = primals, tangents
        value = function(p)
        return value, t * jnp.exp(0.5 * value * value + _LOG_ROOT_2PI)

    return function(*map(strong, real("ndtri", p)))
