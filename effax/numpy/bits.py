"""Bits of integers, and what integers divide."""

from __future__ import annotations

from typing import Any

from effax.eager.whole import whole
from effax.effects.rows import comparison, elementwise, logical, reduction
from effax.effects.types import is_integer, is_unsigned, typeof, uint8
from effax.effects.value import Array, ArrayLike
from effax.lax.control import while_loop
from effax.numpy import folds
from effax.numpy.arithmetic import absolute, choose, dtype_of, floor_divide
from effax.numpy.universal import universal
from effax.operands.arguments import cast, strong
from effax.operands.promoting import (
    numeric_dtype,
    promote,
    promote_numeric,
    strong_unless_all_weak,
    unary,
)


@universal(identity=-1, reduce=folds.conjunction)
def bitwise_and(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Return `x & y`.

    >>> bitwise_and(6, 3)
    Array(2, dtype=int32, weak_type=True)
    """
    return logical.and_(*promote(x, y, name="bitwise_and"))


@universal(identity=0, reduce=folds.disjunction)
def bitwise_or(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Return `x | y`.

    >>> bitwise_or(6, 3)
    Array(7, dtype=int32, weak_type=True)
    """
    return logical.or_(*promote(x, y, name="bitwise_or"))


@universal(identity=0, reduce=folds.parity)
def bitwise_xor(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Return `x ^ y`.

    >>> bitwise_xor(6, 3)
    Array(5, dtype=int32, weak_type=True)
    """
    return logical.xor(*promote(x, y, name="bitwise_xor"))


@whole()
def bitwise_invert(x: ArrayLike, /) -> Array:
    """Return `~x`.

    >>> bitwise_invert(0)
    Array(-1, dtype=int32, weak_type=True)
    """
    return logical.not_(unary("bitwise_invert", x))


bitwise_not = invert = bitwise_invert


@whole()
def left_shift(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Return `x << y`.

    >>> left_shift(1, 3)
    Array(8, dtype=int32, weak_type=True)
    """
    return logical.shift_left(*promote_numeric(x, y, name="left_shift"))


bitwise_left_shift = left_shift


@whole()
def right_shift(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Return `x1 >> x2`; the sign stays.

    >>> right_shift(-8, 2)
    Array(-2, dtype=int32, weak_type=True)
    """
    x1, x2 = promote_numeric(x1, x2, name="right_shift")
    if is_unsigned(dtype_of(x1, x2)):
        return logical.shift_right_logical(x1, x2)
    return logical.shift_right_arithmetic(x1, x2)


bitwise_right_shift = right_shift


@whole()
def bitwise_count(x: ArrayLike, /) -> Array:
    """Count the bits that are set in the absolute value.

    Args:
      x: array_like of integers; the counts are uint8.

    >>> bitwise_count(7)
    Array(3, dtype=uint8)
    """
    return cast(logical.population_count(absolute(unary("bitwise_count", x, numeric_dtype))), uint8)


@whole()
def gcd(x1: ArrayLike, x2: ArrayLike) -> Array:
    """Return the greatest common divisor of integers.

    Args:
      x1, x2: array_like of integers, broadcast against each other.

    Raises:
      ValueError: for other dtypes.

    >>> gcd(12, 18)
    Array(6, dtype=int32, weak_type=True)
    """
    x1, x2 = _integers("gcd", x1, x2, any_rank=True)
    # The least integer has no absolute value, so its remainder may be negative.
    return absolute(_common_divisor(absolute(x1), absolute(x2)))


@whole()
def lcm(x1: ArrayLike, x2: ArrayLike) -> Array:
    """Return the least common multiple of integers.

    Args:
      x1, x2: array_like of integers, broadcast against each other.

    Raises:
      ValueError: for other dtypes.

    >>> lcm(4, 6)
    Array(12, dtype=int32, weak_type=True)
    """
    x1, x2 = (absolute(x) for x in _integers("lcm", x1, x2))
    divisor = _common_divisor(x1, x2)
    none = comparison.eq(divisor, 0)
    multiple = elementwise.mul(x1, floor_divide(x2, choose(none, 1, divisor)))
    return choose(none, 0, multiple)


def _integers(name: str, *xs: Any, any_rank: bool = False) -> tuple[Any, ...]:
    promoted = promote(*xs, name=name, arrays=True, any_rank=any_rank)
    if not is_integer(typeof(promoted[0]).dtype):
        raise ValueError(f"Arguments to jnp.{name} must be integers.")
    if max(typeof(x).ndim for x in promoted):
        return tuple(map(strong, promoted))
    return tuple(strong_unless_all_weak(x, *xs) for x in promoted)


def _common_divisor(x: Any, y: Any) -> Any:
    """By Euclid's algorithm, until the remainders of all elements are zero."""
    axes = tuple(range(len(typeof(x).shape)))

    def unfinished(pair: tuple[Any, Any]) -> Any:
        return reduction.reduce_or(comparison.ne(pair[1], 0), axes=axes)

    def step(pair: tuple[Any, Any]) -> tuple[Any, Any]:
        x, y = pair
        done = comparison.eq(y, 0)
        rest = elementwise.rem(x, choose(done, 1, y))
        return choose(done, x, y), choose(done, 0, rest)

    return while_loop(unfinished, step, (x, y))[0]
