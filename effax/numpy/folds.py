"""Folding arrays by the arithmetic functions: what `reduce`, `accumulate` and `at` of each do.

The functions here take the arguments of `ufunc.reduce` and so on, checked there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from effax.eager.whole import whole
from effax.effects.effect import Effect
from effax.effects.promotion import lattice_result
from effax.effects.rows import complex as complexes
from effax.effects.rows import cumulative, elementwise, logical, reduction, shape, transcendental
from effax.effects.rows.selection import select_n
from effax.effects.types import inexact_dtype, is_bool, is_complex, is_integer, typeof
from effax.numpy import reductions
from effax.numpy.indexing import ArrayAt
from effax.operands.arguments import (
    broadcast,
    canonical_axes,
    canonical_axis,
    cast,
    shape_of,
    strong,
)
from effax.operands.promoting import array, literal_of


def extremum(function: Callable[..., Any]) -> Callable[..., Any]:
    """`reduce` for the function that gives the largest or the smallest element."""

    def fold(a: Any, *, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Any:
        a = a if dtype is None else cast(a, dtype)
        return function(a, axis, keepdims=keepdims, initial=initial, where=where)

    return fold


largest = extremum(reductions.max)
smallest = extremum(reductions.min)


def running(effect: Effect) -> Callable[..., Any]:
    """Return the method `accumulate` for a cumulative effect on numbers."""

    @whole("axis", "dtype")
    def accumulate(a: Any, *, axis: Any, dtype: Any) -> Any:
        if axis is None or isinstance(axis, tuple):
            raise ValueError("accumulate does not allow multiple axes")
        axis = canonical_axis(axis, len(shape_of(a)))
        kind = typeof(a).dtype if dtype is None else dtype
        if is_bool(kind):
            # Booleans are ordered like 0 and 1.
            return cast(effect(cast(a, "int8"), axis=axis, reverse=False), kind)
        return effect(cast(a, kind), axis=axis, reverse=False)

    return accumulate


running_largest = running(cumulative.cummax)
running_smallest = running(cumulative.cummin)


def update(
    operation: str, of_truths: str | None = None, *, promotes: bool = False
) -> Callable[..., Any]:
    """`at` by a method of `x.at[indices]`; where all is Boolean, by another one.

    The result has a's dtype, or if the function `promotes` the one in which a and b meet.
    """

    def at(a: Any, indices: Any, b: Any) -> Any:
        if promotes:
            a = cast(a, lattice_result([typeof(a), typeof(b)])[0])
        boolean = is_bool(typeof(a).dtype) and is_bool(typeof(b).dtype)
        return getattr(ArrayAt(a)[indices], of_truths if boolean and of_truths else operation)(b)

    return at


def bits(effect: Effect, pair: Effect, identity: int, truths: bool = False) -> Callable[..., Any]:
    """`reduce` for a function of bits, or of truths, that has that identity."""

    @whole("axis", "dtype", "keepdims")
    def fold(a: Any, *, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Any:
        if truths:
            a = reductions.truth(a)
        else:
            a = array(a) if dtype is None else cast(a, dtype)
        kind = typeof(a).dtype
        if not (is_integer(kind) or is_bool(kind)):
            raise ValueError(f"integer argument required; got dtype={kind}")
        neutral = bool(identity) if is_bool(kind) else literal_of(identity, kind)
        if where is not None:
            a = reductions.masked("reduce", where, a, neutral)
        lengths = shape_of(a)
        axes = canonical_axes(axis, len(lengths))
        result = strong(effect(a, axes=axes))
        if initial is not None:
            first = reductions.truth(initial) if truths else cast(initial, kind)
            result = pair(broadcast(first, shape_of(result)), result)
        result = reductions.kept(result, lengths, axes, keepdims)
        return cast(result, dtype) if truths and dtype is not None else result

    return fold


conjunction = bits(reduction.reduce_and, logical.and_, -1)
disjunction = bits(reduction.reduce_or, logical.or_, 0)
parity = bits(reduction.reduce_xor, logical.xor, 0)
every = bits(reduction.reduce_and, logical.and_, -1, truths=True)
some = bits(reduction.reduce_or, logical.or_, 0, truths=True)
oddly_many = bits(reduction.reduce_xor, logical.xor, 0, truths=True)


def logarithm_of_sum(unit: float) -> Callable[..., Any]:
    """`reduce` for logaddexp, where the logarithm of the base is `unit`."""

    @whole("axis", "dtype", "keepdims")
    def fold(a: Any, *, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Any:
        kind = inexact_dtype(typeof(a).dtype) if dtype is None else dtype
        a = cast(a, kind)
        if unit != 1.0:
            a = elementwise.mul(a, unit)
        lengths = shape_of(a)
        axes = canonical_axes(axis, len(lengths))
        size = complexes.real(a) if is_complex(kind) else a
        highest = reductions.max(size, axes, keepdims=True, initial=-math.inf, where=where)
        # Infinities stay where they are.
        highest = select_n(elementwise.is_finite(highest), 0.0, highest)
        highest = cast(highest, kind)
        apart = elementwise.sub(a, broadcast(highest, lengths))
        total = reductions.sum(transcendental.exp(apart), axes, keepdims=True, where=where)
        result = elementwise.add(transcendental.log(total), highest)
        if initial is not None:
            first = cast(initial, kind)
            if unit != 1.0:
                first = elementwise.mul(first, unit)
            result = transcendental.logaddexp(broadcast(first, shape_of(result)), result)
        if unit != 1.0:
            result = elementwise.div(result, unit)
        if keepdims:
            return result
        return shape.squeeze(result, axes)

    return fold


natural = logarithm_of_sum(1.0)
binary = logarithm_of_sum(math.log(2))
