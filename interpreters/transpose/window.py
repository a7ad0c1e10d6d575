"""Transposition of windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from effax.effects.rows import shape, window
from effax.effects.rows.reduction import highest, lowest
from effax.effects.types import typeof
from effax.interpreters.transpose.linear import Linear, rule, unary


@unary(window.reduce_window_sum)
def reduce_window_sum_transpose(
    ct: Any,
    x: Linear,
    *,
    window_dimensions: window.Lengths,
    window_strides: window.Lengths,
    padding: window.Padding,
    base_dilation: window.Lengths,
    window_dilation: window.Lengths,
) -> Any:
    """Cotangents, as far apart as windows were, summed in windows of the same size."""
    config = []
    for i, n in enumerate(typeof(ct).shape):
        reach = window.dilated(window_dimensions[i], window_dilation[i])
        low = reach - padding[i][0] - 1
        whole = window.dilated(x.shape[i], base_dilation[i]) + reach - 1
        high = whole - window.dilated(n, window_strides[i]) - low
        config.append((low, high, window_strides[i] - 1))
    return window.reduce_window_sum(
        shape.pad(ct, shape.scalar(0, x.dtype), config=tuple(config)),
        window_dimensions=window_dimensions,
        window_strides=base_dilation,
        padding=((0, 0),) * x.ndim,
        base_dilation=(1,) * x.ndim,
        window_dilation=window_dilation,
    )


@rule(window.select_and_gather_add, fixed=(1,))
def select_and_gather_add_transpose(
    ct: Any,
    tangents: Any,
    x: Any,
    *,
    select: str,
    window_dimensions: window.Lengths,
    window_strides: window.Lengths,
    padding: window.Padding,
    base_dilation: window.Lengths,
    window_dilation: window.Lengths,
) -> Sequence[Any]:
    """Scatter each cotangent back to the place from which its tangent was taken."""
    if any(d != 1 for d in window_dilation):
        raise NotImplementedError(
            "the gradient of a maximum or minimum over windows with window_dilation is not "
            "defined by XLA; take strided slices and the maximum of those"
        )
    spread = base_dilation != (1,) * len(base_dilation)
    if spread:
        # Scatter into the dilated array first, then take the elements of the array out of it.
        dtype = typeof(x).dtype
        last = shape.scalar((lowest if select == "ge" else highest)(dtype), dtype)
        x = shape.pad(x, last, config=tuple((0, 0, d - 1) for d in base_dilation))
    share = window.select_and_scatter_add(
        ct,
        x,
        select=select,
        window_dimensions=window_dimensions,
        window_strides=window_strides,
        padding=padding,
    )
    if spread:
        limit = typeof(share).shape
        share = shape.slice(share, start=(0,) * len(limit), limit=limit, strides=base_dilation)
    return share, None


@rule(window.select_and_scatter_add, fixed=(1,))
def select_and_scatter_add_transpose(
    ct: Any, source: Any, x: Any, *, select: str, **parameters: Any
) -> Sequence[Any]:
    """Gather each cotangent from the place into which its source was put."""
    ones = (1,) * typeof(x).ndim
    share = window.select_and_gather_add(
        ct, x, select=select, **parameters, base_dilation=ones, window_dilation=ones
    )
    return share, None
