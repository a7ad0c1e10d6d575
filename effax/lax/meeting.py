"""Operands of operators, brought to one shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from effax.effects.dtypes import NO_OPERATIONS
from effax.effects.effect import LITERALS
from effax.effects.rows import conversion
from effax.effects.rows.accuracy import AccuracyMode as AccuracyMode
from effax.effects.rows.accuracy import Tolerance as Tolerance
from effax.effects.types import (
    ShapedArray,
    float0,
    is_complex,
    is_float,
    is_inexact,
    is_integer,
    typeof,
)
from effax.effects.value import ArrayLike
from effax.lax.shapes import repeated
from effax.operands.arguments import BroadcastError

if TYPE_CHECKING:
    pass


def together(name: str, *operands: ArrayLike) -> list[Any]:
    """Operands as the effects want them: one dtype, one shape, Python numbers left as literals.

    Raises `TypeError` where dtypes differ, where shapes do not fit, or where a Python number has
    no place in the dtype of the others.
    """
    types = [typeof(x) for x in operands]
    literal = [type(x) in LITERALS for x in operands]
    peers = [t for t, number in zip(types, literal, strict=True) if not number]
    if not peers:
        peers = types
        operands = tuple(
            conversion.convert_element_type(x, dtype=t.dtype, weak_type=t.weak_type)
            for x, t in zip(operands, types, strict=True)
        )
        literal = [False] * len(operands)
    first = peers[0]
    if all(t is first for t in peers) and not any(literal):
        return list(operands)
    dtype = first.dtype
    fits = all(
        t.dtype == dtype or (number and _fits(t, dtype))
        for t, number in zip(types, literal, strict=True)
    )
    if not fits:
        if any(t.dtype == float0 for t in types):
            raise TypeError(NO_OPERATIONS)
        listed = ", ".join(t.dtype.name for t in types)
        raise TypeError(
            f"lax.{name} requires arguments to have the same dtypes, got {listed}. "
            "(The functions of effax.numpy promote their arguments.)"
        )
    lengths = meeting_shape(name, peers)
    return [
        x if number else repeated(x, lengths) for x, number in zip(operands, literal, strict=True)
    ]


def _fits(number: ShapedArray, dtype: Any) -> bool:
    """Whether a Python number keeps its value in a dtype: an int anywhere, a float in a float."""
    if is_integer(number.dtype):
        return is_integer(dtype) or is_inexact(dtype)
    if is_float(number.dtype):
        return is_inexact(dtype)
    return is_complex(number.dtype) and is_complex(dtype)


def meeting_shape(name: str, types: list[ShapedArray]) -> tuple[int, ...]:
    """The shape in which operands of an operator meet: equal ones, or ones of length 1."""
    shapes = [t.shape for t in types if t.shape]
    if not shapes:
        return ()
    equal_ranks = len({len(s) for s in shapes}) == 1
    lengths = [{n for n in column if n != 1} for column in zip(*shapes, strict=False)]
    if not equal_ranks or any(len(c) > 1 for c in lengths):
        listed = ", ".join(str(t.shape) for t in types)
        raise BroadcastError(
            f"{name} got incompatible shapes for broadcasting: {listed}. "
            "(The functions of effax.numpy broadcast over ranks.)"
        )
    return tuple(next(iter(c)) if c else 1 for c in lengths)
