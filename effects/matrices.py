"""Batches of matrices, the last two axes of arrays: products, triangles, diagonals."""

from __future__ import annotations

from typing import Any

from effax.effects.rows import (
    comparison,
    complex,
    contraction,
    elementwise,
    logical,
    reduction,
    shape,
)
from effax.effects.rows.indexing import GatherDimensionNumbers, GatherScatterMode, gather
from effax.effects.rows.selection import select_n
from effax.effects.types import int32, is_complex, typeof

HIGHEST = ("HIGHEST", "HIGHEST")


def transpose(x: Any) -> Any:
    """Rows and columns exchanged."""
    n = typeof(x).ndim
    return shape.transpose(x, permutation=(*range(n - 2), n - 1, n - 2))


def conj(x: Any) -> Any:
    """The complex conjugate; real numbers as they are."""
    return complex.conj(x) if is_complex(typeof(x).dtype) else x


def adjoint(x: Any) -> Any:
    """The conjugate transpose."""
    return conj(transpose(x))


def product(a: Any, b: Any, precision: Any = HIGHEST) -> Any:
    """The matrix product, member by member."""
    n = typeof(a).ndim
    batch = tuple(range(n - 2))
    return contraction.dot_general(
        a,
        b,
        dimension_numbers=(((n - 1,), (n - 2,)), (batch, batch)),
        precision=precision,
        preferred_element_type=None,
    )


def _positions(x: Any) -> tuple[Any, Any]:
    """The row and the column of each element."""
    lengths = typeof(x).shape
    n = len(lengths)
    return (
        shape.iota(dtype=int32, shape=lengths, dimension=n - 2),
        shape.iota(dtype=int32, shape=lengths, dimension=n - 1),
    )


def tril(x: Any, k: int = 0) -> Any:
    """The lower triangle, up to the k-th diagonal; zeros elsewhere."""
    row, column = _positions(x)
    return select_n(comparison.ge(elementwise.add(row, k), column), 0, x)


def triu(x: Any, k: int = 0) -> Any:
    """The upper triangle, from the k-th diagonal on; zeros elsewhere."""
    row, column = _positions(x)
    return select_n(comparison.le(elementwise.add(row, k), column), 0, x)


def from_triangle(x: Any, lower: bool, hermitian: bool = True) -> Any:
    """The Hermitian, or symmetric, matrix of which x holds the lower or the upper triangle."""
    beside = tril(x, -1) if lower else triu(x, 1)
    other = adjoint(beside) if hermitian else transpose(beside)
    middle = select_n(on_diagonal(x), 0, x)
    if hermitian and is_complex(typeof(x).dtype):
        middle = complex.complex(complex.real(middle), 0)
    return elementwise.add(elementwise.add(beside, other), middle)


def on_diagonal(x: Any) -> Any:
    """Whether an element is on the diagonal."""
    return comparison.eq(*_positions(x))


def identity_like(x: Any) -> Any:
    """The identity in the shape and dtype of x."""
    type = typeof(x)
    one = shape.full(type.shape, 1, type.dtype)
    return select_n(on_diagonal(x), 0, one)


def diagonal(x: Any) -> Any:
    """The diagonals of square matrices."""
    only = select_n(on_diagonal(x), 0, x)
    return reduction.reduce_sum(only, axes=(typeof(x).ndim - 1,))


def all_finite(x: Any) -> Any:
    """Whether all elements of a matrix are finite, for each member."""
    t = typeof(x)
    flags = elementwise.is_finite(complex.real(x) if is_complex(t.dtype) else x)
    if is_complex(t.dtype):
        flags = logical.and_(flags, elementwise.is_finite(complex.imag(x)))
    return reduction.reduce_and(flags, axes=(t.ndim - 2, t.ndim - 1))


def columns(v: Any, x: Any) -> Any:
    """A vector for each member, repeated along its rows: element j belongs to column j."""
    lengths = typeof(x).shape
    n = len(lengths)
    return shape.broadcast_in_dim(v, shape=lengths, dims=(*range(n - 2), n - 1))


def rows(v: Any, x: Any) -> Any:
    """A vector for each member, repeated along its columns: element i belongs to row i."""
    lengths = typeof(x).shape
    return shape.broadcast_in_dim(v, shape=lengths, dims=tuple(range(len(lengths) - 1)))


def take_rows(x: Any, places: Any) -> Any:
    """The rows of x in the order of a permutation."""
    lengths = typeof(x).shape
    n = len(lengths)
    batch = tuple(range(n - 2))
    return gather(
        x,
        shape.expand_dims(places, (n - 1,)),
        dimension_numbers=GatherDimensionNumbers(
            offset_dims=(n - 1,),
            collapsed_slice_dims=(n - 2,),
            start_index_map=(n - 2,),
            operand_batching_dims=batch,
            start_indices_batching_dims=batch,
        ),
        slice_sizes=(*(1,) * (n - 1), lengths[-1]),
        mode=GatherScatterMode.PROMISE_IN_BOUNDS,
        fill_value=None,
        indices_are_sorted=False,
        unique_indices=True,
    )
