"""The products of numbers that a convolution computes: those with padding and holes left out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def products(ins: Any, outs: Any, attributes: dict[str, Any]) -> int:
    """Return the number of products of an element of the input and one of the kernel.

    Args:
      ins: the types of the input and of the kernel.
      outs: the type of the result, in a sequence.
      attributes: those of `conv_general_dilated`.
    """
    numbers = attributes["dimension_numbers"]
    x, kernel, y = ins[0].shape, ins[1].shape, outs[0].shape
    batch = x[numbers.lhs_spec[0]] // attributes["batch_group_count"]
    count = batch * kernel[numbers.rhs_spec[1]] * y[numbers.out_spec[1]]
    for i, (before, _) in enumerate(attributes["padding"]):
        count *= _pairs(
            length=x[numbers.lhs_spec[2 + i]],
            taps=kernel[numbers.rhs_spec[2 + i]],
            places=y[numbers.out_spec[2 + i]],
            stride=attributes["window_strides"][i],
            before=before,
            hole=attributes["lhs_dilation"][i],
            spread=attributes["rhs_dilation"][i],
        )
    return int(count)


def _pairs(
    length: int, taps: int, places: int, stride: int, before: int, hole: int, spread: int
) -> int:
    """Count the pairs (place, tap) along an axis at which a tap meets an element of the input.

    At a place o the tap k meets the position `o * stride + k * spread - before` of the dilated
    input, which has an element at each multiple of `hole` below `length * hole`. For each tap the
    places are an interval of one residue class, so no loop over the places is needed: there may be
    half a million of both.
    """
    common = math.gcd(stride, hole)
    period = hole // common
    offset = before - np.arange(taps, dtype=np.int64) * spread  # o * stride must reach it, or more
    lowest = np.maximum(-(-offset // stride), 0)
    highest = np.minimum((offset + (length - 1) * hole) // stride, places - 1)
    inverse = pow(stride // common, -1, period)
    residue = offset // common % period * inverse % period
    first = lowest + (residue - lowest) % period
    counts = np.maximum((highest - first) // period + 1, 0)
    return int(np.where(offset % common == 0, counts, 0).sum())
