"""Arithmetic on arrays: sums, products, quotients, remainders, powers, and the larger of two."""

from __future__ import annotations

import operator
from functools import partial
from typing import Any

import numpy as np

from effax.eager.whole import whole
from effax.effects.effect import LITERALS
from effax.effects.rows import comparison, elementwise, logical
from effax.effects.rows.conversion import convert_element_type
from effax.effects.rows.reduction import reduce_max, reduce_or
from effax.effects.rows.selection import select_n
from effax.effects.types import (
    bit_width,
    is_bool,
    is_complex,
    is_inexact,
    is_integer,
    is_unsigned,
    typeof,
)
from effax.effects.value import Array, ArrayLike
from effax.numpy import folds, reductions
from effax.numpy.accumulations import cumprod, cumsum
from effax.numpy.universal import universal
from effax.operands.promoting import (
    array,
    arraylike,
    broadcast_to_common,
    direct,
    learn,
    nearest,
    numeric_dtype,
    promote,
    promote_inexact,
    promote_numeric,
    unary,
    unary_inexact,
)


def dtype_of(x: Any, y: Any) -> Any:
    """The dtype of two operands that were promoted, of which one may be a Python number."""
    return typeof(y if type(x) in LITERALS else x).dtype


def choose(condition: Any, yes: Any, no: Any) -> Any:
    """`yes` where the condition holds, else `no`: operands of one type, or Python numbers."""
    return select_n(condition, no, yes)


def in_order(x: Any, y: Any) -> tuple[Any, Any]:
    """The smaller and the larger of two arrays, each with all of its slope at a tie.

    At a tie `minimum` and `maximum` take half of both slopes: of a symmetric function this is its
    first derivative, but not its second. Beside a NaN the other number may be either.
    """
    swapped = comparison.gt(x, y)
    return choose(swapped, y, x), choose(swapped, x, y)


