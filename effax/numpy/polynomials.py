"""Polynomials as vectors of coefficients, the highest power first."""

from __future__ import annotations

from typing import Any

import numpy as np

from effax.effects import comparison, elementwise, selection, shape
from effax.effects.errors import ConcretizationTypeError
from effax.effects.handler import Carrier
from effax.effects.promotion import result_type
from effax.effects.types import finfo, inexact_dtype, is_complex, typeof
from effax.numpy.arguments import (
    broadcast,
    cast,
    check_arrays,
    combine,
    concrete_int,
    shape_of,
)
from effax.numpy.grids import diag, vander
from effax.numpy.joining import concatenate
from effax.numpy.manipulation import atleast_1d, ravel
from effax.numpy.operands import array, promote_dtypes, promote_dtypes_inexact
from effax.numpy.reductions import sum
from effax.numpy.sliding import convolve
from effax.whole import whole

_FEW = 32  # coefficients; Horner's scheme of more is a loop in the compiled program


def _vectors(name: str, *ps: Any) -> None:
    check_arrays(name, *ps)
    for p in ps:
        if len(shape_of(p)) != 1:
            raise ValueError(f"{name}: coefficients must form a vector, not shape {shape_of(p)}")


@whole("unroll")
def polyval(p: Any, x: Any, *, unroll: int = 16) -> Any:
    """The value of a polynomial at each element, by Horner's scheme.

    >>> polyval(np.array([1.0, 0.0, 2.0]), 3.0).tolist()
    11.0
    """
    check_arrays("polyval", p, x)
    p, x = promote_dtypes(p, x)
    lengths = shape_of(x)
    n = shape_of(p)[0]
    tail = shape_of(p)[1:]
    lengths = lengths if not tail else tuple(np.broadcast_shapes(lengths, tail))
    x = broadcast(x, lengths)
    start = shape.full(lengths, 0, typeof(x).dtype)

    def step(value: Any, coefficient: Any) -> tuple[Any, None]:
        return elementwise.add(elementwise.mul(value, x), broadcast(coefficient, lengths)), None

    if n > _FEW:
        from effax.lax.control import scan

        return scan(step, start, p, unroll=unroll)[0]
    for i in range(n):
        start = step(start, shape.squeeze(shape.slice_axis(p, 0, i, i + 1), (0,)))[0]
    return start


def _aligned(a1: Any, a2: Any) -> tuple[Any, Any]:
    """Both vectors with zeros in front of the shorter."""
    a1, a2 = promote_dtypes(a1, a2)
    n, m = shape_of(a1)[0], shape_of(a2)[0]
    longest = max(n, m)
    return shape.pad_axis(a1, 0, longest - n, 0), shape.pad_axis(a2, 0, longest - m, 0)


@whole()
def polyadd(a1: Any, a2: Any) -> Any:
    """The sum of two polynomials.

    >>> polyadd(np.array([1, 2]), np.array([3])).tolist()
    [1, 5]
    """
    _vectors("polyadd", a1, a2)
    return elementwise.add(*_aligned(a1, a2))


@whole()
def polysub(a1: Any, a2: Any) -> Any:
    """The difference of two polynomials.

    >>> polysub(np.array([1, 2]), np.array([3])).tolist()
    [1, -1]
    """
    check_arrays("polysub", a1, a2)
    return elementwise.sub(*_aligned(a1, a2))


def _trimmed(name: str, p: Any) -> Any:
    """Without zeros in front, for which the coefficients must be known."""
    if isinstance(p, Carrier):
        raise ConcretizationTypeError(
            p, f"{name}: trim_leading_zeros=True makes the shape of the result depend on values."
        )
    found = np.flatnonzero(np.asarray(p))
    n = shape_of(p)[0]
    return shape.slice_axis(p, 0, int(found[0]) if found.size else n, n)


def polymul(a1: Any, a2: Any, *, trim_leading_zeros: bool = False) -> Any:
    """The product of two polynomials.

    >>> polymul(np.array([1.0, 1.0]), np.array([1.0, -1.0])).tolist()
    [1.0, 0.0, -1.0]
    """
    check_arrays("polymul", a1, a2)
    a1, a2 = promote_dtypes_inexact(atleast_1d(a1), atleast_1d(a2))
    if trim_leading_zeros and (shape_of(a1)[0] > 1 or shape_of(a2)[0] > 1):
        a1, a2 = _trimmed("polymul", a1), _trimmed("polymul", a2)
    one = shape.full((1,), 0, typeof(a1).dtype)
    a1, a2 = (x if shape_of(x)[0] else one for x in (a1, a2))
    return convolve(a1, a2, mode="full")


def polydiv(u: Any, v: Any, *, trim_leading_zeros: bool = False) -> tuple[Any, Any]:
    """Quotient and remainder of two polynomials.

    >>> [x.tolist() for x in polydiv(np.array([1.0, 3.0, 2.0]), np.array([1.0, 1.0]))]
    [[1.0, 2.0], [0.0, 0.0, 0.0]]
    """
    check_arrays("polydiv", u, v)
    quotient, rest = _polydiv(u, v)
    return quotient, _trimmed("polydiv", rest) if trim_leading_zeros else rest


