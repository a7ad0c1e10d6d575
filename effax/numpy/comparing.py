"""Questions about elements: comparisons, logic, and tests for NaN, infinities and closeness."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, Final

from effax.eager.whole import whole
from effax.effects.effect import LITERALS, Effect
from effax.effects.promotion import lattice_result
from effax.effects.rows import comparison, complex, elementwise, logical, reduction
from effax.effects.rows.shape import full
from effax.effects.types import bool_, is_bool, is_complex, is_float, typeof
from effax.effects.value import Array, ArrayLike
from effax.keys.decorators import all_equal_keys, answers_keys, equal_keys, same_keys
from effax.numpy import folds
from effax.numpy.arithmetic import choose, dtype_of
from effax.numpy.universal import universal
from effax.operands.arguments import cast, combine, refuse_out, strong, strong_unless_scalar
from effax.operands.promoting import (
    array,
    arraylike,
    asarray,
    broadcast_to_common,
    direct,
    number_beside,
    promote,
    promote_inexact,
    unary,
)


@answers_keys(operator.eq)
@whole()
def equal(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Return `x == y`.

    >>> equal(1, 1.0)
    Array(True, dtype=bool, weak_type=True)
    """
    if direct(x, y):
        return comparison.eq(x, y)
    found = _beside_an_integer("equal", comparison.eq, x, y)
    return comparison.eq(*promote(x, y, name="equal")) if found is None else found


