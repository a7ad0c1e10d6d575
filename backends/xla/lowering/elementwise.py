"""Arithmetic in StableHLO, one operation each wherever it has one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from effax.backends.xla.lowering.writer import Name, Writer, rule, tensor
from effax.effects.effect import Effect
from effax.effects.rows import elementwise
from effax.effects.rows.elementwise import (
    abs,
    copy,
    integer_pow,
    is_finite,
    max,
    min,
    pow,
    round,
    sign,
    square,
    stop_gradient,
)
from effax.effects.types import (
    ShapedArray,
    bool_,
    is_complex,
    is_inexact,
    is_signed,
    is_unsigned,
    real_dtype,
)

_OPERATIONS: Final[dict[Effect, str]] = {
    elementwise.add: "stablehlo.add",
    elementwise.sub: "stablehlo.subtract",
    elementwise.mul: "stablehlo.multiply",
    elementwise.div: "stablehlo.divide",
    elementwise.rem: "stablehlo.remainder",
    elementwise.neg: "stablehlo.negate",
    elementwise.rsqrt: "stablehlo.rsqrt",
    elementwise.cbrt: "stablehlo.cbrt",
    elementwise.floor: "stablehlo.floor",
    elementwise.ceil: "stablehlo.ceil",
    elementwise.nextafter: "chlo.next_after",
}


def operation(name: str) -> Callable[..., Name]:
    """The rule of an effect that is one operation, whose operands and result have one type."""
    if name.startswith("chlo."):
        # CHLO allows results of other types, so their types are spelled out.
        def write(w: Writer, types: Sequence[ShapedArray], *xs: Name, **_: Any) -> Name:
            text = tensor(types[0])
            ins = ", ".join([text] * len(xs))
            return w.op(f"{name} {', '.join(xs)} : {ins} -> {text}", types[0])

        return write

    def write_short(w: Writer, types: Sequence[ShapedArray], *xs: Name, **_: Any) -> Name:
        return w.same(name, xs, types[0])

    return write_short


def right_at_infinity(effect: Effect, plain: Callable[..., Name]) -> Callable[..., Name]:
    """The rule of a function that XLA gets wrong at complex infinities and NaN."""

    def lower(w: Writer, types: Sequence[ShapedArray], x: Name, **attributes: Any) -> Name:
        found = plain(w, types, x, **attributes)
        if not is_complex(x.dtype):
            return found
        from effax.backends.xla.lowering.transcendental_special import repaired

        return repaired(w, effect, types, x, found)

    return lower


for _effect, _name in _OPERATIONS.items():
    rule(_effect)(operation(_name))
rule(elementwise.sqrt)(right_at_infinity(elementwise.sqrt, operation("stablehlo.sqrt")))


@rule(copy, stop_gradient)
def lower_identity(w: Writer, types: Sequence[ShapedArray], x: Name) -> Name:
    return x


@rule(abs)
def lower_abs(w: Writer, types: Sequence[ShapedArray], x: Name) -> Name:
    return x if is_unsigned(x.dtype) else w.simple("abs", [x], types[0])


@rule(sign)
def lower_sign(w: Writer, types: Sequence[ShapedArray], x: Name) -> Name:
    type = types[0]
    if not is_unsigned(type.dtype):
        return w.simple("sign", [x], type)
    return w.simple("minimum", [x, w.constant(1, type)], type)


@rule(square)
def lower_square(w: Writer, types: Sequence[ShapedArray], x: Name) -> Name:
    if is_complex(x.dtype):
        return w.op(f"chlo.square {x} : {x.text} -> {x.text}", types[0])
    return w.simple("multiply", [x, x], types[0])


@rule(is_finite)
def lower_is_finite(w: Writer, types: Sequence[ShapedArray], x: Name) -> Name:
    if is_inexact(x.dtype):
        return w.simple("is_finite", [x], types[0])
    return w.constant(True, types[0])


@rule(round)
def lower_round(
    w: Writer, types: Sequence[ShapedArray], x: Name, *, rounding_method: int = 0
) -> Name:
    return w.simple("round_nearest_even" if rounding_method else "round_nearest_afz", [x], types[0])


@rule(pow)
def lower_pow(w: Writer, types: Sequence[ShapedArray], x: Name, y: Name) -> Name:
    if y.dtype != x.dtype:
        y = w.simple("convert", [y], types[0])
    return w.simple("power", [x, y], types[0])


@rule(integer_pow)
def lower_integer_pow(w: Writer, types: Sequence[ShapedArray], x: Name, *, y: int) -> Name:
    """By repeated squaring: about `2 log2(y)` products."""
    type = types[0]
    if y == 0:
        return w.constant(1, type)
    result, factor, n = None, x, -y if y < 0 else y
    while n:
        if n & 1:
            result = factor if result is None else w.simple("multiply", [result, factor], type)
        n >>= 1
        if n:
            factor = w.simple("multiply", [factor, factor], type)
    assert result is not None
    return w.simple("divide", [w.constant(1, type), result], type) if y < 0 else result


@rule(max)
def lower_max(w: Writer, types: Sequence[ShapedArray], x: Name, y: Name) -> Name:
    return _extreme(w, types[0], x, y, "maximum", "GT")


@rule(min)
def lower_min(w: Writer, types: Sequence[ShapedArray], x: Name, y: Name) -> Name:
    return _extreme(w, types[0], x, y, "minimum", "LT")


def compare(w: Writer, direction: str, x: Name, y: Name, total: bool = False) -> Name:
    """A tensor of Booleans: how the elements of x and y compare."""
    dtype = x.dtype
    if is_inexact(dtype):
        kind = "TOTALORDER" if total else "FLOAT"
    else:
        kind = "SIGNED" if is_signed(dtype) else "UNSIGNED"
    type = x.type.update(dtype=bool_)
    return w.op(
        f"stablehlo.compare {direction}, {x}, {y}, {kind} : ({x.text}, {y.text}) -> {tensor(type)}",
        type,
    )


def _extreme(w: Writer, type: ShapedArray, x: Name, y: Name, operation: str, first: str) -> Name:
    if not is_complex(type.dtype):
        return w.simple(operation, [x, y], type)
    # Complex numbers are compared by real parts, and where these are equal, by imaginary parts.
    part = type.update(dtype=real_dtype(type.dtype))
    (xr, yr), (xi, yi) = ([w.simple(p, [z], part) for z in (x, y)] for p in ("real", "imag"))
    truth = type.update(dtype=bool_)
    ahead = w.simple(
        "select",
        [compare(w, "EQ", xr, yr), compare(w, first, xi, yi), compare(w, first, xr, yr)],
        truth,
    )
    return w.simple("select", [ahead, x, y], type)
