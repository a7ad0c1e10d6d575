"""Polynomials as vectors of coefficients, the highest power first."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from math import factorial
from typing import Any, Literal, overload

import numpy as np

from effax.eager.whole import opening, own_promotion, whole
from effax.effects.rows import elementwise, shape
from effax.effects.rows.conversion import convert_element_type
from effax.effects.rows.sharding import cut_to
from effax.effects.types import finfo, int32, is_bool, is_inexact, typeof
from effax.effects.value import Array, ArrayLike
from effax.lax.control import scan
from effax.lax.slicing import dynamic_slice_in_dim, dynamic_update_slice_in_dim
from effax.numpy.arithmetic import add, divide, multiply, negative
from effax.numpy.arranging import trim_zeros
from effax.numpy.contraction import dot, outer
from effax.numpy.decompositions import eigvals
from effax.numpy.grids import vander
from effax.numpy.manipulation import expand_dims
from effax.numpy.reductions import sum
from effax.numpy.sliding import convolve
from effax.numpy.systems import inv, lstsq
from effax.operands.arguments import broadcast, cast, check_arrays, combine, common_shape, shape_of
from effax.operands.promoting import array, promote_dtypes, promote_dtypes_inexact


def vectors(name: str, *xs: ArrayLike, inexact: bool = True) -> list[Array]:
    """The coefficients as vectors of one dtype; a number is a constant polynomial.

    Raises `ValueError` for arrays of more than one axis.
    """
    check_arrays(name, *xs)
    promoted = promote_dtypes_inexact(*xs) if inexact else promote_dtypes(*xs)
    for x in promoted:
        if len(shape_of(x)) > 1:
            raise ValueError(f"{name}: expected a rank-1 array of coefficients, got {typeof(x)}")
    return [expand_dims(x, 0) if not shape_of(x) else x for x in promoted]


def length_of(x: ArrayLike) -> int:
    """Return the number of coefficients of a polynomial."""
    return shape_of(x)[0]


def zeros_of(n: int, like: Array) -> Array:
    """n coefficients 0, of the dtype of others."""
    return shape.full((n,), 0, typeof(like).dtype)


@whole()
def poly(seq_of_zeros: ArrayLike) -> Array:
    """Return the polynomial with these zeros, or the characteristic one of a square matrix.

    Its first coefficient is 1.

    Args:
      seq_of_zeros: array_like: a vector of zeros, or an [n, n] matrix.

    Raises:
      ValueError: for arrays of other shapes.

    >>> poly(np.array([1.0, 2.0]))
    Array([ 1., -3.,  2.], dtype=float32)
    """
    check_arrays("poly", seq_of_zeros)
    (zeros,) = promote_dtypes_inexact(seq_of_zeros)
    lengths = shape_of(zeros)
    if len(lengths) == 2 and lengths[0] == lengths[1] != 0:
        zeros = eigvals(zeros)
    elif len(lengths) > 1:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    elif not lengths:
        zeros = expand_dims(zeros, 0)
    n, dtype = length_of(zeros), typeof(zeros).dtype
    if n == 0:
        return array(shape.scalar(1, dtype))

    def times_factor(coefficients: Array, zero: Array) -> tuple[Array, None]:
        shifted = shape.concatenate(
            zeros_of(1, zeros), shape.slice_axis(coefficients, 0, 0, n), axis=0
        )
        product = elementwise.mul(shifted, broadcast(zero, (n + 1,)))
        return elementwise.sub(coefficients, product), None

    one = shape.concatenate(shape.full((1,), 1, dtype), zeros_of(n, zeros), axis=0)
    return scan(times_factor, one, cast(zeros, dtype))[0]


@whole()
def polyadd(a1: ArrayLike, a2: ArrayLike) -> Array:
    """Return the sum of two polynomials.

    Args:
      a1, a2: array_like, coefficients along the first axis; not both Boolean.

    >>> polyadd(np.array([1, 2]), np.array([1, 1, 1]))
    Array([1, 2, 3], dtype=int32)
    """
    check_arrays("polyadd", a1, a2)
    return _added("polyadd", *promote_dtypes(a1, a2))


def _added(name: str, a1: ArrayLike, a2: Array) -> Array:
    """The sum, where the shorter one begins with zeros; further axes must agree."""
    given = [expand_dims(a, 0) if not shape_of(a) else a for a in (a1, a2)]
    if is_bool(typeof(given[0]).dtype):
        raise TypeError(f"{name} does not accept dtype bool")
    n = max(map(length_of, given))
    if len(shape_of(given[0])) != len(shape_of(given[1])) and n > min(map(length_of, given)):
        raise ValueError(
            f"{name}: polynomials of different lengths must have equally many axes, got shapes "
            f"{shape_of(a1)} and {shape_of(a2)}"
        )
    padded = [
        shape.concatenate(
            shape.full((n - length_of(a), *shape_of(a)[1:]), 0, typeof(a).dtype), a, axis=0
        )
        for a in given
    ]
    total = combine(elementwise.add, *padded)
    weak = typeof(given[0]).weak_type and typeof(given[1]).weak_type
    return convert_element_type(total, dtype=typeof(total).dtype, weak_type=weak)


@whole()
def polysub(a1: ArrayLike, a2: ArrayLike) -> Array:
    """Return the difference of two polynomials.

    Args:
      a1, a2: array_like, coefficients along the first axis; not both Boolean.

    >>> polysub(np.array([1, 2]), np.array([1, 1, 1]))
    Array([-1,  0,  1], dtype=int32)
    """
    check_arrays("polysub", a1, a2)
    a1, a2 = promote_dtypes(a1, a2)
    if is_bool(typeof(a2).dtype):
        raise TypeError("polysub does not accept dtype bool")
    return _added("polysub", a1, negative(a2))


@opening
def polymul(a1: ArrayLike, a2: ArrayLike, *, trim_leading_zeros: bool = False) -> Array:
    """Return the product of two polynomials, in floating point.

    Args:
      a1, a2: array_like, vectors of coefficients.
      trim_leading_zeros: whether leading zeros of the factors are left out first, as NumPy does.
        Then their values must be known, and traced ones raise `ConcretizationTypeError`.

    >>> polymul(np.array([1, 2]), np.array([1, -2]))
    Array([ 1.,  0., -4.], dtype=float32)
    """
    factors: Sequence[Any] = vectors("polymul", a1, a2)
    if trim_leading_zeros and (length_of(factors[0]) > 1 or length_of(factors[1]) > 1):
        factors = [trim_zeros(a, "f") for a in factors]
    one, other = (zeros_of(1, a) if length_of(a) == 0 else a for a in factors)
    return convolve(one, other)


@opening
def polydiv(u: ArrayLike, v: ArrayLike, *, trim_leading_zeros: bool = False) -> tuple[Array, Array]:
    """Return the quotient and the remainder of two polynomials, in floating point.

    Args:
      u: array_like, the coefficients of the dividend.
      v: array_like, the coefficients of the divisor.
      trim_leading_zeros: whether leading zeros of the remainder are left out, which else is as long
        as `u`. Then values must be known, and traced ones raise `ConcretizationTypeError`.

    >>> polydiv(np.array([1, -3, 2]), np.array([1, -1]))
    (Array([ 1., -2.], dtype=float32), Array([0., 0., 0.], dtype=float32))
    """
    u, v = vectors("polydiv", u, v)
    quotient, rest = _divided(u, v)
    return quotient, trim_zeros(rest, "f") if trim_leading_zeros else rest


@whole()
def _divided(u: Array, v: Array) -> tuple[Array, Array]:
    n, steps = length_of(v), length_of(u) - length_of(v) + 1
    if n == 0:
        raise ValueError("polydiv: the divisor has no coefficients")
    if steps < 1:
        return zeros_of(1, u), u
    scale = elementwise.integer_pow(shape.slice_axis(v, 0, 0, 1), y=-1)

    def step(rest: Array, k: Array) -> tuple[Array, Array]:
        here = dynamic_slice_in_dim(rest, k, n)
        digit = elementwise.mul(scale, shape.slice_axis(here, 0, 0, 1))
        product = elementwise.mul(broadcast(digit, (n,)), v)
        here = elementwise.sub(here, product)
        # The leading coefficient cancels exactly, whatever the rounding; NaN if the product is
        # infinite.
        first = shape.slice_axis(product, 0, 0, 1)
        first = elementwise.sub(first, first)
        here = shape.concatenate(first, shape.slice_axis(here, 0, 1, n), axis=0)
        return dynamic_update_slice_in_dim(rest, here, k, 0), digit

    rest, digits = scan(step, u, shape.iota(dtype=int32, shape=(steps,), dimension=0))
    return shape.reshape(digits, shape=(steps,)), rest


def _along_first(x: Array, factors: Any) -> Array:
    """The array times a number for each place along its first axis."""
    numbers = np.asarray(factors, typeof(x).dtype)
    return elementwise.mul(
        x, shape.broadcast_in_dim(numbers, shape=shape_of(x), dims=(0,)) if shape_of(x) else numbers
    )


@whole("m")
def polyder(p: ArrayLike, m: int = 1) -> Array:
    """Return the m-th derivative of a polynomial, in floating point.

    Args:
      p: array_like, its coefficients.
      m: how often to differentiate.

    Raises:
      ValueError: for a negative m.

    >>> polyder(np.array([1, 2, 3]))
    Array([2., 2.], dtype=float32)
    """
    check_arrays("polyder", p)
    m = operator.index(m)
    if m < 0:
        raise ValueError("Order of derivative must be positive")
    (p,) = promote_dtypes_inexact(p)
    p = expand_dims(p, 0) if not shape_of(p) else p
    n = max(length_of(p) - m, 0)
    # The coefficient of power i + m is multiplied by (i + m) ... (i + 1) and moves to power i.
    factors = [factorial(i + m) // factorial(i) for i in reversed(range(n))]
    return cast(_along_first(shape.slice_axis(p, 0, 0, n), factors), typeof(p).dtype)


@whole("m")
def polyint(p: ArrayLike, m: int = 1, k: ArrayLike | None = None) -> Array:
    """Return the m-th integral of a polynomial, in floating point.

    Args:
      p: its coefficients.
      m: how often to integrate.
      k: the constants of integration, the first one first; one may stand for all. 0 by default.

    Raises:
      ValueError: for a negative m, and another number of constants.

    >>> polyint(np.array([2, 2]))
    Array([1., 2., 0.], dtype=float32)
    """
    m = operator.index(m)
    constants = 0 if k is None else k
    check_arrays("polyint", p, constants)
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    if shape_of(constants) not in ((), (1,), (m,)):
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or m.")
    p, constants = vectors("polyint", p, constants)
    if m == 0:
        return p
    n = length_of(p)
    together = shape.concatenate(p, broadcast(constants, (m,)), axis=0)
    # Power i comes from power i - m, or from an integration constant integrated i times.
    divisors = [factorial(i) // factorial(max(i - m, 0)) for i in reversed(range(n + m))]
    return divide(together, np.asarray(divisors, typeof(p).dtype))


@whole("unroll")
def polyval(p: ArrayLike, x: ArrayLike, *, unroll: int = 16) -> Array:
    """Return the value of a polynomial at each of these points, by Horner's rule.

    Args:
      p: coefficients along the first axis; further axes are broadcast against x.
      x: points.
      unroll: how many steps to write out in the compiled loop.

    Raises:
      ValueError: where p has no axis.

    >>> polyval(np.array([1, 2, 3]), 10)
    Array(123, dtype=int32)
    """
    check_arrays("polyval", p, x)
    if not shape_of(p):
        raise ValueError(f"polyval: expected a vector of coefficients, got {typeof(p)}")
    p, x = promote_dtypes(p, x)
    dtype = typeof(p).dtype
    lengths = common_shape(shape_of(p)[1:], shape_of(x))
    x = cast(broadcast(x, lengths), dtype)

    def step(value: Array, coefficient: Array) -> tuple[Array, None]:
        return add(multiply(value, x), broadcast(coefficient, lengths)), None

    start = cut_to(shape.full(lengths, 0, dtype), typeof(x))
    return scan(step, start, cast(p, dtype), unroll=max(operator.index(unroll), 1))[0]


@overload
def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: int,
    rcond: float | None = ...,
    full: Literal[False] = ...,
    w: ArrayLike | None = ...,
    cov: Literal[False] = ...,
) -> Array: ...
@overload
def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: int,
    rcond: float | None = ...,
    *,
    full: Literal[True],
    w: ArrayLike | None = ...,
    cov: bool | str = ...,
) -> tuple[Array, ...]: ...
@overload
def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: int,
    rcond: float | None = ...,
    full: Literal[False] = ...,
    w: ArrayLike | None = ...,
    *,
    cov: Literal[True],
) -> tuple[Array, Array]: ...
@overload
def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: int,
    rcond: float | None = ...,
    full: bool = ...,
    w: ArrayLike | None = ...,
    cov: bool | str = ...,
) -> Array | tuple[Array, ...]: ...
@own_promotion
@whole("deg", "rcond", "full", "cov", reads=True)
def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: ArrayLike | None = None,
    cov: bool | str = False,
) -> Array | tuple[Array, ...]:
    """Fit a polynomial of a given degree to points, by least squares.

    Args:
      x: a vector of n places.
      y: the values there; [n] or, for several polynomials, [n, k].
      deg: the degree.
      rcond: singular values below this times the largest count as zero; by default n times the
        machine precision.
      full: give also the residuals, the rank, the singular values and `rcond`.
      w: a weight for each point.
      cov: give also the covariance matrix of the coefficients; without an estimate of the
        points' variance for "unscaled".

    Returns:
      [deg + 1] or [deg + 1, k], or a tuple of it and what was asked for besides.

    Raises:
      TypeError: for arrays of other shapes.
      ValueError: for a negative degree, and where there are too few points for `cov`.

    >>> polyfit(np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0, 5.0]), 1).round(3).tolist()
    [2.0, 1.0]
    """
    given = (x, y) if w is None else (x, y, w)
    check_arrays("polyfit", *given)
    deg = operator.index(deg)
    if deg < 0:
        raise ValueError("expected deg >= 0")
    if len(shape_of(x)) != 1:
        raise TypeError("expected 1D vector for x")
    n = length_of(x)
    if n == 0:
        raise TypeError("expected non-empty vector for x")
    if len(shape_of(y)) not in (1, 2):
        raise TypeError("expected 1D or 2D array for y")
    if length_of(y) != n:
        raise TypeError("expected x and y to have same length")
    if w is not None and len(shape_of(w)) != 1:
        raise TypeError("expected a 1-d array for weights")
    if w is not None and length_of(w) != n:
        raise TypeError("expected w and y to have the same length")
    if rcond is None:
        dtype = typeof(x).dtype
        rcond = n * float(finfo(dtype if is_inexact(dtype) else np.float32).eps)
    scaled = bool(cov) and cov != "unscaled"
    if scaled and not full and n <= deg + 1:
        raise ValueError(
            "the number of data points must exceed order to scale the covariance matrix"
        )
    fit, residuals, rank, values, covariance = _fitted(
        x, y, w, rcond, deg, bool(cov) and not full, scaled
    )
    if full:
        return fit, residuals, rank, values, array(rcond)
    return (fit, covariance) if cov else fit


@whole("deg", "cov", "scaled")
def _fitted(
    x: ArrayLike,
    y: ArrayLike,
    w: ArrayLike | None,
    rcond: Any,
    deg: int,
    cov: bool,
    scaled: bool,
) -> tuple[Any, ...]:
    if w is None:
        x, y = promote_dtypes_inexact(x, y)
    else:
        x, y, w = promote_dtypes_inexact(x, y, w)
    powers = vander(x, deg + 1)
    if w is not None:
        powers = multiply(powers, expand_dims(w, 1))
        y = multiply(y, w if len(shape_of(y)) == 1 else expand_dims(w, 1))
    # Columns scaled to length 1 have a better condition number.
    lengths = elementwise.sqrt(sum(multiply(powers, powers), 0))
    powers = divide(powers, lengths)
    fit, residuals, rank, values = lstsq(powers, y, rcond)
    fit = divide(fit, lengths if len(shape_of(fit)) == 1 else expand_dims(lengths, 1))
    covariance = None
    if cov:
        transposed = shape.transpose(powers, permutation=(1, 0))
        covariance = divide(inv(dot(transposed, powers)), outer(lengths, lengths))
        if scaled:
            factor = divide(residuals, float(length_of(x) - deg - 1))
            if len(shape_of(y)) == 2:
                covariance = expand_dims(covariance, 2)
            covariance = multiply(covariance, factor)
        elif len(shape_of(y)) == 2:
            covariance = expand_dims(covariance, 2)
    return fit, residuals, rank, values, covariance