@answers_keys(operator.ne)
@whole()
def not_equal(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Return `x != y`.

    >>> not_equal(1, 2)
    Array(True, dtype=bool, weak_type=True)
    """
    if direct(x, y):
        return comparison.ne(x, y)
    found = _beside_an_integer("not_equal", comparison.ne, x, y)
    return comparison.ne(*promote(x, y, name="not_equal")) if found is None else found


_RELATIONS: Final[dict[Effect, Callable[[int, int], bool]]] = {
    getattr(comparison, name): getattr(operator, name)
    for name in ("eq", "ne", "lt", "le", "gt", "ge")
}


def _beside_an_integer(name: str, effect: Effect, x: Any, y: Any) -> Any:
    """A comparison with an integer of Python's as the number that it is, as in NumPy; else None.

    The dtype that it would take from the array may not hold it: 300 beside uint8.
    """
    relation = _RELATIONS[effect]
    for number, other, side in ((y, x, 1), (x, y, -1)):
        found = number_beside(number, other)
        if found is not None:
            cut, above, below = found
            operands = (other, cut) if side == 1 else (cut, other)
            result = effect(*promote(*operands, name=name))
            result = _known(result, above, relation(0, side))
            return _known(result, below, relation(0, -side))
    return None


def _known(result: Any, where: Any, truth: bool) -> Any:
    """The Booleans, with a known one in some places, or in all or none."""
    if where is False:
        return result
    if where is True:
        return full(typeof(result).shape, truth, bool_)
    if truth:
        return combine(logical.or_, result, where)
    return combine(logical.and_, result, logical.not_(where))


def _order(name: str, effect: Effect, x: Any, y: Any) -> Any:
    """A comparison; complex numbers by their real parts, then by their imaginary parts."""
    found = _beside_an_integer(name, effect, x, y)
    if found is not None:
        return found
    x, y = promote(x, y, name=name)
    if not is_complex(dtype_of(x, y)):
        return effect(x, y)
    xr, yr = real_part(x), real_part(y)
    xi, yi = imaginary_part(x), imaginary_part(y)
    return choose(comparison.eq(xr, yr), effect(xi, yi), effect(xr, yr))


def real_part(x: Any) -> Any:
    """The real part of an operand, which may be a Python number."""
    return x.real if type(x) in LITERALS else complex.real(x)


def imaginary_part(x: Any) -> Any:
    """The imaginary part of an operand, which may be a Python number."""
    return x.imag if type(x) in LITERALS else complex.imag(x)


@whole()
def fmax(x1: ArrayLike, x2: ArrayLike) -> Array:
    """Return the larger of two values, element by element; where one is NaN, the other.

    Args:
      x1, x2: array_like, broadcast against each other.

    >>> fmax(float("nan"), 3.0)
    Array(3., dtype=float32, weak_type=True)
    """
    return _first_if("fmax", comparison.gt, x1, x2)


@whole()
def fmin(x1: ArrayLike, x2: ArrayLike) -> Array:
    """Return the smaller of two values, element by element; where one is NaN, the other.

    Args:
      x1, x2: array_like, broadcast against each other.

    >>> fmin(float("nan"), 3.0)
    Array(3., dtype=float32, weak_type=True)
    """
    return _first_if("fmin", comparison.lt, x1, x2)


def _first_if(name: str, effect: Effect, x: Any, y: Any) -> Any:
    """The first of two values where a comparison holds, or the second is NaN; else the second."""
    x, y = promote(x, y, name=name, arrays=True)
    return choose(logical.or_(_order(name, effect, x, y), comparison.ne(y, y)), x, y)


@whole()
def less(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Return `x < y`; complex numbers in lexicographic order.

    >>> less(1, 2)
    Array(True, dtype=bool, weak_type=True)
    """
    return _order("less", comparison.lt, x, y)


@whole()
def less_equal(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Return `x <= y`; complex numbers in lexicographic order.

    >>> less_equal(2, 1)
    Array(False, dtype=bool, weak_type=True)
    """
    return _order("less_equal", comparison.le, x, y)


@whole()
def greater(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Return `x > y`; complex numbers in lexicographic order.

    >>> greater(2, 1)
    Array(True, dtype=bool, weak_type=True)
    """
    return _order("greater", comparison.gt, x, y)


@whole()
def greater_equal(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Return `x >= y`; complex numbers in lexicographic order.

    >>> greater_equal(1, 2)
    Array(False, dtype=bool, weak_type=True)
    """
    return _order("greater_equal", comparison.ge, x, y)


def truth(x: Any) -> Any:
    """Whether elements are not zero."""
    if type(x) in LITERALS:
        return bool(x)
    return x if is_bool(typeof(x).dtype) else comparison.ne(x, 0)


def _truths(name: str, *xs: Any) -> tuple[Any, ...]:
    opened = arraylike(name, *xs)
    lattice_result([typeof(x) for x in opened])  # raises for dtypes that can't be promoted together
    truths = [strong_unless_scalar(truth(array(x))) for x in opened]
    return broadcast_to_common(*truths, name=name)


@universal(identity=True, reduce=folds.every)
def logical_and(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Return whether both values are true, element by element.

    Args:
      x, y: array_like, broadcast against each other; values other than 0 are true.

    >>> logical_and(1, 0)
    Array(False, dtype=bool, weak_type=True)
    """
    return logical.and_(*_truths("logical_and", x, y))


@universal(identity=False, reduce=folds.some)
def logical_or(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Return whether at least one of two values is true, element by element.

    Args:
      x, y: array_like, broadcast against each other; values other than 0 are true.

    >>> logical_or(1, 0)
    Array(True, dtype=bool, weak_type=True)
    """
    return logical.or_(*_truths("logical_or", x, y))


@universal(identity=False, reduce=folds.oddly_many)
def logical_xor(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Return whether exactly one of two values is true, element by element.

    Args:
      x, y: array_like, broadcast against each other; values other than 0 are true.

    >>> logical_xor(1, 2)
    Array(False, dtype=bool, weak_type=True)
    """
    return logical.xor(*_truths("logical_xor", x, y))


@whole()
def logical_not(x: ArrayLike, /) -> Array:
    """Return whether x is zero.

    >>> logical_not(0)
    Array(True, dtype=bool, weak_type=True)
    """
    return logical.not_(*_truths("logical_not", x))


def _everywhere(x: Any, value: bool) -> Any:
    return full(typeof(x).shape, value, bool_)


@whole()
def isnan(x: ArrayLike, /) -> Array:
    """Return whether x is not a number.

    >>> isnan(0.0)
    Array(False, dtype=bool, weak_type=True)
    """
    x = array(unary("isnan", x))
    return comparison.ne(x, x)


@whole()
def isfinite(x: ArrayLike, /) -> Array:
    """Return whether x is neither infinite nor NaN.

    >>> isfinite(0.0)
    Array(True, dtype=bool, weak_type=True)
    """
    return _parts("isfinite", x, elementwise.is_finite, logical.and_, otherwise=True)


@whole()
def isinf(x: ArrayLike, /) -> Array:
    """Return whether x is infinite.

    >>> isinf(0.0)
    Array(False, dtype=bool)
    """

    def infinite(part: Any) -> Any:
        return comparison.eq(elementwise.abs(part), math.inf)

    return strong(_parts("isinf", x, infinite, logical.or_, otherwise=False))


def _parts(name: str, x: Any, ask: Callable[[Any], Any], both: Effect, *, otherwise: bool) -> Any:
    """A question about floats, put to both parts of complex numbers; integers have one answer."""
    x = unary(name, x)
    dtype = typeof(x).dtype
    if is_float(dtype):
        return ask(x)
    if is_complex(dtype):
        return both(ask(complex.real(x)), ask(complex.imag(x)))
    return _everywhere(x, otherwise)


def isposinf(x: ArrayLike, /, out: None = None) -> Array:
    """Return whether elements are plus infinity.

    Args:
      x: array_like of real numbers.
      out: must be None: arrays can't be written to.

    Raises:
      ValueError: for complex numbers.

    >>> isposinf(float("inf"))
    Array(True, dtype=bool)
    """
    refuse_out("isposinf", out)
    return _is_infinity(x, positive=True)


def isneginf(x: ArrayLike, /, out: None = None) -> Array:
    """Return whether elements are minus infinity.

    Args:
      x: array_like of real numbers.
      out: must be None: arrays can't be written to.

    Raises:
      ValueError: for complex numbers.

    >>> isneginf(float("inf"))
    Array(False, dtype=bool)
    """
    refuse_out("isneginf", out)
    return _is_infinity(x, positive=False)


@whole("positive")
def _is_infinity(x: Any, *, positive: bool) -> Any:
    x = unary("isposinf" if positive else "isneginf", x)
    dtype = typeof(x).dtype
    if is_complex(dtype):
        raise ValueError("isposinf/isneginf are not well defined for complex types")
    if not is_float(dtype):
        return _everywhere(x, False)
    return strong(comparison.eq(array(x), math.inf if positive else -math.inf))


@whole()
def isreal(x: ArrayLike) -> Array:
    """Return whether the imaginary part is zero, element by element.

    Args:
      x: array_like; real numbers always have the answer True.

    >>> isreal(1j)
    Array(False, dtype=bool, weak_type=True)
    """
    x = unary("isreal", x)
    if not is_complex(typeof(x).dtype):
        return cast(_everywhere(x, True), bool_, typeof(x).weak_type)
    return comparison.eq(complex.imag(x), 0.0)


@whole()
def iscomplex(x: ArrayLike) -> Array:
    """Return whether the imaginary part is not zero, element by element.

    Args:
      x: array_like; real numbers always have the answer False.

    >>> iscomplex(1j)
    Array(True, dtype=bool, weak_type=True)
    """
    x = unary("iscomplex", x)
    if not is_complex(typeof(x).dtype):
        return cast(_everywhere(x, False), bool_, typeof(x).weak_type)
    return comparison.ne(complex.imag(x), 0.0)


@answers_keys(equal_keys)
@whole("equal_nan")
def isclose(
    a: ArrayLike,
    b: ArrayLike,
    rtol: ArrayLike = 1e-5,
    atol: ArrayLike = 1e-8,
    equal_nan: bool = False,
) -> Array:
    """Return whether `abs(a - b) <= atol + rtol * abs(b)`.

    Infinities are close to themselves, and NaN is so with `equal_nan`.

    >>> isclose(1.0, 1.000001)
    Array(True, dtype=bool)
    """
    a, b = arraylike("isclose", a, b)
    exact_a, exact_b = promote(a, b, name="isclose", arrays=True)
    a, b = promote_inexact(exact_a, exact_b)
    size, distance = elementwise.abs(b), elementwise.abs(elementwise.sub(a, b))
    allowed = promote_inexact(rtol, size, name="isclose")
    bound = elementwise.mul(*allowed)
    bound = elementwise.add(*promote(atol, bound, name="isclose"))
    near = comparison.le(*promote(distance, bound, name="isclose"))
    # An infinite value is close only to the same infinity, but `<=` holds for any two.
    finite = logical.and_(isfinite(a), isfinite(b))
    near = logical.and_(*broadcast_to_common(near, finite))
    near = logical.or_(*broadcast_to_common(near, comparison.eq(exact_a, exact_b)))
    if equal_nan:
        both = logical.and_(comparison.ne(a, a), comparison.ne(b, b))
        near = logical.or_(*broadcast_to_common(near, both))
    return strong(near)


@answers_keys(all_equal_keys)
@whole("equal_nan")
def allclose(
    a: ArrayLike,
    b: ArrayLike,
    rtol: ArrayLike = 1e-5,
    atol: ArrayLike = 1e-8,
    equal_nan: bool = False,
) -> Array:
    """Return whether all elements are close, as defined by `isclose`.

    Args:
      a, b: array_like, broadcast against each other.
      rtol: the relative tolerance, times `abs(b)`.
      atol: the absolute tolerance.
      equal_nan: whether NaN is close to NaN.

    >>> allclose(1.0, 2.0)
    Array(False, dtype=bool)
    """
    return _every(isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan))


def _every(x: Any) -> Any:
    return strong(reduction.reduce_and(x, axes=tuple(range(len(typeof(x).shape)))))


def _comparable(name: str, *xs: Any) -> list[Any]:
    """The operands; lists are made arrays, as NumPy's examples of these functions give them."""
    return arraylike(name, *(asarray(x, name) if isinstance(x, list | tuple) else x for x in xs))


@answers_keys(same_keys)
@whole("equal_nan")
def array_equal(a1: ArrayLike, a2: ArrayLike, equal_nan: bool = False) -> Array:
    """Return whether two arrays have the same shape and equal elements.

    Args:
      a1, a2: array_like, or nested lists of numbers.
      equal_nan: whether NaN is equal to NaN.

    >>> array_equal(1, 2)
    Array(False, dtype=bool)
    """
    a1, a2 = _comparable("array_equal", a1, a2)
    if typeof(a1).shape != typeof(a2).shape:
        return full((), False, bool_)
    a1, a2 = promote(a1, a2, name="array_equal", arrays=True)
    same = comparison.eq(a1, a2)
    if equal_nan:
        same = logical.or_(same, logical.and_(comparison.ne(a1, a1), comparison.ne(a2, a2)))
    return _every(same)


@whole()
def array_equiv(a1: ArrayLike, a2: ArrayLike) -> Array:
    """Return whether two arrays broadcast to one shape and are equal there.

    Args:
      a1, a2: array_like, or nested lists of numbers.

    >>> array_equiv(1, 1)
    Array(True, dtype=bool)
    """
    a1, a2 = _comparable("array_equiv", a1, a2)
    try:
        a1, a2 = promote(a1, a2, name="array_equiv", arrays=True)
    except ValueError:
        return full((), False, bool_)
    return _every(comparison.eq(a1, a2))
