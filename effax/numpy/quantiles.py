"""Quantiles: medians, percentiles, and their like without NaN."""

from __future__ import annotations

from typing import Any

import numpy as np

from effax.api.placing.output_sharding import placed
from effax.eager.whole import whole
from effax.effects.rows import (
    comparison,
    cumulative,
    elementwise,
    logical,
    reduction,
    selection,
    shape,
)
from effax.effects.rows.sorting import sort, take_along
from effax.effects.types import default_int, inexact_dtype, is_complex, typeof
from effax.effects.value import Array, ArrayLike, OutSharding
from effax.numpy.nans import is_nan
from effax.numpy.reductions import rounded, widened
from effax.operands.arguments import (
    broadcast,
    canonical_axes,
    cast,
    check_arrays,
    combine,
    refuse_out,
    shape_of,
)

Axis = int | tuple[int, ...] | None
METHODS = ("linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf")
_STATICS = ("axis", "overwrite_input", "method", "keepdims")


def _quantile(
    name: str,
    a: Any,
    q: Any,
    axis: Axis,
    out: Any,
    overwrite_input: bool,
    method: str,
    keepdims: bool,
    weights: Any,
    without_nan: bool,
) -> Any:
    refuse_out(name, out)
    check_arrays(name, a, q)
    if overwrite_input:
        raise ValueError(
            f"jnp.{name} does not support overwrite_input=True: effax arrays are immutable"
        )
    if method not in METHODS:
        raise ValueError(f"method={method!r} not recognized; the methods are {', '.join(METHODS)}")
    if weights is not None and method != "inverted_cdf":
        raise NotImplementedError(
            f"{method} doesn't support weights. Only method 'inverted_cdf' supports weights."
        )
    if is_complex(typeof(a).dtype):
        raise ValueError(
            f"jnp.{name} does not support complex input, as the operation is poorly defined."
        )
    if len(shape_of(q)) > 1:
        raise ValueError(f"q must be have rank <= 1, got shape {shape_of(q)}")
    kind = inexact_dtype(typeof(a).dtype)
    a, q = cast(a, kind), cast(q, inexact_dtype(typeof(q).dtype))
    lengths = shape_of(a)
    axes = canonical_axes(axis, len(lengths))
    rows, lanes = shape.move_axis_to_front(a, axes)
    count = shape_of(rows)[0]
    if count == 0:
        raise ValueError(f"{name} of an empty axis is not defined: shape {lengths}, axis {axis}")
    many = shape_of(q)
    places = shape.reshape(q, shape=(*(many or (1,)), *(1,) * len(lanes)))
    places = broadcast(places, (*(many or (1,)), *lanes))
    if method == "inverted_cdf":
        w = None
        if weights is not None:
            check_arrays(name, a, q, weights)
            w = shape.move_axis_to_front(_aligned(weights, lengths, axes), axes)[0]
        result = _by_weights(rows, places, w, without_nan)
    else:
        result = _between(rows, places, method, without_nan)
    result = cast(result, kind)
    if keepdims:
        result = shape.reshape(
            result, shape=(*many, *(1 if i in axes else n for i, n in enumerate(lengths)))
        )
    else:
        result = shape.reshape(result, shape=(*many, *lanes))
    return result