@whole()
def _polydiv(u: Any, v: Any) -> tuple[Any, Any]:
    u, v = promote_dtypes_inexact(atleast_1d(u), atleast_1d(v))
    n, m = shape_of(u)[0], shape_of(v)[0]
    if n < m:
        return shape.full((1,), 0, typeof(u).dtype), u
    leading = shape.slice_axis(v, 0, 0, 1)
    digits = []
    for k in range(n - m + 1):
        digit = elementwise.div(shape.slice_axis(u, 0, k, k + 1), leading)
        digits.append(digit)
        taken = shape.pad_axis(combine(elementwise.mul, digit, v), 0, k, n - m - k)
        u = elementwise.sub(u, taken)
    return concatenate(digits), u


def _order(name: str, m: Any) -> int:
    order = concrete_int(m, f"'m' argument of {name}")
    if order < 0:
        raise ValueError(
            f"Order of {'derivative' if name == 'polyder' else 'integral'} must be positive"
        )
    return order


@whole("m")
def polyder(p: Any, m: int = 1) -> Any:
    """The m-th derivative of a polynomial.

    >>> polyder(np.array([1.0, 1.0, 1.0])).tolist()
    [2.0, 1.0]
    """
    check_arrays("polyder", p)
    (p,) = promote_dtypes_inexact(p)
    for _ in range(_order("polyder", m)):
        n = shape_of(p)[0]
        if n == 0:
            return p
        powers = elementwise.sub(
            float(n - 1), shape.iota(dtype=typeof(p).dtype, shape=(n - 1,), dimension=0)
        )
        p = elementwise.mul(shape.slice_axis(p, 0, 0, n - 1), powers)
    return p


@whole("m")
def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """The m-th integral of a polynomial; k are the constants, in the order of integration.

    >>> polyint(np.array([2.0, 1.0])).tolist()
    [1.0, 1.0, 0.0]
    """
    order = _order("polyint", m)
    k = shape.full((1,), 0, np.dtype(np.int32)) if k is None else k
    check_arrays("polyint", p, k)
    p, k = promote_dtypes_inexact(p, k)
    k = ravel(k)
    if shape_of(k)[0] == 1:
        k = broadcast(k, (order,))
    if shape_of(k)[0] != order:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or m.")
    for i in range(order):
        n = shape_of(p)[0]
        powers = elementwise.sub(
            float(n), shape.iota(dtype=typeof(p).dtype, shape=(n,), dimension=0)
        )
        p = concatenate([elementwise.div(p, powers), shape.slice_axis(k, 0, i, i + 1)])
    return p


def poly(seq_of_zeros: Any) -> Any:
    """The polynomial with these zeros, or the characteristic polynomial of a matrix.

    >>> poly(np.array([1.0, 2.0])).tolist()
    [1.0, -3.0, 2.0]
    """
    from effax.numpy.decompositions import eigvals

    check_arrays("poly", seq_of_zeros)
    (zeros,) = promote_dtypes_inexact(seq_of_zeros)
    zeros = atleast_1d(zeros)
    lengths = shape_of(zeros)
    if len(lengths) == 2 and lengths[0] == lengths[1] and lengths[0] != 0:
        zeros = eigvals(zeros)
    elif len(lengths) != 1:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    return _from_zeros(zeros)


@whole()
def _from_zeros(zeros: Any) -> Any:
    p = shape.full((1,), 1, typeof(zeros).dtype)
    for i in range(shape_of(zeros)[0]):
        zero = shape.slice_axis(zeros, 0, i, i + 1)
        p = elementwise.sub(
            shape.pad_axis(p, 0, 0, 1), shape.pad_axis(combine(elementwise.mul, p, zero), 0, 1, 0)
        )
    return p


def roots(p: Any, *, strip_zeros: bool = True) -> Any:
    """The zeros of a polynomial: the eigenvalues of its companion matrix.

    With `strip_zeros` coefficients of zero at both ends are left out first, for which they must
    be known; without, zeros at infinity are NaN.

    >>> sorted(roots(np.array([1.0, -3.0, 2.0])).real.tolist())
    [1.0, 2.0]
    """
    check_arrays("roots", p)
    (p,) = promote_dtypes_inexact(atleast_1d(p))
    if len(shape_of(p)) != 1:
        raise ValueError("Input must be a rank-1 array.")
    n = shape_of(p)[0]
    if n < 2:
        return shape.full((0,), 0, _complex(p))
    if not strip_zeros:
        return _all_roots(p)
    if isinstance(p, Carrier):
        raise ConcretizationTypeError(
            p, "roots: how many zeros there are depends on values; pass strip_zeros=False."
        )
    found = np.flatnonzero(np.asarray(p))
    if not found.size:
        return shape.full((0,), 0, _complex(p))
    first, last = int(found[0]), int(found[-1])
    inner = shape.slice_axis(p, 0, first, last + 1)
    parts = [] if last == first else [_companion_roots(inner)]
    parts.append(shape.full((n - 1 - last,), 0, _complex(p)))
    return concatenate(parts)