@universal(identity=0, reduce=reductions.sum, accumulate=cumsum, at=folds.update("add", "max"))
def add(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Return `x + y`; for Booleans their disjunction.

    >>> add(1, 2.5)
    Array(3.5, dtype=float32, weak_type=True)
    """
    if direct(x, y):
        return elementwise.add(x, y)
    x, y = promote(x, y, name="add")
    learn(x, y)
    return logical.or_(x, y) if is_bool(dtype_of(x, y)) else elementwise.add(x, y)


@universal(at=folds.update("subtract"))
def subtract(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Return `x - y`; refused for Booleans.

    >>> subtract(1, 2)
    Array(-1, dtype=int32, weak_type=True)
    """
    if direct(x, y):
        return elementwise.sub(x, y)
    x, y = promote(x, y, name="subtract")
    learn(x, y)
    return elementwise.sub(x, y)


@universal(
    identity=1, reduce=reductions.prod, accumulate=cumprod, at=folds.update("multiply", "min")
)
def multiply(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Return `x * y`; for Booleans their conjunction.

    >>> multiply(2, 3)
    Array(6, dtype=int32, weak_type=True)
    """
    if direct(x, y):
        return elementwise.mul(x, y)
    x, y = promote(x, y, name="multiply")
    learn(x, y)
    return logical.and_(x, y) if is_bool(dtype_of(x, y)) else elementwise.mul(x, y)


@whole()
def true_divide(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Return `x1 / x2`, in floating point.

    >>> true_divide(1, 4)
    Array(0.25, dtype=float32, weak_type=True)
    """
    if direct(x1, x2) and is_inexact(dtype_of(x1, x2)):
        return elementwise.div(x1, x2)
    x1, x2 = promote_inexact(x1, x2, name="true_divide")
    return elementwise.div(x1, x2)


divide = true_divide


@whole()
def floor_divide(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Return `x1 // x2`, rounded towards minus infinity.

    >>> floor_divide(-7, 2)
    Array(-4, dtype=int32, weak_type=True)
    """
    x1, x2 = promote_numeric(x1, x2, name="floor_divide", arrays=True)
    dtype = typeof(x1).dtype
    if is_complex(dtype):
        raise TypeError("floor_divide does not support complex-valued inputs")
    if not is_integer(dtype):
        return _float_divmod(x1, x2)[0]
    quotient = elementwise.div(x1, x2)
    if is_unsigned(dtype):
        return quotient
    # Compare signs, not `< 0`: in a division by zero XLA's quotient is -1, and JAX's result -2 or
    # -1.
    differ = comparison.ne(elementwise.sign(x1), elementwise.sign(x2))
    inexact = logical.and_(differ, comparison.ne(elementwise.rem(x1, x2), 0))
    return choose(inexact, elementwise.sub(quotient, 1), quotient)


def _opposite(rest: Any, divisor: Any) -> Any:
    """Whether a remainder is not zero, and has another sign than the divisor."""
    differ = comparison.ne(comparison.lt(rest, 0), comparison.lt(divisor, 0))
    return logical.and_(differ, comparison.ne(rest, 0))


def _float_divmod(x: Any, y: Any) -> tuple[Any, Any]:
    """Quotient and remainder of floats as Python has them: the remainder has the divisor's sign."""
    rest = elementwise.rem(x, y)
    quotient = elementwise.div(choose(comparison.eq(y, 0.0), x, elementwise.sub(x, rest)), y)
    opposite = _opposite(rest, y)
    rest = choose(opposite, elementwise.add(rest, y), rest)
    quotient = choose(opposite, elementwise.sub(quotient, 1.0), quotient)
    return elementwise.round(quotient, rounding_method=0), rest


@whole()
def remainder(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Return `x1 % x2`, with the sign of x2; zero for integers where x2 is zero.

    >>> remainder(-7, 3)
    Array(2, dtype=int32, weak_type=True)
    """
    x1, x2 = promote_numeric(x1, x2, name="remainder")
    if is_integer(dtype_of(x1, x2)):
        x2 = _without_zeros(x2)
    rest = elementwise.rem(x1, x2)
    if is_unsigned(typeof(rest).dtype):
        return rest
    if type(x2) in LITERALS:
        # The sign of a literal divisor is known.
        known: Any = x2
        wrong = comparison.lt(rest, 0) if known >= 0 else comparison.gt(rest, 0)
    else:
        wrong = _opposite(rest, x2)
    return choose(wrong, elementwise.add(rest, x2), rest)


mod = remainder


def _without_zeros(x: Any) -> Any:
    if type(x) in LITERALS:
        return x or 1
    return choose(comparison.eq(x, 0), 1, x)


@whole()
def fmod(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Return the remainder of a division, with the sign of `x1`, as in C.

    Args:
      x1, x2: array_like, broadcast against each other; for integers the remainder of a division by
        0 is 0.

    >>> fmod(-7, 3)
    Array(-1, dtype=int32, weak_type=True)
    """
    x1, x2 = promote_numeric(x1, x2, name="fmod")
    return elementwise.rem(x1, _without_zeros(x2) if is_integer(dtype_of(x1, x2)) else x2)


@whole()
def divmod(x1: ArrayLike, x2: ArrayLike, /) -> tuple[Array, Array]:
    """Return `(x1 // x2, x1 % x2)`.

    >>> divmod(7, 2)[1]
    Array(1, dtype=int32, weak_type=True)
    """
    x1, x2 = promote_numeric(x1, x2, name="divmod", arrays=True)
    if is_integer(typeof(x1).dtype):
        return floor_divide(x1, x2), remainder(x1, x2)
    return _float_divmod(x1, x2)


def power(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Return `x1 ** x2`.

    A Python integer as exponent makes repeated products, exact for integers and differentiable
    everywhere. Raises `TypeError` for integers to a negative power known beforehand.

    >>> power(3, 2)
    Array(9, dtype=int32, weak_type=True)
    """
    if type(x2) is int or type(x2) is bool or isinstance(x2, np.integer):
        return _integer_power(x1, operator.index(x2))
    return _power(x1, x2)


pow = power


@whole("n")
def _integer_power(x: Any, n: int) -> Any:
    return elementwise.integer_pow(unary("power", x, numeric_dtype), y=n)


@whole()
def _power(x1: Any, x2: Any) -> Any:
    x1, x2 = arraylike("power", x1, x2)
    if type(x2) is float and type(x1) not in LITERALS and is_inexact(typeof(x1).dtype):
        return elementwise.pow(x1, x2)  # the exponent stays a literal, which rules can look at
    x, n = promote_numeric(x1, x2, name="power", arrays=True)
    if is_integer(typeof(x).dtype):
        return _power_of_integers(x, n)
    if is_inexact(typeof(x1).dtype) and is_integer(typeof(x2).dtype):
        # The exponent stays an integer, so that the derivative is right where the base is zero.
        x = array(x1) if type(x1) in LITERALS else x1
        return elementwise.pow(*broadcast_to_common(x, x2, name="power"))
    return elementwise.pow(x, n)


def _power_of_integers(x: Any, n: Any) -> Any:
    """By squaring; what overflows wraps around, as in NumPy.

    JAX takes the last six bits of all exponents. Here it is so with negative ones, which NumPy
    refuses.
    """
    from effax.lax.branching import cond
    from effax.lax.control import while_loop

    width, signed = bit_width(typeof(n).dtype), typeof(n).dtype.kind != "u"
    axes = tuple(range(len(typeof(x).shape)))

    def start(x: Any, n: Any) -> tuple[Any, Any, Any]:
        if signed and width > 6:
            n = choose(comparison.lt(n, 0), logical.and_(n, 63), n)
        return convert_element_type(comparison.eq(x, x), dtype=typeof(x).dtype), x, n

    def step(state: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        result, x, n = state
        odd = comparison.ne(logical.and_(n, 1), 0)
        result = choose(odd, elementwise.mul(result, x), result)
        return result, elementwise.mul(x, x), logical.shift_right_logical(n, 1)

    def of_bits(count: int, x: Any, n: Any) -> Any:
        state = start(x, n)
        for _ in range(count):
            state = step(state)
        return state[0]

    def unfinished(state: tuple[Any, Any, Any]) -> Any:
        return reduce_or(comparison.ne(state[2], 0), axes=axes)

    def of_all_bits(x: Any, n: Any) -> Any:
        return while_loop(unfinished, step, start(x, n))[0]

    if width <= 8:
        return of_bits(width, x, n)
    # The usual exponents take one pass over the arrays; a loop takes one for each bit.
    large = comparison.ge(reduce_max(n, axes=axes), 64)
    return cond(large, of_all_bits, partial(of_bits, 6), x, n)


@whole()
def float_power(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Return `x ** y`, in floating point.

    >>> float_power(2, -1)
    Array(0.5, dtype=float32, weak_type=True)
    """
    return elementwise.pow(*promote_inexact(x, y, name="float_power"))


@universal(1)
def negative(x: ArrayLike, /) -> Array:
    """Return `-x`; refused for Booleans.

    >>> negative(2)
    Array(-2, dtype=int32, weak_type=True)
    """
    return elementwise.neg(unary("negative", x))


@whole()
def positive(x: ArrayLike, /) -> Array:
    """Return `+x`: x itself.

    >>> positive(2)
    Array(2, dtype=int32, weak_type=True)
    """
    return array(unary("positive", x))


@whole()
def absolute(x: ArrayLike, /) -> Array:
    """Return the absolute value.

    Args:
      x: array_like; of complex numbers the result is real.

    >>> absolute(-2)
    Array(2, dtype=int32, weak_type=True)
    """
    values = array(unary("absolute", x))
    dtype = typeof(values).dtype
    return values if is_bool(dtype) or is_unsigned(dtype) else elementwise.abs(values)


abs = absolute


@whole()
def fabs(x: ArrayLike, /) -> Array:
    """Return the absolute value in floating point.

    Args:
      x: array_like of real numbers.

    Raises:
      TypeError: for complex numbers.

    >>> fabs(-2)
    Array(2., dtype=float32, weak_type=True)
    """
    x = unary_inexact("fabs", x)
    if is_complex(typeof(x).dtype):
        raise TypeError("ufunc 'fabs' does not support complex dtypes")
    return elementwise.abs(x)


@whole()
def sign(x: ArrayLike, /) -> Array:
    """Return -1, 0 or 1; for complex numbers `x / abs(x)`.

    >>> sign(-2)
    Array(-1, dtype=int32, weak_type=True)
    """
    return elementwise.sign(unary("sign", x))


@whole()
def reciprocal(x: ArrayLike, /) -> Array:
    """Return `1 / x`, in floating point.

    >>> reciprocal(4)
    Array(0.25, dtype=float32, weak_type=True)
    """
    return elementwise.integer_pow(unary_inexact("reciprocal", x), y=-1)


@whole()
def square(x: ArrayLike, /) -> Array:
    """Return `x * x`.

    >>> square(3)
    Array(9, dtype=int32, weak_type=True)
    """
    return elementwise.square(unary("square", x, numeric_dtype))


@universal(
    reduce=folds.largest,
    accumulate=folds.running_largest,
    at=folds.update("max", promotes=True),
)
def maximum(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Return the larger of two values, element by element; NaN where either is NaN.

    Args:
      x, y: array_like, broadcast against each other.

    >>> maximum(2, 3)
    Array(3, dtype=int32, weak_type=True)
    """
    if direct(x, y):
        return elementwise.max(x, y)
    return elementwise.max(*promote(nearest(x, y), nearest(y, x), name="maximum"))


@universal(
    reduce=folds.smallest,
    accumulate=folds.running_smallest,
    at=folds.update("min", promotes=True),
)
def minimum(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Return the smaller of two values, element by element; NaN where either is NaN.

    Args:
      x, y: array_like, broadcast against each other.

    >>> minimum(2, 3)
    Array(2, dtype=int32, weak_type=True)
    """
    if direct(x, y):
        return elementwise.min(x, y)
    return elementwise.min(*promote(nearest(x, y), nearest(y, x), name="minimum"))
