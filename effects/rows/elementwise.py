"""Elementwise: the arithmetic of numbers, one element at a time.

Operands have equal shapes and dtypes; nothing is broadcast or promoted here. Where an effect has
several operands, some may be Python numbers, which take the type of the others.
"""

from __future__ import annotations

from effax.effects.effect import Effect
from effax.effects.facts import POINTWISE, SOUND, SPREADING, STILL
from effax.effects.signature import (
    ANY,
    FLOAT,
    INEXACT,
    NUMERIC,
    ORDERED,
    REAL,
    nary,
    require,
    same,
    unary,
)
from effax.effects.types import ShapedArray, bool_, is_integer, real_dtype

FAMILY = "elementwise"

add = nary("add", FAMILY, NUMERIC, facts=SPREADING)
"""`x + y`; integers wrap around."""
sub = nary("sub", FAMILY, NUMERIC, facts=SPREADING)
"""`x - y`; integers wrap around."""
mul = nary("mul", FAMILY, NUMERIC, facts=SPREADING)
"""`x * y`; integers wrap around."""
div = nary("div", FAMILY, NUMERIC, facts=SPREADING)
"""`x / y`; for integers rounded towards zero, -1 for division by zero."""
rem = nary("rem", FAMILY, REAL)
"""The remainder of the division rounded towards zero: it has the sign of x, as in C."""
max = nary("max", FAMILY, ANY, facts=SOUND | SPREADING)
"""The larger; NaN where either is NaN; complex numbers in lexicographic order."""
min = nary("min", FAMILY, ANY, facts=SOUND | SPREADING)
"""The smaller; NaN where either is NaN; complex numbers in lexicographic order."""
nextafter = nary("nextafter", FAMILY, FLOAT, facts=SOUND)
"""The next float after x in the direction of y."""

neg = unary("neg", FAMILY, NUMERIC, facts=SOUND | SPREADING)
"""`-x`."""
abs = unary("abs", FAMILY, NUMERIC, real_dtype, facts=SOUND | SPREADING)
"""The absolute value; real for complex numbers."""
sign = unary("sign", FAMILY, NUMERIC, facts=SOUND)
"""-1, 0 or 1; `x / abs(x)` for complex numbers."""
square = unary("square", FAMILY, NUMERIC, facts=SPREADING)
"""`x * x`."""
sqrt = unary("sqrt", FAMILY, INEXACT, facts=SPREADING)
"""The square root, the principal one for complex numbers."""
rsqrt = unary("rsqrt", FAMILY, INEXACT, facts=SPREADING)
"""`1 / sqrt(x)`."""
cbrt = unary("cbrt", FAMILY, FLOAT)
"""The real cube root, with the sign of x."""
floor = unary("floor", FAMILY, FLOAT, facts=STILL | SOUND | SPREADING)
"""The nearest integer from below."""
ceil = unary("ceil", FAMILY, FLOAT, facts=STILL | SOUND | SPREADING)
"""The nearest integer from above."""
is_finite = unary("is_finite", FAMILY, ORDERED, lambda _: bool_, facts=STILL | SOUND)
"""Whether x is neither infinite nor NaN."""
round = unary("round", FAMILY, FLOAT, facts=STILL | SOUND | SPREADING)
"""`round(x, rounding_method=m)`: the nearest integer; halves away from zero for 0, to the even
neighbour for 1."""
copy = unary("copy", FAMILY, ANY, facts=SOUND | SPREADING)
"""x itself."""
stop_gradient = unary("stop_gradient", FAMILY, ANY, facts=STILL | SOUND)
"""x itself, with a derivative of zero."""


def _pow_type(x: ShapedArray | None, y: ShapedArray | None) -> ShapedArray:
    if x is not None and y is not None and is_integer(y.dtype) and x.shape == y.shape:
        require("pow", INEXACT, x)
        return x if y.weak_type or not x.weak_type else x.update(weak_type=False)
    both = same("pow", (x, y))
    require("pow", INEXACT, both)
    return both


pow = Effect("pow", family=FAMILY, typing=_pow_type, literals=True, facts=POINTWISE)
"""x to the power y; y may be an integer array where x is inexact. Weak where both are."""


def _integer_pow_type(x: ShapedArray, *, y: int) -> ShapedArray:
    require("integer_pow", NUMERIC, x)
    if y < 0 and is_integer(x.dtype):
        raise TypeError(
            f"Integers cannot be raised to negative powers, got {x.str_short()} ** {y}; "
            "convert the base to a float first"
        )
    return x


integer_pow = Effect("integer_pow", family=FAMILY, typing=_integer_pow_type, facts=POINTWISE)
"""`integer_pow(x, y=n)`: x to the power of an integer known beforehand."""
