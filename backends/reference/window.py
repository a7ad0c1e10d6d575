"""Windows by NumPy: every place of the window is a strided view of the padded array."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from effax.backends.reference.reduction import fold, widened
from effax.backends.reference.shape import reference_pad
from effax.backends.reference.table import rule
from effax.effects.program import Program
from effax.effects.rows import window
from effax.effects.rows.reduction import highest, lowest

Array = np.ndarray[Any, Any]


def window_rows(
    x: Array,
    outside: Any,
    *,
    window_dimensions: window.Lengths,
    window_strides: window.Lengths,
    padding: window.Padding,
    base_dilation: window.Lengths,
    window_dilation: window.Lengths,
) -> Array:
    """All windows, one place in the window after the other along a new first axis."""
    counts = window.windows(
        "windows",
        x.shape,
        window_dimensions,
        window_strides,
        padding,
        base_dilation,
        window_dilation,
    )
    config = tuple((lo, hi, d - 1) for (lo, hi), d in zip(padding, base_dilation, strict=True))
    padded = reference_pad(x, outside, config=config)
    rows = []
    for place in product(*map(range, window_dimensions)):
        start = [p * d for p, d in zip(place, window_dilation, strict=True)]
        box = zip(start, counts, window_strides, strict=True)
        rows.append(padded[tuple(slice(a, a + n * s, s) for a, n, s in box)])
    return np.stack(rows)


@rule(window.reduce_window_sum)
def reference_reduce_window_sum(x: Array, **parameters: Any) -> Array:
    rows = widened(window_rows(x, x.dtype.type(0), **parameters))
    return np.sum(rows, axis=0, dtype=rows.dtype)


@rule(window.reduce_window_max)
def reference_reduce_window_max(x: Array, **parameters: Any) -> Array:
    return np.max(window_rows(x, lowest(x.dtype), **parameters), axis=0)


@rule(window.reduce_window_min)
def reference_reduce_window_min(x: Array, **parameters: Any) -> Array:
    return np.min(window_rows(x, highest(x.dtype), **parameters), axis=0)


@rule(window.reduce_window)
def reference_reduce_window(*operands: Array, body: Program, **parameters: Any) -> Sequence[Array]:
    """One window after the other, from the initial values on."""
    n = len(operands) // 2
    xs, inits = operands[:n], operands[n:]
    rows = [window_rows(x, i, **parameters) for x, i in zip(xs, inits, strict=True)]
    results = [np.empty(r.shape[1:], r.dtype) for r in rows]
    for place in np.ndindex(*rows[0].shape[1:]):
        accumulated: Sequence[Any] = [np.asarray(i) for i in inits]
        for scalars in zip(*(r[(slice(None), *place)] for r in rows), strict=True):
            accumulated = fold(body, accumulated, scalars)
        for result, value in zip(results, accumulated, strict=True):
            result[place] = np.asarray(value)
    return results


def _chosen(x: Array, select: str, **parameters: Any) -> Array:
    """Return the position of the chosen element of each window, the first of equals."""
    if select == "ge":
        return np.argmax(window_rows(x, lowest(x.dtype), **parameters), axis=0)
    return np.argmin(window_rows(x, highest(x.dtype), **parameters), axis=0)


@rule(window.select_and_gather_add)
def reference_select_and_gather_add(
    tangents: Array, x: Array, *, select: str, **parameters: Any
) -> Array:
    rows = window_rows(tangents, tangents.dtype.type(0), **parameters)
    return np.take_along_axis(rows, _chosen(x, select, **parameters)[None], axis=0)[0]


@rule(window.select_and_scatter_add)
def reference_select_and_scatter_add(
    source: Array, x: Array, *, select: str, **parameters: Any
) -> Array:
    """The windows of the positions say where each chosen element came from; -1 is padding."""
    ones = (1,) * x.ndim
    dilations: dict[str, Any] = {"base_dilation": ones, "window_dilation": ones}
    places = np.arange(x.size).reshape(x.shape)
    rows = window_rows(places, -1, **parameters, **dilations)
    chosen = _chosen(x, select, **parameters, **dilations)
    targets = np.take_along_axis(rows, chosen[None], axis=0)[0]
    result = np.zeros(x.size + 1, widened(x).dtype)
    np.add.at(result, targets.reshape(-1), widened(source).reshape(-1))
    return result[:-1].reshape(x.shape)
