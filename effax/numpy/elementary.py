"""Elementary functions, computed in floating point: exponentials, logarithms, trigonometry."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from effax.eager.whole import whole
from effax.effects.effect import Effect
from effax.effects.rows import comparison, complex, elementwise, logical, transcendental
from effax.effects.types import is_complex, typeof
from effax.effects.value import Array, ArrayLike
from effax.numpy import folds
from effax.numpy.arithmetic import choose, in_order
from effax.numpy.universal import universal
from effax.operands.arguments import strong, strong_unless_scalar
from effax.operands.promoting import promote_inexact, strong_unless_all_weak, unary_inexact

if TYPE_CHECKING:
    from effax.api.compiling.function_types import Unary


def _function(name: str, effect: Effect, what: str, at: int, answer: float) -> Unary:
    """The function that performs an effect on its operand, integers converted to floats."""

    def elementary(x: ArrayLike, /) -> Array:
        return effect(unary_inexact(name, x))

    elementary.__name__ = elementary.__qualname__ = name
    elementary.__doc__ = f"""{what}

    Args:
      x: array_like; integers and Booleans are computed as floats.

    >>> {name}({at}).item()
    {answer}
    """
    return whole()(elementary)


exp = _function("exp", transcendental.exp, "Return e to the power `x`.", 0, 1.0)
exp2 = _function("exp2", transcendental.exp2, "Return 2 to the power `x`.", 3, 8.0)
expm1 = _function("expm1", transcendental.expm1, "Return `exp(x) - 1`, exact near zero.", 0, 0.0)
log = _function("log", transcendental.log, "Return the natural logarithm.", 1, 0.0)
log1p = _function("log1p", transcendental.log1p, "Return `log(1 + x)`, exact near zero.", 0, 0.0)
sqrt = _function(
    "sqrt", elementwise.sqrt, "Return the square root, NaN for negative real numbers.", 9, 3.0
)
cbrt = _function("cbrt", elementwise.cbrt, "Return the real cube root.", 8, 2.0)
sin = _function("sin", transcendental.sin, "Return the sine.", 0, 0.0)
cos = _function("cos", transcendental.cos, "Return the cosine.", 0, 1.0)
tan = _function("tan", transcendental.tan, "Return the tangent.", 0, 0.0)
arcsin = _function(
    "arcsin", transcendental.asin, "Return the inverse sine, in [-pi/2, pi/2].", 0, 0.0
)
arccos = _function("arccos", transcendental.acos, "Return the inverse cosine, in [0, pi].", 1, 0.0)
arctan = _function(
    "arctan", transcendental.atan, "Return the inverse tangent, in [-pi/2, pi/2].", 0, 0.0
)
sinh = _function("sinh", transcendental.sinh, "Return the hyperbolic sine.", 0, 0.0)
cosh = _function("cosh", transcendental.cosh, "Return the hyperbolic cosine.", 0, 1.0)
tanh = _function("tanh", transcendental.tanh, "Return the hyperbolic tangent.", 0, 0.0)
arcsinh = _function("arcsinh", transcendental.asinh, "Return the inverse hyperbolic sine.", 0, 0.0)
arctanh = _function(
    "arctanh", transcendental.atanh, "Return the inverse hyperbolic tangent.", 0, 0.0
)
asin, acos, atan = arcsin, arccos, arctan
asinh, atanh = arcsinh, arctanh


@whole()
def arccosh(x: ArrayLike, /) -> Array:
    """Return the inverse hyperbolic cosine; for complex numbers the one with a real part >= 0.

    Args:
      x: array_like; integers and Booleans are computed as floats.

    >>> arccosh(1)
    Array(0., dtype=float32, weak_type=True)
    """
    result = transcendental.acosh(unary_inexact("arccosh", x))
    if not is_complex(typeof(result).dtype):
        return result
    left = comparison.lt(complex.real(result), 0.0)
    return choose(left, elementwise.neg(result), result)


acosh = arccosh


@whole()
def log2(x: ArrayLike, /) -> Array:
    """Return the logarithm to base 2.

    Args:
      x: array_like; integers and Booleans are computed as floats.

    >>> log2(8)
    Array(3., dtype=float32)
    """
    return _each_part(transcendental.log(unary_inexact("log2", x)), elementwise.div, math.log(2))


@whole()
def log10(x: ArrayLike, /) -> Array:
    """Return the logarithm to base 10.

    Args:
      x: array_like; integers and Booleans are computed as floats.

    >>> log10(1)
    Array(0., dtype=float32)
    """
    log_x = transcendental.log(unary_inexact("log10", x))
    return _each_part(log_x, elementwise.mul, 1 / math.log(10))


def _each_part(x: Any, operation: Effect, number: float) -> Any:
    """An operation with a real number, done to the parts of a complex one; never weak."""
    if is_complex(typeof(x).dtype):
        parts = complex.real(x), complex.imag(x)
        return strong(complex.complex(*(operation(part, number) for part in parts)))
    return strong(operation(x, number))


@whole()
def arctan2(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Return the angle of the point (x2, x1), in [-pi, pi].

    >>> arctan2(0, -1)
    Array(3.1415927, dtype=float32, weak_type=True)
    """
    return transcendental.atan2(*promote_inexact(x1, x2, name="arctan2"))


