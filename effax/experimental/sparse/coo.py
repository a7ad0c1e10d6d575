"""`COO`: matrices by the rows and columns of their elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import effax.numpy as jnp
from effax.effects.tree import register_pytree_node_class
from effax.effects.value import Array
from effax.experimental.sparse.bcoo import BCOO, of_the_package
from effax.experimental.sparse.vectors import Vectors, no_axes, product


class COOInfo(NamedTuple):
    """The shape of a `COO`, and whether its rows or columns are sorted."""

    shape: tuple[int, ...]
    rows_sorted: bool = False
    cols_sorted: bool = False


@register_pytree_node_class
class COO(Vectors):
    """A sparse matrix by the rows and columns of its elements: `(data, row, col)`.

    >>> import effax.numpy as jnp
    >>> m = COO.fromdense(jnp.array([[0.0, 1.0], [2.0, 3.0]]))
    >>> m.row.tolist(), m.col.tolist(), m @ jnp.array([1.0, 10.0])
    ([0, 1, 1], [1, 0, 1], Array([10., 32.], dtype=float32))
    """

    row: Array
    col: Array
    parts = ("data", "row", "col")

    def __init__(
        self,
        args: Sequence[Any],
        *,
        shape: Sequence[int],
        rows_sorted: bool = False,
        cols_sorted: bool = False,
    ) -> None:
        super().__init__(args, shape=shape, rows_sorted=rows_sorted, cols_sorted=cols_sorted)

    @classmethod
    def from_bcoo(cls, arr: BCOO) -> Self:
        """The matrix that is given by positions."""
        row, col = arr.indices.T
        return cls((arr.data, row, col), shape=arr.shape, rows_sorted=arr.indices_sorted)

    def to_bcoo(self) -> BCOO:
        """The same matrix by positions."""
        return BCOO((self.data, jnp.stack([self.row, self.col], 1)), shape=self.shape)

    def transpose(self, axes: Sequence[int] | None = None) -> COO:
        """The transposed matrix, of the same vectors; `axes` must be None."""
        no_axes(axes)
        rows, cols = self.known["rows_sorted"], self.known["cols_sorted"]
        turned = self.data, self.col, self.row
        return COO(turned, shape=self.shape[::-1], rows_sorted=cols, cols_sorted=rows)


def coo_fromdense(mat: Array, *, nse: int | None = None, index_dtype: Any = jnp.int32) -> COO:
    """Return the elements of a dense matrix that are not zero, with their rows and columns.

    Args:
      mat: array_like with two axes.
      nse: the number of elements to make room for; by default as many as are not zero.
      index_dtype: the dtype of rows and columns.

    >>> import effax.numpy as jnp
    >>> coo_fromdense(jnp.array([[1.0, 0.0], [0.0, 2.0]])).row
    Array([0, 1], dtype=int32)
    """
    return COO.fromdense(mat, nse=nse, index_dtype=index_dtype)


def coo_todense(mat: COO) -> Array:
    """Return the dense matrix of a sparse one.

    Args:
      mat: the sparse matrix.

    >>> coo_todense(COO(([1.0, 2.0], [0, 1], [1, 0]), shape=(2, 2)))
    Array([[0., 1.],
           [2., 0.]], dtype=float32)
    """
    return mat.todense()


def coo_matvec(mat: COO, v: Array, transpose: bool = False) -> Array:
    """Return the product of a sparse matrix and a dense vector.

    Args:
      mat: the sparse matrix.
      v: the vector.
      transpose: whether the matrix is transposed first.

    >>> import effax.numpy as jnp
    >>> coo_matvec(COO(([1.0, 2.0], [0, 1], [1, 0]), shape=(2, 2)), jnp.array([1.0, 10.0]))
    Array([10.,  2.], dtype=float32)
    """
    return product(mat, v, 1, transpose, "coo_matvec")


def coo_matmat(mat: COO, B: Array, *, transpose: bool = False) -> Array:  # noqa: N803
    """Return the product of a sparse matrix and a dense one.

    Args:
      mat: the sparse matrix.
      B: the dense matrix.
      transpose: whether the sparse matrix is transposed first.

    >>> import effax.numpy as jnp
    >>> coo_matmat(COO(([1.0, 2.0], [0, 1], [1, 0]), shape=(2, 2)), jnp.eye(2))
    Array([[0., 1.],
           [2., 0.]], dtype=float32)
    """
    return product(mat, B, 2, transpose, "coo_matmat")


__getattr__ = of_the_package("coo_")
