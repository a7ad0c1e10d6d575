"""Statistics: means, variances and correlations along axes."""

from __future__ import annotations

import math
from typing import Any, Literal, overload

import numpy as np

from effax.eager.whole import whole
from effax.effects.dtypes import default_float
from effax.effects.promotion import lattice_result, result_type
from effax.effects.rows import comparison, contraction, elementwise, selection, shape
from effax.effects.rows import complex as complex_parts
from effax.effects.types import (
    inexact_dtype,
    is_bool,
    is_complex,
    is_inexact,
    is_integer,
    real_dtype,
    typeof,
)
from effax.effects.value import Array, ArrayLike, DTypeLike, greatest
from effax.lax.contraction import canonical_precision
from effax.numpy.joining import concatenate
from effax.numpy.manipulation import atleast_2d, squeeze
from effax.numpy.reductions import STATICS, Axis, accumulator, check_mask, masked, sum
from effax.operands.arguments import (
    asked_dtype,
    broadcast,
    canonical_axes,
    cast,
    check_arrays,
    combine,
    concrete_int,
    number_of_elements,
    refuse_out,
    shape_of,
)
from effax.operands.promoting import promote_dtypes


def count(lengths: tuple[int, ...], axis: Axis) -> int:
    """Return the number of elements that are reduced to one."""
    total = 1
    for i in canonical_axes(axis, len(lengths)):
        total *= lengths[i]
    return total


