"""Quotients of integers by float64 arithmetic, which vectorizes on a CPU: 3 to 8 times faster.

The quotient of integers of 32 bits, rounded to 53, has the integer part of the exact one: they
are at least 2^-31 of it apart from the next integer.
"""

from __future__ import annotations

from typing import Any

from effax.backends.xla.fast.path import fast_path
from effax.backends.xla.lowering.writer import Name, Splat
from effax.effects import comparison, elementwise, logical, selection
from effax.effects.conversion import convert_element_type
from effax.effects.dtypes import bit_width, iinfo, is_integer
from effax.effects.types import float64, typeof

LARGE = 256
"""Elements from which the longer program is worth compiling."""


def _large_integers(x: Name, y: Name) -> bool:
    """A constant divisor is better left to LLVM, which multiplies."""
    type = x.type
    integers = is_integer(type.dtype) and bit_width(type.dtype) == 32
    return integers and type.size >= LARGE and not isinstance(y, Splat)


def _quotient(x: Any, y: Any) -> Any:
    """x / y towards zero; all bits set where y is 0, and wrapped where it is too large."""
    dtype = typeof(x).dtype
    zero = comparison.eq(y, 0)
    divisor = selection.select_n(zero, convert_element_type(y, dtype=float64), 1.0)
    exact = elementwise.div(convert_element_type(x, dtype=float64), divisor)
    quotient = convert_element_type(exact, dtype=dtype)
    if iinfo(dtype).min == 0:
        return selection.select_n(zero, quotient, iinfo(dtype).max)
    least = logical.and_(comparison.eq(x, iinfo(dtype).min), comparison.eq(y, -1))
    return selection.select_n(zero, selection.select_n(least, quotient, iinfo(dtype).min), -1)


@fast_path(elementwise.div, "div", on=("cpu",), when=_large_integers)
def div(x: Any, y: Any) -> Any:
    """The quotient, towards zero."""
    return _quotient(x, y)


@fast_path(elementwise.rem, "rem", on=("cpu",), when=_large_integers)
def rem(x: Any, y: Any) -> Any:
    """What the quotient leaves of x, with its sign; x where y is 0."""
    whole = elementwise.mul(_quotient(x, y), y)
    return elementwise.sub(x, whole)
