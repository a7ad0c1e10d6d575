"""Convolution: sums of products over windows."""

from __future__ import annotations

from typing import Any, NamedTuple

from effax.effects.effect import Effect
from effax.effects.facts import BILINEAR
from effax.effects.rows.contraction import product_dtype
from effax.effects.types import ShapedArray


class ConvDimensionNumbers(NamedTuple):
    """The roles of the axes.

    (batch, feature, *spatial) of lhs and of the result, (out feature, in feature, *spatial) of rhs.
    """

    lhs_spec: tuple[int, ...]
    rhs_spec: tuple[int, ...]
    out_spec: tuple[int, ...]


def dilated(n: int, step: int) -> int:
    """The length of an axis after step - 1 holes were put between its elements."""
    return 0 if n == 0 else 1 + step * (n - 1)


def windows(n: int, window: int, stride: int) -> int:
    """Return the number of windows that fit into an axis of length n."""
    return 0 if n < window else (n - window) // stride + 1


def _conv_type(
    lhs: ShapedArray,
    rhs: ShapedArray,
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
) -> ShapedArray:
    name, n = "conv_general_dilated", len(lhs.shape)
    both = f"{lhs.str_short()} and {rhs.str_short()}"
    if n != len(rhs.shape):
        raise ValueError(f"{name} lhs and rhs must have the same number of dimensions, got {both}")
    if n < 2:
        raise TypeError(f"{name}: operands must have ranks of at least 2, got {both}")
    for spec in dimension_numbers:
        if sorted(spec) != list(range(n)):
            raise TypeError(
                f"{name}: {spec} in the dimension numbers must have each of the {n} axes once"
            )
    if len(window_strides) != n - 2:
        raise ValueError(
            f"{name} window and window_strides must have the same number of dimensions, but got "
            f"{n - 2} and {len(window_strides)}: give one stride for each spatial axis of {both}, "
            f"not {window_strides}"
        )
    given: dict[str, Any] = {
        "window_strides": window_strides,
        "padding": padding,
        "lhs_dilation": lhs_dilation,
        "rhs_dilation": rhs_dilation,
    }
    for what, value in given.items():
        if len(value) != n - 2:
            raise TypeError(
                f"{name}: {what} must have one entry per spatial axis ({n - 2} of them in {both}), "
                f"got {value}"
            )
        if what != "padding" and any(v < 1 for v in value):
            raise TypeError(f"{name}: {what} must be positive, got {value}")
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    features, batch = lhs.shape[lhs_spec[1]], lhs.shape[lhs_spec[0]]
    outs, ins = rhs.shape[rhs_spec[0]], rhs.shape[rhs_spec[1]]
    if feature_group_count < 1 or batch_group_count < 1:
        raise ValueError(
            f"{name}: feature_group_count and batch_group_count must be positive, got "
            f"{feature_group_count} and {batch_group_count}"
        )
    if feature_group_count > 1 and batch_group_count > 1:
        raise ValueError(
            f"{name}: at most one of batch_group_count and feature_group_count may exceed 1, got "
            f"{batch_group_count} and {feature_group_count}"
        )
    if features != ins * feature_group_count:
        raise ValueError(
            f"{name}: the {features} features of lhs must be feature_group_count times the {ins} "
            f"input features of rhs, got {both} with feature_group_count {feature_group_count}"
        )
    for what, count, group in (
        ("feature_group_count", outs, feature_group_count),
        ("batch_group_count", outs, batch_group_count),
    ):
        if count % group:
            raise ValueError(
                f"{name}: {what} ({group}) must divide the {count} output features of rhs "
                f"{rhs.str_short()}"
            )
    if batch % batch_group_count:
        raise ValueError(
            f"{name}: batch_group_count ({batch_group_count}) must divide the batch of {batch} of "
            f"lhs {lhs.str_short()}"
        )
    shape = [0] * n
    shape[out_spec[0]] = batch // batch_group_count
    shape[out_spec[1]] = outs
    for i in range(n - 2):
        low, high = padding[i]
        long = max(dilated(lhs.shape[lhs_spec[i + 2]], lhs_dilation[i]) + low + high, 0)
        window = dilated(rhs.shape[rhs_spec[i + 2]], rhs_dilation[i])
        shape[out_spec[i + 2]] = windows(long, window, window_strides[i])
    dtype = product_dtype(name, lhs, rhs, preferred_element_type)
    weak = preferred_element_type is None and lhs.weak_type and rhs.weak_type
    return ShapedArray(tuple(shape), dtype, weak)


conv_general_dilated = Effect(
    "conv_general_dilated", family="convolution", typing=_conv_type, facts=BILINEAR
)
"""`conv_general_dilated(lhs, rhs, window_strides, padding, lhs_dilation, rhs_dilation,
dimension_numbers, feature_group_count, batch_group_count, precision, preferred_element_type)`.

`padding` is a (low, high) pair per spatial axis; `dimension_numbers` a `ConvDimensionNumbers`.
The kernel is not flipped.
"""
