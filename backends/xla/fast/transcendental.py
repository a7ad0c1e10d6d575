"""Circular functions of float32 in float64 arithmetic, which vectorizes.

XLA's CPU backend calls the C library once per element for these. In float64 the reduction of the
argument and a short series are exact to well below half a unit of float32, so that the results are
off by 0.502 units at most (plain: sin 0.56, asin 2.2, atan 5.3). Measured at 10^6 elements, plain
over this: sin and cos 10 to 20, tan 8, asin and acos 7 to 9, atan2 12.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from effax.backends.xla.fast.path import fast_path, plain_where
from effax.backends.xla.lowering.writer import Name
from effax.effects.effect import Effect
from effax.effects.rows import (
    comparison,
    elementwise,
    logical,
    selection,
    shape,
    transcendental,
)
from effax.effects.rows.conversion import bitcast_convert_type, convert_element_type
from effax.effects.types import float32, float64, int32, int64, typeof

LARGE = 16384
"""Elements from which the longer program is worth compiling."""
PERIODIC = 32768
"""The same for sin, cos and tan, whose two branches take some 15 ms to compile."""

FAR = 1e6
"""Up to here k·(pi/2), its leading part being of 33 bits, is exact in float64."""

TINY = 2.0**-12
"""Below, sin x and tan x are x; the sign of -0 comes through so."""

_HALF_PI = (1.57079632673412561417, 6.07710050650619224932e-11)

# 1/3!, 1/5!, ... and 1/2!, 1/4!, ...: at pi/4 the first omitted terms are 7e-12 and 1e-10.
_SINE = [(-1) ** n / math.factorial(2 * n + 1) for n in range(1, 6)]
_COSINE = [(-1) ** n / math.factorial(2 * n) for n in range(1, 6)]
# 1/3, 1/5, ...: at tan(pi/8) the first omitted term is 6e-11.
_ARCTANGENT = [(-1) ** n / (2 * n + 1) for n in range(1, 12)]


def _large_float32(*operands: Name) -> bool:
    type = operands[0].type
    return type.size >= LARGE and type.dtype == float32


def _very_large_float32(x: Name) -> bool:
    return x.type.size >= PERIODIC and x.type.dtype == float32


def _series(z: Any, coefficients: Sequence[float]) -> Any:
    """1 + c1 z + c2 z^2 + ..., by Horner's rule."""
    total = elementwise.mul(z, coefficients[-1])
    for c in reversed(coefficients[:-1]):
        total = elementwise.mul(elementwise.add(total, c), z)
    return elementwise.add(total, 1.0)


def _reduced(x: Any) -> tuple[Any, Any, Any]:
    """sin r, cos r and k where x = k pi/2 + r and |r| <= pi/4 (Cody and Waite 1980)."""
    x = convert_element_type(x, dtype=float64)
    turns = elementwise.round(elementwise.mul(x, 2 / math.pi), rounding_method=1)
    r = x
    for part in _HALF_PI:
        r = elementwise.sub(r, elementwise.mul(turns, part))
    z = elementwise.mul(r, r)
    sine = elementwise.mul(r, _series(z, _SINE))
    return sine, _series(z, _COSINE), convert_element_type(turns, dtype=int32)


def _bit(k: Any, bit: int) -> Any:
    return comparison.ne(logical.and_(k, bit), 0)


def _flipped(which: Any, x: Any) -> Any:
    return selection.select_n(which, x, elementwise.neg(x))


def _near_sine(x: Any) -> Any:
    sine, cosine, k = _reduced(x)
    return _flipped(_bit(k, 2), selection.select_n(_bit(k, 1), sine, cosine))


def _near_cosine(x: Any) -> Any:
    sine, cosine, k = _reduced(x)
    return _flipped(_bit(elementwise.add(k, 1), 2), selection.select_n(_bit(k, 1), cosine, sine))


def _near_tangent(x: Any) -> Any:
    sine, cosine, k = _reduced(x)
    odd = _bit(k, 1)
    above, below = (selection.select_n(odd, *pair) for pair in ((sine, cosine), (cosine, sine)))
    return _flipped(odd, elementwise.div(above, below))


