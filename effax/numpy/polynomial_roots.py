"""Roots of polynomials."""

from __future__ import annotations

import numpy as np

from effax.eager.whole import opening, whole
from effax.effects.errors import ConcretizationTypeError
from effax.effects.rows import elementwise, shape
from effax.effects.types import int32, typeof
from effax.effects.value import Array, ArrayLike
from effax.numpy.arithmetic import add, negative
from effax.numpy.arranging import roll
from effax.numpy.choosing import where as choose
from effax.numpy.comparing import equal, greater_equal
from effax.numpy.decompositions import eigvals
from effax.numpy.joining import concatenate
from effax.numpy.manipulation import expand_dims
from effax.numpy.polynomials import length_of, vectors, zeros_of
from effax.numpy.reductions import argmin
from effax.numpy.sorting import argsort
from effax.numpy.taking import take
from effax.operands.arguments import broadcast, check_arrays, is_static, shape_of


@opening
def roots(p: ArrayLike, *, strip_zeros: bool = True) -> Array:
    """Return the zeros of a polynomial, complex, in no order: eigenvalues of its companion matrix.

    Args:
      p: its coefficients.
      strip_zeros: leave out leading zeros, so that the result is as long as there are zeros.
        Their number must be known: traced ones raise `ConcretizationTypeError`. Otherwise NaN
        stands at the end for each leading zero, and the result is one shorter than p.

    Raises:
      ValueError: for an array of more than one axis.

    >>> roots(np.array([1.0, -3.0, 2.0])).real.round(3).tolist()
    [2.0, 1.0]
    """
    check_arrays("roots", p)
    if len(shape_of(p)) > 1:
        raise ValueError("Input must be a rank-1 array.")
    (p,) = vectors("roots", p)
    if not strip_zeros:
        return _all_roots(p)
    if length_of(p) < 2:
        return _companion_roots(p, 0)
    if not is_static(p):
        raise ConcretizationTypeError(
            p,
            "jnp.roots: the number of zeros depends on how many coefficients are zero. Use "
            "strip_zeros=False in functions to be compiled.",
        )
    nonzero = np.flatnonzero(np.asarray(p))
    if not nonzero.size:
        return _companion_roots(zeros_of(0, p), 0)
    first, last = int(nonzero[0]), int(nonzero[-1])
    return _companion_roots(shape.slice_axis(p, 0, first, last + 1), length_of(p) - 1 - last)


@whole("at_zero")
def _companion_roots(p: Array, at_zero: int) -> Array:
    """The zeros, and so many more at 0."""
    n = max(length_of(p) - 1, 0)
    # With no roots only the dtype matters, and there are no half-precision complex numbers.
    nothing = np.result_type(typeof(p).dtype, np.float32) if n == 0 else None
    zeros = eigvals(_companion(p) if nothing is None else shape.full((1, 1), 0, nothing))
    more = shape.full((at_zero,), 0, typeof(zeros).dtype)
    return shape.concatenate(shape.slice_axis(zeros, 0, 0, n), more, axis=0)


def _companion(p: Array) -> Array:
    """The matrix whose eigenvalues are the zeros of a polynomial of degree 1 at least."""
    n = length_of(p) - 1
    lead = broadcast(shape.slice_axis(p, 0, 0, 1), (n,))
    row = elementwise.neg(elementwise.div(shape.slice_axis(p, 0, 1, n + 1), lead))
    below = np.eye(n - 1, n, dtype=typeof(p).dtype)
    return concatenate([expand_dims(row, 0), below], axis=0)


@whole()
def _all_roots(p: Array) -> Array:
    """As many as there may be; NaN for those that are not there, at the end."""
    n = length_of(p) - 1
    if n < 1:
        return _companion_roots(zeros_of(0, p), 0)
    missing = argmin(equal(p, 0))
    zeros = eigvals(_companion(roll(p, negative(missing))))
    # Rolling the leading zero coefficients to the end multiplies by powers of x, which adds that
    # many spurious roots at 0.
    zeros = take(zeros, argsort(equal(zeros, 0)))
    place = shape.iota(dtype=int32, shape=(n,), dimension=0)
    unknown = complex(np.nan, np.nan)
    return choose(greater_equal(place, add(negative(missing), n)), unknown, zeros)
