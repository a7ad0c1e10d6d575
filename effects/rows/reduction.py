"""Reductions: effects that bring axes down to one number each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Any

import numpy as np

from effax.effects.effect import Effect
from effax.effects.facts import LINEAR, NONE, SOUND, SPREADING, STILL, Facts
from effax.effects.program import Program
from effax.effects.rows import shape
from effax.effects.signature import ANY, BITS, NUMERIC, ORDERED, require
from effax.effects.types import (
    ShapedArray,
    finfo,
    iinfo,
    int64,
    is_bool,
    is_complex,
    is_float,
    is_integer,
    position_dtype,
    typeof,
)

FAMILY = "reduction"


def without(lengths: Sequence[int], axes: Sequence[int]) -> tuple[int, ...]:
    """The lengths of the axes that a reduction leaves."""
    return tuple(n for i, n in enumerate(lengths) if i not in axes)


def lowest(dtype: Any) -> Any:
    """The identity of max: -inf, False or the least number there is."""
    return _outermost(dtype, -1)


def highest(dtype: Any) -> Any:
    """The identity of min: inf, True or the largest number there is."""
    return _outermost(dtype, 1)


def _outermost(dtype: Any, sign: int) -> Any:
    if is_bool(dtype):
        return sign > 0
    if is_complex(dtype):
        return complex(sign * inf, sign * inf)
    if is_float(dtype):
        with np.errstate(all="ignore"):
            value = np.asarray(sign * inf).astype(dtype)
        if np.isinf(value.astype(np.float32)):
            return value[()]
    limits = finfo(dtype) if is_float(dtype) else iinfo(dtype)  # some floats have no infinities
    return limits.max if sign > 0 else limits.min


def _check_axes(name: str, x: ShapedArray, axes: tuple[int, ...]) -> None:
    if len(set(axes)) != len(axes):
        raise ValueError(f"{name}: the axes must not repeat, got {axes}")
    if not all(0 <= a < x.ndim for a in axes):
        raise ValueError(f"{name}: the axes {axes} are not all axes of {x.str_short()}")


def _reduction(name: str, kind: str, *, facts: Facts = NONE) -> Effect:
    def typing(x: ShapedArray, *, axes: tuple[int, ...]) -> ShapedArray:
        require(name, kind, x)
        _check_axes(name, x, axes)
        return x.update(shape=without(x.shape, axes))

    return Effect(name, family=FAMILY, typing=typing, facts=facts)


reduce_sum = _reduction("reduce_sum", NUMERIC, facts=LINEAR | SPREADING)
"""`reduce_sum(x, axes)`: the sum; 0 over no elements."""
reduce_prod = _reduction("reduce_prod", NUMERIC, facts=SPREADING)
"""`reduce_prod(x, axes)`: the product; 1 over no elements."""
reduce_max = _reduction("reduce_max", ANY, facts=SOUND | SPREADING)
"""`reduce_max(x, axes)`: the largest; NaN where there is one; -inf or the least over none."""
reduce_min = _reduction("reduce_min", ANY, facts=SOUND | SPREADING)
"""`reduce_min(x, axes)`: the smallest; NaN where there is one; inf or the largest over none."""
reduce_and = _reduction("reduce_and", BITS, facts=STILL | SOUND)
"""`reduce_and(x, axes)`: whether all are true; for integers the conjunction of their bits."""
reduce_or = _reduction("reduce_or", BITS, facts=STILL | SOUND)
"""`reduce_or(x, axes)`: whether any is true; for integers the disjunction of their bits."""
reduce_xor = _reduction("reduce_xor", BITS, facts=STILL | SOUND)
"""`reduce_xor(x, axes)`: the parity; for integers bit by bit."""


def _position(name: str, *, facts: Facts = NONE) -> Effect:
    def typing(x: ShapedArray, *, axis: int, index_dtype: Any) -> ShapedArray:
        require(name, ORDERED, x)
        _check_axes(name, x, (axis,))
        result = ShapedArray(without(x.shape, (axis,)), index_dtype)
        if not is_integer(result.dtype):
            raise TypeError(f"{name}: index_dtype must be an integer type, not {result.dtype.name}")
        if x.shape[axis] == 0:
            raise ValueError(
                f"{name}: axis {axis} of {x.str_short()} has no elements to choose from"
            )
        if position_dtype(x.shape[axis]) == int64 and x.shape[axis] - 1 > iinfo(result.dtype).max:
            raise OverflowError(
                f"{name}: {result.dtype.name} does not hold the positions along axis {axis} of "
                f"{x.str_short()}; use index_dtype=int64"
            )
        return result

    return Effect(name, family=FAMILY, typing=typing, facts=facts)


argmax = _position("argmax", facts=STILL | SOUND)
"""`argmax(x, axis, index_dtype)`: where the largest is, the first of equals; NaN is largest."""
argmin = _position("argmin", facts=STILL | SOUND)
"""`argmin(x, axis, index_dtype)`: where the smallest is, the first of equals; NaN is smallest."""


def _reduce_type(
    *operands: ShapedArray, body: Program, axes: tuple[int, ...]
) -> Sequence[ShapedArray]:
    n = len(operands) // 2
    xs, inits = operands[:n], operands[n:]
    if not n or len(operands) != 2 * n:
        raise TypeError("reduce: expected one initial value for each array, and at least one array")
    for x, init in zip(xs, inits, strict=True):
        _check_axes("reduce", x, axes)
        if init.shape:
            raise ValueError(
                f"reduce found non-scalar initial value: {init.str_short()} for {x.str_short()}"
            )
        if x.shape != xs[0].shape or init.dtype != x.dtype:
            raise TypeError(
                f"reduce: arrays must have one shape, and initial values their dtypes, but "
                f"{x.str_short()} comes with {init.str_short()}"
            )
    scalars = tuple(x.update(shape=(), weak_type=False) for x in xs)
    check_body("reduce", body, scalars)
    return [x.update(shape=without(x.shape, axes)) for x in xs]


def check_body(name: str, body: Program, scalars: Sequence[ShapedArray]) -> None:
    """Raise `TypeError` unless the body takes two lots of these scalars and gives one."""
    wanted = [(t.shape, t.dtype) for t in scalars]
    taken = [(t.shape, t.dtype) for t in body.in_types]
    given = [(t.shape, t.dtype) for t in body.out_types]
    if taken != wanted * 2 or given != wanted:
        short = ", ".join(t.str_short() for t in scalars)
        raise TypeError(
            f"{name}: the body must take ({short}) twice and give ({short}), but it takes "
            f"({', '.join(t.str_short() for t in body.in_types)}) and gives "
            f"({', '.join(t.str_short() for t in body.out_types)})"
        )


reduce = Effect("reduce", family=FAMILY, typing=_reduce_type, multiple=True, higher_order=True)
"""`reduce(*operands, *inits, body, axes)`: fold by any associative program on scalars.

`body` takes the scalars accumulated, then the next ones, and gives those accumulated. `inits` must
be its identity: how often they take part is left to the backend.
"""


def halve(combine: Callable[[Any, Any], Any], x: Any) -> Any:
    """Fold the first axis by combining halves: log2(n) steps, each a whole-array operation.

    `combine` is associative and acts on arrays of equal shapes. The axis has at least one element.
    """
    while (n := typeof(x).shape[0]) > 1:
        half = n // 2
        pairs = combine(shape.slice_axis(x, 0, 0, half), shape.slice_axis(x, 0, half, 2 * half))
        if n % 2:
            pairs = shape.concatenate(pairs, shape.slice_axis(x, 0, n - 1, n), axis=0)
        x = pairs
    return shape.squeeze(x, (0,))
