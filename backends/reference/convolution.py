"""Convolution by definition: each place of the result is the product of a window and the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from effax.backends.reference.contraction import accumulated
from effax.backends.reference.table import rule
from effax.effects.rows import convolution
from effax.effects.rows.convolution import ConvDimensionNumbers, dilated, windows

Array = np.ndarray[Any, Any]


def _spread(x: Array, dilation: Sequence[int]) -> Array:
    """The array with dilation - 1 zeros between neighbours along each spatial axis."""
    spatial = [dilated(n, d) for n, d in zip(x.shape[2:], dilation, strict=True)]
    out = np.zeros((*x.shape[:2], *spatial), x.dtype)
    out[(slice(None), slice(None), *(slice(None, None, d) for d in dilation))] = x
    return out


def _padded(x: Array, padding: Sequence[tuple[int, int]]) -> Array:
    """The array with zeros around its spatial axes; negative padding cuts off."""
    grow = [(max(low, 0), max(high, 0)) for low, high in padding]
    x = np.pad(x, [(0, 0), (0, 0), *grow])
    cut = [
        slice(max(-low, 0), max(n - max(-high, 0), 0))
        for (low, high), n in zip(padding, x.shape[2:], strict=True)
    ]
    return x[(slice(None), slice(None), *cut)]


@rule(convolution.conv_general_dilated)
def conv_general_dilated_reference(
    lhs: Array,
    rhs: Array,
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
) -> Array:
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    x = accumulated(lhs, preferred_element_type).transpose(lhs_spec)
    kernel = accumulated(rhs, preferred_element_type).transpose(rhs_spec)
    x = _padded(_spread(x, lhs_dilation), padding)
    kernel = _spread(kernel, rhs_dilation)
    counts = [
        windows(n, k, s)
        for n, k, s in zip(x.shape[2:], kernel.shape[2:], window_strides, strict=True)
    ]
    batch, outs, ins = x.shape[0] // batch_group_count, kernel.shape[0], kernel.shape[1]
    groups = feature_group_count * batch_group_count
    out = np.zeros((batch, outs, *counts), x.dtype)
    for o in range(outs):
        group = o // (outs // groups)
        rows = slice(group * batch, (group + 1) * batch) if batch_group_count > 1 else slice(None)
        features = slice(group * ins, (group + 1) * ins) if feature_group_count > 1 else slice(None)
        for at in np.ndindex(*counts):
            window = tuple(
                slice(p * s, p * s + k)
                for p, s, k in zip(at, window_strides, kernel.shape[2:], strict=True)
            )
            part = x[(rows, features, *window)] * kernel[o]
            out[(slice(None), o, *at)] = part.reshape(batch, -1).sum(1)
    return out.transpose(np.argsort(out_spec))
