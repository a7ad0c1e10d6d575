"""Rounding, and the parts of floats: signs, exponents, neighbours."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from effax.eager.whole import whole
from effax.effects.effect import Effect
from effax.effects.rows import comparison, complex, conversion, elementwise, logical
from effax.effects.rows.shape import full
from effax.effects.types import (
    bit_width,
    bool_,
    default_float,
    finfo,
    float32,
    int32,
    is_bool,
    is_complex,
    is_float,
    is_inexact,
    typeof,
)
from effax.effects.value import Array, ArrayLike
from effax.interpreters.composites.barrier import barrier
from effax.numpy.arithmetic import choose
from effax.operands.arguments import (
    bounded,
    cast,
    known_index,
    refuse_out,
    strong,
    strong_unless_scalar,
)
from effax.operands.promoting import (
    array,
    arraylike,
    broadcast_to_common,
    promote_inexact,
    strong_unless_all_weak,
    unary,
    unary_inexact,
)

_TO_EVEN = 1


@whole()
def floor(x: ArrayLike, /) -> Array:
    """Return the nearest integer from below; integers as they are.

    Args:
      x: array_like, real.

    >>> floor(-1.5)
    Array(-2., dtype=float32, weak_type=True)
    """
    values = array(unary("floor", x))
    return elementwise.floor(values) if is_inexact(typeof(values).dtype) else values


@whole()
def ceil(x: ArrayLike, /) -> Array:
    """Return the nearest integer from above; integers as they are.

    Args:
      x: array_like, real.

    >>> ceil(-1.5)
    Array(-1., dtype=float32, weak_type=True)
    """
    values = array(unary("ceil", x))
    return elementwise.ceil(values) if is_inexact(typeof(values).dtype) else values


@whole()
def trunc(x: ArrayLike) -> Array:
    """Return the nearest integer towards zero; integers as they are.

    Args:
      x: array_like, real.

    >>> trunc(-1.5)
    Array(-1., dtype=float32, weak_type=True)
    """
    values = array(unary("trunc", x))
    if not is_inexact(typeof(values).dtype):
        return values
    above = comparison.lt(values, 0.0)
    return choose(above, elementwise.ceil(values), elementwise.floor(values))


fix = trunc


@whole()
def rint(x: ArrayLike, /) -> Array:
    """Return the nearest integer, the even one of two; always floating-point or complex.

    Args:
      x: array_like; of complex numbers, both parts are rounded.

    >>> rint(2.5)
    Array(2., dtype=float32, weak_type=True)
    """
    x = array(unary("rint", x))
    return _round_to_even(x if is_inexact(typeof(x).dtype) else cast(x, default_float()))


def _round_to_even(x: Any) -> Any:
    if is_complex(typeof(x).dtype):
        parts = complex.real(x), complex.imag(x)
        return complex.complex(*map(_round_to_even, parts))
    return elementwise.round(x, rounding_method=_TO_EVEN)


def round(a: ArrayLike, decimals: int = 0, out: None = None) -> Array:
    """Round to the nearest number of that many decimals, the even one of two; integers as they are.

    Args:
      a: array_like, not Boolean; of complex numbers, both parts are rounded.
      decimals: the number of decimals; a negative one, as -1 for tens, is for floats only.
      out: must be None: arrays can't be written to.

    >>> round(2.5)
    Array(2., dtype=float32, weak_type=True)
    """
    refuse_out("round", out)
    return _round(a, known_index("round", "decimals", decimals))


@whole("decimals")
def _round(a: Any, decimals: int) -> Any:
    a = array(unary("round", a))
    dtype = typeof(a).dtype
    if is_bool(dtype):
        raise ValueError("round takes numbers, but was given Booleans")
    if not is_inexact(dtype):
        if decimals < 0:
            raise NotImplementedError("integer np.round not implemented for decimals < 0")
        return a
    if decimals == 0:
        return _round_to_even(a)
    if is_complex(dtype):
        parts = complex.real(a), complex.imag(a)
        return complex.complex(*(strong(_round(x, decimals)) for x in parts))
    a = strong_unless_scalar(a)
    wide = cast(a, float32, typeof(a).weak_type) if bit_width(dtype) < 32 else a
    return cast(_round_scaled(wide, decimals), dtype, typeof(a).weak_type)


def _round_scaled(x: Any, decimals: int) -> Any:
    info = finfo(typeof(x).dtype)
    same = elementwise.stop_gradient(x)
    if decimals < -math.log10(float(info.max)):  # zero is nearer to all than the next such number
        return choose(elementwise.is_finite(x), elementwise.mul(same, 0.0), same)
    up, down = elementwise.mul, elementwise.div
    if decimals < 0:
        up, down = down, up
    steps = _powers_of_ten(abs(decimals))
    scaled = _by_steps(up, x, steps)
    rounded = _by_steps(down, _round_to_even(scaled), steps)
    # Numbers this large are integers; and they may have become infinite.
    few = comparison.lt(elementwise.abs(scaled), 2.0**info.nmant)
    return choose(few, rounded, same)


def _powers_of_ten(decimals: int) -> list[float]:
    """Factors whose product is that power of ten, and which have reciprocals in float32 too.

    No more than bring the smallest float64 above the largest.
    """
    count, rest = divmod(min(decimals, 650), 18)
    return [10.0**rest, *[1e18] * count]


def _by_steps(operation: Effect, x: Any, steps: list[float]) -> Any:
    """Multiply or divide by each in turn, which XLA would do by their product."""
    first, *others = steps
    x = operation(x, first)
    for step in others:
        x = operation(barrier(x)[0], step)
    return x


around = round


@whole()
def signbit(x: ArrayLike, /) -> Array:
    """Return whether the sign is negative, also that of -0.0 and of NaN.

    Args:
      x: array_like, real.

    >>> signbit(-0.0)
    Array(True, dtype=bool)
    """
    x = array(unary("signbit", x))
    dtype = typeof(x).dtype
    if is_bool(dtype):
        return full(typeof(x).shape, False, bool_)
    if is_float(dtype):
        x = bits_of(x)
    elif is_complex(dtype):
        raise ValueError(f"jnp.signbit is not well defined for {dtype}")
    return strong(comparison.lt(x, 0))


def bits_of(x: Any) -> Any:
    """A float's bits as a signed integer."""
    integer = np.dtype(f"int{bit_width(typeof(x).dtype)}")
    return conversion.bitcast_convert_type(x, dtype=integer)


