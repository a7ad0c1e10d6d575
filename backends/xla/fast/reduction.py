"""Extrema and their places: XLA's CPU backend folds neighbours, and pairs, one element at a time.

What lies side by side is folded as lanes, which vectorize, and then the lanes. Measured at 10^6
elements, plain over this: max of integers 3 to 7, of floats 3 to 8 (with the NaNs that JAX 0.10
loses); argmax 6 to 20 in one dimension, 10 along the last axis, 2 to 8 along the first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from effax.backends.xla.fast.path import fast_path, loop, taken
from effax.backends.xla.fast.reduction_apart import in_functions
from effax.backends.xla.fast.reduction_surviving import nan_survives, uses_of
from effax.backends.xla.lowering.elementwise import compare
from effax.backends.xla.lowering.reduction import add, reduce_text
from effax.backends.xla.lowering.writer import Name, Writer, rule, rules, tensor
from effax.effects.dtypes import bit_width, iinfo, is_float, is_integer
from effax.effects.effect import Effect
from effax.effects.rows import (
    comparison,
    elementwise,
    logical,
    reduction,
    selection,
    shape,
)
from effax.effects.rows.conversion import (
    bitcast_convert_type,
    convert_element_type,
    from_ordered_bits,
    ordered_bits,
)
from effax.effects.rows.reduction import highest, lowest
from effax.effects.rows.sorting import take_along
from effax.effects.types import ShapedArray, bfloat16, bool_, float16, float32, int16, int32, typeof

LARGE = 2048
"""Elements from which the longer program is worth compiling."""
LONG = 384
"""Length of the last axis from which reducing it twice is faster than once by pairs."""
VECTOR = 32768
"""The same for a vector, of which XLA makes one short loop."""
NARROW, WIDTH = 64, 512
"""Elements of a block of a row in which a place is looked for, at least and at most.

