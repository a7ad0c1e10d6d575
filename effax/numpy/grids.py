"""Grids: matrices of a pattern, parts of matrices, and positions in arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, overload

import numpy as np

from effax.eager.whole import whole
from effax.effects.config import numpy_dtype_promotion
from effax.effects.rows import comparison, elementwise, selection, shape
from effax.effects.types import (
    canonical_shape,
    default_float,
    default_int,
    float32,
    is_integer,
    typeof,
    user_dtype,
)
from effax.effects.value import Array, ArrayLike, DeviceLike, DTypeLike
from effax.keys.decorators import moves_keys
from effax.numpy.creation import zeros_like
from effax.numpy.even_spacing import arange, linspace
from effax.numpy.joining import concatenate, stack
from effax.numpy.manipulation import moveaxis, ravel, reshape_values
from effax.operands.arguments import (
    asked_dtype,
    bounded,
    broadcast,
    canonical_axis,
    cast,
    check_arrays,
    combine,
    concrete_int,
    known_number,
    on_device,
    shape_of,
    strong,
)
from effax.operands.promoting import array, arraylike, promote_dtypes


def below(rows: int, columns: int, k: Any) -> Any:
    """Return the mask of a matrix's elements on or below a diagonal."""
    row = shape.iota(dtype=np.dtype(np.int32), shape=(rows, columns), dimension=0)
    column = shape.iota(dtype=np.dtype(np.int32), shape=(rows, columns), dimension=1)
    return comparison.ge(combine(elementwise.add, row, k), column)


@whole("N", "M", "k", "dtype")
def _eye(N: int, M: int, k: Any, dtype: Any) -> Any:  # noqa: N803
    row = shape.iota(dtype=np.dtype(np.int32), shape=(N, M), dimension=0)
    column = shape.iota(dtype=np.dtype(np.int32), shape=(N, M), dimension=1)
    return cast(comparison.eq(combine(elementwise.add, row, k), column), dtype)


def eye(
    N: int,  # noqa: N803
    M: int | None = None,  # noqa: N803
    k: ArrayLike = 0,
    dtype: DTypeLike | None = None,
    *,
    device: DeviceLike = None,
) -> Array:
    """Return a matrix with ones on a diagonal, zeros elsewhere.

    Args:
      N: the number of rows.
      M: the number of columns; by default `N`.
      k: the diagonal: an integer, 0 for the main one, positive above it, negative below.
      dtype: the dtype of the result; by default the default float.
      device: where to put the result; by default the default device.

    >>> eye(2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    kind = default_float() if dtype is None else user_dtype(dtype, "eye")
    if any(isinstance(n, int) and n < 0 for n in (N, M)):
        raise ValueError(f"negative dimensions are not allowed, got {N} and {M}")
    rows = canonical_shape(concrete_int(N, "the number of rows of eye"))[0]
    columns = (
        rows if M is None else canonical_shape(concrete_int(M, "the number of columns of eye"))[0]
    )
    if np.ndim(k) != 0:
        raise TypeError(f"eye: k must be a scalar, got {k}")
    if isinstance(k, float):
        raise TypeError(f"eye: k must be an integer, got {k}")
    result = _eye(rows, columns, bounded(k), kind)
    return on_device(result, device)


def identity(n: int, dtype: DTypeLike | None = None) -> Array:
    """Return the identity matrix.

    Args:
      n: the number of rows and of columns.
      dtype: the dtype of the result; by default the default float.

    >>> identity(2, int).tolist()
    [[1, 0], [0, 1]]
    """
    return eye(n, dtype=dtype)


@whole("N", "M", "dtype")
def tri(N: int, M: int | None = None, k: int = 0, dtype: DTypeLike | None = None) -> Array:  # noqa: N803
    """Return a matrix with ones on and below a diagonal, zeros above.

    Args:
      N: the number of rows.
      M: the number of columns; by default `N`.
      k: the diagonal: an integer, 0 for the main one, positive above it, negative below.
      dtype: the dtype of the result; by default float32.

    >>> tri(2).tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    """
    kind = float32 if dtype is None else user_dtype(dtype, "tri")
    rows = concrete_int(N, "the number of rows of tri")
    columns = rows if M is None else concrete_int(M, "the number of columns of tri")
    check_arrays("tri", k)
    if not is_integer(typeof(k).dtype) or shape_of(k):
        raise TypeError(f"tri: k must be an integer scalar, got {k}")
    return cast(below(rows, columns, bounded(k)), kind)


def _triangle(name: str, m: Any, k: int, lower: bool) -> Any:
    check_arrays(name, m)
    type = typeof(m)
    if type.ndim < 2:
        raise ValueError(f"Argument to jnp.{name} must be at least 2D")
    k = concrete_int(k, f"the k of {name}")
    k = bounded(k if lower else k - 1)
    mask = broadcast(below(type.shape[-2], type.shape[-1], k), type.shape)
    zeros = zeros_like(m)
    return selection.select_n(mask, zeros, m) if lower else selection.select_n(mask, m, zeros)


@whole("k")
def tril(m: ArrayLike, k: int = 0) -> Array:
    """Return the matrix with zeros above a diagonal.

    Args:
      m: array_like, (..., rows, columns).
      k: the diagonal: 0 for the main one, positive above it, negative below.

    >>> tril(np.ones((2, 2))).tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    """
    return _triangle("tril", m, k, True)


@whole("k")
def triu(m: ArrayLike, k: int = 0) -> Array:
    """Return the matrix with zeros below a diagonal.

    Args:
      m: array_like, (..., rows, columns).
      k: the diagonal: 0 for the main one, positive above it, negative below.

    >>> triu(np.ones((2, 2))).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    return _triangle("triu", m, k, False)