def _periodic(effect: Effect, near: Callable[[Any], Any], odd: bool) -> None:
    """Plain if any element is farther than the reduction reaches; infinities are no such thing."""

    @fast_path(effect, effect.name, on=("cpu",), when=_very_large_float32)
    def circular(x: Any) -> Any:
        size = elementwise.abs(x)

        def reduced(x: Any) -> Any:
            value = convert_element_type(near(x), dtype=float32)
            if odd:
                tiny = comparison.lt(elementwise.abs(x), TINY)
                value = selection.select_n(tiny, value, x)
            return value

        far = logical.and_(comparison.gt(size, FAR), comparison.lt(size, math.inf))
        return plain_where(far, effect, reduced, x)


_periodic(transcendental.sin, _near_sine, odd=True)
_periodic(transcendental.cos, _near_cosine, odd=False)
_periodic(transcendental.tan, _near_tangent, odd=True)


def _arctangent(t: Any) -> Any:
    """The arctangent of 0 <= t <= 1, by the angle from pi/4 where t is above tan(pi/8)."""
    above = comparison.gt(t, math.tan(math.pi / 8))
    turned = elementwise.div(elementwise.sub(t, 1.0), elementwise.add(t, 1.0))
    t = selection.select_n(above, t, turned)
    angle = elementwise.mul(t, _series(elementwise.mul(t, t), _ARCTANGENT))
    return selection.select_n(above, angle, elementwise.add(angle, math.pi / 4))


def _angle(y: Any, x: Any) -> Any:
    """The angle of the point (x, y), as C defines it for zeros and infinities."""
    y, x = (convert_element_type(v, dtype=float64) for v in (y, x))
    high, wide = elementwise.abs(y), elementwise.abs(x)
    larger, smaller = elementwise.max(high, wide), elementwise.min(high, wide)
    t = elementwise.div(smaller, larger)
    t = selection.select_n(comparison.eq(larger, 0.0), t, 0.0)
    t = selection.select_n(comparison.eq(smaller, math.inf), t, 1.0)
    angle = _arctangent(t)
    steep = comparison.gt(high, wide)
    angle = selection.select_n(steep, angle, elementwise.sub(math.pi / 2, angle))
    left = _signed(x)
    angle = selection.select_n(left, angle, elementwise.sub(math.pi, angle))
    return convert_element_type(_flipped(_signed(y), angle), dtype=float32)


def _signed(x: Any) -> Any:
    """Whether the sign is set, of -0 too; of NaN it does not matter."""
    return comparison.lt(bitcast_convert_type(x, dtype=int64), 0)


@fast_path(transcendental.atan2, "atan2", on=("cpu",), when=_large_float32)
def atan2(y: Any, x: Any) -> Any:
    """The angle in float64, rounded once."""
    return _angle(_widened(y), _widened(x))


def _widened(x: Any) -> Any:
    """In float64, the subnormal ones too, which threads of XLA's take for zeros: by their bits."""
    bits = bitcast_convert_type(x, dtype=int32)
    size = logical.and_(bits, 0x7FFFFFFF)
    units = elementwise.mul(convert_element_type(size, dtype=float64), 2.0**-149)
    small = selection.select_n(comparison.lt(bits, 0), units, elementwise.neg(units))
    subnormal = comparison.lt(size, 0x00800000)
    return selection.select_n(subnormal, convert_element_type(x, dtype=float64), small)


@fast_path(transcendental.atan, "atan", on=("cpu",), when=_large_float32)
def atan(x: Any) -> Any:
    """The angle of the point (1, x)."""
    return _angle(x, shape.full(typeof(x).shape, 1.0, float32))


@fast_path(transcendental.asin, "asin", on=("cpu",), when=_large_float32)
def asin(x: Any) -> Any:
    """The angle of the point (sqrt((1 - x)(1 + x)), x); NaN outside [-1, 1]."""
    wide = convert_element_type(x, dtype=float64)
    other = elementwise.mul(elementwise.sub(1.0, wide), elementwise.add(1.0, wide))
    return _angle(wide, elementwise.sqrt(other))


@fast_path(transcendental.acos, "acos", on=("cpu",), when=_large_float32)
def acos(x: Any) -> Any:
    """The angle of the point (x, sqrt((1 - x)(1 + x))); NaN outside [-1, 1]."""
    wide = convert_element_type(x, dtype=float64)
    other = elementwise.mul(elementwise.sub(1.0, wide), elementwise.add(1.0, wide))
    return _angle(elementwise.sqrt(other), wide)