@whole(*STATICS)
def mean(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Array:
    """Return the mean of the elements along some axes, of those where a mask is true.

    Args:
      a: array_like.
      axis: the axis or axes; None for all. Negative ones count from the end.
      dtype: the dtype of the result; by default that of `a`, a float for integers and Booleans.
      out: must be None: arrays can't be written to.
      keepdims: whether the reduced axes stay, with length 1.
      where: Boolean mask of the elements that take part.

    >>> mean(np.array([[1, 2], [3, 5]]), axis=1).tolist()
    [1.5, 4.0]
    """
    refuse_out("mean", out)
    check_arrays("mean", a)
    check_mask("mean", where)
    kind = asked_dtype("mean", dtype) or inexact_dtype(typeof(a).dtype)
    working = accumulator(kind)
    total = sum(a, axis, working, keepdims=keepdims, where=where)
    if where is None:
        number: Any = number_of_elements(count(shape_of(a), axis), working)
    else:
        mask = broadcast(where, shape_of(a))
        number = sum(mask, axis, working, keepdims=keepdims)
    return cast(combine(elementwise.div, total, number), kind)


@overload
def average(
    a: ArrayLike,
    axis: Axis = ...,
    weights: ArrayLike | None = ...,
    returned: Literal[False] = ...,
    keepdims: bool = ...,
) -> Array: ...
@overload
def average(
    a: ArrayLike,
    axis: Axis = ...,
    weights: ArrayLike | None = ...,
    *,
    returned: Literal[True],
    keepdims: bool = ...,
) -> tuple[Array, Array]: ...
@overload
def average(
    a: ArrayLike,
    axis: Axis = ...,
    weights: ArrayLike | None = ...,
    returned: bool = ...,
    keepdims: bool = ...,
) -> Array | tuple[Array, Array]: ...
@whole("axis", "returned", "keepdims")
def average(
    a: ArrayLike,
    axis: Axis = None,
    weights: ArrayLike | None = None,
    returned: bool = False,
    keepdims: bool = False,
) -> Array | tuple[Array, Array]:
    """Return the weighted mean along some axes, with the sum of weights if `returned`.

    Args:
      a: array_like.
      axis: the axis or axes; None for all. Negative ones count from the end.
      weights: array_like, of the shape of `a` or of its reduced axes; by default all weights are 1.
      returned: whether to return the sum of weights too.
      keepdims: whether the reduced axes stay, with length 1.

    >>> average(np.array([1.0, 3.0]), weights=np.array([3.0, 1.0])).tolist()
    1.5
    """
    check_arrays("average", a)
    if weights is None:
        result = mean(a, axis, keepdims=keepdims)
        divisor = shape.full(shape_of(result), count(shape_of(a), axis), typeof(result).dtype)
        return (result, divisor) if returned else result
    check_arrays("average", a, weights)
    kind = inexact_dtype(lattice_result([typeof(a), typeof(weights)])[0])
    wide = accumulator(kind)
    a, weights = cast(a, wide), cast(weights, wide)
    lengths = shape_of(a)
    axes = canonical_axes(axis, len(lengths))
    if shape_of(weights) != lengths:
        if axis is None:
            raise ValueError(
                "Axis must be specified when shapes of a and weights differ, but they are "
                f"{lengths} and {shape_of(weights)}"
            )
        if shape_of(weights) != tuple(lengths[i] for i in axes):
            raise ValueError(
                "Length of weights not compatible with specified axis: "
                f"{shape_of(weights)} for the axes {axes} of {lengths}"
            )
        order = sorted(range(len(axes)), key=axes.__getitem__)
        turned = shape.transpose(weights, permutation=tuple(order))
        spread = shape.broadcast_in_dim(turned, shape=lengths, dims=tuple(sorted(axes)))
        total = sum(elementwise.mul(a, spread), axes, keepdims=keepdims)
        divisor = broadcast(sum(weights), shape_of(total))
    else:
        total = sum(elementwise.mul(a, weights), axes, keepdims=keepdims)
        divisor = sum(weights, axes, keepdims=keepdims)
    result = cast(elementwise.div(total, divisor), kind)
    return (result, cast(divisor, kind)) if returned else result


def _variance_dtypes(name: str, given: Any, asked: Any) -> tuple[Any, Any]:
    """In which dtype a variance is computed, and which dtype it has."""
    if asked is None:
        working = inexact_dtype(given)
        return accumulator(working), real_dtype(working)
    if is_complex(given) and not is_complex(asked):
        raise ValueError(
            f"jnp.{name}: dtype={asked} is real, but the array is complex, and its imaginary part "
            "would be lost; leave dtype out, or pass jnp.real of the array"
        )
    if is_bool(asked):
        raise TypeError(
            f"jnp.{name}: dtype must be a dtype of numbers, got bool, as the sum is divided in it"
        )
    return accumulator(asked), asked


@whole(*STATICS, "ddof", "correction")
def var(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
    correction: float | None = None,
) -> Array:
    """Return the mean squared distance from the mean, along some axes; divided by n - ddof.

    Args:
      a: array_like.
      axis: the axis or axes; None for all. Negative ones count from the end.
      dtype: the dtype of the result; by default that of `a`, real, a float for integers.
      out: must be None: arrays can't be written to.
      ddof: the number to subtract from the count of elements.
      keepdims: whether the reduced axes stay, with length 1.
      where: Boolean mask of the elements that take part.
      mean: the mean, if it is known; broadcast against `a`.
      correction: another name of `ddof`, which may be a float; only one of the two may be given.

    >>> var(np.array([1.0, 3.0])).tolist()
    1.0
    """
    refuse_out("var", out)
    check_arrays("var", a)
    return _variance("var", a, axis, dtype, _correction(ddof, correction), keepdims, where, mean)


def _correction(ddof: Any, correction: Any) -> Any:
    """Return the number to subtract from the count; the array API calls `ddof` `correction`."""
    if correction is None:
        return ddof
    if not (isinstance(ddof, int) and ddof == 0):
        raise ValueError("ddof and correction can't be provided simultaneously.")
    return correction


def _variance(
    name: str,
    a: Any,
    axis: Axis,
    dtype: Any,
    correction: Any,
    keepdims: bool,
    where: Any,
    centre: Any,
) -> Any:
    check_mask(name, where)
    working, kind = _variance_dtypes(name, typeof(a).dtype, asked_dtype(name, dtype))
    a = cast(a, working)
    lengths = shape_of(a)
    axes = canonical_axes(axis, len(lengths))
    if centre is None:
        centre = _mean(a, axes, working, keepdims=True, where=where)
    apart = combine(elementwise.sub, a, cast(centre, working))
    if where is not None:
        # Replace the omitted elements by zeros before squaring: the derivative of the square of a
        # NaN is NaN times a zero cotangent, which is NaN again.
        apart = masked(name, where, apart, 0)
    if is_complex(working):
        real, imag = complex_parts.real(apart), complex_parts.imag(apart)
        squares = elementwise.add(elementwise.square(real), elementwise.square(imag))
    else:
        squares = elementwise.square(apart)
    real_kind = typeof(squares).dtype
    if where is None:
        number = shape.scalar(count(lengths, axes), real_kind)
    else:
        mask = broadcast(where, lengths)
        number = sum(mask, axes, real_kind, keepdims=keepdims)
    number = combine(elementwise.sub, number, cast(correction, real_kind))
    total = sum(squares, axes, real_kind, keepdims=keepdims)
    number = broadcast(number, shape_of(total))
    if is_integer(real_kind):
        return _integer_quotient(total, number)
    result = selection.select_n(
        comparison.gt(number, 0.0),
        shape.full(shape_of(total), np.nan, real_kind),
        elementwise.div(total, number),
    )
    return cast(result, kind)


def _integer_quotient(total: Any, number: Any) -> Any:
    """Of integers without a remainder; NaN of nothing, which alone makes it a float, weakly."""
    result = cast(elementwise.div(total, elementwise.max(number, 1)), default_float(), True)
    nothing = broadcast(cast(math.nan, default_float(), True), shape_of(result))
    return selection.select_n(comparison.gt(number, 0), nothing, result)


def _mean(a: Any, axes: Axis, dtype: Any, keepdims: bool, where: Any) -> Any:
    """`mean`, where a parameter of that name hides the function."""
    return mean(a, axes, dtype, keepdims=keepdims, where=where)


@whole(*STATICS, "ddof", "correction")
def std(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
    correction: float | None = None,
) -> Array:
    """Return the square root of the variance, along some axes.

    Args:
      a: array_like.
      axis: the axis or axes; None for all. Negative ones count from the end.
      dtype: the dtype of the result, inexact; by default that of `a`, real, a float for integers.
      out: must be None: arrays can't be written to.
      ddof: the number to subtract from the count of elements.
      keepdims: whether the reduced axes stay, with length 1.
      where: Boolean mask of the elements that take part.
      mean: the mean, if it is known; broadcast against `a`.
      correction: another name of `ddof`, which may be a float; only one of the two may be given.

    >>> std(np.array([1.0, 3.0])).tolist()
    1.0
    """
    refuse_out("std", out)
    check_arrays("std", a)
    asked = asked_dtype("std", dtype)
    if asked is not None and not is_inexact(asked):
        raise ValueError(f"dtype argument to jnp.std must be inexact; got {asked}")
    correction = _correction(ddof, correction)
    _, kind = _variance_dtypes("std", typeof(a).dtype, asked)
    if accumulator(kind) != kind:  # the square may be too large for a narrow float, not its root
        dtype = accumulator(kind)
    spread = _variance("std", a, axis, dtype, correction, keepdims, where, mean)
    return cast(elementwise.sqrt(spread), kind)


@whole("rowvar", "bias", "ddof", "dtype")
def cov(
    m: ArrayLike,
    y: ArrayLike | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: ArrayLike | None = None,
    aweights: ArrayLike | None = None,
    dtype: DTypeLike | None = None,
) -> Array:
    """Return the covariance matrix of variables, which are rows (columns without `rowvar`).

    Args:
      m: array_like, a matrix of variables and observations, or a vector, which is one variable.
      y: further variables, as `m`.
      rowvar: whether variables are rows; else they are columns.
      bias: whether to divide by n instead of n - 1, where `ddof` is None.
      ddof: the number to subtract from n, an int; by default 1, and 0 with `bias`.
      fweights: integers, (n,): how often each observation was made.
      aweights: (n,): how much each observation counts.
      dtype: the dtype of the result, inexact; by default that of `m` and `y`, a float for integers.

    >>> cov(np.array([[0.0, 1, 2], [2, 1, 0]])).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    check_arrays("cov", m, *(() if y is None else (y,)))
    if ddof is not None and ddof != concrete_int(ddof, "ddof"):
        raise ValueError("ddof must be integer")
    for x in (m, y):
        if x is not None and len(shape_of(x)) > 2:
            raise ValueError(
                "m has more than 2 dimensions" if x is m else "y has more than 2 dimensions"
            )
    if y is not None:
        m, y = promote_dtypes(m, y)
    kind = asked_dtype("cov", dtype) or inexact_dtype(typeof(m).dtype)
    if not is_inexact(kind):
        raise ValueError(f"cov: dtype must be a subclass of float or complex; got {kind}")
    x = _variables(cast(m, kind), rowvar)
    if not shape_of(x)[0]:  # whatever y is, as in NumPy
        return shape.full((0, 0), 0, default_float())
    if y is not None:
        other = _variables(cast(y, kind), rowvar)
        x = concatenate([x, other], axis=0)
    rows, n = shape_of(x)
    if ddof is None:
        ddof = 0 if bias else 1
    for given in (fweights, aweights):
        if given is not None:
            check_arrays("cov", given)
            kind = result_type(kind, typeof(given).dtype)
    x = cast(x, kind)
    weights = _observation_weights(fweights, aweights, n, kind)
    if weights is None:
        centre = mean(x, 1, keepdims=True)
        number: Any = cast(greatest(n - ddof, 0), real_dtype(kind))
    else:
        total = sum(weights)
        centre = elementwise.div(
            sum(combine(elementwise.mul, x, weights), 1, keepdims=True),
            broadcast(total, (rows, 1)),
        )
        number = total
        if ddof:
            wide = weights if aweights is None else elementwise.mul(weights, cast(aweights, kind))
            share = elementwise.div(sum(wide), total)
            number = elementwise.sub(total, combine(elementwise.mul, share, float(ddof)))
    apart = combine(elementwise.sub, x, centre)
    other = apart if weights is None else combine(elementwise.mul, apart, weights)
    if is_complex(kind):
        other = complex_parts.conj(other)
    product = dot_rows(apart, other)
    return squeeze(combine(elementwise.div, product, cast(number, kind)))


def _variables(x: Any, rowvar: bool) -> Any:
    """The variables as rows of a matrix; a vector is one variable either way."""
    if not rowvar and len(shape_of(x)) == 2:
        x = shape.transpose(x, permutation=(1, 0))
    return atleast_2d(x)


def dot_rows(x: Any, y: Any) -> Any:
    """The inner products of the rows of two matrices."""
    return contraction.dot_general(
        x,
        y,
        dimension_numbers=(((1,), (1,)), ((), ())),
        precision=canonical_precision(None),
        preferred_element_type=None,
    )


def _observation_weights(fweights: Any, aweights: Any, n: int, dtype: Any) -> Any:
    weights = None
    for name, given in (("fweights", fweights), ("aweights", aweights)):
        if given is None:
            continue
        if len(shape_of(given)) > 1:
            raise RuntimeError(f"cannot handle multidimensional {name}")
        if shape_of(given) != (n,):
            raise RuntimeError(f"incompatible numbers of samples and {name}")
        if name == "fweights" and not is_integer(typeof(given).dtype):
            raise TypeError("fweights must be integer.")
        given = cast(given, dtype)
        weights = given if weights is None else elementwise.mul(weights, given)
    return weights


@whole("rowvar", "dtype")
def corrcoef(
    x: ArrayLike, y: ArrayLike | None = None, rowvar: bool = True, dtype: DTypeLike | None = None
) -> Array:
    """Return the correlations of variables, which are rows (columns without `rowvar`).

    Args:
      x: array_like, a matrix of variables and observations, or a vector, which is one variable.
      y: further variables, as `x`.
      rowvar: whether variables are rows; else they are columns.
      dtype: the dtype of the result, inexact; by default that of `x` and `y`, a float for integers.

    >>> corrcoef(np.array([[0.0, 1, 2], [2, 1, 0]])).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    check_arrays("corrcoef", x)
    c = cov(x, y, rowvar, dtype=dtype)
    if shape_of(c) == ():
        return elementwise.div(c, c)
    n = shape_of(c)[0]
    steps = shape.slice_axis(shape.reshape(c, shape=(n * n,)), 0, 0, n * n, n + 1)
    real = complex_parts.real(steps) if is_complex(typeof(c).dtype) else steps
    spread = cast(elementwise.sqrt(real), typeof(c).dtype)
    c = combine(elementwise.div, c, shape.expand_dims(spread, (1,)))
    c = combine(elementwise.div, c, shape.expand_dims(spread, (0,)))
    if is_complex(typeof(c).dtype):
        parts = (complex_parts.real(c), complex_parts.imag(c))
        return complex_parts.complex(*(selection.clamp(-1.0, p, 1.0) for p in parts))
    return selection.clamp(-1.0, c, 1.0)
