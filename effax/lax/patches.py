"""Convolutions taken apart: their windows as arrays, and kernels that differ between places."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from effax.eager.whole import whole
from effax.effects.rows.comparison import eq
from effax.effects.types import canonical_shape, int32, typeof
from effax.effects.value import Array, PrecisionLike
from effax.lax.contraction import dot_general
from effax.lax.convolution import (
    ConvDimensionNumbers,
    Padding,
    conv_dimension_numbers,
    conv_general_dilated,
)
from effax.lax.filling import broadcasted_iota
from effax.lax.shapes import reshape, tile, transpose
from effax.lax.windows import padtype_to_pads
from effax.operands.arguments import cast
from effax.operands.promoting import arraylike


@whole(
    *("filter_shape", "window_strides", "padding", "lhs_dilation", "rhs_dilation"),
    *("dimension_numbers", "precision", "preferred_element_type"),
)
def conv_general_dilated_patches(
    lhs: Array,
    filter_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Padding,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Array:
    """Return the windows of a convolution, each as a column of features.

    The result has the shape of `conv_general_dilated`'s, with as many features as channels of lhs
    times elements of the filter; all elements of one channel are next to each other.

    Args:
      lhs: the input, by default [batch, features, *spatial].
      filter_shape: the lengths of a window.
      window_strides: how far the window moves, for each spatial axis.
      padding: 'SAME', 'SAME_LOWER', 'VALID', or (low, high) for each spatial axis.
      lhs_dilation, rhs_dilation: elements are that far apart; 1 by default.
      dimension_numbers: where the axes are; see `conv_dimension_numbers`.
      precision: a `Precision` or its name.
      preferred_element_type: the dtype to accumulate in, and of the result.

    >>> import effax.numpy as jnp, effax.lax as lax
    >>> x = jnp.arange(4.0).reshape(1, 1, 4)
    >>> lax.conv_general_dilated_patches(x, (2,), (1,), "VALID")[0].tolist()
    [[0.0, 1.0, 2.0], [1.0, 2.0, 3.0]]
    """
    (lhs,) = arraylike("conv_general_dilated_patches", lhs)
    window = tuple(filter_shape)
    given = typeof(lhs)
    numbers = conv_dimension_numbers(given.shape, (1, 1, *window), dimension_numbers)
    channels, size = given.shape[numbers.lhs_spec[1]], math.prod(window)
    row, column = (broadcasted_iota(int32, (size, size), axis) for axis in (0, 1))
    kernel = reshape(cast(eq(row, column), given.dtype), (size, 1, *window))
    kernel = tile(kernel, (channels, *([1] * (len(window) + 1))))
    kernel = transpose(kernel, _inverse(numbers.rhs_spec))
    return conv_general_dilated(
        lhs,
        kernel,
        window_strides,
        padding,
        lhs_dilation=lhs_dilation,
        rhs_dilation=rhs_dilation,
        dimension_numbers=numbers,
        feature_group_count=channels,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


@whole(
    *("window_strides", "padding", "filter_shape", "lhs_dilation", "rhs_dilation"),
    *("dimension_numbers", "precision"),
)
def conv_general_dilated_local(
    lhs: Array,
    rhs: Array,
    window_strides: Sequence[int],
    padding: Padding,
    filter_shape: Sequence[int],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    precision: PrecisionLike = None,
) -> Array:
    """Compute a convolution with a separate kernel at each place of the result.

    `rhs` has, where a kernel has its input channels, channels times elements of the filter, in the
    order of `conv_general_dilated_patches`, and in place of the filter's lengths the result's.

    Args:
      lhs: the input, by default [batch, features, *spatial].
      rhs: the kernels, by default [out features, in features * elements, *spatial of the result].
      window_strides: how far the window moves, for each spatial axis.
      padding: 'SAME', 'SAME_LOWER', 'VALID', or (low, high) for each spatial axis.
      filter_shape: the lengths of a window.
      lhs_dilation, rhs_dilation: elements are that far apart; 1 by default.
      dimension_numbers: where the axes are; see `conv_dimension_numbers`.
      precision: a `Precision` or its name.

    >>> import effax.numpy as jnp, effax.lax as lax
    >>> x, rhs = jnp.arange(4.0).reshape(1, 1, 4), jnp.array([[[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]])
    >>> lax.conv_general_dilated_local(x, rhs, (1,), "VALID", (2,))[0, 0].tolist()
    [0.0, 2.0, 5.0]
    """
    lhs, rhs = arraylike("conv_general_dilated_local", lhs, rhs)
    shapes = typeof(lhs).shape, typeof(rhs).shape
    numbers = conv_dimension_numbers(*shapes, dimension_numbers)
    patches = conv_general_dilated_patches(
        lhs,
        filter_shape,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        numbers,
        precision,
    )
    out_spec, rhs_spec = numbers.out_spec, numbers.rhs_spec
    contracted = ((out_spec[1],), (rhs_spec[1],))
    batched = (tuple(out_spec[2:]), tuple(rhs_spec[2:]))
    y = dot_general(patches, rhs, (contracted, batched), precision=precision)
    spatial = len(out_spec) - 2
    order = (*range(spatial, spatial + 2), *range(spatial))
    return transpose(y, [order[i] for i in _inverse(out_spec)])


def _inverse(permutation: Sequence[int]) -> list[int]:
    return sorted(range(len(permutation)), key=permutation.__getitem__)


def conv_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    strides: Sequence[int],
    pads: Padding,
    batch_group_count: int = 1,
) -> tuple[int, ...]:
    """Return the shape of a convolution's result, batch and features first in all shapes.

    Args:
      lhs_shape: (batch, features, *spatial).
      rhs_shape: (out features, in features, *spatial).
      strides: how far the window moves, for each spatial axis.
      pads: 'SAME', 'SAME_LOWER', 'VALID', or (low, high) for each spatial axis.
      batch_group_count: groups of the batch that are convolved separately.

    >>> conv_shape_tuple((1, 3, 8, 8), (16, 3, 3, 3), (2, 2), "SAME")
    (1, 16, 4, 4)
    """
    if isinstance(pads, str):
        pads = padtype_to_pads(lhs_shape[2:], rhs_shape[2:], strides, pads)
    if len(pads) != len(lhs_shape) - 2:
        raise TypeError(
            f"Wrong number of explicit pads for convolution: expected {len(lhs_shape) - 2}, "
            f"got {len(pads)}."
        )
    for n, (lo, hi) in zip(lhs_shape[2:], pads, strict=True):
        if n + lo + hi < 0:
            raise ValueError(
                f"conv_shape_tuple: the padding {(lo, hi)} removes more than the {n} elements of "
                "an axis"
            )
    lengths = zip(lhs_shape[2:], rhs_shape[2:], strides, pads, strict=True)
    spatial = (max(0, (n + lo + hi - k) // s + 1) for n, k, s, (lo, hi) in lengths)
    if lhs_shape[0] % batch_group_count:
        raise ValueError(
            f"batch_group_count must divide the batch size {lhs_shape[0]}, got {batch_group_count}"
        )
    return (lhs_shape[0] // batch_group_count, rhs_shape[0], *spatial)


def conv_general_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Padding,
    dimension_numbers: Any,
) -> tuple[int, ...]:
    """Return the shape of a convolution's result, with axes placed by `dimension_numbers`.

    Args:
      lhs_shape, rhs_shape: shapes of the operands.
      window_strides: how far the window moves, for each spatial axis.
      padding: 'SAME', 'SAME_LOWER', 'VALID', or (low, high) for each spatial axis.
      dimension_numbers: where the axes are; see `conv_dimension_numbers`.

    >>> numbers = ("NHWC", "HWIO", "NHWC")
    >>> conv_general_shape_tuple((1, 8, 8, 3), (3, 3, 3, 16), (1, 1), "VALID", numbers)
    (1, 6, 6, 16)
    """
    lhs_shape, rhs_shape = canonical_shape(lhs_shape), canonical_shape(rhs_shape)
    numbers = conv_dimension_numbers(lhs_shape, rhs_shape, dimension_numbers)
    found = conv_shape_tuple(*_leading(numbers, lhs_shape, rhs_shape), window_strides, padding)
    return _placed(numbers, found)


def conv_transpose_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Padding,
    dimension_numbers: Any,
) -> tuple[int, ...]:
    """Return the shape of a transposed convolution's result.

    Args:
      lhs_shape, rhs_shape: shapes of the operands.
      window_strides: by how much the result is longer than the input, for each spatial axis.
      padding: 'SAME', 'VALID', or (low, high) for each spatial axis.
      dimension_numbers: where the axes are; see `conv_dimension_numbers`.

    >>> numbers = ("NHWC", "HWIO", "NHWC")
    >>> conv_transpose_shape_tuple((1, 4, 4, 3), (3, 3, 3, 16), (2, 2), "SAME", numbers)
    (1, 8, 8, 16)
    """
    lhs_shape, rhs_shape = canonical_shape(lhs_shape), canonical_shape(rhs_shape)
    numbers = conv_dimension_numbers(lhs_shape, rhs_shape, dimension_numbers)
    lhs, rhs = _leading(numbers, lhs_shape, rhs_shape)
    spatial = []
    for i, (n, k, s) in enumerate(zip(lhs[2:], rhs[2:], window_strides, strict=True)):
        if padding == "SAME":
            spatial.append(n * s)
        elif padding == "VALID":
            spatial.append(n * s + max(k - s, 0))
        elif isinstance(padding, str):
            raise ValueError(
                f"padding must be 'SAME', 'VALID' or pairs of numbers, got {padding!r}"
            )
        else:
            low, high = padding[i]
            spatial.append((n - 1) * s + low + high - k + 2)
    return _placed(numbers, (lhs[0], rhs[0], *spatial))


def _leading(
    numbers: ConvDimensionNumbers, lhs_shape: Sequence[int], rhs_shape: Sequence[int]
) -> tuple[list[int], list[int]]:
    return [lhs_shape[i] for i in numbers.lhs_spec], [rhs_shape[i] for i in numbers.rhs_spec]


def _placed(numbers: ConvDimensionNumbers, shape: Sequence[int]) -> tuple[int, ...]:
    found = [0] * len(shape)
    for place, n in zip(numbers.out_spec, shape, strict=True):
        found[place] = n
    return tuple(found)
