"""Arithmetic on blocks, in MLIR's `arith` and `math`, for any compiler of kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from effax.backends.xla.lowering.blocks.writer import BlockWriter, Rule, Val, rule, shared
from effax.effects.effect import Effect
from effax.effects.rows import (
    comparison,
    conversion,
    elementwise,
    logical,
    selection,
    transcendental,
)
from effax.effects.types import (
    ShapedArray,
    bit_width,
    bool_,
    float32,
    iinfo,
    is_bool,
    is_float,
    is_integer,
    is_signed,
)

_BINARY: Final[dict[Effect, tuple[str, str, str]]] = {
    elementwise.add: ("arith.addf", "arith.addi", "arith.addi"),
    elementwise.sub: ("arith.subf", "arith.subi", "arith.subi"),
    elementwise.mul: ("arith.mulf", "arith.muli", "arith.muli"),
    elementwise.div: ("arith.divf", "arith.divsi", "arith.divui"),
    elementwise.rem: ("arith.remf", "arith.remsi", "arith.remui"),
    elementwise.max: ("arith.maximumf", "arith.maxsi", "arith.maxui"),
    elementwise.min: ("arith.minimumf", "arith.minsi", "arith.minui"),
    logical.and_: ("", "arith.andi", "arith.andi"),
    logical.or_: ("", "arith.ori", "arith.ori"),
    logical.xor: ("", "arith.xori", "arith.xori"),
    logical.shift_left: ("", "arith.shli", "arith.shli"),
    logical.shift_right_logical: ("", "arith.shrui", "arith.shrui"),
    logical.shift_right_arithmetic: ("", "arith.shrsi", "arith.shrsi"),
}
"""The operation on floats, on signed and on unsigned integers."""

_COMPARE: Final[dict[Effect, tuple[str, str, str]]] = {
    comparison.eq: ("oeq", "eq", "eq"),
    comparison.ne: ("une", "ne", "ne"),
    comparison.lt: ("olt", "slt", "ult"),
    comparison.le: ("ole", "sle", "ule"),
    comparison.gt: ("ogt", "sgt", "ugt"),
    comparison.ge: ("oge", "sge", "uge"),
}

_UNARY: Final[dict[Effect, str]] = {
    elementwise.sqrt: "math.sqrt",
    elementwise.rsqrt: "math.rsqrt",
    elementwise.floor: "math.floor",
    elementwise.ceil: "math.ceil",
    transcendental.exp: "math.exp",
    transcendental.exp2: "math.exp2",
    transcendental.log: "math.log",
    transcendental.sin: "math.sin",
    transcendental.cos: "math.cos",
}


def kind(dtype: Any) -> int:
    """Return the one of the three operations that fits elements of a type."""
    return 0 if is_float(dtype) else 1 if is_signed(dtype) else 2


def binary(w: BlockWriter, effect: Effect, x: Val, y: Val) -> Val:
    """An operation on two blocks of one type."""
    return w.simple(_BINARY[effect][kind(x.type.dtype)], [x, y], x.type)


def compare(w: BlockWriter, effect: Effect, x: Val, y: Val) -> Val:
    """A comparison of two blocks of one type."""
    at = kind(x.type.dtype)
    op = "arith.cmpi" if at else "arith.cmpf"
    text = f"{op} {_COMPARE[effect][at]}, {x}, {y} : {w.text(x.type)}"
    return w.op(text, x.type.update(dtype=bool_))


def select(w: BlockWriter, which: Val, x: Val, y: Val) -> Val:
    """x where `which` is true, else y; `which` may be a scalar."""
    both = which.type.shape and x.type.shape
    texts = f"{w.text(which.type)}, {w.text(x.type)}" if both else w.text(x.type)
    return w.op(f"arith.select {which}, {x}, {y} : {texts}", x.type)


def convert(w: BlockWriter, x: Val, type: ShapedArray) -> Val:
    """The block with elements of another type."""
    a, b = x.type.dtype, type.dtype
    type = x.type.update(dtype=b)
    if a == b:
        return Val(x.text, type)
    if is_bool(b):
        return compare(w, comparison.ne, x, w.constant(0, x.type))
    name = _conversion(a, b)
    if not name:
        return Val(x.text, type)
    return w.op(f"{name} {x} : {w.text(x.type)} to {w.text(type)}", type)


def _conversion(a: Any, b: Any) -> str:
    wide = bit_width(b) - (1 if is_bool(a) else bit_width(a))
    signed = is_signed(a) and not is_bool(a)
    if is_float(a) and is_float(b):
        return "arith.extf" if wide > 0 else "arith.truncf"
    if is_float(b):
        return "arith.sitofp" if signed else "arith.uitofp"
    if is_float(a):
        return "arith.fptosi" if is_signed(b) else "arith.fptoui"
    if wide == 0:
        return ""
    return "arith.trunci" if wide < 0 else "arith.extsi" if signed else "arith.extui"


def wide(w: BlockWriter, x: Val) -> tuple[Val, ShapedArray]:
    """A float of at least 32 bits, in which functions are computed; and the type to go back to."""
    if bit_width(x.type.dtype) >= 32:
        return x, x.type
    return convert(w, x, x.type.update(dtype=float32)), x.type


def fill_unary(effect: Effect, name: str, table: dict[Effect, Rule] = shared) -> None:
    """Fill the cell of a function of floats that is one operation, computed in 32 bits at least."""

    @rule(effect, table=table)
    def lower_unary(w: BlockWriter, types: Sequence[ShapedArray], x: Val, **_: Any) -> Val:
        y, back = wide(w, x)
        return convert(w, w.simple(name, [y], y.type), back)


def is_highest(precision: Any) -> bool:
    """Whether a product is asked for in the highest precision."""
    asked = precision if isinstance(precision, str) else (precision or ("DEFAULT",))[0]
    return str(asked).upper().endswith("HIGHEST")


def _fill_tables() -> None:
    def fill_binary(effect: Effect) -> None:
        @rule(effect)
        def lower_binary(w: BlockWriter, types: Sequence[ShapedArray], x: Val, y: Val) -> Val:
            return binary(w, effect, x, y)

    def fill_compare(effect: Effect) -> None:
        @rule(effect)
        def lower_comparison(w: BlockWriter, types: Sequence[ShapedArray], x: Val, y: Val) -> Val:
            return compare(w, effect, x, y)

    for effect in _BINARY:
        fill_binary(effect)
    for effect in _COMPARE:
        fill_compare(effect)
    for effect, name in _UNARY.items():
        fill_unary(effect, name)


_fill_tables()


@rule(elementwise.copy, elementwise.stop_gradient)
def lower_identity(w: BlockWriter, types: Sequence[ShapedArray], x: Val) -> Val:
    return x


@rule(conversion.convert_element_type)
def lower_convert(w: BlockWriter, types: Sequence[ShapedArray], x: Val, **_: Any) -> Val:
    return convert(w, x, types[0])


@rule(conversion.bitcast_convert_type)
def lower_bitcast(w: BlockWriter, types: Sequence[ShapedArray], x: Val, **_: Any) -> Val:
    if w.text(x.type) == w.text(types[0]):
        return Val(x.text, types[0])
    return w.op(f"arith.bitcast {x} : {w.text(x.type)} to {w.text(types[0])}", types[0])


@rule(elementwise.neg)
def lower_neg(w: BlockWriter, types: Sequence[ShapedArray], x: Val) -> Val:
    if is_float(x.type.dtype):
        return w.simple("arith.negf", [x], x.type)
    return binary(w, elementwise.sub, w.constant(0, x.type), x)


@rule(elementwise.abs)
def lower_abs(w: BlockWriter, types: Sequence[ShapedArray], x: Val) -> Val:
    if not is_signed(x.type.dtype) and is_integer(x.type.dtype):
        return x
    return w.simple("math.absf" if is_float(x.type.dtype) else "math.absi", [x], x.type)


@rule(elementwise.sign)
def lower_sign(w: BlockWriter, types: Sequence[ShapedArray], x: Val) -> Val:
    zero, one = w.constant(0, x.type), w.constant(1, x.type)
    above = compare(w, comparison.gt, x, zero)
    if is_integer(x.type.dtype) and not is_signed(x.type.dtype):
        return select(w, above, one, zero)
    below = compare(w, comparison.lt, x, zero)
    return select(w, above, one, select(w, below, w.constant(-1, x.type), x))


@rule(elementwise.square)
def lower_square(w: BlockWriter, types: Sequence[ShapedArray], x: Val) -> Val:
    return binary(w, elementwise.mul, x, x)


@rule(elementwise.integer_pow)
def lower_integer_pow(w: BlockWriter, types: Sequence[ShapedArray], x: Val, *, y: int) -> Val:
    """By squaring."""
    n, power, found = abs(y), x, None
    while n:
        if n & 1:
            found = power if found is None else binary(w, elementwise.mul, found, power)
        n >>= 1
        power = binary(w, elementwise.mul, power, power) if n else power
    one = w.constant(1, x.type)
    if found is None:
        return one
    return binary(w, elementwise.div, one, found) if y < 0 else found


@rule(elementwise.is_finite)
def lower_is_finite(w: BlockWriter, types: Sequence[ShapedArray], x: Val) -> Val:
    if not is_float(x.type.dtype):
        return w.constant(True, types[0])
    size = w.simple("math.absf", [x], x.type)
    return compare(w, comparison.lt, size, w.constant(float("inf"), x.type))


@rule(logical.not_)
def lower_not(w: BlockWriter, types: Sequence[ShapedArray], x: Val) -> Val:
    bits = (
        True
        if is_bool(x.type.dtype)
        else -1
        if is_signed(x.type.dtype)
        else iinfo(x.type.dtype).max
    )
    return binary(w, logical.xor, x, w.constant(bits, x.type))


@rule(selection.select_n)
def lower_select(w: BlockWriter, types: Sequence[ShapedArray], which: Val, *cases: Val) -> Val:
    if is_bool(which.type.dtype):
        return select(w, which, cases[-1], cases[0])
    found = cases[0]
    for i, case in enumerate(cases[1:], 1):
        at_least = compare(w, comparison.ge, which, w.constant(i, which.type))
        found = select(w, at_least, case, found)
    return found


@rule(selection.clamp)
def lower_clamp(w: BlockWriter, types: Sequence[ShapedArray], low: Val, x: Val, high: Val) -> Val:
    low, high = (
        y if y.type.shape == x.type.shape else w.spread(y, x.type.shape) for y in (low, high)
    )
    return binary(w, elementwise.min, binary(w, elementwise.max, x, low), high)


@rule(transcendental.logistic)
def lower_logistic(w: BlockWriter, types: Sequence[ShapedArray], x: Val, **_: Any) -> Val:
    y, back = wide(w, x)
    small = w.simple("math.exp", [w.simple("arith.negf", [y], y.type)], y.type)
    one = w.constant(1, y.type)
    down = binary(w, elementwise.add, one, small)
    return convert(w, binary(w, elementwise.div, one, down), back)