def _aligned(weights: Any, lengths: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    """Weights of the array's shape; a vector lies along the one axis."""
    given = shape_of(weights)
    if given == lengths:
        return weights
    if given != tuple(lengths[i] for i in axes):
        raise ValueError(
            f"weights must have the shape {tuple(lengths[i] for i in axes)} of the axes {axes} of "
            f"the array of shape {lengths}, got {given}"
        )
    order = sorted(range(len(axes)), key=axes.__getitem__)
    turned = shape.transpose(weights, permutation=tuple(order))
    return shape.broadcast_in_dim(turned, shape=lengths, dims=tuple(sorted(axes)))


def _between(rows: Any, q: Any, method: str, without_nan: bool) -> Any:
    """Between the two elements, in order, on either side of place q * (n - 1)."""
    kind = typeof(q).dtype
    n, lanes = shape_of(rows)[0], shape_of(rows)[1:]
    if without_nan:
        there = cast(logical.not_(is_nan(rows)), kind)
        last = elementwise.sub(reduction.reduce_sum(there, axes=(0,)), 1.0)
    else:
        holes = reduction.reduce_or(is_nan(rows), axes=(0,))
        nan = shape.full(shape_of(rows), np.nan, typeof(rows).dtype)
        rows = selection.select_n(broadcast(holes, shape_of(rows)), rows, nan)
        last = shape.full(lanes, n - 1, kind)
    (ordered,) = sort(rows, dimension=0, is_stable=True, num_keys=1)
    place = combine(elementwise.mul, q, last)
    low, high = elementwise.floor(place), elementwise.ceil(place)
    high_share = elementwise.sub(place, low)
    low_share = elementwise.sub(1.0, high_share)
    end = broadcast(elementwise.max(last, 0.0), shape_of(place))
    values = []
    for x in (low, high):
        within = elementwise.max(elementwise.min(x, end), 0.0)
        values.append(take_along(ordered, cast(within, default_int()), 0))
    below, above = values
    if method == "linear":
        return elementwise.add(
            elementwise.mul(cast(below, kind), low_share),
            elementwise.mul(cast(above, kind), high_share),
        )
    if method == "midpoint":
        total = elementwise.add(widened(below), widened(above))
        return rounded(elementwise.mul(total, 0.5), below)
    if method == "nearest":
        return selection.select_n(comparison.le(high_share, 0.5), above, below)
    return below if method == "lower" else above


def _by_weights(rows: Any, q: Any, weights: Any, without_nan: bool) -> Any:
    """The first element, in order, by which the share q of all weight is reached."""
    kind = typeof(rows).dtype
    gone = is_nan(rows)
    if weights is None:
        weights = shape.full(shape_of(rows), 1, kind)
    weights = cast(weights, kind)
    bad = logical.or_(comparison.lt(weights, 0.0), is_nan(weights))
    weights = selection.select_n(logical.or_(gone, bad), weights, 0.0)
    ordered, weights = sort(rows, weights, dimension=0, is_stable=True, num_keys=1)
    sums = cumulative.cumsum(weights, axis=0, reverse=False)
    n = shape_of(rows)[0]
    total = shape.slice_axis(sums, 0, n - 1, n)
    wanted = combine(elementwise.mul, cast(q, kind), total)
    less = combine(comparison.lt, shape.expand_dims(sums, (0,)), shape.expand_dims(wanted, (1,)))
    place = reduction.reduce_sum(cast(less, default_int()), axes=(1,))
    numbers = reduction.reduce_sum(cast(logical.not_(gone), default_int()), axes=(0,))
    end = (
        elementwise.sub(numbers, 1)
        if without_nan
        else shape.full(shape_of(numbers), n - 1, default_int())
    )
    place = elementwise.max(elementwise.min(place, broadcast(end, shape_of(place))), 0)
    result = take_along(ordered, place, 0)
    spoilt = reduction.reduce_or(bad, axes=(0,))
    if without_nan:
        spoilt = logical.or_(spoilt, comparison.eq(numbers, 0))
    else:
        spoilt = logical.or_(spoilt, reduction.reduce_or(gone, axes=(0,)))
    return selection.select_n(
        broadcast(spoilt, shape_of(result)), result, shape.full(shape_of(result), np.nan, kind)
    )


@whole(*_STATICS)
def quantile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
) -> Array:
    """Return the q-quantiles (0 to 1) along some axes.

    Args:
      a: array_like, real.
      q: array_like, a number or vector of shares from 0 to 1; a vector adds an axis in front.
      axis: the axis or axes; None for all. Negative ones count from the end.
      out: must be None: arrays can't be written to.
      overwrite_input: must be False.
      method: the rule between two elements: "linear", "lower", "higher", "midpoint", "nearest"
        or "inverted_cdf".
      keepdims: whether the reduced axes stay, with length 1.
      weights: the weight of each element, of the shape of `a` or of its reduced axes; with
        "inverted_cdf" only.

    >>> quantile(np.arange(5.0), np.array([0.25, 0.5])).tolist()
    [1.0, 2.0]
    """
    return _quantile("quantile", a, q, axis, out, overwrite_input, method, keepdims, weights, False)


