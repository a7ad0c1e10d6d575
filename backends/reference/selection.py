"""Selections by NumPy."""

from __future__ import annotations

import numpy as np

from effax.backends.reference.elementwise import Array
from effax.backends.reference.table import rule
from effax.effects.rows.selection import clamp, select_n


@rule(select_n)
def reference_select_n(which: Array, *cases: Array) -> Array:
    index = np.broadcast_to(np.clip(which.astype(np.int64), 0, len(cases) - 1), cases[0].shape)
    result = np.array(cases[0])
    for i, case in enumerate(cases):
        result[index == i] = case[index == i]
    return result


@rule(clamp)
def reference_clamp(lo: Array, x: Array, hi: Array) -> Array:
    return np.minimum(np.maximum(lo, x), hi)
