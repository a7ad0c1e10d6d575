"""Cumulative effects row by row: XLA reduces a window for each element, blocks of 128 at a time.

Rows are scanned where they are long, so that each step is one vector operation. Sums and products
of floats are done in blocks, which bound the rounding error; in one dimension these are XLA's own,
of 16, since random choices depend on the bits. Measured at 1000 x 1000, plain over this: cumsum 10
to 25 along the first axis, 3 along the last; cummax 30 and 6; in one dimension, 10^6 elements,
2.6, and sums of floats 2.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from typing import Any

from effax.backends.xla.fast.path import PATHS, fast_path, loop
from effax.backends.xla.lowering.writer import Name
from effax.effects.dtypes import bit_width, is_complex, is_inexact
from effax.effects.effect import Effect
from effax.effects.rows import control, cumulative, elementwise, shape, transcendental
from effax.effects.rows.reduction import highest, lowest
from effax.effects.types import ShapedArray, typeof

Combine = Callable[[Any, Any], Any]

LARGE = 4096
"""Elements from which the loop is worth its start."""
LONG = 32768
"""The same for sums of floats in one dimension, of which the program is longer."""
MOST = 1 << 21
"""Elements up to which sums, and extrema of floats of 32 bits, are faster turned from inside."""
ROWS = 16
"""Rows, and elements of each, from which one row at a time is faster."""
WIDE = 64
BLOCK = 128
XLA_BLOCK = 16


def _long_rows(exact: bool, dear: bool) -> Callable[..., bool]:
    def when(x: Name, *, axis: int, reverse: bool) -> bool:
        type = x.type
        n = type.shape[axis]
        if type.size < LARGE or n < ROWS or is_complex(type.dtype):
            return False
        if type.ndim == 1:
            return _in_any_order(exact, type) or (n >= LONG and (dear or not reverse))
        slow_to_turn = not exact or (is_inexact(type.dtype) and bit_width(type.dtype) > 16)
        if slow_to_turn and not dear and axis > 0 and type.size > MOST:
            return False
        return type.size // n >= WIDE

    return when


def _in_any_order(exact: bool, type: ShapedArray) -> bool:
    """Whether nothing is rounded, so that elements may be combined in any order."""
    return exact or not is_inexact(type.dtype)


def _scan_rows(combine: Combine, rows: Any, first: Any, reverse: bool) -> Any:
    """All prefixes along the leading axis, by a loop over it."""
    type = typeof(rows)

    def step(total: Any, x: Any) -> list[Any]:
        total = combine(total, x)
        return [total, total]

    start = shape.full(type.shape[1:], first, type.dtype)
    return loop("step", step, [rows], carry=[start], reverse=reverse)[1]


def _scan_blocks(combine: Combine, rows: Any, first: Any) -> Any:
    """The same by blocks: within each, then over their totals, then both together."""
    n, *rest = typeof(rows).shape
    if n <= BLOCK:
        return _scan_rows(combine, rows, first, False)
    blocks = -(-n // BLOCK)
    padded = shape.pad_axis(rows, 0, 0, blocks * BLOCK - n, 0, first)
    within = shape.reshape(padded, shape=(blocks, BLOCK, *rest))
    order = (1, 0, *range(2, len(rest) + 2))
    inside = _scan_rows(combine, shape.transpose(within, permutation=order), first, False)
    totals = shape.squeeze(shape.slice_axis(inside, 0, BLOCK - 1, BLOCK), (0,))
    before = shape.slice_axis(_scan_blocks(combine, totals, first), 0, 0, blocks - 1)
    before = shape.expand_dims(shape.pad_axis(before, 0, 1, 0, 0, first), (0,))
    spread = shape.broadcast_in_dim(
        before, shape=typeof(inside).shape, dims=tuple(range(typeof(inside).ndim))
    )
    together = shape.transpose(combine(inside, spread), permutation=order)
    flat = shape.reshape(together, shape=(blocks * BLOCK, *rest))
    return shape.slice_axis(flat, 0, 0, n)


def _scan_short_blocks(effect: Effect, combine: Combine, x: Any) -> Any:
    """Fold as XLA does, to the bit: one by one within each block, after the total of earlier
    blocks.
    """
    n = typeof(x).shape[0]
    blocks = n // XLA_BLOCK
    whole = blocks * XLA_BLOCK
    within = shape.reshape(shape.slice_axis(x, 0, 0, whole), shape=(blocks, XLA_BLOCK))
    columns = [shape.squeeze(shape.slice_axis(within, 1, i, i + 1), (1,)) for i in range(XLA_BLOCK)]
    sums = list(accumulate(columns, combine))
    totals = effect(sums[-1], axis=0, reverse=False)
    inside = shape.concatenate(*(shape.expand_dims(x, (1,)) for x in sums), axis=1)
    first = shape.slice_axis(inside, 0, 0, 1)
    before = shape.slice_axis(totals, 0, 0, blocks - 1)
    spread = shape.broadcast_in_dim(before, shape=(blocks - 1, XLA_BLOCK), dims=(0,))
    others = combine(shape.slice_axis(inside, 0, 1, blocks), spread)
    result = shape.reshape(shape.concatenate(first, others, axis=0), shape=(whole,))
    if whole == n:
        return result
    rest = effect(shape.slice_axis(x, 0, whole, n), axis=0, reverse=False)
    total = shape.slice_axis(totals, 0, blocks - 1, blocks)
    total = shape.broadcast_in_dim(shape.squeeze(total, (0,)), shape=(n - whole,), dims=())
    return shape.concatenate(result, combine(rest, total), axis=0)


def _along(
    effect: Effect,
    combine: Combine,
    first: Callable[[Any], Any],
    *,
    exact: bool,
    dear: bool = False,
) -> None:
    """Enter the path of an effect; `dear` is what takes longer to combine than to turn."""

    @fast_path(effect, effect.name, on=("cpu",), when=_long_rows(exact, dear))
    def scanned(x: Any, *, axis: int, reverse: bool) -> Any:
        type = typeof(x)
        others = [i for i in range(type.ndim) if i != axis]
        order = (axis, *others)
        rows = shape.transpose(x, permutation=order)
        identity = first(type.dtype)
        if _in_any_order(exact, type):
            result = _scan_rows(combine, rows, identity, reverse)
        else:
            turn: Callable[[Any], Any] = (
                (lambda y: shape.rev(y, dims=(0,))) if reverse else (lambda y: y)
            )
            if type.ndim == 1:
                return turn(_scan_short_blocks(effect, combine, turn(x)))
            result = turn(_scan_blocks(combine, turn(rows), identity))
        back = tuple(order.index(i) for i in range(type.ndim))
        return shape.transpose(result, permutation=back)


_along(cumulative.cumsum, elementwise.add, lambda _: 0, exact=False)
_along(cumulative.cumprod, elementwise.mul, lambda _: 1, exact=False)
_along(cumulative.cumlogsumexp, transcendental.logaddexp, lowest, exact=False, dear=True)
_along(cumulative.cummax, elementwise.max, lowest, exact=True)
_along(cumulative.cummin, elementwise.min, highest, exact=True)

# effax/lax/associative.py chooses this path when it stages, as a fold is not an effect.
PATHS["associative_scan"] = control.scan