atan2 = arctan2


@universal(identity=-math.inf, reduce=folds.natural)
def logaddexp(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Return `log(exp(x1) + exp(x2))`, without overflow.

    >>> logaddexp(1000.0, 0.0)
    Array(1000., dtype=float32, weak_type=True)
    """
    result = transcendental.logaddexp(*promote_inexact(x1, x2, name="logaddexp"))
    return strong(result) if is_complex(typeof(result).dtype) else result


@universal(identity=-math.inf, reduce=folds.binary)
def logaddexp2(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Return `log2(2**x1 + 2**x2)`, without overflow.

    >>> logaddexp2(3.0, 3.0)
    Array(4., dtype=float32, weak_type=True)
    """
    unit = math.log(2)
    operands = promote_inexact(x1, x2, name="logaddexp2", arrays=True)
    total = transcendental.logaddexp(*(elementwise.mul(x, unit) for x in operands))
    result = elementwise.div(total, unit)
    return strong_unless_scalar(strong_unless_all_weak(result, x1, x2))


@whole()
def hypot(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Return `sqrt(x1**2 + x2**2)`, without overflow.

    >>> hypot(3, 4)
    Array(5., dtype=float32, weak_type=True)
    """
    given = x1, x2
    x1, x2 = promote_inexact(x1, x2, name="hypot", arrays=True)
    if is_complex(typeof(x1).dtype):
        raise ValueError(
            "jnp.hypot is not well defined for complex-valued inputs; take their abs first"
        )
    x1, x2 = elementwise.abs(x1), elementwise.abs(x2)
    infinite = logical.or_(comparison.eq(x1, math.inf), comparison.eq(x2, math.inf))
    smaller, larger = in_order(x1, x2)
    nothing = logical.and_(comparison.eq(smaller, 0.0), comparison.eq(larger, 0.0))
    ratio = elementwise.div(smaller, choose(nothing, 1.0, larger))
    root = elementwise.sqrt(elementwise.add(elementwise.square(ratio), 1.0))
    result = choose(nothing, larger, elementwise.mul(larger, root))
    result = choose(infinite, math.inf, result)
    return strong_unless_scalar(strong_unless_all_weak(result, *given))


def _times(x: Any, constant: float) -> Any:
    """Times a constant."""
    return elementwise.mul(strong_unless_scalar(x), constant)


@whole()
def sinc(x: ArrayLike, /) -> Array:
    """Return `sin(pi x) / (pi x)`, and 1 at zero.

    >>> sinc(0)
    Array(1., dtype=float32, weak_type=True)
    """
    angle = _times(unary_inexact("sinc", x), math.pi)
    near = comparison.lt(elementwise.abs(angle), 1.0)
    # Near zero use the series, whose derivatives are right there too.
    power = elementwise.square(choose(near, angle, 0.0))
    series = elementwise.mul(power, 1 / math.factorial(17))
    for n in (15, 13, 11, 9, 7, 5, 3, 1):
        sign = 1 if n % 4 == 1 else -1
        series = elementwise.add(series, sign / math.factorial(n))
        series = elementwise.mul(series, power) if n > 1 else series
    away = choose(near, 1.0, angle)
    return choose(near, series, elementwise.div(transcendental.sin(away), away))


@whole()
def i0(x: ArrayLike) -> Array:
    """Return the modified Bessel function of the first kind and order 0.

    Args:
      x: array_like of real numbers; integers and Booleans are computed as floats.

    Raises:
      ValueError: for complex numbers.

    >>> round(float(i0(1)), 4)
    1.2661
    """
    x = unary_inexact("i0", x)
    if is_complex(typeof(x).dtype):
        raise ValueError(f"Unsupported input type to jnp.i0: {typeof(x).dtype}")
    # Loaded when asked for: it is made of custom rules.
    from effax.numpy import bessel

    return bessel.i0(x)


@whole()
def deg2rad(x: ArrayLike, /) -> Array:
    """Convert degrees to radians.

    Args:
      x: array_like; integers and Booleans are computed as floats.

    >>> deg2rad(180)
    Array(3.1415927, dtype=float32, weak_type=True)
    """
    return _times(unary_inexact("deg2rad", x), math.pi / 180)


@whole()
def rad2deg(x: ArrayLike, /) -> Array:
    """Convert radians to degrees.

    Args:
      x: array_like; integers and Booleans are computed as floats.

    >>> rad2deg(0)
    Array(0., dtype=float32, weak_type=True)
    """
    return _times(unary_inexact("rad2deg", x), 180 / math.pi)


radians, degrees = deg2rad, rad2deg
