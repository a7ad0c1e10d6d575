"""Conversions in StableHLO."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from effax.backends.xla.lowering.elementwise import compare, converted, is_gpu, is_part, whole_bytes
from effax.backends.xla.lowering.writer import Name, Writer, rule
from effax.effects.rows.conversion import (
    bitcast_convert_type,
    convert_element_type,
    reduce_precision,
)
from effax.effects.types import (
    ShapedArray,
    bit_width,
    finfo,
    float32,
    float64,
    is_bool,
    is_complex,
    is_float,
    is_integer,
    is_signed,
    is_unsigned,
    narrow_floats,
    real_dtype,
)

_NARROW: Final = frozenset(d for d in narrow_floats if bit_width(d) <= 8 and finfo(d).nmant > 0)
"""Floats of at most eight bits, some of them of a mantissa."""


class Truncated(Name):
    """The name of signed integers that floats were converted to, and of those floats."""

    __slots__ = ("floats",)

    floats: Name


@rule(convert_element_type)
def lower_convert(w: Writer, types: Sequence[ShapedArray], x: Name, **_: Any) -> Name:
    type = types[0]
    if x.dtype == type.dtype:
        return x
    if is_bool(type.dtype):
        return compare(w, "NE", x, w.constant(0, x.type))
    if is_complex(x.dtype) and not is_complex(type.dtype):
        x = w.simple("real", [x], x.type.update(dtype=real_dtype(x.dtype)))
        if x.dtype == type.dtype:
            return x
    if isinstance(x, Truncated) and is_unsigned(type.dtype):
        return _read_as_unsigned(w, x, type)
    if x.dtype in _NARROW and not is_float(type.dtype):
        x = w.simple("convert", [x], x.type.update(dtype=float32))  # else 6 as f4 is 2**31 - 1
    if type.dtype in _NARROW and _is_rounded_wrongly(w.platform, x):
        from effax.backends.xla.lowering.conversion_narrow import on_grid

        x = w.performed(lambda x: on_grid(x, type.dtype), x)
    if is_bool(x.dtype) and (is_float(type.dtype) or is_part(type.dtype)):
        # XLA takes a product with a converted Boolean for a choice: 0 times NaN would be 0.
        return w.simple("select", [x, w.constant(1, type), w.constant(0, type)], type)
    if is_gpu(w) and (is_part(x.dtype) or is_part(type.dtype)):
        return _for_a_gpu(w, x, type)
    found = w.simple("convert", [x], type)
    wide = is_signed(type.dtype) and bit_width(type.dtype) >= 32
    if not (wide and is_float(x.dtype) and w.platform == "cpu"):
        return found
    truncated = Truncated(found)
    truncated.type, truncated.floats = type, x
    return truncated


def _for_a_gpu(w: Writer, x: Name, type: ShapedArray) -> Name:
    """A conversion of numbers, or to numbers, of less than a byte, of which XLA has not all."""
    if is_part(x.dtype) and is_part(type.dtype):
        of_bits = is_integer(x.dtype) and is_integer(type.dtype)
        if of_bits and bit_width(x.dtype) == bit_width(type.dtype):
            return w.simple("bitcast_convert", [x], type)
        x = whole_bytes(w, x)
    return converted(w, x, type)


def _is_rounded_wrongly(platform: str, x: Name) -> bool:
    """Whether XLA's conversion of x to a narrow float is not always the nearest.

    For a GPU it rounds float64 to float32 first.
    """
    return not is_bool(x.dtype) if platform == "cpu" else x.dtype == float64


def _read_as_unsigned(w: Writer, x: Truncated, type: ShapedArray) -> Name:
    """Truncated floats as unsigned integers: those below zero wrap around.

    LLVM forgets that when the result becomes a float again. Its code for x86 takes two conversions
    of one element, to a signed integer and from an unsigned one, for a truncation: -3.0 stays
    -3.0, where 4294967293.0 is meant. So negative numbers are converted by their opposites.
    """
    wrapped = w.simple("convert", [x], type)
    floats = x.floats
    small = bit_width(floats.dtype) < 32 and floats.dtype.name != "bfloat16"
    width, given = bit_width(type.dtype), bit_width(x.dtype)
    if width < 32 or width > given or (width < given and not small):
        return wrapped
    if small:  # so that the bound below is finite
        floats = w.simple("convert", [floats], floats.type.update(dtype=float32))
    lowest = w.constant(2.0 ** (width - 1), floats.type)
    size = w.simple("minimum", [w.simple("negate", [floats], floats.type), lowest], floats.type)
    opposite = w.simple("negate", [w.simple("convert", [size], type)], type)
    below = compare(w, "LE", floats, w.constant(-1.0, floats.type))
    if width < given:  # the lowest 64-bit integer has only zeros in its lower 32 bits
        inside = compare(w, "GT", floats, w.constant(-math.inf, floats.type))
        below = w.simple("and", [below, inside], below.type)
    return w.simple("select", [below, opposite, wrapped], type)


@rule(bitcast_convert_type)
def lower_bitcast(w: Writer, types: Sequence[ShapedArray], x: Name, **_: Any) -> Name:
    type = types[0]
    if isinstance(x, Truncated) and is_unsigned(type.dtype) and type.shape == x.shape:
        return _read_as_unsigned(w, x, type)
    return w.simple("bitcast_convert", [x], type)


@rule(reduce_precision)
def lower_reduce_precision(
    w: Writer, types: Sequence[ShapedArray], x: Name, *, exponent_bits: int, mantissa_bits: int
) -> Name:
    rounded = w.op(
        f"stablehlo.reduce_precision {x}, format = e{exponent_bits}m{mantissa_bits} : {x.text}",
        types[0],
    )
    if mantissa_bits:
        return rounded
    # XLA makes NaN infinite in a format without a mantissa.
    return w.simple("select", [compare(w, "NE", x, x), x, rounded], types[0])
