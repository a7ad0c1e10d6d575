"""Arithmetic in StableHLO, one operation each wherever it has one; numbers as whole bytes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

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
    bit_width,
    bool_,
    float16,
    float32,
    is_bool,
    is_complex,
    is_float,
    is_inexact,
    is_integer,
    is_signed,
    is_unsigned,
    real_dtype,
)
from effax.effects.value import is_symbolic

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


_OF_NEIGHBOURS: Final = "chlo.next_after"
"""The operation whose results are others in a wider dtype."""


def operation(name: str) -> Callable[..., Name]:
    """The rule of an effect that is one operation, whose operands and result have one type."""
    if name.startswith("chlo."):
        # CHLO allows results of other types, so their types are spelled out. Some of its
        # operations are not expanded for floats of 8 bits.
        def write(w: Writer, types: Sequence[ShapedArray], *xs: Name, **_: Any) -> Name:
            (type,) = types
            if name != _OF_NEIGHBOURS and bit_width(type.dtype) <= 8:
                type = type.update(dtype=float32)
            xs = tuple(converted(w, x, type) for x in xs)
            text = tensor(type)
            ins = ", ".join([text] * len(xs))
            return converted(w, w.op(f"{name} {', '.join(xs)} : {ins} -> {text}", type), types[0])

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


def extreme(operation: str, first: str) -> Callable[[Writer, Name, Name], Name]:
    """The maximum or minimum of two, of which a NaN is one wherever there is one.

    Complex numbers are compared by real parts, and where these are equal, by imaginary parts.
    """

    def combine(w: Writer, x: Name, y: Name) -> Name:
        type = x.type
        if not is_complex(type.dtype):
            return w.simple(operation, [x, y], type)
        part, truth = type.update(dtype=real_dtype(type.dtype)), type.update(dtype=bool_)
        (xr, yr), (xi, yi) = ([w.simple(p, [z], part) for z in (x, y)] for p in ("real", "imag"))
        tied = compare(w, "EQ", xr, yr)
        ahead = w.simple(
            "select", [tied, compare(w, first, xi, yi), compare(w, first, xr, yr)], truth
        )
        ahead = w.simple("and", [ahead, compare(w, "EQ", y, y)], truth)
        ahead = w.simple("or", [ahead, compare(w, "NE", x, x)], truth)
        return w.simple("select", [ahead, x, y], type)

    return combine


maximum: Final = extreme("maximum", "GT")
minimum: Final = extreme("minimum", "LT")


@rule(max)
def lower_max(w: Writer, types: Sequence[ShapedArray], x: Name, y: Name) -> Name:
    return maximum(w, x, y)


@rule(min)
def lower_min(w: Writer, types: Sequence[ShapedArray], x: Name, y: Name) -> Name:
    return minimum(w, x, y)


# ---- numbers of less than a byte as bytes, for operations that XLA has of whole bytes alone
#
# Of jaxlib 0.10.2's for a CPU, a concatenation of 2-bit integers ends the process, their sort is
# wrong, and the search for the largest, `top_k`, products and convolutions of these, of 4-bit
# integers or of 4-bit floats are refused. For a GPU, threads that write one number of a byte each
# lose the others' (updates, concatenations), products read rows of an odd number of 4-bit integers
# from where the next one begins, and conversions between 4-bit integers write nothing.

_KINDS: Final = (np.dtype(np.uint8), np.dtype(np.int8))
_FLOATS: Final = np.dtype(np.float32)


def is_part(dtype: Any) -> bool:
    """Whether a byte holds several numbers."""
    return not is_bool(dtype) and 0 < bit_width(dtype) < 8


def is_gpu(w: Writer) -> bool:
    return w.platform in ("cuda", "gpu", "rocm")


def whole(w: Writer, dtype: Any) -> Any:
    """The dtype whose numbers stand for those of `dtype`: itself where it has whole bytes."""
    if w.platform == "tpu" or not is_part(dtype):
        return dtype
    return _KINDS[is_signed(dtype)] if is_integer(dtype) else _FLOATS


def whole_bytes(w: Writer, x: Name) -> Name:
    """An operand in a dtype of whole bytes."""
    return converted(w, x, x.type.update(dtype=whole(w, x.dtype)))


def converted(w: Writer, x: Name, type: ShapedArray) -> Name:
    """A number in the dtype that it is to have; integers lose their high bits."""
    if x.dtype == type.dtype:
        return x
    found = w.simple("convert", [x], x.type.update(dtype=type.dtype))
    packed = is_gpu(w) and is_part(x.dtype) and _ends_within(x.dtype, x.shape[-1:])
    return barrier(w, [found])[0] if packed else found


def as_bits(w: Writer, x: Name) -> Name:
    """An array of which pieces are written where it lies: narrow floats of a CPU as their bits.

    XLA's CPU backend has no bfloat16 and no floats of 8 bits but for their products: to write a
    piece it converts the whole array to float32 and back, for each turn of a loop.
    """
    if not is_narrow(w, x.type):
        return x
    if (known := known_bits(x)) is not x:
        return known
    bits = x.type.update(dtype=np.dtype(f"uint{bit_width(x.dtype)}"))
    return w.simple("bitcast_convert", [x], bits)


def is_narrow(w: Writer, type: ShapedArray) -> bool:
    """Whether something is an array of bfloat16 or of 8-bit floats on a CPU."""
    dtype = type.dtype
    narrow = is_float(dtype) and dtype != float16 and bit_width(dtype) in (8, 16)
    return bool(w.platform == "cpu" and type.shape and narrow)


def with_piece(w: Writer, x: Name, piece: Name, starts: Sequence[Name]) -> Name:
    """An array with a piece written from these places on."""
    bits = as_bits(w, x)
    updated = w.simple("dynamic_update_slice", [bits, as_bits(w, piece), *starts], bits.type)
    return of_bits(w, updated, x.type)


def of_bits(w: Writer, x: Name, type: ShapedArray) -> Name:
    """The array that `as_bits` was given."""
    if x.dtype == type.dtype:
        return x
    found = w.simple("bitcast_convert", [x], type)
    found.bits = x
    return found


def known_bits(x: Name) -> Name:
    """The bits that an array was made of, for reading a piece of it; else the array."""
    found: Name = getattr(x, "bits", x)
    return found


def barrier(w: Writer, operands: Sequence[Name]) -> list[Name]:
    """The operands, which XLA fuses with nothing, and before which it moves nothing."""
    ins = ", ".join(x.text for x in operands)
    # The short form would take attributes before the operands, unlike all others.
    text = f'"stablehlo.optimization_barrier"({", ".join(operands)}) : ({ins}) -> ({ins})'
    return w.ops(text, [x.type for x in operands])


def alone_in_bytes(w: Writer, x: Name, sizes: Sequence[Any]) -> Name:
    """An operand of which a GPU can read a piece of these sizes, where it may begin in a byte."""
    if not (is_gpu(w) and is_part(x.dtype)):
        return x
    return whole_bytes(w, x) if _ends_within(x.dtype, sizes) else x


def _ends_within(dtype: Any, sizes: Sequence[Any]) -> bool:
    """Whether so many numbers may end within a byte."""
    return is_symbolic(sizes) or bool(math.prod(sizes) * bit_width(dtype) % 8)
