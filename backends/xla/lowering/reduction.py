"""Reductions in StableHLO: `reduce` with an identity and a region that combines two scalars."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from effax.backends.xla.lowering.elementwise import compare, maximum, minimum, whole_bytes
from effax.backends.xla.lowering.shape import listed
from effax.backends.xla.lowering.writer import Name, Writer, rule, rules, tensor
from effax.effects import config
from effax.effects.dtypes import bit_width, is_float
from effax.effects.effect import Effect
from effax.effects.program import Program
from effax.effects.rows import comparison, reduction, selection
from effax.effects.rows.conversion import from_ordered_bits, ordered_bits
from effax.effects.rows.reduction import highest, lowest
from effax.effects.types import (
    ShapedArray,
    iinfo,
    is_bool,
    is_complex,
    is_inexact,
    typeof,
)
from effax.effects.value import is_symbolic
from effax.interpreters.stage import stage

Combine = Callable[[Writer, Name, Name], Name]


def all_bits(dtype: Any) -> Any:
    """The identity of `and`: all bits set."""
    if is_bool(dtype):
        return True
    return iinfo(dtype).max if iinfo(dtype).min == 0 else -1


def plain(operation: str) -> Combine:
    """Combine by one StableHLO operation."""
    return lambda w, x, y: w.simple(operation, [x, y], x.type)


def select(w: Writer, which: Name, x: Name, y: Name) -> Name:
    """x where `which` is true, else y."""
    return w.op(f"stablehlo.select {which}, {x}, {y} : {which.text}, {x.text}", x.type)


add, mul = plain("add"), plain("multiply")


def reduce_text(
    w: Writer,
    types: Sequence[ShapedArray],
    operands: Sequence[Name],
    inits: Sequence[Name],
    axes: Sequence[int],
    write: Callable[..., Sequence[Name]],
) -> list[Name]:
    """A `stablehlo.reduce` of several operands at once; `write(*accumulated, *next)`."""
    scalars = [x.type for x in inits]
    region = w.region([*scalars, *scalars], write, "stablehlo.return")
    ins = ", ".join(x.text for x in (*operands, *inits))
    outs = ", ".join(map(tensor, types))
    text = (
        f'"stablehlo.reduce"({", ".join((*operands, *inits))}) ({region}) '
        f"{{dimensions = array<i64{': ' if axes else ''}{listed(axes)[1:-1]}>}} : "
        f"({ins}) -> ({outs})"
    )
    return w.ops(text, types)


def _lower_with(effect: Effect, identity: Callable[[Any], Any], combine: Combine) -> None:
    """A reduction whose combination may take several operations."""

    def lower_reduction(
        w: Writer, types: Sequence[ShapedArray], x: Name, *, axes: tuple[int, ...]
    ) -> Name:
        type = types[0]
        init = w.constant(identity(x.dtype), ShapedArray((), x.dtype))
        if is_complex(x.dtype):
            x = _together(w, x, axes)
        return reduce_text(w, [type], [x], [init], axes, lambda a, b: [combine(w, a, b)])[0]

    rule(effect)(lower_reduction)


def _together(w: Writer, x: Name, axes: Sequence[int]) -> Name:
    """The operand, which is not to be cut along the axes that are reduced.

    XLA combines what several CPUs have by the usual operations on numbers only.
    """
    if w.mesh is None or w.platform != "cpu" or (w.axes and not w.is_partly_mapped):
        return x
    whole = w.mesh.spec([() if i in axes else None for i in range(len(x.shape))], len(x.shape))
    return w.op(f"sdy.sharding_constraint {x} {whole} : {x.text}", x.type)


def _refuse_half(type: ShapedArray, axes: Sequence[int]) -> None:
    """Raise `ValueError` where elements of 16-bit floats are added up."""
    adds = any(type.shape[i] != 1 for i in axes)
    if adds and is_float(type.dtype) and bit_width(type.dtype) == 16:
        raise ValueError(
            f"reduce_sum on operand {type.str_short()} is not allowed when "
            "allow_f16_reductions=False; convert it to float32 first"
        )


def _lower_by(effect: Effect, identity: Callable[[Any], Any], operation: str) -> None:
    """A reduction by one operation, which needs no region to be written."""

    def lower_reduction(
        w: Writer, types: Sequence[ShapedArray], x: Name, *, axes: tuple[int, ...]
    ) -> Name:
        type = types[0]
        if effect is reduction.reduce_sum and not config.trace_key().allow_f16_reductions:
            _refuse_half(x.type, axes)
        init = w.constant(identity(x.dtype), ShapedArray((), x.dtype))
        if effect is reduction.reduce_xor:
            x = _together(w, x, axes)
        return w.op(
            f"stablehlo.reduce({x!s} init: {init!s}) applies stablehlo.{operation} across "
            f"dimensions = {listed(axes)} : ({x.text}, {init.text}) -> {tensor(type)}",
            type,
        )

    rule(effect)(lower_reduction)


_lower_by(reduction.reduce_sum, lambda _: 0, "add")
_lower_by(reduction.reduce_prod, lambda _: 1, "multiply")
_lower_with(reduction.reduce_max, lowest, maximum)
_lower_with(reduction.reduce_min, highest, minimum)
_lower_by(reduction.reduce_and, all_bits, "and")
_lower_by(reduction.reduce_or, lambda _: 0, "or")
_lower_by(reduction.reduce_xor, lambda _: 0, "xor")


def _exact_extremum(effect: Effect, worst: Callable[[Any], Any]) -> None:
    """XLA's CPU backend loses NaNs in large extrema of floats, and in those of what several CPUs
    have: these are taken of ordered bits."""
    plain_rule = rules[effect]

    @rule(effect)
    def lower_extremum(
        w: Writer, types: Sequence[ShapedArray], x: Name, *, axes: tuple[int, ...]
    ) -> Name:
        dtype = x.dtype
        small = not is_symbolic(x.shape) and x.type.size < _LARGE and w.mesh is None
        small = small or not is_float(dtype) or bit_width(dtype) < 16
        if w.platform != "cpu" or small or not axes:
            return plain_rule(w, types, x, axes=axes)

        def of_bits(x: Any) -> list[Any]:
            keys = ordered_bits(x)
            nan = worst(iinfo(typeof(keys).dtype))
            keys = selection.select_n(comparison.ne(x, x), keys, nan)
            return [from_ordered_bits(effect(keys, axes=axes), dtype)]

        return w.body(stage(of_bits, [x.type.cut_by(None)], effect.name).program, [x])[0]


_LARGE = 512
_exact_extremum(reduction.reduce_max, lambda info: info.max)
_exact_extremum(reduction.reduce_min, lambda info: info.min)


def _lower_position(effect: Effect, direction: str, identity: Callable[[Any], Any]) -> None:
    def lower_position(
        w: Writer, types: Sequence[ShapedArray], x: Name, *, axis: int, index_dtype: Any
    ) -> Name:
        """Reduce pairs (value, position); the first of equals wins, and NaN beats all."""
        type = types[0]
        x = whole_bytes(w, x)
        counts = ShapedArray(x.shape, index_dtype)
        if is_symbolic(x.shape):
            at = w.symbolic.iota(w, axis, counts)
        else:
            at = w.op(f"stablehlo.iota dim = {axis} : {tensor(counts)}", counts)
        value = ShapedArray((), x.dtype)
        inits = [
            w.constant(identity(x.dtype), value),
            w.constant(0, ShapedArray((), index_dtype)),
        ]

        def pick(best: Name, best_at: Name, new: Name, new_at: Name) -> list[Name]:
            verdict = ShapedArray((), np.bool_)

            def both(operation: str, x: Name, y: Name) -> Name:
                return w.simple(operation, [x, y], verdict)

            better, tied = compare(w, direction, best, new), compare(w, "EQ", best, new)
            if is_inexact(best.dtype):
                lost = compare(w, "NE", best, best)
                if w.platform != "cpu":  # where pairs are compared in any order: of two NaN too
                    tied = both("or", tied, both("and", lost, compare(w, "NE", new, new)))
                    lost = both("and", lost, compare(w, "EQ", new, new))
                better = both("or", better, lost)
            earlier = both("and", tied, compare(w, "LT", best_at, new_at))
            keep = both("or", better, earlier)
            return [select(w, keep, best, new), select(w, keep, best_at, new_at)]

        pair = [ShapedArray(type.shape, x.dtype), type]
        return reduce_text(w, pair, [x, at], inits, [axis], pick)[1]

    rule(effect)(lower_position)


_lower_position(reduction.argmax, "GT", lowest)
_lower_position(reduction.argmin, "LT", highest)


@rule(reduction.reduce)
def lower_reduce(
    w: Writer,
    types: Sequence[ShapedArray],
    *operands: Name,
    body: Program,
    axes: tuple[int, ...],
) -> list[Name]:
    n = len(operands) // 2
    whole = [_together(w, x, axes) for x in operands[:n]]
    return reduce_text(w, types, whole, operands[n:], axes, lambda *scalars: w.body(body, scalars))
