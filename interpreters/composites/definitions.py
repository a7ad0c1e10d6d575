"""Effects written out in terms of simpler ones, for handlers that have no rule for them.

A fold is a tree of whole-array operations, a cumulative fold two such trees. So an interpreter
that knows `mul` and the shape effects has products and cumulative products too: forward mode
takes them from here, and a user's interpreter has all of these without a line about them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

from effax.effects.effect import LITERALS, Effect, find_effect
from effax.effects.program import Program, Variable
from effax.effects.rows import (
    control,
    cumulative,
    elementwise,
    logical,
    reduction,
    selection,
    shape,
    transcendental,
    window,
)
from effax.effects.rows.accuracy import accurate
from effax.effects.types import ShapedArray, bool_, typeof
from effax.interpreters.functor.written_out import expansion
from effax.interpreters.stage import stage


def _fold(effect: Effect, combine: Effect, identity: Callable[[Any], Any]) -> None:
    """A reduction by an operation with an identity."""

    @expansion(effect)
    def fold_by_halves(x: Any, *, axes: tuple[int, ...]) -> Any:
        rows, lengths = shape.move_axis_to_front(x, axes)
        type = typeof(rows)
        if type.shape[0] == 0:
            return shape.full(lengths, identity(type.dtype), type.dtype)
        return reduction.halve(combine, rows)


@expansion(accurate)
def accurate_is_the_effect(x: Any, *, function: str, accuracy: Any) -> Any:
    return find_effect(function)(x)


_fold(reduction.reduce_sum, elementwise.add, lambda _: 0)
_fold(reduction.reduce_prod, elementwise.mul, lambda _: 1)
_fold(reduction.reduce_or, logical.or_, lambda _: 0)
_fold(reduction.reduce_max, elementwise.max, reduction.lowest)
_fold(reduction.reduce_min, elementwise.min, reduction.highest)
_fold(reduction.reduce_xor, logical.xor, lambda _: 0)


@expansion(reduction.reduce_and)
def reduce_and_by_or(x: Any, *, axes: tuple[int, ...]) -> Any:
    """All are true if none is false."""
    return logical.not_(reduction.reduce_or(logical.not_(x), axes=axes))


def _cumulate(effect: Effect, combine: Callable[[Any, Any], Any]) -> None:
    @expansion(effect)
    def cumulate_by_pairs(x: Any, *, axis: int, reverse: bool) -> Any:
        return cumulative.associative_scan(
            lambda before, after: [combine(before[0], after[0])], [x], axis, reverse
        )[0]


_cumulate(cumulative.cumsum, elementwise.add)
_cumulate(cumulative.cumprod, elementwise.mul)
_cumulate(cumulative.cummax, elementwise.max)
_cumulate(cumulative.cummin, elementwise.min)
_cumulate(cumulative.cumlogsumexp, transcendental.logaddexp)


@expansion(reduction.reduce)
def reduce_by_halves(*operands: Any, body: Program, axes: tuple[int, ...]) -> Sequence[Any]:
    """Fold by a program: by halves if the program works on whole arrays, else step by step."""
    n = len(operands) // 2
    rows = [shape.move_axis_to_front(x, axes)[0] for x in operands[:n]]
    return fold_rows(rows, operands[n:], body)


def fold_rows(rows: Sequence[Any], inits: Sequence[Any], body: Program) -> list[Any]:
    """Fold the first axis of some arrays by a program on scalars, from initial values."""
    count, *lengths = typeof(rows[0]).shape
    start = [shape.broadcast_in_dim(i, shape=tuple(lengths), dims=()) for i in inits]
    if count == 0:
        return start
    if not pointwise(body):
        return _fold_step_by_step(rows, start, body)
    while count > 1:
        half = count // 2
        one = [shape.slice_axis(x, 0, 0, half) for x in rows]
        other = [shape.slice_axis(x, 0, half, 2 * half) for x in rows]
        pairs = on_arrays(body, [*one, *other])
        if count % 2:
            last = [shape.slice_axis(x, 0, count - 1, count) for x in rows]
            pairs = [shape.concatenate(p, x, axis=0) for p, x in zip(pairs, last, strict=True)]
        rows, count = pairs, half + count % 2
    return on_arrays(body, [*start, *(shape.squeeze(x, (0,)) for x in rows)])


def window_rows(x: Any, outside: Any, *parameters: Any, **named: Any) -> Any:
    """All windows, one place in the window after the other along a new first axis."""
    rows = _window_places(x, outside, *parameters, **named)
    return shape.concatenate(*(shape.expand_dims(row, (0,)) for row in rows), axis=0)


def _window_places(
    x: Any,
    outside: Any,
    window_dimensions: window.Lengths,
    window_strides: window.Lengths,
    padding: window.Padding,
    base_dilation: window.Lengths,
    window_dilation: window.Lengths,
) -> list[Any]:
    """For each place in the window, in order: what all windows have there."""
    counts = window.windows(
        "windows",
        typeof(x).shape,
        window_dimensions,
        window_strides,
        padding,
        base_dilation,
        window_dilation,
    )
    edges = zip(padding, base_dilation, strict=True)
    padded = shape.pad(x, outside, config=tuple((lo, hi, d - 1) for (lo, hi), d in edges))
    rows = []
    for place in product(*map(range, window_dimensions)):
        start = tuple(p * d for p, d in zip(place, window_dilation, strict=True))
        ends = zip(start, counts, window_strides, strict=True)
        limit = tuple(a + (n - 1) * s + 1 if n else a for a, n, s in ends)
        rows.append(shape.slice(padded, start=start, limit=limit, strides=window_strides))
    return rows


def _fold_windows(effect: Effect, combine: Effect, identity: Callable[[Any], Any]) -> None:
    @expansion(effect)
    def fold_windows(x: Any, **parameters: Any) -> Any:
        dtype = typeof(x).dtype
        rows = window_rows(x, shape.scalar(identity(dtype), dtype), **parameters)
        return reduction.halve(combine, rows)


_fold_windows(window.reduce_window_sum, elementwise.add, lambda _: 0)
_fold_windows(window.reduce_window_max, elementwise.max, reduction.lowest)
_fold_windows(window.reduce_window_min, elementwise.min, reduction.highest)


@expansion(window.reduce_window)
def reduce_window_in_order(*operands: Any, body: Program, **parameters: Any) -> Sequence[Any]:
    """Fold the places of the window in their order, and only those inside the array, as XLA does.

    So a function of two numbers that is not associative, or an initial value that is no identity,
    has the value here that it has there.
    """
    n = len(operands) // 2
    xs, inits = operands[:n], operands[n:]
    if not pointwise(body):
        rows = [window_rows(x, i, **parameters) for x, i in zip(xs, inits, strict=True)]
        return fold_rows(rows, inits, body)
    padded = any(map(any, parameters["padding"])) or any(d > 1 for d in parameters["base_dilation"])
    places = [_window_places(x, i, **parameters) for x, i in zip(xs, inits, strict=True)]
    lengths = typeof(places[0][0]).shape
    folded = [shape.broadcast_in_dim(i, shape=lengths, dims=()) for i in inits]
    if not padded:
        for window_row in zip(*places, strict=True):
            folded = on_arrays(body, [*folded, *window_row])
        return folded
    everywhere = shape.full(typeof(xs[0]).shape, True, bool_)
    inside = _window_places(everywhere, shape.scalar(False, bool_), **parameters)
    for here, *row in zip(inside, *places, strict=True):
        pairs = zip(folded, on_arrays(body, [*folded, *row]), strict=True)
        folded = [selection.select_n(here, old, new) for old, new in pairs]
    return folded


def pointwise(program: Program) -> bool:
    """Whether a program on scalars means the same on arrays, element by element.

    That is asked of the effects' typing: given arrays, each must give arrays of that shape.
    """
    found = program.memo.get("pointwise")
    if found is None:
        program.memo["pointwise"] = found = all(
            _is_pointwise(e) for e in program.equations
        ) and all(type(x) is Variable for x in program.outputs)
    return found


def _is_pointwise(equation: Any) -> bool:
    effect = equation.effect
    if effect.multiple or effect.answerable:
        return False
    types = []
    for x in equation.inputs:
        literal = type(x) is not Variable
        if literal and (not effect.literals or type(x.value) not in LITERALS):
            return False
        types.append(None if literal else x.type.update(shape=(3,)))
    if all(t is None for t in types):
        return False
    try:
        result = effect.infer(tuple(types), equation.attributes)
    except (TypeError, ValueError):
        return False
    return result.shape == (3,)


def on_arrays(body: Program, values: Sequence[Any]) -> list[Any]:
    """Run a pointwise program on arrays of one shape."""
    return body.run(*values)


def _fold_step_by_step(rows: Sequence[Any], start: Sequence[Any], body: Program) -> list[Any]:
    """A scan along the first axis, whose body scans the lanes."""
    count, *lengths = typeof(rows[0]).shape
    lanes = typeof(start[0]).size
    flat_rows = [shape.reshape(x, shape=(count, lanes)) for x in rows]
    flat_start = [shape.reshape(x, shape=(lanes,)) for x in start]
    types: list[ShapedArray] = [typeof(x).strong() for x in flat_start]

    def step(*values: Any) -> Sequence[Any]:
        return control.scan(
            *values, body=body, consts=0, carry=0, length=lanes, reverse=False, unroll=1
        )

    outer = stage(step, types * 2, "fold").program
    results = control.scan(
        *flat_start,
        *flat_rows,
        body=outer,
        consts=0,
        carry=len(start),
        length=count,
        reverse=False,
        unroll=1,
    )
    return [shape.reshape(x, shape=tuple(lengths)) for x in results]
