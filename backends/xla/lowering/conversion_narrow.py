"""Rounding to the grid of a narrow float, before a conversion to it."""

from __future__ import annotations

from typing import Any

from effax.effects.rows.comparison import eq
from effax.effects.rows.conversion import bitcast_convert_type, convert_element_type
from effax.effects.rows.elementwise import abs as abs_
from effax.effects.rows.elementwise import add, sub
from effax.effects.rows.logical import and_, or_
from effax.effects.rows.selection import clamp, select_n
from effax.effects.types import (
    bit_width,
    finfo,
    float32,
    is_float,
    uint32,
    uint64,
)


def on_grid(x: Any, dtype: Any) -> Any:
    """Return the numbers of a narrow float's grid that are nearest to `x`, ties to even.

    The grid has no end: a conversion, exact inside, says what lies beyond the largest number.

    XLA's conversions to these formats on a CPU are wrong where its fusion emitters are not used: in
    small programs, which are compiled without them, and in updates inside loops. Some round twice
    (3.4998 becomes 4 as float4_e2m1fn), some have NaN for small negative numbers.
    """
    if not is_float(x.dtype) or bit_width(x.dtype) < 32:
        x = convert_element_type(x, dtype=float32)
    own, grid = finfo(x.dtype), finfo(dtype)
    integers = uint32 if own.bits == 32 else uint64
    sign, places, bias = 1 << (own.bits - 1), own.nmant, own.maxexp - 1
    bits = bitcast_convert_type(x, dtype=integers)
    exponent = clamp(
        (bias + grid.minexp) << places,
        and_(bits, sign - (1 << places)),
        (bias + grid.maxexp) << places,
    )
    # A number so large that its last place is the grid's: adding it rounds, and the sum is exact.
    unit = bitcast_convert_type(add(exponent, (places - grid.nmant) << places), dtype=x.dtype)
    size = sub(add(abs_(x), unit), unit)
    signed = or_(bitcast_convert_type(size, dtype=integers), and_(bits, sign))
    rounded = bitcast_convert_type(signed, dtype=x.dtype)
    # A format without infinities of its own reads the sign of zero as NaN.
    return select_n(eq(size, 0.0), rounded, size) if "fnuz" in dtype.name else rounded
