"""Operators of `lax`, element by element: thin functions over the effects.

Operands of one call have one dtype. Their shapes are equal up to axes of length 1 and scalars,
which are repeated; Python numbers take the dtype of the others.
"""

from __future__ import annotations

import enum
import inspect
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from effax.effects.effect import LITERALS, Effect
from effax.effects.rows import comparison, conversion, elementwise, logical, special, transcendental
from effax.effects.rows import complex as complex_parts
from effax.effects.rows.accuracy import AccuracyMode as AccuracyMode
from effax.effects.rows.accuracy import Tolerance as Tolerance
from effax.effects.rows.accuracy import accurate
from effax.effects.types import (
    is_complex,
    is_inexact,
    is_integer,
    is_unsigned,
    typeof,
)
from effax.effects.value import Array, ArrayLike, DTypeLike
from effax.keys.decorators import answers_keys
from effax.lax.meeting import meeting_shape, together
from effax.lax.shapes import repeated
from effax.operands.arguments import known_index

if TYPE_CHECKING:
    from effax.api.compiling.function_types import BinaryOperator, TunableOperator, UnaryOperator


_F = TypeVar("_F", bound=Callable[..., Any])


class RoundingMethod(enum.IntEnum):
    """The direction in which halves are rounded: away from zero, or to the even neighbour."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


def _named(
    function: Callable[..., Any], name: str, meaning: str, arguments: str, example: str
) -> None:
    function.__name__ = function.__qualname__ = name
    call, _, answer = example.partition(" -> ")
    meaning = meaning.replace("The ", "Return the ", 1)
    function.__doc__ = (
        f"{meaning}\n\n    Args:\n{arguments}\n\n    >>> import effax.lax as lax\n"
        f"    >>> {call}\n    {answer}\n    "
    )


# The dtypes that functions take, if not floats or complex numbers.
_ELEMENTS = {
    "numbers": "neg sign square add sub div",
    "signed numbers": "abs",
    "numbers or Booleans": "max min",
    "numbers, Booleans or random keys": "eq ne",
    "Booleans, integers or floats": "lt le gt ge",
    "Booleans or integers": "bitwise_not bitwise_and bitwise_or bitwise_xor",
    "integers": "population_count clz shift_left shift_right_logical shift_right_arithmetic",
    "integers or floats": "rem",
    "floats": "floor ceil is_finite cbrt erf erfc erf_inv lgamma digamma bessel_i0e bessel_i1e "
    "nextafter igamma igammac igamma_grad_a random_gamma_grad polygamma zeta",
    "complex numbers": "real imag",
}
_KINDS = {name: kind for kind, names in _ELEMENTS.items() for name in names.split()}
_ACCURACY = """
      accuracy: a `Tolerance` or an `AccuracyMode`, for devices with several implementations; None
        for the default."""

# The two operands of functions in which they differ in meaning.
_ROLES = {
    "div": ("the dividend", "the divisor"),
    "rem": ("the dividend", "the divisor"),
    "nextafter": ("the float to start from", "the float to step towards"),
    "atan2": ("the second coordinate of the point", "the first coordinate of the point"),
    "shift_left": ("the integers to shift", "the number of bits to shift by"),
    "shift_right_logical": ("the integers to shift", "the number of bits to shift by"),
    "shift_right_arithmetic": ("the integers to shift", "the number of bits to shift by"),
    "igamma": ("the shape parameter", "the bound of the integral"),
    "igammac": ("the shape parameter", "the bound of the integral"),
    "igamma_grad_a": ("the shape parameter", "the bound of the integral"),
    "random_gamma_grad": ("the shape parameter", "the sample"),
    "polygamma": ("the order of the derivative", "the point of evaluation"),
    "zeta": ("the exponent", "the offset"),
}


def _operands(name: str, *names: str) -> str:
    """The `Args` entries of one operand or two, called `names`."""
    kind = _KINDS.get(name, "floats or complex numbers")
    if len(names) == 1:
        return f"      x: array_like of {kind}."
    if name not in _ROLES:
        return (
            f"      x, y: array_like of {kind}, of one dtype; scalars and axes of\n"
            "        length 1 are broadcast."
        )
    first, second = _ROLES[name]
    x, y = names
    return (
        f"      {x}: {first}; array_like of {kind}.\n"
        f"      {y}: {second}; array_like of the dtype of `{x}`. Scalars and\n"
        "        axes of length 1 are broadcast."
    )


# Dtypes that the effect accepts, but JAX's function of that name does not.
_REFUSED: dict[str, Callable[[Any], bool]] = {
    "abs": is_unsigned,
    "is_finite": lambda dtype: not is_inexact(dtype),
}


def unary(name: str, effect: Effect, meaning: str, example: str) -> UnaryOperator:
    """A function of one operand, documented by what it means and one `call -> answer`."""
    refused = _REFUSED.get(name)

    def operator(x: ArrayLike) -> Array:
        if refused is not None and refused(typeof(x).dtype):
            raise TypeError(f"{name} does not accept dtype {typeof(x).dtype.name}")
        return effect(x)

    _named(operator, name, meaning, _operands(name, "x"), example)
    return operator


def tunable(name: str, effect: Effect, meaning: str, example: str) -> TunableOperator:
    """The same, with the parameter `accuracy`: a `Tolerance` or an `AccuracyMode`.

    Some accelerators have several ways to compute such a function; the CPU has one.
    """

    def operator(x: ArrayLike, *, accuracy: Tolerance | AccuracyMode | None = None) -> Array:
        if accuracy is None or accuracy is AccuracyMode.DEFAULT:
            return effect(x)
        if not isinstance(accuracy, Tolerance | AccuracyMode):
            raise NotImplementedError(
                f"lax.{name}: accuracy={accuracy!r} is not supported; it is a lax.Tolerance or a "
                "lax.AccuracyMode"
            )
        return accurate(x, function=effect.name, accuracy=accuracy)

    _named(operator, name, meaning, _operands(name, "x") + _ACCURACY, example)
    return operator


def binary(name: str, effect: Effect, meaning: str, example: str) -> BinaryOperator:
    """A function of two operands."""

    def operator(x: ArrayLike, y: ArrayLike) -> Array:
        return effect(*together(name, x, y))

    _named(operator, name, meaning, _operands(name, "x", "y"), example)
    return operator


def documented(example: str) -> Callable[[_F], _F]:
    """Complete the docstring of a function whose two operands have names of their own."""

    def decorate(function: _F) -> _F:
        name, operands = function.__name__, inspect.signature(function).parameters
        _named(function, name, str(function.__doc__), _operands(name, *operands), example)
        return function

    return decorate


_WEAK = "dtype=float32, weak_type=True)"
_INT = "dtype=int32, weak_type=True)"

neg = unary("neg", elementwise.neg, "Return `-x`.", f"lax.neg(2.0) -> Array(-2., {_WEAK}")
sign = unary(
    "sign",
    elementwise.sign,
    "The sign: -1, 0 or 1; of complex numbers `x / abs(x)`.",
    f"lax.sign(-3.0) -> Array(-1., {_WEAK}",
)
abs = unary("abs", elementwise.abs, "The absolute value.", f"lax.abs(-3) -> Array(3, {_INT}")
floor = unary(
    "floor",
    elementwise.floor,
    "Round down to integers, in the dtype of x.",
    f"lax.floor(1.5) -> Array(1., {_WEAK}",
)
ceil = unary(
    "ceil",
    elementwise.ceil,
    "Round up to integers, in the dtype of x.",
    f"lax.ceil(1.5) -> Array(2., {_WEAK}",
)
square = unary(
    "square", elementwise.square, "Return `x * x`.", f"lax.square(3.0) -> Array(9., {_WEAK}"
)
is_finite = unary(
    "is_finite",
    elementwise.is_finite,
    "Return whether x is neither infinite nor NaN.",
    "bool(lax.is_finite(1.0)) -> True",
)
sqrt = tunable("sqrt", elementwise.sqrt, "The square root.", f"lax.sqrt(4.0) -> Array(2., {_WEAK}")
rsqrt = tunable(
    "rsqrt", elementwise.rsqrt, "Return `1 / sqrt(x)`.", f"lax.rsqrt(4.0) -> Array(0.5, {_WEAK}"
)
cbrt = tunable(
    "cbrt", elementwise.cbrt, "The real cube root.", f"lax.cbrt(0.0) -> Array(0., {_WEAK}"
)
exp = tunable("exp", transcendental.exp, "Return `e**x`.", f"lax.exp(0.0) -> Array(1., {_WEAK}")
exp2 = tunable("exp2", transcendental.exp2, "Return `2**x`.", f"lax.exp2(3.0) -> Array(8., {_WEAK}")
expm1 = tunable(
    "expm1",
    transcendental.expm1,
    "Return `exp(x) - 1`, exact near zero.",
    f"lax.expm1(0.0) -> Array(0., {_WEAK}",
)
log = tunable(
    "log", transcendental.log, "The natural logarithm.", f"lax.log(1.0) -> Array(0., {_WEAK}"
)
log1p = tunable(
    "log1p",
    transcendental.log1p,
    "Return `log(1 + x)`, exact near zero.",
    f"lax.log1p(0.0) -> Array(0., {_WEAK}",
)
logistic = tunable(
    "logistic",
    transcendental.logistic,
    "Return `1 / (1 + exp(-x))`.",
    f"lax.logistic(0.0) -> Array(0.5, {_WEAK}",
)
sin = tunable("sin", transcendental.sin, "The sine.", f"lax.sin(0.0) -> Array(0., {_WEAK}")
cos = tunable("cos", transcendental.cos, "The cosine.", f"lax.cos(0.0) -> Array(1., {_WEAK}")
tan = tunable("tan", transcendental.tan, "The tangent.", f"lax.tan(0.0) -> Array(0., {_WEAK}")
tanh = tunable(
    "tanh", transcendental.tanh, "The hyperbolic tangent.", f"lax.tanh(0.0) -> Array(0., {_WEAK}"
)
asin = unary(
    "asin", transcendental.asin, "The inverse sine.", f"lax.asin(0.0) -> Array(0., {_WEAK}"
)
acos = unary(
    "acos", transcendental.acos, "The inverse cosine.", f"lax.acos(1.0) -> Array(0., {_WEAK}"
)
atan = unary(
    "atan", transcendental.atan, "The inverse tangent.", f"lax.atan(0.0) -> Array(0., {_WEAK}"
)
sinh = unary(
    "sinh", transcendental.sinh, "The hyperbolic sine.", f"lax.sinh(0.0) -> Array(0., {_WEAK}"
)
cosh = unary(
    "cosh", transcendental.cosh, "The hyperbolic cosine.", f"lax.cosh(0.0) -> Array(1., {_WEAK}"
)
asinh = unary(
    "asinh",
    transcendental.asinh,
    "The inverse hyperbolic sine.",
    f"lax.asinh(0.0) -> Array(0., {_WEAK}",
)
acosh = unary(
    "acosh",
    transcendental.acosh,
    "The inverse hyperbolic cosine.",
    f"lax.acosh(1.0) -> Array(0., {_WEAK}",
)
atanh = unary(
    "atanh",
    transcendental.atanh,
    "The inverse hyperbolic tangent.",
    f"lax.atanh(0.0) -> Array(0., {_WEAK}",
)
erf = unary("erf", special.erf, "The error function.", f"lax.erf(0.0) -> Array(0., {_WEAK}")
erfc = unary(
    "erfc",
    special.erfc,
    "Return `1 - erf(x)`, exact where that is near zero.",
    f"lax.erfc(0.0) -> Array(1., {_WEAK}",
)
erf_inv = unary(
    "erf_inv", special.erf_inv, "The inverse of `erf`.", f"lax.erf_inv(0.0) -> Array(0., {_WEAK}"
)
lgamma = unary(
    "lgamma",
    special.lgamma,
    "The logarithm of the absolute value of the gamma function.",
    "float(lax.lgamma(10.0)) -> 12.8018...",
)
digamma = unary(
    "digamma",
    special.digamma,
    "The derivative of `lgamma`.",
    "float(lax.digamma(1.0)) -> -0.57721...",
)
bessel_i0e = unary(
    "bessel_i0e",
    special.bessel_i0e,
    "The modified Bessel function of order 0, times `exp(-abs(x))`.",
    "float(lax.bessel_i0e(2.0)) -> 0.3085...",
)
bessel_i1e = unary(
    "bessel_i1e",
    special.bessel_i1e,
    "The modified Bessel function of order 1, times `exp(-abs(x))`.",
    f"lax.bessel_i1e(0.0) -> Array(0., {_WEAK}",
)
real = unary("real", complex_parts.real, "The real part.", "float(lax.real(1.0 + 2.0j)) -> 1.0")
imag = unary(
    "imag", complex_parts.imag, "The imaginary part.", "float(lax.imag(1.0 + 2.0j)) -> 2.0"
)
bitwise_not = unary(
    "bitwise_not", logical.not_, "Return `~x`.", f"lax.bitwise_not(1) -> Array(-2, {_INT}"
)
population_count = unary(
    "population_count",
    logical.population_count,
    "The number of bits that are set.",
    f"lax.population_count(7) -> Array(3, {_INT}",
)
clz = unary(
    "clz",
    logical.clz,
    "The number of zero bits before the first that is set.",
    f"lax.clz(1) -> Array(31, {_INT}",
)

add = binary("add", elementwise.add, "Return `x + y`.", f"lax.add(1.0, 2.0) -> Array(3., {_WEAK}")
sub = binary("sub", elementwise.sub, "Return `x - y`.", f"lax.sub(1.0, 2.0) -> Array(-1., {_WEAK}")
div = binary(
    "div",
    elementwise.div,
    "Return `x / y`; for integers rounded towards zero.",
    f"lax.div(-7, 2) -> Array(-3, {_INT}",
)
rem = binary(
    "rem",
    elementwise.rem,
    "The remainder of the division rounded towards zero.",
    f"lax.rem(-7, 2) -> Array(-1, {_INT}",
)
max = binary(
    "max", elementwise.max, "The larger of x and y.", f"lax.max(1.0, 2.0) -> Array(2., {_WEAK}"
)
min = binary(
    "min", elementwise.min, "The smaller of x and y.", f"lax.min(1.0, 2.0) -> Array(1., {_WEAK}"
)


@documented("float(lax.nextafter(0.0, 1.0)) -> 1.4012...e-45")
def nextafter(x1: ArrayLike, x2: ArrayLike) -> Array:
    """Return the next float after x in the direction of y."""
    return elementwise.nextafter(*together("nextafter", x1, x2))


atan2 = binary(
    "atan2",
    transcendental.atan2,
    "The angle of the point (y, x), by quadrant.",
    f"lax.atan2(0.0, 1.0) -> Array(0., {_WEAK}",
)
eq = answers_keys(operator.eq)(
    binary("eq", comparison.eq, "Return `x == y`.", "bool(lax.eq(1, 1)) -> True")
)
ne = answers_keys(operator.ne)(
    binary("ne", comparison.ne, "Return `x != y`.", "bool(lax.ne(1, 1)) -> False")
)
lt = binary("lt", comparison.lt, "Return `x < y`.", "bool(lax.lt(1, 2)) -> True")
le = binary("le", comparison.le, "Return `x <= y`.", "bool(lax.le(1, 2)) -> True")
gt = binary("gt", comparison.gt, "Return `x > y`.", "bool(lax.gt(1, 2)) -> False")
ge = binary("ge", comparison.ge, "Return `x >= y`.", "bool(lax.ge(1, 2)) -> False")
bitwise_and = binary(
    "bitwise_and", logical.and_, "Return `x & y`.", f"lax.bitwise_and(6, 3) -> Array(2, {_INT}"
)
bitwise_or = binary(
    "bitwise_or", logical.or_, "Return `x | y`.", f"lax.bitwise_or(6, 3) -> Array(7, {_INT}"
)
bitwise_xor = binary(
    "bitwise_xor", logical.xor, "Return `x ^ y`.", f"lax.bitwise_xor(6, 3) -> Array(5, {_INT}"
)
shift_left = binary(
    "shift_left",
    logical.shift_left,
    "Return `x << y`.",
    f"lax.shift_left(3, 2) -> Array(12, {_INT}",
)
shift_right_logical = binary(
    "shift_right_logical",
    logical.shift_right_logical,
    "Shift x right by y bits; zeros come in.",
    f"lax.shift_right_logical(12, 2) -> Array(3, {_INT}",
)
shift_right_arithmetic = binary(
    "shift_right_arithmetic",
    logical.shift_right_arithmetic,
    "Shift x right by y bits; copies of the sign bit come in.",
    f"lax.shift_right_arithmetic(-12, 2) -> Array(-3, {_INT}",
)


@documented("float(lax.igamma(1.0, 1.0)) -> 0.63212...")
def igamma(a: ArrayLike, x: ArrayLike) -> Array:
    """Return the regularised lower incomplete gamma function."""
    return special.igamma(*together("igamma", a, x))


@documented("float(lax.igammac(1.0, 1.0)) -> 0.36787...")
def igammac(a: ArrayLike, x: ArrayLike) -> Array:
    """Return the regularised upper incomplete gamma function."""
    return special.igammac(*together("igammac", a, x))


@documented("float(lax.igamma_grad_a(1.0, 1.0)) -> -0.4317...")
def igamma_grad_a(a: ArrayLike, x: ArrayLike) -> Array:
    """Return the derivative of `igamma(a, x)` with respect to a."""
    return special.igamma_grad_a(*together("igamma_grad_a", a, x))


@documented("float(lax.random_gamma_grad(1.0, 1.0)) -> 1.1735...")
def random_gamma_grad(a: ArrayLike, x: ArrayLike) -> Array:
    """Return the derivative of a sample of the gamma distribution with respect to its shape a."""
    return special.random_gamma_grad(*together("random_gamma_grad", a, x))


@documented("float(lax.polygamma(1.0, 1.0)) -> 1.64493...")
def polygamma(m: ArrayLike, x: ArrayLike) -> Array:
    """Return the m-th derivative of `digamma`."""
    return special.polygamma(*together("polygamma", m, x))


@documented("float(lax.zeta(2.0, 1.0)) -> 1.64493...")
def zeta(x: ArrayLike, q: ArrayLike) -> Array:
    """Return the Hurwitz zeta function."""
    return special.zeta(*together("zeta", x, q))


def mul(x: ArrayLike, y: ArrayLike, *, out_dtype: DTypeLike | None = None) -> Array:
    """Return `x * y`, in the operands' dtype or in another.

    Args:
      x, y: array_like of numbers, of one dtype; scalars and axes of length 1 are broadcast.
      out_dtype: the dtype of the result, to which the operands are converted first; by default
        their own.

    >>> import effax.lax as lax
    >>> lax.mul(2.0, 3.0)
    Array(6., dtype=float32, weak_type=True)
    """
    if out_dtype is not None:
        x, y = (conversion.convert_element_type(z, dtype=out_dtype) for z in (x, y))
    return elementwise.mul(*together("mul", x, y))


def pow(x: ArrayLike, y: ArrayLike) -> Array:
    """Return x to the power y; y may be an integer.

    Args:
      x: the base; array_like of floats or complex numbers.
      y: the exponent; array_like of the dtype of `x`, or of integers. Scalars and axes of length 1
        are broadcast.

    >>> import effax.lax as lax
    >>> lax.pow(2.0, 3)
    Array(8., dtype=float32, weak_type=True)
    """
    if type(y) is int and is_inexact(typeof(x).dtype):
        return elementwise.integer_pow(x, y=y)
    if is_integer(typeof(y).dtype) and type(y) not in LITERALS:
        lengths = meeting_shape("pow", [typeof(x), typeof(y)])
        return elementwise.pow(repeated(x, lengths), repeated(y, lengths))
    return elementwise.pow(*together("pow", x, y))


def integer_pow(x: ArrayLike, y: int) -> Array:
    """Return x to the power of an integer known beforehand.

    Args:
      x: array_like of numbers.
      y: the exponent, a Python integer; not negative where `x` is of integers.

    >>> import effax.lax as lax
    >>> lax.integer_pow(3, 2)
    Array(9, dtype=int32, weak_type=True)
    """
    return elementwise.integer_pow(x, y=known_index("integer_pow", "y", y))


def reciprocal(x: ArrayLike) -> Array:
    """Return `1 / x`.

    Args:
      x: array_like of floats or complex numbers.

    >>> import effax.lax as lax
    >>> lax.reciprocal(4.0)
    Array(0.25, dtype=float32, weak_type=True)
    """
    return elementwise.integer_pow(x, y=-1)


def round(x: ArrayLike, rounding_method: RoundingMethod = RoundingMethod.AWAY_FROM_ZERO) -> Array:
    """Round to the nearest integer, in the dtype of x.

    Args:
      x: array_like of floats.
      rounding_method: the direction in which halves are rounded, a `RoundingMethod`.

    >>> import effax.lax as lax
    >>> lax.round(2.5), lax.round(2.5, lax.RoundingMethod.TO_NEAREST_EVEN)
    (Array(3., dtype=float32, weak_type=True), Array(2., dtype=float32, weak_type=True))
    """
    return elementwise.round(x, rounding_method=int(rounding_method))


def conj(x: ArrayLike) -> Array:
    """The complex conjugate; real numbers become complex.

    Args:
      x: array_like of floats or complex numbers.

    >>> import effax.lax as lax
    >>> lax.conj(1.0 + 2.0j)
    Array(1.-2.j, dtype=complex64, weak_type=True)
    """
    if not is_complex(typeof(x).dtype):
        return complex(x, 0.0)
    return complex_parts.conj(x)


def complex(x: ArrayLike, y: ArrayLike) -> Array:
    """The complex number of a real and an imaginary part.

    Args:
      x: the real part; array_like of float32 or float64.
      y: the imaginary part; array_like of the dtype of `x`. Scalars and axes of length 1 are
        broadcast.

    >>> import effax.lax as lax
    >>> lax.complex(1.0, 2.0)
    Array(1.+2.j, dtype=complex64, weak_type=True)
    """
    return complex_parts.complex(*together("complex", x, y))


def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """The regularised incomplete beta function.

    Args:
      a, b: the parameters, array_like of floats.
      x: the upper bound of the integral, array_like of their dtype. Scalars and axes of length 1
        are broadcast.

    >>> import effax.lax as lax
    >>> float(lax.betainc(2.0, 2.0, 0.25))
    0.15625...
    """
    return special.regularized_incomplete_beta(*together("betainc", a, b, x))


regularized_incomplete_beta = betainc