@whole()
def copysign(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Return x1 with the sign of x2.

    Args:
      x1, x2: array_like, real, broadcast against each other.

    >>> copysign(2, -1)
    Array(-2., dtype=float32, weak_type=True)
    """
    x1, x2 = promote_inexact(x1, x2, name="copysign", arrays=True)
    if is_complex(typeof(x1).dtype):
        raise TypeError("copysign does not support complex-valued inputs")
    size = elementwise.abs(x1)
    result = choose(comparison.lt(bits_of(x2), 0), elementwise.neg(size), size)
    return strong_unless_all_weak(result, x1, x2)


@whole()
def nextafter(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Return the next float after x in the direction of y.

    Args:
      x, y: array_like, real, broadcast against each other.

    >>> float(nextafter(1.0, 2.0))
    1.0000001192092896
    """
    return elementwise.nextafter(*promote_inexact(x, y, name="nextafter"))


@whole()
def spacing(x: ArrayLike, /) -> Array:
    """Return the distance to the next float away from zero, with the sign of x.

    Args:
      x: array_like, real.

    >>> spacing(1.0)
    Array(1.1920929e-07, dtype=float32)
    """
    x = strong(unary_inexact("spacing", x))
    dtype = typeof(x).dtype
    if is_complex(dtype):
        raise ValueError("jnp.spacing is not defined for complex inputs.")
    if dtype == np.float16:  # NumPy takes the upper neighbour for this one dtype
        return elementwise.sub(elementwise.nextafter(x, math.inf), x)
    outwards = copysign(math.inf, x)
    result = elementwise.sub(elementwise.nextafter(x, outwards), x)
    least = copysign(float(finfo(dtype).smallest_subnormal), x)
    return choose(comparison.eq(result, 0.0), least, result)


def _power_of_two(n: Any, dtype: Any) -> Any:
    """2 to the power n, an integer array, for exponents of normal numbers: made of its bits."""
    info = finfo(dtype)
    integer = np.dtype(f"int{bit_width(dtype)}")
    biased = elementwise.add(cast(n, integer), 1 - int(info.minexp))
    return conversion.bitcast_convert_type(logical.shift_left(biased, int(info.nmant)), dtype=dtype)


def _scaled(x: Any, n: Any, pieces: int) -> Any:
    """`x * 2**n`, in several steps, since one power of two may not be a float."""
    dtype = typeof(x).dtype
    rest = n
    for k in range(pieces, 0, -1):
        part = elementwise.div(rest, k)
        rest = elementwise.sub(rest, part)
        x = elementwise.mul(x, _power_of_two(part, dtype))
    return x


def _exponent(x: Any) -> Any:
    """The exponent n of a float in [1/2, 1) * 2**n, as int32; for finite numbers except zero."""
    dtype = typeof(x).dtype
    info = finfo(dtype)
    tiny = comparison.lt(elementwise.abs(x), float(info.tiny))
    lifted = choose(tiny, elementwise.mul(x, 2.0 ** int(info.nmant)), x)
    mask = (1 << int(info.nexp)) - 1
    field = logical.and_(logical.shift_right_logical(bits_of(lifted), int(info.nmant)), mask)
    n = elementwise.sub(cast(field, int32), -int(info.minexp))
    return choose(tiny, elementwise.sub(n, int(info.nmant)), n)


@whole()
def frexp(x: ArrayLike, /) -> tuple[Array, Array]:
    """Return `(m, n)` with `x == m * 2**n` and the absolute value of m in [1/2, 1).

    Args:
      x: array_like, real. Zero, infinity and NaN are their own m, with n = 0.

    >>> frexp(6.0)[1]
    Array(3, dtype=int32)
    """
    x = array(unary_inexact("frexp", x))
    if is_complex(typeof(x).dtype):
        raise TypeError("frexp does not support complex-valued inputs")
    special = logical.or_(comparison.eq(x, 0.0), logical.not_(elementwise.is_finite(x)))
    n = choose(special, 0, _exponent(choose(special, 1.0, x)))
    return choose(special, x, _scaled(x, elementwise.neg(n), 2)), n


@whole()
def ldexp(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Return `x1 * 2**x2`.

    Args:
      x1: array_like, real.
      x2: array_like of integers, broadcast against x1.

    >>> ldexp(0.5, 3)
    Array(4., dtype=float32)
    """
    x1, x2 = map(array, arraylike("ldexp", x1, x2))
    given = typeof(x1).dtype, typeof(x2).dtype
    if is_complex(given[0]) or is_inexact(given[1]):
        raise ValueError(f"ldexp not supported for input types {given}")
    x1 = unary_inexact("ldexp", x1)
    # Beyond this every result is zero or infinite, and three factors of two reach this far.
    limit = 3 * (int(finfo(typeof(x1).dtype).maxexp) - 2)
    x1, n = broadcast_to_common(x1, bounded(x2, -limit, limit), name="ldexp")
    return _scaled(x1, n, 3)


def modf(x: ArrayLike, /, out: None = None) -> tuple[Array, Array]:
    """Return the fractional and the integral part, both with the sign of x.

    Args:
      x: array_like, real.
      out: must be None: arrays can't be written to.

    >>> modf(2.5)[0]
    Array(0.5, dtype=float32, weak_type=True)
    """
    refuse_out("modf", out)
    return _modf(x)


@whole()
def _modf(x: Any) -> tuple[Any, Any]:
    x = array(unary_inexact("modf", x))
    whole_number = trunc(x)
    infinite = comparison.eq(elementwise.abs(x), math.inf)
    fraction = choose(infinite, 0.0, elementwise.sub(x, whole_number))
    return fraction, whole_number


@whole()
def heaviside(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Return 0 for negative x1, 1 for positive, x2 at zero, and NaN for NaN.

    Args:
      x1, x2: array_like, real, broadcast against each other.

    >>> heaviside(0.0, 0.5)
    Array(0.5, dtype=float32, weak_type=True)
    """
    given = x1, x2
    x1, x2 = promote_inexact(x1, x2, name="heaviside", arrays=True, any_rank=True)
    at_zero = choose(comparison.ne(x1, x1), x1, x2)
    step = choose(comparison.lt(x1, 0.0), 0.0, choose(comparison.gt(x1, 0.0), 1.0, at_zero))
    return strong_unless_scalar(strong_unless_all_weak(step, *given))
