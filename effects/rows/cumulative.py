"""Cumulative: effects that fold the elements before each one, along an axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from effax.effects.effect import Effect
from effax.effects.facts import LINEAR, NONE, SOUND, Facts
from effax.effects.rows import elementwise, logical, shape
from effax.effects.signature import FLOAT, NUMERIC, require
from effax.effects.types import ShapedArray, bool_, typeof

FAMILY = "cumulative"


def _cumulative(name: str, kind: str, *, facts: Facts = NONE) -> Effect:
    def typing(x: ShapedArray, *, axis: int, reverse: bool) -> ShapedArray:
        require(name, kind, x)
        if not 0 <= axis < x.ndim:
            raise ValueError(f"{name}: axis {axis} is not one of the axes of {x.str_short()}")
        return x

    return Effect(name, family=FAMILY, typing=typing, facts=facts)


cumsum = _cumulative("cumsum", NUMERIC, facts=LINEAR)
"""`cumsum(x, axis, reverse)`: the sum of each element and all before it (after it in reverse)."""
cumprod = _cumulative("cumprod", NUMERIC)
"""`cumprod(x, axis, reverse)`: the product of each element and all before it."""
cummax = _cumulative("cummax", NUMERIC, facts=SOUND)
"""`cummax(x, axis, reverse)`: the largest so far; NaN from the first NaN on."""
cummin = _cumulative("cummin", NUMERIC, facts=SOUND)
"""`cummin(x, axis, reverse)`: the smallest so far; NaN from the first NaN on."""
cumlogsumexp = _cumulative("cumlogsumexp", FLOAT)
"""`cumlogsumexp(x, axis, reverse)`: the logarithm of the sum of exponentials so far."""

Combine = Callable[[Sequence[Any], Sequence[Any]], Sequence[Any]]


def associative_scan(
    combine: Combine, xs: Sequence[Any], axis: int, reverse: bool = False
) -> Sequence[Any]:
    """All prefixes of several arrays at once, folded by an associative `combine(before, after)`.

    Work in proportion to the elements and a program of 2 log2(n) levels: pairs are folded, their
    prefixes are found in the same way, and each even place is one step from an odd one (Blelloch
    1990). Derivatives of any order go through it.
    """
    if reverse:
        flipped = [shape.rev(x, dims=(axis,)) for x in xs]
        return [shape.rev(x, dims=(axis,)) for x in associative_scan(combine, flipped, axis)]
    n = typeof(xs[0]).shape[axis]
    if n < 2:
        return xs
    firsts = [shape.slice_axis(x, axis, 0, n - 1, 2) for x in xs]
    seconds = [shape.slice_axis(x, axis, 1, n, 2) for x in xs]
    odd = associative_scan(combine, combine(firsts, seconds), axis)
    if n == 2:
        even = [shape.slice_axis(x, axis, 0, 1) for x in xs]
    else:
        whole = (n - 1) // 2
        before = [shape.slice_axis(x, axis, 0, whole) for x in odd]
        after = [shape.slice_axis(x, axis, 2, n, 2) for x in xs]
        even = [
            shape.concatenate(shape.slice_axis(x, axis, 0, 1), y, axis=axis)
            for x, y in zip(xs, combine(before, after), strict=True)
        ]
    return [_interleave(e, o, axis) for e, o in zip(even, odd, strict=True)]


def _interleave(even: Any, odd: Any, axis: int) -> Any:
    """The elements of both in turn; there may be one more even than odd."""
    equal = typeof(even).shape[axis] == typeof(odd).shape[axis]
    one = shape.pad_axis(even, axis, 0, 1 if equal else 0, 1)
    other = shape.pad_axis(odd, axis, 1, 0 if equal else 1, 1)
    join = logical.or_ if typeof(even).dtype == bool_ else elementwise.add
    return join(one, other)
