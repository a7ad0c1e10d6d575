"""Counting: how many elements fall into which bin."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from effax.api.placing.output_sharding import placed
from effax.eager.whole import opening, whole
from effax.effects.errors import ConcretizationTypeError
from effax.effects.handler import Carrier
from effax.effects.promotion import lattice_result, result_type
from effax.effects.rows import comparison, elementwise, indexing, logical, selection, shape
from effax.effects.types import (
    default_int,
    inexact_dtype,
    int32,
    is_bool,
    is_complex,
    is_inexact,
    is_integer,
    is_unsigned,
    typeof,
)
from effax.effects.value import Array, ArrayLike, OutSharding
from effax.numpy.comparing import greater_equal
from effax.numpy.even_spacing import linspace
from effax.numpy.manipulation import ravel
from effax.numpy.reductions import accumulator, sum
from effax.numpy.reductions import max as largest
from effax.numpy.reductions import min as smallest
from effax.numpy.sorting import searchsorted
from effax.operands.arguments import (
    broadcast,
    cast,
    check_arrays,
    combine,
    concrete_int,
    shape_of,
)
from effax.operands.promoting import asarray, promote_dtypes


@placed
@opening
def bincount(
    x: ArrayLike,
    weights: ArrayLike | None = None,
    minlength: int = 0,
    *,
    length: int | None = None,
    out_sharding: OutSharding = None,
) -> Array:
    """Count the occurrences of 0, 1, 2, ... among the elements, or add up their weights.

    Args:
      x: array_like of integers, (n,); negative elements count as 0.
      weights: numbers to add up instead of counting, (n,).
      minlength: the least length of the result, without `length`.
      length: the length of the result; larger elements are left out. Needed where `x` is traced.
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    >>> bincount(np.array([0, 2, 2])).tolist()
    [1, 0, 2]
    """
    check_arrays("bincount", x)
    type = typeof(x)
    if not is_integer(type.dtype) and not is_bool(type.dtype):
        raise TypeError(f"x argument to bincount must have an integer type; got {type.dtype}")
    if type.ndim != 1:
        raise ValueError("only 1-dimensional input supported.")
    least = concrete_int(minlength, "the minlength argument of bincount")
    if least < 0:
        raise ValueError("'minlength' must not be negative.")
    if length is None:
        if isinstance(x, Carrier):
            raise ConcretizationTypeError(
                "bincount: the length of the result depends on the largest element, which is not "
                f"known inside a transform; pass `length=n`. {x.why_unknown()}"
            )
        top = max(int(np.asarray(x).max()), 0) + 1 if shape_of(x)[0] else 0
        length = max(least, top)
    else:
        length = concrete_int(length, "the length argument of bincount")
    return _bincount(x, weights, length)


@whole("length")
def _bincount(x: Any, weights: Any, length: int) -> Any:
    n = shape_of(x)[0]
    if weights is None:
        weights = shape.full((n,), 1, default_int())
    else:
        check_arrays("bincount", x, weights)
        if shape_of(weights) != (n,):
            raise ValueError("shape of weights must match shape of x.")
    x = x if typeof(x).dtype.kind in "iu" else cast(x, int32)  # four-bit integers can't be indices
    if not is_unsigned(typeof(x).dtype):
        x = elementwise.max(x, 0)
    kind = typeof(weights).dtype
    if kind == np.bool_:
        raise TypeError("bincount: weights must be numbers, got Booleans; convert them to integers")
    return added_up(x, weights, length, kind)


def added_up(bins: Any, weights: Any, length: int, dtype: Any) -> Any:
    """The weights added up by the number of their bin; numbers from `length` on are left out.

    Narrow floats are added up in float32: in bfloat16 a sum of ones ends at 256.
    """
    wide = accumulator(dtype)
    total = indexing.scatter_add(
        shape.full((length,), 0, wide),
        shape.expand_dims(bins, (1,)),
        cast(weights, wide),
        dimension_numbers=indexing.ScatterDimensionNumbers((), (0,), (0,)),
        mode=indexing.GatherScatterMode.FILL_OR_DROP,
        indices_are_sorted=False,
        unique_indices=False,
    )
    return cast(total, dtype)


@whole("right", "method")
def digitize(
    x: ArrayLike, bins: ArrayLike, right: bool = False, *, method: str | None = None
) -> Array:
    """Return the bin of each element: 0 is before the first edge, len(bins) after the last.

    Args:
      x: array_like.
      bins: the edges, (n,), which ascend or descend.
      right: whether a bin has its right edge; else it has its left one.
      method: as for `searchsorted`; "scan" by default.

    >>> digitize(np.array([0.5, 1.0, 2.5]), np.array([1.0, 2.0])).tolist()
    [0, 1, 2]
    """
    check_arrays("digitize", x, bins)
    edges = shape_of(bins)
    if len(edges) != 1:
        raise ValueError(f"digitize: bins must be a 1-dimensional array; got bins={bins}")
    n = edges[0]
    if n == 0:
        return shape.full(shape_of(x), 0, int32)
    side = "left" if right else "right"
    way = method or "scan"
    up = searchsorted(bins, x, side, method=way)
    if n == 1:
        return up
    down = searchsorted(shape.rev(bins, dims=(0,)), x, side, method=way)
    first, last = shape.slice_axis(bins, 0, 0, 1), shape.slice_axis(bins, 0, n - 1, n)
    ascending = shape.reshape(greater_equal(last, first), shape=())
    return selection.select_n(
        broadcast(ascending, shape_of(x)),
        elementwise.sub(shape.full(shape_of(down), n, typeof(down).dtype), down),
        up,
    )


def _even_edges(a: Any, limits: Any, bins: int) -> Any:
    """Edges of equally wide bins over a range; where it is empty, half a unit to each side."""
    kind = inexact_dtype(typeof(a).dtype)
    if limits is not None:
        low, high = (cast(x, kind) for x in limits)
    elif prod(shape_of(a)) == 0:
        low, high = shape.full((), 0, kind), shape.full((), 1, kind)
    else:
        low, high = cast(smallest(a), kind), cast(largest(a), kind)
    flat = comparison.eq(low, high)
    low = selection.select_n(flat, low, elementwise.sub(low, 0.5))
    high = selection.select_n(flat, high, elementwise.add(high, 0.5))
    return linspace(low, high, bins + 1, dtype=kind)


def _bins(bins: Any) -> tuple[int | None, Any]:
    """Return the number of bins asked for, or their edges."""
    if isinstance(bins, str):
        raise NotImplementedError("string values for `bins` not implemented.")
    if isinstance(bins, list):
        bins = asarray(bins)
    return (None, bins) if len(shape_of(bins)) == 1 else (concrete_int(bins, "bins"), None)


@whole("count")
def _edges(a: Any, given: Any, limits: Any, count: int | None) -> Any:
    if count is None:
        return cast(given, inexact_dtype(typeof(a).dtype))
    return _even_edges(ravel(a), limits, count)


@opening
def histogram_bin_edges(
    a: ArrayLike,
    bins: ArrayLike = 10,
    range: Sequence[ArrayLike] | None = None,
    weights: ArrayLike | None = None,
) -> Array:
    """Return the edges of the bins of a histogram.

    Args:
      a: array_like.
      bins: the number of equally wide bins, or their edges, (n + 1,).
      range: the lowest and the highest edge; by default the least and the largest element.
      weights: without effect on the edges.

    >>> histogram_bin_edges(np.array([0.0, 4.0]), 2).tolist()
    [0.0, 2.0, 4.0]
    """
    check_arrays("histogram_bin_edges", a, *(() if isinstance(bins, str | list) else (bins,)))
    count, given = _bins(bins)
    return _edges(a, given, None if range is None else tuple(range), count)


@opening
def histogram(
    a: ArrayLike,
    bins: ArrayLike = 10,
    range: Sequence[ArrayLike] | None = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
) -> tuple[Array, Array]:
    """Count the elements in each bin; return the counts and the edges of the bins.

    The last bin has both its edges.

    Args:
      a: array_like.
      bins: the number of equally wide bins, or their ascending edges, (n + 1,).
      range: the lowest and the highest edge; by default the least and the largest element.
      weights: numbers to add up instead of counting, in the shape of `a`.
      density: whether to divide by the total and the width of each bin.

    >>> histogram(np.array([0.0, 1.0, 4.0]), 2)[0].tolist()
    [2.0, 1.0]
    """
    check_arrays("histogram", a, *(() if isinstance(bins, str | list) else (bins,)))
    count, given = _bins(bins)
    limits = None if range is None else tuple(range)
    counts, edges = _histogram(a, given, limits, weights, count, bool(density))
    return counts, edges


def _weighed(columns: Sequence[Any], weights: Any) -> tuple[list[Any], Any]:
    """Data and real weights in the floating-point dtype in which they meet."""
    if weights is None or is_complex(typeof(weights).dtype):
        kind = inexact_dtype(lattice_result([*map(typeof, columns)])[0])
        return [cast(x, kind) for x in columns], weights
    kind = inexact_dtype(lattice_result([typeof(x) for x in (*columns, weights)])[0])
    return [cast(x, kind) for x in columns], cast(weights, kind)


@whole("count", "density")
def _histogram(
    a: Any, given: Any, limits: Any, weights: Any, count: int | None, density: bool
) -> tuple[Array, Array]:
    (a,), weights = _weighed((a,), weights)
    edges = _edges(a, given, limits, count)
    values = ravel(a)
    if weights is None:  # counted as integers: in float32 a sum of ones ends at 2^24
        ones = shape.full(shape_of(values), 1, default_int())
        counts = cast(_counts([values], [edges], ones), typeof(a).dtype)
    else:
        check_arrays("histogram", a, weights)
        if shape_of(weights) != shape_of(a):
            raise ValueError("weights should have the same shape as a.")
        weights = cast(ravel(weights), inexact_dtype(typeof(weights).dtype))
        counts = _counts([values], [edges], weights)
    if density:
        n = shape_of(edges)[0]
        widths = elementwise.sub(
            shape.slice_axis(edges, 0, 1, n), shape.slice_axis(edges, 0, 0, n - 1)
        )
        counts, widths = promote_dtypes(counts, widths)
        counts = elementwise.div(elementwise.div(counts, widths), broadcast(sum(counts), (n - 1,)))
    return counts, edges


def _counts(columns: Sequence[Any], edges: Sequence[Any], weights: Any) -> Any:
    """The weights of points added up by bins; points outside all bins are left out."""
    lengths = tuple(shape_of(e)[0] - 1 for e in edges)
    number, inside = None, None
    for x, e, n in zip(columns, edges, lengths, strict=True):
        x, e = promote_dtypes(x, e)
        place = elementwise.sub(searchsorted(e, x, "right"), 1)
        last = broadcast(shape.slice_axis(e, 0, n, n + 1), shape_of(x))
        place = selection.select_n(
            comparison.eq(x, last), place, shape.full(shape_of(place), n - 1, int32)
        )
        within = logical.and_(comparison.ge(place, 0), comparison.lt(place, n))
        inside = within if inside is None else logical.and_(inside, within)
        number = place if number is None else elementwise.add(elementwise.mul(number, n), place)
    size = prod(lengths)
    number = selection.select_n(inside, shape.full(shape_of(number), size, int32), number)
    return shape.reshape(added_up(number, weights, size, typeof(weights).dtype), shape=lengths)


@opening
def histogram2d(
    x: ArrayLike,
    y: ArrayLike,
    bins: ArrayLike | Sequence[ArrayLike] = 10,
    range: Any = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
) -> tuple[Array, Array, Array]:
    """Count points of the plane in each box of a grid; return counts and the edges of both axes.

    Args:
      x, y: the coordinates of the points, (n,).
      bins: the number of bins, or their edges, for both axes; or a pair of these.
      range: a pair of lowest and highest edges, one for each axis; by default those of the points.
      weights: numbers to add up instead of counting, (n,).
      density: whether to divide by the total and the area of each box.

    >>> histogram2d(np.array([0.0, 1.0]), np.array([0.0, 1.0]), 2)[0].tolist()
    [[1, 0], [0, 1]]
    """
    check_arrays("histogram2d", x, y)
    if not isinstance(bins, list | tuple) and len(shape_of(bins)) == 1 and shape_of(bins)[0] != 2:
        edges: Any = bins
        bins = [edges, edges]
    if len(shape_of(x)) != 1 or shape_of(x) != shape_of(y):
        raise ValueError(
            "histogram2d: x and y must be arrays of one axis and of equal length, got shapes "
            f"{shape_of(x)} and {shape_of(y)}"
        )
    counts, edges = _boxes((x, y), 2, bins, range, weights, density)
    return counts, edges[0], edges[1]


@opening
def histogramdd(
    sample: ArrayLike,
    bins: ArrayLike | Sequence[ArrayLike] = 10,
    range: Any = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
) -> tuple[Any, list[Any]]:
    """Count points in each box of a grid; return counts and a list of the edges of each axis.

    Args:
      sample: array_like of points, (n, d).
      bins: the number of bins for all axes, or for each axis its number or its edges.
      range: the lowest and highest edge for each axis, or None; by default those of the points.
      weights: numbers to add up instead of counting, (n,).
      density: whether to divide by the total and the volume of each box.

    >>> histogramdd(np.array([[0.0, 0.0], [1.0, 1.0]]), 2)[0].tolist()
    [[1, 0], [0, 1]]
    """
    check_arrays("histogramdd", sample, *(() if weights is None else (weights,)))
    if len(shape_of(sample)) != 2:
        raise ValueError(f"sample must be a matrix of points, got shape {shape_of(sample)}")
    return _boxes(sample, shape_of(sample)[1], bins, range, weights, density)


def _boxes(
    sample: Any, dims: int, bins: Any, range: Any, weights: Any, density: bool | None
) -> tuple[Any, list[Any]]:
    """`histogramdd` of a matrix of points, or of a tuple of their coordinates."""
    n = prod(shape_of(sample[0])) if isinstance(sample, tuple) else shape_of(sample)[0]
    if isinstance(bins, int) or (not isinstance(bins, list | tuple) and shape_of(bins) == ()):
        bins = [bins] * dims
    elif not isinstance(bins, list | tuple):
        bins = list(bins)  # numbers of bins, or rows of edges
    if len(bins) != dims:
        raise ValueError("should be a bin for each dimension.")
    if range is not None and (
        len(range) != dims or any(r is not None and len(r) != 2 for r in range)
    ):
        raise ValueError(
            f"For sample.shape={(n, dims)}, range must be None or sequence of 2-tuples"
        )
    if weights is not None and shape_of(weights) != (n,):
        raise ValueError("should have one weight for each sample.")
    counts, givens = zip(*map(_bins, bins), strict=True)
    limits = None if range is None else tuple(None if r is None else tuple(r) for r in range)
    found, edges = _grid(sample, givens, limits, weights, counts, bool(density))
    return found, edges


@whole("bins", "density")
def _grid(
    sample: Any,
    givens: tuple[Any, ...],
    limits: Any,
    weights: Any,
    bins: tuple[int | None, ...],
    density: bool,
) -> tuple[Any, list[Any]]:
    if isinstance(sample, tuple):
        columns = [ravel(x) for x in promote_dtypes(*sample)]
    else:
        columns = [_column(sample, i) for i in range(shape_of(sample)[1])]
    columns, weights = _weighed(columns, weights)
    edges = [
        _edges(c, given, None if limits is None else limits[i], count)
        for i, (c, given, count) in enumerate(zip(columns, givens, bins, strict=True))
    ]
    if weights is None:
        weights = shape.full(shape_of(columns[0]), 1, default_int())
    elif not is_inexact(typeof(weights).dtype):
        weights = cast(weights, inexact_dtype(typeof(weights).dtype))
    counts = _counts(columns, edges, weights)
    if density:
        exact = not is_inexact(typeof(counts).dtype)
        counts = cast(counts, result_type(*edges) if exact else result_type(counts, *edges))
        counts = combine(elementwise.div, counts, sum(counts))
        for axis, e in enumerate(edges):
            n = shape_of(e)[0]
            widths = elementwise.sub(shape.slice_axis(e, 0, 1, n), shape.slice_axis(e, 0, 0, n - 1))
            along = shape.broadcast_in_dim(
                cast(widths, typeof(counts).dtype), shape=shape_of(counts), dims=(axis,)
            )
            counts = elementwise.div(counts, along)
    return counts, edges


def _column(matrix: Any, i: int) -> Any:
    """One column of a matrix."""
    return shape.squeeze(shape.slice_axis(matrix, 1, i, i + 1), (1,))