@moves_keys()
@whole("offset", "axis1", "axis2")
def diagonal(a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """Return the diagonals of the matrices along two axes, as the last axis of the result.

    Args:
      a: array_like, of at least two axes.
      offset: the diagonal: 0 for the main one, positive above it, negative below.
      axis1, axis2: the axes of the rows and of the columns; negative ones count from the end.

    >>> diagonal(np.arange(4).reshape(2, 2)).tolist()
    [0, 3]
    """
    check_arrays("diagonal", a)
    ndim = len(shape_of(a))
    if ndim < 2:
        raise ValueError("diagonal requires an array of at least two dimensions.")
    first, second = canonical_axis(axis1, ndim), canonical_axis(axis2, ndim)
    if first == second:
        raise ValueError("axis1 and axis2 cannot be the same")
    offset = concrete_int(offset, "the offset of diagonal")
    a = moveaxis(a, (first, second), (-2, -1))
    *rest, rows, columns = shape_of(a)
    last = ndim - 1
    top, left = max(-offset, 0), max(offset, 0)
    length = max(0, min(rows - top, columns - left))
    if length == 0:
        return (
            shape.reshape(shape.slice_axis(a, last, 0, 0), shape=(*rest, 0))
            if rows == 0
            else (
                shape.squeeze(
                    shape.slice_axis(shape.slice_axis(a, last - 1, 0, 1), last, 0, 0), (last - 1,)
                )
            )
        )
    a = shape.slice_axis(a, last - 1, top, top + length)
    # In row-major order the elements of a diagonal are evenly spaced.
    flat = shape.reshape(a, shape=(*rest, length * columns))
    end = left + (length - 1) * (columns + 1) + 1
    return shape.slice_axis(flat, last - 1, left, end, columns + 1)


@whole("k")
def diag(v: ArrayLike, k: int = 0) -> Array:
    """Return the matrix with a vector on its k-th diagonal, or the k-th diagonal of a matrix.

    Args:
      v: array_like, a vector or a matrix.
      k: the diagonal: 0 for the main one, positive above it, negative below.

    >>> diag(np.array([1, 2])).tolist()
    [[1, 0], [0, 2]]
    """
    check_arrays("diag", v)
    k = concrete_int(k, "the k of diag")
    type = typeof(v)
    if type.ndim == 2:
        return diagonal(v, k)
    if type.ndim != 1:
        raise ValueError("diag input must be 1d or 2d")
    n = type.shape[0]
    size = n + abs(k)
    start = k if k >= 0 else -k * size
    reach = n + max(n - 1, 0) * size
    flat = shape.pad_axis(
        v, 0, start if n else size * size, (size * size - start - reach) if n else 0, size
    )
    return shape.reshape(flat, shape=(size, size))


@whole("k")
def diagflat(v: ArrayLike, k: int = 0) -> Array:
    """Return the matrix with all elements of an array on its k-th diagonal.

    Args:
      v: array_like, of any shape.
      k: the diagonal: 0 for the main one, positive above it, negative below.

    >>> diagflat(np.array([[1, 2]])).tolist()
    [[1, 0], [0, 2]]
    """
    check_arrays("diagflat", v)
    return diag(strong(ravel(v)), k)


def fill_diagonal(
    a: ArrayLike, val: ArrayLike, wrap: bool = False, *, inplace: bool = True
) -> Array:
    """Return the array with its main diagonal replaced.

    Args:
      a: array_like, of two axes, or of more that have one length.
      val: array_like; its elements are repeated along the diagonal as often as needed.
      wrap: must be False.
      inplace: must be False: arrays are immutable, and the result is a new array.

    >>> fill_diagonal(np.zeros((2, 2)), 5, inplace=False).tolist()
    [[5.0, 0.0], [0.0, 5.0]]
    """
    if inplace:
        raise NotImplementedError(
            "fill_diagonal: effax arrays are immutable, so that the result is a new array; pass "
            "inplace=False"
        )
    a, val = arraylike("fill_diagonal", a, val)
    lengths = shape_of(a)
    if wrap:
        raise NotImplementedError("wrap=True is not implemented")
    if len(lengths) < 2:
        raise ValueError("array must be at least 2-d")
    if len(lengths) > 2 and len(set(lengths)) != 1:
        raise ValueError("All dimensions of input must be of equal length")
    return _fill_diagonal(a, val)


@whole()
def _fill_diagonal(a: Any, val: Any) -> Any:
    type = typeof(a)
    n = min(type.shape)
    if not n:
        return array(a)
    axes = range(type.ndim)
    rows = [shape.iota(dtype=np.dtype(np.int32), shape=type.shape, dimension=i) for i in axes]
    on = comparison.eq(rows[0], rows[1])
    for row in rows[2:]:
        from effax.effects.rows.logical import and_

        on = and_(on, comparison.eq(rows[0], row))
    values = cast(val, type.dtype)
    if shape_of(values) == ():
        along = broadcast(values, type.shape)
    else:
        flat = ravel(values)
        times = -(-n // shape_of(flat)[0])
        flat = shape.slice_axis(concatenate([flat] * times), 0, 0, n)
        flat = shape.pad_axis(flat, 0, 0, type.shape[0] - n)
        along = shape.broadcast_in_dim(flat, shape=type.shape, dims=(0,))
    return selection.select_n(on, a, along)


@whole("N", "increasing")
def vander(x: ArrayLike, N: int | None = None, increasing: bool = False) -> Array:  # noqa: N803
    """Return the Vandermonde matrix: the powers of a vector's elements, one row for each.

    Args:
      x: array_like, a vector.
      N: the number of columns, for the powers below N; by default the length of `x`.
      increasing: whether the lowest power is in the first column, not the highest.

    >>> vander(np.array([2, 3]), 3).tolist()
    [[4, 2, 1], [9, 3, 1]]
    """
    check_arrays("vander", x)
    if len(shape_of(x)) != 1:
        raise ValueError("x must be a one-dimensional array")
    n = shape_of(x)[0]
    count = n if N is None else concrete_int(N, "N")
    if count < 0:
        raise ValueError("N must be nonnegative")
    columns = [shape.full((n,), 1, typeof(x).dtype)]
    while len(columns) < count:
        columns.append(elementwise.mul(columns[-1], x))
    columns = columns[:count]
    if not increasing:
        columns.reverse()
    if not columns:
        return shape.full((n, 0), 0, typeof(x).dtype)
    return shape.concatenate(*(shape.expand_dims(c, (1,)) for c in columns), axis=1)


@moves_keys("xi")
@whole("copy", "sparse", "indexing")
def meshgrid(
    *xi: ArrayLike, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> list[Array]:
    """Return the coordinates of a grid: each vector repeated along the axes of the others.

    Args:
      *xi: array_like, vectors or scalars.
      copy: must be True: the results are new arrays.
      sparse: whether each result has length 1 along the axes of the other vectors.
      indexing: "xy", where the second axis is that of the first vector, or "ij", where the axes are
        in the order of the vectors.

    >>> [x.tolist() for x in meshgrid(np.array([1, 2]), np.array([3]))]
    [[[1, 2]], [[3, 3]]]
    """
    check_arrays("meshgrid", *xi)
    if not copy:
        raise ValueError("jnp.meshgrid only supports copy=True")
    if indexing not in ("xy", "ij"):
        raise ValueError(f"Valid values for indexing are 'xy' and 'ij', got {indexing}")
    vectors = [x if shape_of(x) else reshape_values(x, (1,)) for x in xi]
    if any(len(shape_of(v)) != 1 for v in vectors):
        raise ValueError(
            f"Arguments to jnp.meshgrid must be 1D, got shapes {[shape_of(x) for x in xi]}"
        )
    order = list(range(len(vectors)))
    if indexing == "xy" and len(order) > 1:
        order[0], order[1] = 1, 0
    lengths = [0] * len(vectors)
    for v, axis in zip(vectors, order, strict=True):
        lengths[axis] = shape_of(v)[0]
    results = []
    for v, axis in zip(vectors, order, strict=True):
        thin = [n if i == axis else 1 for i, n in enumerate(lengths)]
        wanted = thin if sparse else lengths
        results.append(shape.broadcast_in_dim(v, shape=tuple(wanted), dims=(axis,)))
    return results


@overload
def indices(
    dimensions: Sequence[int], dtype: DTypeLike | None = ..., sparse: Literal[False] = ...
) -> Array: ...
@overload
def indices(
    dimensions: Sequence[int], dtype: DTypeLike | None = ..., *, sparse: Literal[True]
) -> tuple[Array, ...]: ...
@overload
def indices(
    dimensions: Sequence[int], dtype: DTypeLike | None = ..., sparse: bool = ...
) -> Array | tuple[Array, ...]: ...
def indices(
    dimensions: Sequence[int], dtype: DTypeLike | None = None, sparse: bool = False
) -> Array | tuple[Array, ...]:
    """Return the indices of each place in an array of a shape, one array for each axis.

    Args:
      dimensions: the shape, lengths known while tracing.
      dtype: the dtype of the result; by default the default integer.
      sparse: whether to return a tuple of arrays that have length 1 along the other axes, not one
        array of shape `(len(dimensions), *dimensions)`.

    >>> indices((2, 2)).tolist()
    [[[0, 0], [1, 1]], [[0, 1], [0, 1]]]
    """
    kind = asked_dtype("indices", dtype) or default_int()
    lengths = canonical_shape([known_number("indices", "dimensions", n) for n in dimensions])
    ndim = len(lengths)
    if sparse:
        return tuple(
            reshape_values(arange(n, dtype=kind), tuple(n if i == axis else 1 for i in range(ndim)))
            for axis, n in enumerate(lengths)
        )
    return _indices(lengths, kind)


@whole("lengths", "dtype")
def _indices(lengths: tuple[int, ...], dtype: Any) -> Any:
    rows = [
        shape.iota(dtype=dtype, shape=(1, *lengths), dimension=axis + 1)
        for axis in range(len(lengths))
    ]
    return shape.concatenate(*rows, axis=0) if rows else shape.full((0,), 0, dtype)


class _Grid:
    """An object whose slices make coordinates: `mgrid[0:2, 0:3]`."""

    def __init__(self, sparse: bool) -> None:
        self.sparse = sparse

    def _axis(self, part: Any) -> Any:
        if not isinstance(part, slice):
            raise TypeError(f"mgrid and ogrid must be indexed by slices, got {part!r}")
        start = 0 if part.start is None else part.start
        if isinstance(part.step, complex):
            return linspace(start, part.stop, int(abs(part.step)))
        return arange(start, part.stop, 1 if part.step is None else part.step)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return self._axis(key)
        # The slices are numbers, which meet under strict promotion too.
        with numpy_dtype_promotion("standard"):
            axes = promote_dtypes(*map(self._axis, key)) if key else ()
        grids = meshgrid(*axes, indexing="ij", sparse=self.sparse)
        if self.sparse:
            return grids
        return stack(grids) if grids else shape.full((0,), 0, default_int())


mgrid = _Grid(sparse=False)
"""`mgrid[a:b, c:d]`: the coordinates of a grid, one array for each axis, stacked.

>>> mgrid[0:2, 0:2].shape
(2, 2, 2)
"""

ogrid = _Grid(sparse=True)
"""`ogrid[a:b, c:d]`: the coordinates of a grid, one array for each axis, of length 1 elsewhere.

>>> [x.shape for x in ogrid[0:2, 0:3]]
[(2, 1), (1, 3)]
"""
