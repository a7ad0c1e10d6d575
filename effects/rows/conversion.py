"""Conversion: the same number in another dtype, or the same bits under another name."""

from __future__ import annotations

from typing import Any

from effax.effects.dtypes import as_dtype
from effax.effects.effect import Effect
from effax.effects.facts import LINEAR, POINTWISE, SOUND, STILL
from effax.effects.rows import logical
from effax.effects.rows.shape import scalar
from effax.effects.signature import FLOAT, require
from effax.effects.types import (
    DType,
    ShapedArray,
    bit_width,
    is_bool,
    is_complex,
    is_extended,
    typeof,
)

FAMILY = "conversion"


def _convert_type(x: ShapedArray, *, dtype: DType, weak_type: bool = False) -> ShapedArray:
    if is_extended(x.dtype) or is_extended(dtype):
        raise TypeError(f"convert_element_type: {x.str_short()} can't be converted to {dtype}")
    return ShapedArray(x.shape, dtype, weak_type)


convert_element_type = Effect(
    "convert_element_type", family=FAMILY, typing=_convert_type, facts=POINTWISE | SOUND
)
"""`convert_element_type(x, dtype=d, weak_type=False)`: x in another dtype; floats become integers
by truncation, complex numbers lose their imaginary part."""


def number(value: Any, type: ShapedArray) -> Any:
    """A number as an array of rank 0, of the type's dtype and weakness."""
    if type.dtype.itemsize >= 8:
        value = scalar(value, type.dtype)
    if type.weak_type:
        return convert_element_type(value, dtype=type.dtype, weak_type=True)
    return value if type.dtype.itemsize >= 8 else type.dtype.type(value)


def _bitcast_type(x: ShapedArray, *, dtype: DType) -> ShapedArray:
    if x.dtype == dtype:
        return ShapedArray(x.shape, dtype)
    before, after = bit_width(x.dtype), bit_width(dtype)
    if before < after and (not x.shape or x.shape[-1] != after // before):
        raise ValueError(
            f"bitcast_convert_type: {x.str_short()} can't be bitcast to {dtype}: its last axis "
            f"must have the length {after // before}, so that its elements make one of the wider "
            "type"
        )
    if is_complex(x.dtype) or is_complex(dtype) or is_bool(x.dtype) != is_bool(dtype):
        raise TypeError(f"bitcast_convert_type: {x.str_short()} can't be bitcast to {dtype}")
    if before == after:
        return ShapedArray(x.shape, dtype)
    if before > after:
        return ShapedArray((*x.shape, before // after), dtype)
    return ShapedArray(x.shape[:-1], dtype)


bitcast_convert_type = Effect(
    "bitcast_convert_type", family=FAMILY, typing=_bitcast_type, facts=POINTWISE | STILL | SOUND
)
"""`bitcast_convert_type(x, dtype=d)`: the same bits; a narrower dtype adds a last axis, a wider one
uses it up."""


def ordered_bits(x: Any) -> Any:
    """Signed integers in the order of the floats x; -0 before 0, NaNs beyond the infinities."""
    width = bit_width(typeof(x).dtype)
    return _fold(bitcast_convert_type(x, dtype=as_dtype(f"int{width}")))


def from_ordered_bits(keys: Any, dtype: DType) -> Any:
    """The floats that have these `ordered_bits`."""
    return bitcast_convert_type(_fold(keys), dtype=dtype)


def _fold(bits: Any) -> Any:
    """From sign and magnitude to two's complement, and back."""
    width = bit_width(typeof(bits).dtype)
    negative = logical.shift_right_arithmetic(bits, width - 1)
    return logical.xor(bits, logical.and_(negative, (1 << (width - 1)) - 1))


def _reduce_precision_type(x: ShapedArray, **attributes: Any) -> ShapedArray:
    require("reduce_precision", FLOAT, x)
    if attributes["exponent_bits"] < 1 or attributes["mantissa_bits"] < 0:
        raise ValueError(
            "reduce_precision needs at least one exponent bit and no negative number of mantissa "
            f"bits, but was given {attributes}"
        )
    return x


reduce_precision = Effect(
    "reduce_precision",
    family=FAMILY,
    typing=_reduce_precision_type,
    facts=POINTWISE | LINEAR | SOUND,
)
"""`reduce_precision(x, exponent_bits=e, mantissa_bits=m)`: x rounded to what such a float holds."""
