"""Products of integers that keep the half that others throw away."""

from __future__ import annotations

from effax.eager.whole import whole
from effax.effects.dtypes import as_dtype, bit_width, is_integer, is_signed
from effax.effects.rows import elementwise, logical
from effax.effects.rows.conversion import convert_element_type
from effax.effects.types import typeof
from effax.effects.value import Array
from effax.lax.meeting import together
from effax.operands.promoting import asarray


@whole()
def mulhi(x: Array, y: Array, /) -> Array:
    """Return the high half of the product of two integers, whose low half is `x * y`.

    x and y have one dtype, and shapes equal up to axes of length 1 and scalars. Raises `TypeError`
    for others than integers.

    >>> import effax.numpy as jnp, effax.lax as lax
    >>> lax.mulhi(jnp.uint32(2**30), jnp.uint32(12))
    Array(3, dtype=uint32)
    """
    x, y = asarray(x), asarray(y)
    dtype = typeof(x).dtype
    if not is_integer(dtype) or typeof(y).dtype != dtype:
        raise TypeError(
            "mulhi requires integers of one dtype, got "
            f"{typeof(x).str_short()} and {typeof(y).str_short()}"
        )
    x, y = together("mulhi", x, y)
    width = bit_width(dtype)
    if width == 64:
        return _by_halves(x, y, is_signed(dtype))
    wide = as_dtype("int64" if is_signed(dtype) else "uint64")
    product = elementwise.mul(
        convert_element_type(x, dtype=wide), convert_element_type(y, dtype=wide)
    )
    shift = logical.shift_right_arithmetic if is_signed(dtype) else logical.shift_right_logical
    return convert_element_type(shift(product, width), dtype=dtype)


def _by_halves(x: Array, y: Array, signed: bool) -> Array:
    """Long multiplication in digits of 32 bits; for negative numbers the other factor is taken."""
    low = (1 << 32) - 1
    above = logical.shift_right_logical

    def high(product: Array) -> Array:
        return above(product, 32)

    def digit(product: Array) -> Array:
        return logical.and_(product, low)

    x0, x1, y0, y1 = digit(x), above(x, 32), digit(y), above(y, 32)
    middle = elementwise.add(elementwise.mul(x1, y0), high(elementwise.mul(x0, y0)))
    carry = elementwise.add(elementwise.mul(x0, y1), digit(middle))
    top = elementwise.add(elementwise.add(elementwise.mul(x1, y1), high(middle)), high(carry))
    if not signed:
        return top
    for one, other in ((x, y), (y, x)):
        top = elementwise.sub(top, logical.and_(logical.shift_right_arithmetic(one, 63), other))
    return top
