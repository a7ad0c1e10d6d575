"""Transcendental functions in StableHLO and CHLO, which the compiler expands."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from effax.backends.xla.lowering.elementwise import compare, operation, right_at_infinity
from effax.backends.xla.lowering.reduction import select
from effax.backends.xla.lowering.writer import Name, Writer, rule, rules
from effax.effects.effect import Effect
from effax.effects.rows import transcendental
from effax.effects.rows.transcendental import cos, cosh, exp, exp2, logistic, sin, sinh
from effax.effects.types import ShapedArray, is_complex, real_dtype

_OPERATIONS: Final[dict[Effect, str]] = {
    transcendental.expm1: "stablehlo.exponential_minus_one",
    transcendental.log: "stablehlo.log",
    transcendental.log1p: "stablehlo.log_plus_one",
    transcendental.tan: "stablehlo.tan",
    transcendental.asin: "chlo.asin",
    transcendental.acos: "chlo.acos",
    transcendental.atan: "chlo.atan",
    transcendental.tanh: "stablehlo.tanh",
    transcendental.asinh: "chlo.asinh",
    transcendental.acosh: "chlo.acosh",
    transcendental.atanh: "chlo.atanh",
}

for _effect, _name in _OPERATIONS.items():
    rule(_effect)(right_at_infinity(_effect, operation(_name)))
rule(transcendental.atan2)(operation("stablehlo.atan2"))


def _of_known_nan(name: str) -> Callable[..., Name]:
    """XLA's CPU backend converts the argument of an exponential to an integer, which for a NaN is
    anything: where it knows of one, what was in memory comes out. So it is told the result.
    """
    plain = operation(name)

    def lower(w: Writer, types: Sequence[ShapedArray], x: Name) -> Name:
        result = plain(w, types, x)
        if w.platform != "cpu" or is_complex(x.dtype):
            return result
        if not w.knows_nan:
            w.careless = True
            return result
        return select(w, compare(w, "NE", x, x), x, result)

    return lower


rule(exp)(right_at_infinity(exp, _of_known_nan("stablehlo.exponential")))


@rule(transcendental.logaddexp)
def lower_logaddexp(w: Writer, types: Sequence[ShapedArray], x: Name, y: Name) -> Name:
    from effax.interpreters.composites.expansions import expand

    return w.body(expand(transcendental.logaddexp, [x.type, y.type]), [x, y])[0]


@rule(exp2)
def lower_exp2(w: Writer, types: Sequence[ShapedArray], x: Name) -> Name:
    type = types[0]
    scaled = w.simple("multiply", [x, w.constant(math.log(2.0), type)], type)
    return rules[exp](w, types, scaled)


@rule(logistic)
def lower_logistic(w: Writer, types: Sequence[ShapedArray], x: Name) -> Name:
    """`1 / (1 + exp(-x))` as it stands, as JAX lowers it."""
    type = types[0]
    one = w.constant(1, type)
    decay = w.simple("exponential", [w.simple("negate", [x], type)], type)
    return w.simple("divide", [one, w.simple("add", [one, decay], type)], type)


def lower_sin(w: Writer, types: Sequence[ShapedArray], x: Name) -> Name:
    """sin(a + bi) = sin a cosh b + i cos a sinh b; real where a is zero, whatever cosh b."""
    type = types[0]
    if not is_complex(type.dtype):
        return w.same("stablehlo.sine", (x,), type)
    a, sine, cosine, ch, sh = _circle_and_hyperbola(w, x)
    zero = w.constant(0, a.type)
    on_axis = compare(w, "EQ", a, zero)
    re = w.simple("multiply", [sine, ch], a.type)
    re = w.simple("select", [on_axis, zero, re], a.type)
    return w.simple("complex", [re, w.simple("multiply", [cosine, sh], a.type)], type)


def lower_cos(w: Writer, types: Sequence[ShapedArray], x: Name) -> Name:
    """cos(a + bi) = cos a cosh b - i sin a sinh b; real where a is zero, whatever sinh b."""
    type = types[0]
    if not is_complex(type.dtype):
        return w.same("stablehlo.cosine", (x,), type)
    a, sine, cosine, ch, sh = _circle_and_hyperbola(w, x)
    zero = w.constant(0, a.type)
    im = w.simple("multiply", [w.simple("negate", [sine], a.type), sh], a.type)
    im = w.simple("select", [compare(w, "EQ", a, zero), zero, im], a.type)
    return w.simple("complex", [w.simple("multiply", [cosine, ch], a.type), im], type)


_real_sinh, _real_cosh = _of_known_nan("chlo.sinh"), _of_known_nan("chlo.cosh")


def lower_sinh(w: Writer, types: Sequence[ShapedArray], x: Name) -> Name:
    """sinh x is sin of x with its parts exchanged, and they back; XLA's cancels near zero."""
    if not is_complex(x.dtype):
        return _real_sinh(w, types, x)
    return _exchanged(w, lower_sin(w, types, _exchanged(w, x)))


def lower_cosh(w: Writer, types: Sequence[ShapedArray], x: Name) -> Name:
    """cosh x is cos -ix, and -i(a + bi) is b - ai."""
    if not is_complex(x.dtype):
        return _real_cosh(w, types, x)
    part = x.type.update(dtype=real_dtype(x.dtype))
    a, b = w.simple("real", [x], part), w.simple("imag", [x], part)
    return lower_cos(w, types, w.simple("complex", [b, w.simple("negate", [a], part)], x.type))


for _effect, _plain in {sin: lower_sin, cos: lower_cos, sinh: lower_sinh, cosh: lower_cosh}.items():
    rule(_effect)(right_at_infinity(_effect, _plain))


def _exchanged(w: Writer, x: Name) -> Name:
    part = x.type.update(dtype=real_dtype(x.dtype))
    return w.simple("complex", [w.simple(p, [x], part) for p in ("imag", "real")], x.type)


def _circle_and_hyperbola(w: Writer, x: Name) -> list[Name]:
    """For x = a + bi: a, sin a, cos a, cosh b, sinh b.

    With s and c of b/2, sinh b is 2sc and cosh b is 1 + 2s^2, which overflow where they should; s
    is of `expm1`, exact near zero.
    """
    part = x.type.update(dtype=real_dtype(x.dtype))
    one, half = w.constant(1, part), w.constant(0.5, part)

    def unary(operation: str, y: Name) -> Name:
        return w.simple(operation, [y], part)

    def binary(operation: str, y: Name, z: Name) -> Name:
        return w.simple(operation, [y, z], part)

    a, b = unary("real", x), unary("imag", x)
    b = binary("multiply", b, half)
    up = unary("exponential_minus_one", b)
    down = unary("exponential_minus_one", unary("negate", b))
    twice = binary("subtract", up, down)
    c = binary("add", binary("multiply", binary("add", up, down), half), one)
    sh = binary("multiply", twice, c)
    ch = binary("add", binary("multiply", twice, binary("multiply", twice, half)), one)
    return [a, unary("sine", a), unary("cosine", a), ch, sh]
