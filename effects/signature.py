"""Typing rules that many effects on elements share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from effax.effects.effect import Effect
from effax.effects.facts import NONE, POINTWISE, Facts
from effax.effects.types import (
    DType,
    ShapedArray,
    is_bool,
    is_complex,
    is_float,
    is_inexact,
    is_integer,
)

FLOAT: Final = "floating-point"
COMPLEX: Final = "complex"
INEXACT: Final = "floating-point or complex"
INTEGER: Final = "integer"
BITS: Final = "Boolean or integer"
REAL: Final = "integer or floating-point"
ORDERED: Final = "Boolean, integer or floating-point"
NUMERIC: Final = "integer, floating-point or complex"
ANY: Final = "numeric or Boolean"

_ACCEPTS: Final[dict[str, Callable[[DType], bool]]] = {
    FLOAT: is_float,
    COMPLEX: is_complex,
    INEXACT: is_inexact,
    INTEGER: is_integer,
    BITS: lambda d: is_bool(d) or is_integer(d),
    REAL: lambda d: is_integer(d) or is_float(d),
    ORDERED: lambda d: is_bool(d) or is_integer(d) or is_float(d),
    NUMERIC: lambda d: is_integer(d) or is_inexact(d),
    ANY: lambda d: is_bool(d) or is_integer(d) or is_inexact(d),
}

Result = Callable[[DType], DType]


def require(name: str, kind: str, type: ShapedArray) -> None:
    """Raise `TypeError` unless the elements are of the kind."""
    if not _ACCEPTS[kind](type.dtype):
        raise TypeError(
            f"{name} does not accept dtype {type.dtype.name}: it takes {kind} elements, but was "
            f"given {type.str_short()}"
        )


def same(name: str, types: Sequence[ShapedArray | None]) -> ShapedArray:
    """The one type of operands that must agree in shape and dtype; literals (None) always do.

    Weak where all are. Raises `TypeError` where two disagree, or where all are literals.
    """
    first = None
    weak = True
    for t in types:
        if t is None:
            continue
        if first is None:
            first = t
        elif t is not first and (t.shape != first.shape or t.dtype != first.dtype):
            what = "shapes" if t.shape != first.shape else "dtypes"
            raise TypeError(
                f"{name} needs operands of equal {what}, but got {first.str_short()} and "
                f"{t.str_short()}; the functions of effax.numpy broadcast and promote"
            )
        weak = weak and t.weak_type
    if first is None:
        raise TypeError(f"{name} needs an array among its operands, not Python numbers only")
    return first if first.weak_type == weak else first.update(weak_type=weak)


def unary(
    name: str, family: str, kind: str, result: Result | None = None, *, facts: Facts = NONE
) -> Effect:
    """An effect on the elements of one operand; `result` gives their dtype where it is another."""

    def typing(x: ShapedArray, **attributes: Any) -> ShapedArray:
        require(name, kind, x)
        return x if result is None else x.update(dtype=result(x.dtype))

    return Effect(name, family=family, typing=typing, facts=POINTWISE | facts)


def nary(
    name: str,
    family: str,
    kind: str,
    result: Result | None = None,
    arity: int = 2,
    *,
    facts: Facts = NONE,
) -> Effect:
    """An effect on the elements of operands of one shape and dtype; some may be literals."""

    def typing(*types: ShapedArray | None, **attributes: Any) -> ShapedArray:
        if len(types) != arity:
            raise TypeError(f"{name} takes {arity} operands, but was given {len(types)}")
        x = same(name, types)
        require(name, kind, x)
        return x if result is None else x.update(dtype=result(x.dtype))

    return Effect(name, family=family, typing=typing, literals=True, facts=POINTWISE | facts)
