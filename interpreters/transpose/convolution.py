"""Transposition of the convolution family: both shares are convolutions again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from effax.effects.rows import conversion, convolution, shape
from effax.effects.rows.convolution import ConvDimensionNumbers, dilated
from effax.effects.types import typeof
from effax.interpreters.transpose.linear import Linear, instantiate, is_linear, rule, value_type


def _swapped(spec: tuple[int, ...]) -> tuple[int, ...]:
    """A layout with its first two roles exchanged."""
    return (spec[1], spec[0], *spec[2:])


def _regrouped(x: Any, source: int, target: int, groups: int) -> Any:
    """The groups an axis consists of, moved out to become the outer part of another axis."""
    lengths = list(typeof(x).shape)
    split = (*lengths[:source], groups, lengths[source] // groups, *lengths[source + 1 :])
    x = shape.reshape(x, shape=split)
    # Positions of the axes in `x`, whose groups are an axis of their own at `source`.
    rest = [i for i in range(len(split)) if i != source]
    at = rest.index(target if target < source else target + 1)
    rest.insert(at, source)
    x = shape.transpose(x, permutation=tuple(rest))
    lengths[source] //= groups
    lengths[target] *= groups
    return shape.reshape(x, shape=tuple(lengths))


def _as_dtype(x: Any, dtype: Any) -> Any:
    return x if typeof(x).dtype == dtype else conversion.convert_element_type(x, dtype=dtype)


def _lengths(type: Any, spec: tuple[int, ...], dilation: Sequence[int]) -> list[int]:
    """The spatial lengths, holes included."""
    return [dilated(type.shape[axis], d) for axis, d in zip(spec[2:], dilation, strict=True)]


@rule(convolution.conv_general_dilated, one=True)
def conv_general_dilated_transpose(
    ct: Any,
    lhs: Any,
    rhs: Any,
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
) -> Sequence[Any]:
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    given = {"precision": precision, "preferred_element_type": preferred_element_type}
    lhs_lengths = _lengths(value_type(lhs), lhs_spec, lhs_dilation)
    rhs_lengths = _lengths(value_type(rhs), rhs_spec, rhs_dilation)
    out_lengths = _lengths(typeof(ct), out_spec, window_strides)
    groups = feature_group_count * batch_group_count
    if is_linear(lhs):
        # Convolve the cotangent with the flipped kernel, input and output features exchanged per
        # group.
        kernel = shape.rev(rhs, dims=rhs_spec[2:])
        if groups > 1:
            kernel = _regrouped(kernel, rhs_spec[0], rhs_spec[1], groups)
        pads = [
            (k - low - 1, n + low - o)
            for (low, _), n, k, o in zip(
                padding, lhs_lengths, rhs_lengths, out_lengths, strict=True
            )
        ]
        share = convolution.conv_general_dilated(
            ct,
            _as_dtype(kernel, typeof(ct).dtype),
            window_strides=lhs_dilation,
            padding=tuple(pads),
            lhs_dilation=window_strides,
            rhs_dilation=rhs_dilation,
            dimension_numbers=ConvDimensionNumbers(out_spec, _swapped(rhs_spec), lhs_spec),
            feature_group_count=groups,
            batch_group_count=1,
            **given,
        )
        if batch_group_count > 1:
            share = _regrouped(share, lhs_spec[1], lhs_spec[0], batch_group_count)
        return _as_dtype(share, lhs.dtype), None
    return None, _kernel_share(
        ct,
        lhs,
        rhs,
        [
            (low, o - n + k - low - 1)
            for (low, _), n, k, o in zip(
                padding, lhs_lengths, rhs_lengths, out_lengths, strict=True
            )
        ],
        window_strides=rhs_dilation,
        lhs_dilation=lhs_dilation,
        rhs_dilation=window_strides,
        dimension_numbers=ConvDimensionNumbers(
            _swapped(lhs_spec), _swapped(out_spec), _swapped(rhs_spec)
        ),
        feature_group_count=batch_group_count,
        batch_group_count=feature_group_count,
        **given,
    )


def _kernel_share(
    ct: Any, lhs: Any, rhs: Linear, padding: list[tuple[int, int]], **attributes: Any
) -> Any:
    """The input convolved with the cotangent, batch and features exchanged."""
    if typeof(ct).size == 0:
        return instantiate(None, rhs.type)
    share = convolution.conv_general_dilated(
        _as_dtype(lhs, typeof(ct).dtype), ct, padding=tuple(padding), **attributes
    )
    return _as_dtype(share, rhs.dtype)
