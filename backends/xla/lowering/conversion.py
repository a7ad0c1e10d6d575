"""Conversions in StableHLO."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from effax.backends.xla.lowering.elementwise import compare
from effax.backends.xla.lowering.writer import Name, Writer, rule
from effax.effects.conversion import bitcast_convert_type, convert_element_type, reduce_precision
from effax.effects.types import ShapedArray, is_bool, is_complex, real_dtype


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
    return w.simple("convert", [x], type)


@rule(bitcast_convert_type)
def lower_bitcast(w: Writer, types: Sequence[ShapedArray], x: Name, **_: Any) -> Name:
    return w.simple("bitcast_convert", [x], types[0])


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
    # Without a mantissa XLA makes NaN infinite.
    return w.simple("select", [compare(w, "NE", x, x), x, rounded], types[0])