def _complex(p: Any) -> Any:
    from effax.effects.types import complex_dtype

    return complex_dtype(typeof(p).dtype)


def _companion_roots(p: Any) -> Any:
    from effax.numpy.decompositions import eigvals

    return eigvals(_companion(p))


@whole()
def _companion(p: Any) -> Any:
    n = shape_of(p)[0]
    below = diag(shape.full((n - 2,), 1, typeof(p).dtype), -1)
    row = elementwise.neg(
        combine(elementwise.div, shape.slice_axis(p, 0, 1, n), shape.slice_axis(p, 0, 0, 1))
    )
    if n == 2:
        return shape.reshape(row, shape=(1, 1))
    first = shape.expand_dims(row, (0,))
    return shape.concatenate(first, shape.slice_axis(below, 0, 1, n - 1), axis=0)


def _all_roots(p: Any) -> Any:
    """The eigenvalues of the companion matrix once leading zeros are rolled to the end.

    Each of those makes a zero at 0 that is none; as many of the smallest are NaN.
    """
    from effax.numpy.arranging import roll
    from effax.numpy.sorting import argsort

    n = shape_of(p)[0]
    nonzero = comparison.ne(p, shape.full((n,), 0, typeof(p).dtype))
    from effax.numpy.reductions import argmax

    leading = argmax(nonzero)
    found = _companion_roots(roll(p, elementwise.neg(leading)))
    order = argsort(elementwise.abs(found), descending=True)
    from effax.numpy.arguments import pick

    ordered = pick(found, order, 0)
    places = shape.iota(dtype=typeof(leading).dtype, shape=(n - 1,), dimension=0)
    spurious = comparison.ge(places, broadcast(elementwise.sub(n - 1, leading), (n - 1,)))
    nan = shape.full((n - 1,), complex(np.nan, np.nan), typeof(ordered).dtype)
    return selection.select_n(spurious, ordered, nan)


def polyfit(
    x: Any,
    y: Any,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: Any = None,
    cov: bool | str = False,
) -> Any:
    """The polynomial of a degree that is nearest to points, in the sense of least squares.

    On request also residuals, rank, singular values and rcond (`full`), or the covariance of the
    coefficients (`cov`; "unscaled" without the factor by the spread of the residuals).

    >>> [round(c, 3) for c in polyfit(np.array([0.0, 1, 2]), np.array([1.0, 3, 5]), 1).tolist()]
    [2.0, 1.0]
    """
    from effax.numpy.systems import inv, lstsq

    check_arrays("polyfit", x, y)
    degree = concrete_int(deg, "deg must be int")
    if degree < 0:
        raise ValueError("expected deg >= 0")
    if len(shape_of(x)) != 1:
        raise TypeError("expected 1D vector for x")
    n = shape_of(x)[0]
    if n == 0:
        raise TypeError("expected non-empty vector for x")
    if len(shape_of(y)) not in (1, 2):
        raise TypeError("expected 1D or 2D array for y")
    if shape_of(y)[0] != n:
        raise TypeError("expected x and y to have same length")
    kind = inexact_dtype(result_type(x, y))
    x, y = cast(x, kind), cast(y, kind)
    if rcond is None:
        rcond = n * float(finfo(kind).eps)
    left = vander(x, degree + 1)
    right = y
    if w is not None:
        check_arrays("polyfit", x, y, w)
        if shape_of(w) != (n,):
            raise TypeError("expected w and y to have the same length")
        weights = shape.expand_dims(cast(w, kind), (1,))
        left = combine(elementwise.mul, left, weights)
        right = combine(elementwise.mul, right, weights if len(shape_of(y)) == 2 else cast(w, kind))
    scale = elementwise.sqrt(sum(elementwise.mul(left, _conjugate(left)), axis=0))
    scaled = combine(elementwise.div, left, shape.expand_dims(scale, (0,)))
    c, residuals, rank, singular = lstsq(scaled, right, rcond)
    c = combine(
        elementwise.div, c, shape.expand_dims(scale, (1,)) if len(shape_of(c)) == 2 else scale
    )
    if full:
        return c, residuals, rank, singular, array(rcond)
    if not cov:
        return c
    from effax.numpy.statistics import dot_rows

    turned = shape.transpose(scaled, permutation=(1, 0))
    base = inv(dot_rows(turned, turned))
    outer = combine(elementwise.mul, shape.expand_dims(scale, (1,)), shape.expand_dims(scale, (0,)))
    base = elementwise.div(base, outer)
    if cov != "unscaled":
        if n <= degree + 1:
            raise ValueError(
                "the number of data points must exceed order to scale the covariance matrix"
            )
        base_scale = elementwise.div(residuals, float(n - degree - 1))
        base = combine(elementwise.mul, base, base_scale)
    if len(shape_of(y)) == 1:
        return c, base
    return c, combine(
        elementwise.mul, shape.expand_dims(base, (2,)), shape.full((shape_of(y)[1],), 1, kind)
    )


def _conjugate(x: Any) -> Any:
    from effax.effects.complex import conj

    return conj(x) if is_complex(typeof(x).dtype) else x
