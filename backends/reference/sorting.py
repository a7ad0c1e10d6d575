"""Sorting by NumPy, whose order is the same: NaN last, and complex numbers by real part first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from effax.backends.reference.reduction import widened
from effax.backends.reference.table import rule
from effax.effects.rows import sorting

Array = np.ndarray[Any, Any]


@rule(sorting.sort)
def reference_sort(
    *operands: Array, dimension: int, is_stable: bool, num_keys: int
) -> Sequence[Array]:
    """Stable sorts by the keys, from the last to the first."""
    places = np.argsort(widened(operands[num_keys - 1]), axis=dimension, kind="stable")
    for key in reversed(operands[: num_keys - 1]):
        ordered = np.take_along_axis(widened(key), places, dimension)
        then = np.argsort(ordered, axis=dimension, kind="stable")
        places = np.take_along_axis(places, then, dimension)
    return [np.take_along_axis(x, places, dimension) for x in operands]


@rule(sorting.top_k)
def reference_top_k(x: Array, *, k: int, axis: int, recall: float | None = None) -> Sequence[Array]:
    """Sorted backwards and read backwards, so that of equals the first comes first."""
    length = x.shape[axis]
    backwards = np.argsort(np.flip(widened(x), axis), axis=axis, kind="stable")
    places = np.take(length - 1 - np.flip(backwards, axis), range(k), axis=axis)
    return [np.take_along_axis(x, places, axis), places.astype(np.int32)]