@whole(*_STATICS)
def nanquantile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
) -> Array:
    """Return the `quantile` of the elements that are not NaN.

    Args:
      a: array_like, real.
      q: array_like, a number or vector of shares from 0 to 1; a vector adds an axis in front.
      axis: the axis or axes; None for all. Negative ones count from the end.
      out: must be None: arrays can't be written to.
      overwrite_input: must be False.
      method: the rule between two elements: "linear", "lower", "higher", "midpoint", "nearest"
        or "inverted_cdf".
      keepdims: whether the reduced axes stay, with length 1.
      weights: the weight of each element, of the shape of `a` or of its reduced axes; with
        "inverted_cdf" only.

    >>> nanquantile(np.array([np.nan, 1.0, 3.0]), 0.5).tolist()
    2.0
    """
    return _quantile(
        "nanquantile", a, q, axis, out, overwrite_input, method, keepdims, weights, True
    )


def _hundredths(name: str, a: Any, q: Any) -> Any:
    check_arrays(name, a, q)
    return elementwise.div(cast(q, inexact_dtype(typeof(q).dtype)), 100.0)


@placed
@whole(*_STATICS)
def percentile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
    out_sharding: OutSharding = None,
) -> Array:
    """Return the q-th percentiles (0 to 100) along some axes.

    Args:
      a: array_like, real.
      q: array_like, a number or vector of shares from 0 to 100; a vector adds an axis in front.
      axis: the axis or axes; None for all. Negative ones count from the end.
      out: must be None: arrays can't be written to.
      overwrite_input: must be False.
      method: the rule between two elements: "linear", "lower", "higher", "midpoint", "nearest"
        or "inverted_cdf".
      keepdims: whether the reduced axes stay, with length 1.
      weights: the weight of each element, of the shape of `a` or of its reduced axes; with
        "inverted_cdf" only.
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    >>> percentile(np.arange(5.0), 75).tolist()
    3.0
    """
    share = _hundredths("percentile", a, q)
    return _quantile(
        "percentile", a, share, axis, out, overwrite_input, method, keepdims, weights, False
    )


@whole(*_STATICS)
def nanpercentile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
) -> Array:
    """Return the `percentile` of the elements that are not NaN.

    Args:
      a: array_like, real.
      q: array_like, a number or vector of shares from 0 to 100; a vector adds an axis in front.
      axis: the axis or axes; None for all. Negative ones count from the end.
      out: must be None: arrays can't be written to.
      overwrite_input: must be False.
      method: the rule between two elements: "linear", "lower", "higher", "midpoint", "nearest"
        or "inverted_cdf".
      keepdims: whether the reduced axes stay, with length 1.
      weights: the weight of each element, of the shape of `a` or of its reduced axes; with
        "inverted_cdf" only.

    >>> nanpercentile(np.array([np.nan, 1.0, 3.0]), 50).tolist()
    2.0
    """
    share = _hundredths("nanpercentile", a, q)
    return _quantile(
        "nanpercentile", a, share, axis, out, overwrite_input, method, keepdims, weights, True
    )


@whole("axis", "overwrite_input", "keepdims")
def median(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Array:
    """Return the middle element along some axes, or the mean of the two in the middle.

    Args:
      a: array_like, real.
      axis: the axis or axes; None for all. Negative ones count from the end.
      out: must be None: arrays can't be written to.
      overwrite_input: must be False.
      keepdims: whether the reduced axes stay, with length 1.

    >>> median(np.array([3.0, 1.0, 2.0])).tolist()
    2.0
    """
    check_arrays("median", a)
    return quantile(a, 0.5, axis, out, overwrite_input, "midpoint", keepdims)


@whole("axis", "overwrite_input", "keepdims")
def nanmedian(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Array:
    """Return the median of the elements that are not NaN.

    Args:
      a: array_like, real.
      axis: the axis or axes; None for all. Negative ones count from the end.
      out: must be None: arrays can't be written to.
      overwrite_input: must be False.
      keepdims: whether the reduced axes stay, with length 1.

    >>> nanmedian(np.array([np.nan, 1.0, 2.0])).tolist()
    1.5
    """
    check_arrays("nanmedian", a)
    return nanquantile(a, 0.5, axis, out, overwrite_input, "midpoint", keepdims)
