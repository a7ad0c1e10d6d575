"""Complex functions at infinities and NaN, as in annex G of the C standard (and the array API).

And on their cuts, where the sign of a zero says which side they are seen from.

XLA multiplies by what is infinite or NaN, and loses the part that is known: `exp(inf + nan j)` is
`inf + nan j`, and not NaN twice. Each repair selects among the parts of operand and result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from effax.backends.xla.lowering.writer import Name, Writer, tensor
from effax.effects.effect import Effect
from effax.effects.rows import elementwise, transcendental
from effax.effects.types import ShapedArray, bool_, float32, float64, int32, int64, real_dtype

Parts = tuple[Name, Name]
_INTEGERS: Final = {float32: int32, float64: int64}


class _Operand:
    """The parts of a complex operand, `a + b i`, and questions about them."""

    def __init__(self, w: Writer, x: Name) -> None:
        self.w = w
        self.part = x.type.update(dtype=real_dtype(x.dtype))
        self.truth = x.type.update(dtype=bool_)
        self.a, self.b = self.parts(x)

    def parts(self, x: Name) -> Parts:
        """The real and the imaginary part of a complex value."""
        return self.w.simple("real", [x], self.part), self.w.simple("imag", [x], self.part)

    def equals(self, part: Name, number: float) -> Name:
        return self.compare("EQ", part, self.constant(number))

    def infinite(self, part: Name) -> Name:
        return self.equals(self.w.simple("abs", [part], self.part), math.inf)

    def nan(self, part: Name) -> Name:
        return self.compare("NE", part, part)

    def wild(self, part: Name) -> Name:
        """Whether a part is infinite or NaN."""
        finite = self.w.simple("is_finite", [part], self.truth)
        return self.w.simple("not", [finite], self.truth)

    def both(self, p: Name, q: Name) -> Name:
        return self.w.simple("and", [p, q], self.truth)

    def either(self, p: Name, q: Name) -> Name:
        return self.w.simple("or", [p, q], self.truth)

    def below_zero(self, part: Name, x: Name) -> Name:
        """x, with a minus where a part is -0: on a cut, that says which side it is seen from."""
        bits = part.type.update(dtype=_INTEGERS[part.dtype])
        found = self.w.simple("bitcast_convert", [part], bits)
        least = self.w.constant(int(np.iinfo(bits.dtype).min), bits)
        types = f"({found.text}, {least.text}) -> {tensor(self.truth)}"
        zero = self.w.op(f"stablehlo.compare EQ, {found}, {least}, SIGNED : {types}", self.truth)
        return self.pick(zero, self.negated(self.w.simple("abs", [x], self.part)), x)

    def negated(self, part: Name) -> Name:
        return self.w.simple("negate", [part], self.part)

    def pick(self, which: Name, x: Name | float, y: Name) -> Name:
        """x where `which` is true, else y."""
        x = x if isinstance(x, Name) else self.constant(x)
        return self.w.simple("select", [which, x, y], self.part)

    def compare(self, direction: str, p: Name, q: Name) -> Name:
        types = f"({p.text}, {q.text}) -> {tensor(self.truth)}"
        return self.w.op(f"stablehlo.compare {direction}, {p}, {q}, FLOAT : {types}", self.truth)

    def constant(self, number: float) -> Name:
        return self.w.constant(number, self.part)


def _exponential(least: float) -> Callable[[_Operand, Name, Name], Parts]:
    """Of `exp`, and of `expm1`, whose least value is -1."""

    def repair(z: _Operand, re: Name, im: Name) -> Parts:
        lost = z.both(z.infinite(z.a), z.wild(z.b))
        falls = z.both(lost, z.equals(z.a, -math.inf))
        end = z.w.simple("maximum", [z.a, z.constant(least)], z.part)
        return z.pick(lost, end, re), z.pick(falls, 0.0, im)

    return repair


def _logarithm(z: _Operand, re: Name, im: Name) -> Parts:
    return z.pick(z.either(z.infinite(z.a), z.infinite(z.b)), math.inf, re), im


def _sqrt(z: _Operand, re: Name, im: Name) -> Parts:
    upright = z.infinite(z.b)
    left = z.both(z.equals(z.a, -math.inf), z.nan(z.b))
    re = z.pick(z.either(upright, z.equals(z.a, math.inf)), math.inf, re)
    im = z.below_zero(z.b, im)
    return re, z.pick(upright, z.b, z.pick(left, math.inf, im))


def _sinh(z: _Operand, re: Name, im: Name) -> Parts:
    known = z.both(z.either(z.equals(z.a, 0.0), z.infinite(z.a)), z.wild(z.b))
    return z.pick(known, z.a, re), im


def _cosh(z: _Operand, re: Name, im: Name) -> Parts:
    wild = z.wild(z.b)
    re = z.pick(z.both(z.infinite(z.a), wild), math.inf, re)
    return re, z.pick(z.both(z.equals(z.a, 0.0), wild), 0.0, im)


def _tanh(z: _Operand, re: Name, im: Name) -> Parts:
    return z.pick(z.equals(z.a, 0.0), z.a, re), im


def _sin(z: _Operand, re: Name, im: Name) -> Parts:
    known = z.both(z.either(z.equals(z.b, 0.0), z.infinite(z.b)), z.wild(z.a))
    return re, z.pick(known, z.b, im)


def _cos(z: _Operand, re: Name, im: Name) -> Parts:
    wild = z.wild(z.a)
    re = z.pick(z.both(z.infinite(z.b), wild), math.inf, re)
    return re, z.pick(z.both(z.equals(z.b, 0.0), wild), 0.0, im)


def _tan(z: _Operand, re: Name, im: Name) -> Parts:
    return re, z.pick(z.equals(z.b, 0.0), z.b, im)


def _asinh(z: _Operand, re: Name, im: Name) -> Parts:
    return z.below_zero(z.a, re), z.pick(z.equals(z.b, 0.0), z.b, im)


def _asin(z: _Operand, re: Name, im: Name) -> Parts:
    return z.pick(z.equals(z.a, 0.0), z.a, re), z.below_zero(z.b, im)


def _acos(z: _Operand, re: Name, im: Name) -> Parts:
    im = z.negated(z.below_zero(z.b, z.negated(im)))
    return z.pick(z.both(z.equals(z.a, 0.0), z.nan(z.b)), math.pi / 2, re), im


def _acosh(z: _Operand, re: Name, im: Name) -> Parts:
    im = z.below_zero(z.b, im)
    return re, z.pick(z.both(z.equals(z.a, 0.0), z.nan(z.b)), math.pi / 2, im)


def _atanh(z: _Operand, re: Name, im: Name) -> Parts:
    unknown, bounded = _nan_and_bounded(z, z.b)
    im = z.below_zero(z.b, im)
    return z.pick(z.equals(z.a, 0.0), z.a, re), z.pick(bounded, unknown, im)


def _atan(z: _Operand, re: Name, im: Name) -> Parts:
    unknown, bounded = _nan_and_bounded(z, z.a)
    re = z.below_zero(z.a, re)
    return z.pick(bounded, unknown, re), z.pick(z.equals(z.b, 0.0), z.b, im)


def _nan_and_bounded(z: _Operand, angle: Name) -> tuple[Name, Name]:
    """The sum of the parts, and where it is NaN and the part the angle follows is not infinite."""
    unknown = z.w.simple("add", [z.a, z.b], z.part)
    infinite = z.w.simple("not", [z.infinite(angle)], z.truth)
    return unknown, z.both(z.nan(unknown), infinite)


_REPAIRS: Final[dict[Effect, Callable[[_Operand, Name, Name], Parts]]] = {
    elementwise.sqrt: _sqrt,
    transcendental.exp: _exponential(0.0),
    transcendental.expm1: _exponential(-1.0),
    transcendental.log: _logarithm,
    transcendental.log1p: _logarithm,
    transcendental.sin: _sin,
    transcendental.cos: _cos,
    transcendental.tan: _tan,
    transcendental.asin: _asin,
    transcendental.acos: _acos,
    transcendental.atan: _atan,
    transcendental.sinh: _sinh,
    transcendental.cosh: _cosh,
    transcendental.tanh: _tanh,
    transcendental.asinh: _asinh,
    transcendental.acosh: _acosh,
    transcendental.atanh: _atanh,
}


def repaired(w: Writer, effect: Effect, types: Sequence[ShapedArray], x: Name, y: Name) -> Name:
    """The result y of a function of the complex x, right where x is infinite or NaN."""
    z = _Operand(w, x)
    re, im = _REPAIRS[effect](z, *z.parts(y))
    return w.simple("complex", [re, im], types[0])
