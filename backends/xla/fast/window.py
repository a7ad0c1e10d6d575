"""The transpose of max-pooling as masks on strided slices: XLA walks the windows one by one.

Measured for 2 x 2 windows of a batch of 32 images of 64 x 64 x 16, plain over this: 24.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any

from effax.backends.xla.fast.path import fast_path
from effax.backends.xla.lowering.writer import Name
from effax.effects.dtypes import is_float, is_integer
from effax.effects.rows import comparison, elementwise, selection, shape, window
from effax.effects.rows.reduction import highest, lowest
from effax.effects.types import bit_width, int32, typeof

LARGE = 32768
"""Elements from which the longer program is worth compiling."""
MOST = 25
"""Places in a window up to which it is written out."""


def _small_windows(source: Name, x: Name, **parameters: Any) -> bool:
    # Sums in 16 bits are converted to float32 and back at each place: twice XLA's time.
    ordered = (is_float(x.dtype) and bit_width(x.dtype) > 16) or is_integer(x.dtype)
    places = math.prod(parameters["window_dimensions"])
    return ordered and 1 < places <= MOST and x.type.size >= LARGE and source.type.size > 0


@fast_path(
    window.select_and_scatter_add, "select_and_scatter_add", on=("cpu",), when=_small_windows
)
def select_and_scatter_add(
    source: Any,
    x: Any,
    *,
    select: str,
    window_dimensions: window.Lengths,
    window_strides: window.Lengths,
    padding: window.Padding,
) -> Any:
    """Each place of the windows in turn: is it the first that was chosen? Then it has its share."""
    type, counts = typeof(x), typeof(source).shape
    last = lowest(type.dtype) if select == "ge" else highest(type.dtype)
    edges = tuple((low, high, 0) for low, high in padding)
    padded = shape.pad(x, shape.scalar(last, type.dtype), config=edges)
    wide = typeof(padded).shape
    places = list(product(*map(range, window_dimensions)))

    def at(place: tuple[int, ...]) -> Any:
        ends = zip(place, counts, window_strides, strict=True)
        limit = tuple(p + (n - 1) * s + 1 for p, n, s in ends)
        return shape.slice(padded, start=place, limit=limit, strides=window_strides)

    keeps = comparison.ge if select == "ge" else comparison.le
    best, winner = at(places[0]), shape.full(counts, 0, int32)
    for i, place in enumerate(places[1:], start=1):
        new = at(place)
        kept = keeps(best, new)
        best = selection.select_n(kept, new, best)
        winner = selection.select_n(kept, i, winner)

    zero = shape.scalar(0, typeof(source).dtype)
    total = None
    for i, place in enumerate(places):
        share = selection.select_n(comparison.eq(winner, i), 0, source)
        around = zip(place, counts, window_strides, wide, strict=True)
        config = tuple((p, w - (p + (n - 1) * s + 1), s - 1) for p, n, s, w in around)
        spread = shape.pad(share, zero, config=config)
        total = spread if total is None else elementwise.add(total, spread)
    inside = zip(padding, type.shape, strict=True)
    start = tuple(low for low, _ in padding)
    limit = tuple(low + n for (low, _), n in inside)
    return shape.slice(total, start=start, limit=limit, strides=(1,) * type.ndim)
