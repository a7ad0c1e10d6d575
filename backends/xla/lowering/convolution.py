"""Convolution in StableHLO."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from effax.backends.xla.lowering.contraction import precision_names, product_type, widened
from effax.backends.xla.lowering.elementwise import converted
from effax.backends.xla.lowering.writer import Name, Writer, rule, tensor
from effax.effects.errors import UnhandledEffectError
from effax.effects.rows import convolution, shape
from effax.effects.rows.complex import complex, imag, real
from effax.effects.rows.conversion import convert_element_type
from effax.effects.rows.convolution import ConvDimensionNumbers
from effax.effects.rows.elementwise import add, mul, sub
from effax.effects.rows.logical import and_, shift_right_logical
from effax.effects.types import ShapedArray, bit_width, is_complex, is_integer, real_dtype, typeof
from effax.effects.value import is_symbolic


def _layout(spec: Sequence[int], first: str, second: str) -> str:
    """`[b, 0, 1, f]`: what each axis is, the names of the first two places given."""
    letters = [""] * len(spec)
    for i, axis in enumerate(spec):
        letters[axis] = (first, second)[i] if i < 2 else str(i - 2)
    return f"[{', '.join(letters)}]"


def _numbers(values: Sequence[int]) -> str:
    return f"[{', '.join(map(str, values))}]"


def _by_parts(x: Any, y: Any, **how: Any) -> Any:
    """Three convolutions of real numbers for one of complex ones, which cuDNN has not."""
    a, b, c, d = real(x), imag(x), real(y), imag(y)
    part = how["preferred_element_type"]
    how["preferred_element_type"] = None if part is None else real_dtype(part)
    both = convolution.conv_general_dilated(add(a, b), c, **how)
    first = convolution.conv_general_dilated(a, sub(d, c), **how)
    second = convolution.conv_general_dilated(b, add(c, d), **how)
    return complex(sub(both, second), add(both, first))


def _of_integers(x: Any, y: Any, dtype: Any, **how: Any) -> Any:
    """Convolutions of floats that hold each sum of integers exactly; cuDNN has none of integers.

    Integers of 32 bits are two halves of 16: modulo 2**32 the product of the high ones is zero.
    """
    out_axis = how["dimension_numbers"].rhs_spec[0]
    terms = math.prod(n for i, n in enumerate(typeof(y).shape) if i != out_axis)
    narrow = max(bit_width(typeof(v).dtype) for v in (x, y))
    floats = np.dtype("float32" if narrow <= 8 and terms < 256 else "float64")

    def convolved(x: Any, y: Any) -> Any:
        x, y = (convert_element_type(v, dtype=floats) for v in (x, y))
        sums = convolution.conv_general_dilated(x, y, **how | {"preferred_element_type": None})
        return convert_element_type(
            convert_element_type(sums, dtype=np.dtype("int64")), dtype=dtype
        )

    if narrow <= 16:
        return convolved(x, y)
    (a, b), (c, d) = (_halves(v) for v in (x, y))
    crossed = add(convolved(a, d), convolved(b, c))
    return add(convolved(b, d), mul(crossed, _filled(1 << 16, crossed)))


def _filled(number: int, like: Any) -> Any:
    """An array of one number, of the type of another array."""
    type = typeof(like)
    return shape.full(type.shape, number, type.dtype)


def _halves(x: Any) -> tuple[Any, Any]:
    """The high and the low 16 bits of each integer, as unsigned integers."""
    bits = convert_element_type(x, dtype=np.dtype("uint32"))
    return shift_right_logical(bits, _filled(16, bits)), and_(bits, _filled(0xFFFF, bits))


@rule(convolution.conv_general_dilated)
def lower_conv_general_dilated(
    w: Writer,
    types: Sequence[ShapedArray],
    lhs: Name,
    rhs: Name,
    *,
    window_strides: tuple[int, ...],
    padding: tuple[tuple[int, int], ...],
    lhs_dilation: tuple[int, ...],
    rhs_dilation: tuple[int, ...],
    dimension_numbers: ConvDimensionNumbers,
    feature_group_count: int,
    batch_group_count: int,
    precision: Any,
    preferred_element_type: Any,
) -> Name:
    (type,) = types
    if is_complex(type.dtype) and w.platform in ("cuda", "gpu"):
        how = w.equation.attributes
        return w.performed(lambda x, y: _by_parts(x, y, **how), lhs, rhs)
    if is_integer(lhs.dtype) and w.platform in ("cuda", "gpu"):
        if max(bit_width(v.dtype) for v in (lhs, rhs)) > 32:
            raise UnhandledEffectError(
                f"conv_general_dilated of {lhs.dtype}: cuDNN has none of integers, and no "
                "float of a GPU holds sums of 64-bit products exactly; convert to int32 or float64"
            )
        how = w.equation.attributes
        return w.performed(lambda x, y: _of_integers(x, y, type.dtype, **how), lhs, rhs)
    if 0 in type.shape or 0 in lhs.shape or 0 in rhs.shape:
        return w.constant(0, type)
    # cuDNN has few convolutions of narrow floats, and XLA asks for none but some of 8 bits.
    lhs, rhs = widened(w, lhs, rhs, narrow=w.platform != "tpu")
    made = product_type(w, type)
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    layout = f"{_layout(lhs_spec, 'b', 'f')}x{_layout(rhs_spec, 'o', 'i')}->"
    precisions = precision_names(precision).split(", ")
    names = ", ".join(f"#stablehlo<precision {p}>" for p in precisions)
    if w.unknowns and is_symbolic([n for pair in padding for n in pair]):
        layout = f"#stablehlo.conv<{layout}{_layout(out_spec, 'b', 'f')}>"
        groups = batch_group_count, feature_group_count
        steps = window_strides, lhs_dilation, rhs_dilation
        found = _with_padding(w, made, lhs, rhs, padding, layout, groups, steps, names)
        return converted(w, found, type)
    pads = ", ".join(map(_numbers, padding))
    window = (
        f"stride = {_numbers(window_strides)}, pad = [{pads}], "
        f"lhs_dilate = {_numbers(lhs_dilation)}, rhs_dilate = {_numbers(rhs_dilation)}"
    )
    found = w.op(
        f"stablehlo.convolution({lhs}, {rhs}) dim_numbers = {layout}{_layout(out_spec, 'b', 'f')}, "
        f"window = {{{window if window_strides else ''}}} "
        f"{{batch_group_count = {batch_group_count} : i64, "
        f"feature_group_count = {feature_group_count} : i64, precision_config = [{names}]}} : "
        f"({lhs.text}, {rhs.text}) -> {tensor(made)}",
        made,
    )
    return converted(w, found, type)


def _with_padding(
    w: Writer,
    type: ShapedArray,
    lhs: Name,
    rhs: Name,
    padding: Sequence[tuple[Any, Any]],
    layout: str,
    groups: tuple[int, int],
    steps: tuple[Sequence[int], Sequence[int], Sequence[int]],
    precisions: str,
) -> Name:
    """A convolution whose padding is symbolic, and an operand."""
    pads = w.symbolic.pairs(w, padding)
    strides, lhs_steps, rhs_steps = (f"array<i64: {_numbers(x)[1:-1]}>" for x in steps)
    return w.op(
        f'"stablehlo.dynamic_conv"({lhs}, {rhs}, {pads}) <{{batch_group_count = {groups[0]} : i64, '
        f"dimension_numbers = {layout}, feature_group_count = {groups[1]} : i64, "
        f"lhs_dilation = {lhs_steps}, precision_config = [{precisions}], "
        f"rhs_dilation = {rhs_steps}, window_strides = {strides}}}> : "
        f"({lhs.text}, {rhs.text}, {pads.text}) -> {tensor(type)}",
        type,
    )
