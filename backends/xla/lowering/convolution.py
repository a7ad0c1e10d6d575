"""Convolution in StableHLO."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from effax.backends.xla.lowering.contraction import precision_names, widened
from effax.backends.xla.lowering.writer import Name, Writer, rule, tensor
from effax.effects.rows import convolution
from effax.effects.rows.complex import complex, imag, real
from effax.effects.rows.convolution import ConvDimensionNumbers
from effax.effects.rows.elementwise import add, sub
from effax.effects.types import ShapedArray, is_complex, real_dtype


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
    if 0 in type.shape or 0 in lhs.shape or 0 in rhs.shape:
        return w.constant(0, type)
    lhs, rhs = widened(w, lhs, rhs)
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    layout = f"{_layout(lhs_spec, 'b', 'f')}x{_layout(rhs_spec, 'o', 'i')}->"
    pads = ", ".join(map(_numbers, padding))
    window = (
        f"stride = {_numbers(window_strides)}, pad = [{pads}], "
        f"lhs_dilate = {_numbers(lhs_dilation)}, rhs_dilate = {_numbers(rhs_dilation)}"
    )
    names = ", ".join(f"#stablehlo<precision {p}>" for p in precision_names(precision).split(", "))
    return w.op(
        f"stablehlo.convolution({lhs}, {rhs}) dim_numbers = {layout}{_layout(out_spec, 'b', 'f')}, "
        f"window = {{{window if window_strides else ''}}} "
        f"{{batch_group_count = {batch_group_count} : i64, "
        f"feature_group_count = {feature_group_count} : i64, precision_config = [{names}]}} : "
        f"({lhs.text}, {rhs.text}) -> {tensor(type)}",
        type,
    )
