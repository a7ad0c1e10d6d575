"""Cumulative effects by NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from effax.backends.reference.reduction import widened
from effax.backends.reference.table import rule
from effax.effects.effect import Effect
from effax.effects.rows import cumulative

Array = np.ndarray[Any, Any]


def _accumulate(effect: Effect, operation: np.ufunc) -> None:
    @rule(effect)
    def reference_cumulative(x: Array, *, axis: int, reverse: bool) -> Array:
        wide = widened(x)
        forward = np.flip(wide, axis) if reverse else wide
        with np.errstate(all="ignore"):
            result = operation.accumulate(forward, axis=axis, dtype=wide.dtype)
        return np.flip(result, axis) if reverse else result


_accumulate(cumulative.cumsum, np.add)
_accumulate(cumulative.cumprod, np.multiply)
_accumulate(cumulative.cummax, np.maximum)
_accumulate(cumulative.cummin, np.minimum)
_accumulate(cumulative.cumlogsumexp, np.logaddexp)