XLA writes the keys of a large operand down, and does not fold them as they are made, where blocks
are of 1024.
"""
WIDE = 64
"""Elements of a row from which a loop over rows is, and rows."""
ROWS = 16
BOTH = 1 << 16, 1 << 18
"""Elements of columns of integers, from and up to which both cores fold pairs as fast."""
CACHED = 1 << 21
"""Elements up to which two passes over columns are faster than a loop over rows."""
UNROLLED = 32
"""Elements of a column up to which LLVM unrolls its fold, so that many columns are vectors."""


def _large(x: Name, *, axis: int, index_dtype: Any) -> bool:
    type = x.type
    n = type.shape[axis]
    inner = math.prod(type.shape[axis + 1 :])
    longer = inner == 1 or type.dtype in (float16, bfloat16)  # by blocks, or widened first
    if type.size < (VECTOR if type.size == n else FEW if longer else LARGE):
        return False
    if inner == 1:
        # XLA copies Booleans twice if no block divides a row.
        copied = type.dtype == bool_ and n % _block(n)
        return (n >= LONG and not copied) or (type.dtype == bfloat16 and n >= LANES)
    if is_integer(type.dtype) and BOTH[0] <= type.size < BOTH[1]:
        return False
    if bit_width(type.dtype) > 32 and n > UNROLLED and type.size <= CACHED:
        return False
    return inner >= WIDE and n >= ROWS


def _place(effect: Effect, extremum: Effect, better: Callable[[Any, Any], Any]) -> None:
    @fast_path(effect, effect.name, on=("cpu",), when=_large)
    def place(x: Any, *, axis: int, index_dtype: Any) -> Any:
        n, inner = typeof(x).shape[axis], math.prod(typeof(x).shape[axis + 1 :])
        if inner == 1 and n < LONG:  # XLA's pairs of bfloat16 take up to seven times as long
            x = convert_element_type(x, dtype=float32)
            return effect(x, axis=axis, index_dtype=index_dtype)
        if axis == typeof(x).ndim - 1:
            return _by_value(x, extremum, index_dtype)
        if typeof(x).size > CACHED:
            return _by_rows(x, axis, better, index_dtype)
        if bit_width(typeof(x).dtype) == 16:  # which LLVM folds one by one
            x = convert_element_type(x, dtype=float32 if is_float(typeof(x).dtype) else int32)
        return _first(x, extremum(x, axes=(axis,)), axis, index_dtype)


def _by_value(x: Any, extremum: Effect, index_dtype: Any) -> Any:
    """The first place on the last axis of what is extreme: its block, then its place in the block.

    Only one block of each row is compared with the extremum, so nothing as large as the operand is
    made: XLA would not fuse the comparison into the fold, and wrote a place for each element.
    """
    lengths = typeof(x).shape
    axis, n = len(lengths) - 1, lengths[-1]
    width = _block(n)
    if width == n:
        return _first(x, extremum(x, axes=(axis,)), axis, index_dtype)
    whole = n // width * width
    front = x if whole == n else shape.slice_axis(x, axis, 0, whole)
    blocks = shape.reshape(front, shape=(*lengths[:-1], whole // width, width))
    best = extremum(blocks, axes=(axis + 1,))
    if whole != n:
        rest = extremum(shape.slice_axis(x, axis, whole, n), axes=(axis,))
        best = shape.concatenate(best, shape.expand_dims(rest, (axis,)), axis=axis)
    block = _first(best, extremum(best, axes=(axis,)), axis, index_dtype)
    # The last block may start too late for a full one; read it from where a full block ends the
    # row.
    start = elementwise.min(elementwise.mul(block, width), n - width)
    within = shape.iota(dtype=index_dtype, shape=(*lengths[:-1], width), dimension=axis)
    spread = shape.broadcast_in_dim(start, shape=(*lengths[:-1], width), dims=tuple(range(axis)))
    chosen = take_along(x, elementwise.add(within, spread), axis)
    place = _first(chosen, extremum(chosen, axes=(axis,)), axis, index_dtype)
    return elementwise.add(start, place)


def _block(n: int) -> int:
    """The width of blocks along an axis of n elements: a divisor of it, if there is a good one."""
    if n < 4 * NARROW:
        return n
    width = min(max(4 * math.isqrt(n), NARROW), WIDTH)
    return next((k for k in range(width, max(NARROW, width // 2) - 1, -1) if n % k == 0), width)


def _first(x: Any, most: Any, axis: int, index_dtype: Any) -> Any:
    """The first place on an axis of a known extremum, or of a NaN."""
    lengths = typeof(x).shape
    others = tuple(i for i in range(len(lengths)) if i != axis)
    found = comparison.eq(x, shape.broadcast_in_dim(most, shape=lengths, dims=others))
    if is_float(typeof(x).dtype):
        found = logical.or_(found, comparison.ne(x, x))
    places = shape.iota(dtype=index_dtype, shape=lengths, dimension=axis)
    places = selection.select_n(found, iinfo(index_dtype).max, places)
    return reduction.reduce_min(places, axes=(axis,))


def _by_rows(x: Any, axis: int, better: Callable[[Any, Any], Any], index_dtype: Any) -> Any:
    """The best so far and its place, row after row."""
    order = (axis, *(i for i in range(typeof(x).ndim) if i != axis))
    rows = shape.transpose(x, permutation=order)
    n, *rest = typeof(rows).shape
    row = ShapedArray(rest, typeof(x).dtype)
    if row.dtype == bfloat16:  # otherwise XLA widens all rows to float32 beforehand
        rows = bitcast_convert_type(rows, dtype=int16)

    def step(best: Any, where: Any, place: Any, new: Any) -> list[Any]:
        if row.dtype == bfloat16:
            new = bitcast_convert_type(new, dtype=bfloat16)
        wins = better(new, best)
        if is_float(row.dtype):
            nan, no_nan_yet = comparison.ne(new, new), comparison.eq(best, best)
            wins = logical.and_(logical.or_(wins, nan), no_nan_yet)
        here = shape.broadcast_in_dim(place, shape=row.shape, dims=())
        return [selection.select_n(wins, best, new), selection.select_n(wins, where, here)]

    first = shape.squeeze(shape.slice_axis(x, axis, 0, 1), (axis,))
    start = shape.full(tuple(rest), 0, index_dtype)
    places = shape.iota(dtype=index_dtype, shape=(n,), dimension=0)
    # The first row again: without it XLA would copy all the other rows.
    return loop("step", step, [places, rows], carry=[first, start])[1]


_place(reduction.argmax, reduction.reduce_max, comparison.gt)
_place(reduction.argmin, reduction.reduce_min, comparison.lt)


FEW, MOST = 16384, 1 << 22
"""Elements from which lanes are worth compiling, and up to which columns are worth converting."""
LEAST = 64
"""Elements of a row from which lanes are."""


def _worth_lanes(x: Name, *, axes: tuple[int, ...]) -> bool:
    type = x.type
    if type.size < FEW or not (is_integer(type.dtype) or is_float(type.dtype)):
        return False
    if _are_rows(type, axes):
        return bit_width(type.dtype) >= 16
    # XLA converts bfloat16 for each comparison.
    least = {bfloat16: 1, float16: LEAST + 1}.get(type.dtype)
    return least is not None and least <= _each(type, axes) and type.size <= MOST


def _each(type: ShapedArray, axes: tuple[int, ...]) -> int:
    """The number of elements that are folded into one."""
    return math.prod(type.shape[axis] for axis in axes)


def _are_rows(type: ShapedArray, axes: tuple[int, ...]) -> bool:
    """Whether the axes are the last ones, and long enough for lanes."""
    last = tuple(sorted(axes)) == tuple(range(type.ndim - len(axes), type.ndim))
    return last and _each(type, axes) >= LEAST


def _in_lanes(effect: Effect, opposite: Effect, worst: str) -> None:
    @fast_path(effect, effect.name, on=("cpu",), when=_worth_lanes, without=(opposite.name,))
    def extremum(x: Any, *, axes: tuple[int, ...]) -> Any:
        type = typeof(x)
        if not _are_rows(type, axes):
            found = effect(convert_element_type(x, dtype=float32), axes=axes)
            return convert_element_type(found, dtype=type.dtype)
        kept = type.shape[: type.ndim - len(axes)]
        rows = shape.reshape(x, shape=(math.prod(kept), type.size // math.prod(kept)))
        if not is_float(type.dtype):
            return shape.reshape(_fold(effect, opposite, rows, UNROLLED), shape=kept)
        keys = ordered_bits(rows)
        nan = getattr(iinfo(typeof(keys).dtype), worst)
        keys = selection.select_n(comparison.ne(rows, rows), keys, nan)
        found = from_ordered_bits(_fold(effect, opposite, keys, UNROLLED // 2), type.dtype)
        return shape.reshape(found, shape=kept)


LANES = 16
"""Lanes of a row, at least."""


def _fold(effect: Effect, opposite: Effect, rows: Any, most: int) -> Any:
    """Extrema of rows of integers: of lanes of so many at most, and of these by XLA's pairs.

    LLVM folds vectors of lanes as long as it unrolls the loop over what a lane has, of keys that
    are computed there half as many. What fills no lane is the end of another one too. The lanes
    are folded by the opposite of their complements: XLA would make one of two folds.
    """
    count, length = typeof(rows).shape
    most = min(most, max(1, length // LANES))
    each = next((n for n in range(most, most // 2, -1) if length % n == 0), most)
    lanes = length // each
    laned = shape.slice_axis(rows, 1, 0, lanes * each)
    found = effect(shape.reshape(laned, shape=(count, each, lanes)), axes=(1,))
    if lanes * each != length:
        better = elementwise.max if effect is reduction.reduce_max else elementwise.min
        found = better(found, shape.slice_axis(rows, 1, length - lanes, length))
    return logical.not_(opposite(logical.not_(found), axes=(1,)))


_in_lanes(reduction.reduce_max, reduction.reduce_min, "max")
_in_lanes(reduction.reduce_min, reduction.reduce_max, "min")


VAST = 65536
"""Elements from which a second pass is faster than the exact fold."""


def _asked_by_a_sum(effect: Effect, operation: str) -> None:
    """XLA's own kernel where a sum says that it is right, else what was written before.

    The kernel loses NaNs, and does not tell zeros apart. A sum is NaN if an element is, and two
    passes of such kernels take 0.7 of the time of an exact one. The operand has to be there
    already: what is still to be computed would be computed for each pass.
    """
    exact = rules[effect]

    @rule(effect)
    def lower_extremum(
        w: Writer, types: Sequence[ShapedArray], x: Name, *, axes: tuple[int, ...]
    ) -> Name:
        if w.plainly:
            return exact(w, types, x, axes=axes)
        own = w.platform == "cpu" and is_float(x.dtype) and taken(effect.name)
        if own and bit_width(x.dtype) >= 16 and _free_of_nan(w):
            return _xlas_own(w, types[0], x, axes, operation)
        operand = w.equation.inputs[0]
        there = any(operand is given for given in w.program.inputs)
        vast = x.dtype == float32 and x.type.size >= VAST and len(axes) == x.type.ndim
        if not (vast and there and w.platform == "cpu" and w.mesh is None and taken(effect.name)):
            return exact(w, types, x, axes=axes)
        type = types[0]
        yes = ShapedArray((), bool_)
        zero = w.constant(0, type)
        total = reduce_text(w, types, [x], [zero], axes, lambda a, b: [add(w, a, b)])[0]
        found = _xlas_own(w, type, x, axes, operation)
        sure = w.simple("and", [compare(w, "EQ", total, total), compare(w, "NE", found, zero)], yes)
        index = w.op(f"stablehlo.convert {sure} : ({sure.text}) -> tensor<i32>", INDEX)
        again = w.region((), lambda: [exact(w, types, x, axes=axes)], "stablehlo.return")
        kept = w.region((), lambda: [found], "stablehlo.return")
        return w.op(
            f'"stablehlo.case"({index}) ({again}, {kept}) : (tensor<i32>) -> {tensor(type)}', type
        )


def _free_of_nan(w: Writer) -> bool:
    """Whether nobody sees if the extremum that is being written loses a NaN."""
    if w.uses is None or w.uses[0] is not w.program:
        w.uses = w.program, uses_of(w.program)
    return nan_survives(w.program, w.uses[1], w.equation)


def _xlas_own(w: Writer, type: ShapedArray, x: Name, axes: tuple[int, ...], operation: str) -> Name:
    """The extremum by XLA's kernel, which loses NaNs."""
    worst = lowest(x.dtype) if operation == "maximum" else highest(x.dtype)
    first = w.constant(worst, ShapedArray((), x.dtype))
    return reduce_text(
        w, [type], [x], [first], axes, lambda a, b: [w.simple(operation, [a, b], a.type)]
    )[0]


INDEX = ShapedArray((), int32)
_asked_by_a_sum(reduction.reduce_max, "maximum")
_asked_by_a_sum(reduction.reduce_min, "minimum")


WRITTEN = 1 << 17
"""Elements from which extrema are faster of what is written down."""


def _cost_of_places(w: Writer, x: Name, *, axis: int, index_dtype: Any) -> float:
    """The cost of an element from which places are found faster in what is written down."""
    narrow = axis == x.type.ndim - 1 and x.type.shape[axis] < LONG
    return 9 if narrow else 24


def _cost_of_extrema(w: Writer, x: Name, *, axes: tuple[int, ...]) -> float:
    """The same for extrema, where XLA's own kernel, which loses NaNs, won't do."""
    laned = _worth_lanes(x, axes=axes) and _are_rows(x.type, axes)
    return 24 if x.type.size >= WRITTEN and laned and not _free_of_nan(w) else math.inf


in_functions(_cost_of_places, _cost_of_extrema)
