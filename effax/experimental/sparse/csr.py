"""`CSR` and `CSC`: matrices by rows, and by columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import effax.numpy as jnp
from effax.effects.tree import register_pytree_node_class
from effax.effects.value import Array
from effax.experimental.sparse.bcoo import BCOO, of_the_package
from effax.experimental.sparse.bcsr import BCSR
from effax.experimental.sparse.vectors import Vectors, no_axes, product


class _Compressed(Vectors):
    """A matrix by the elements of each row, or of each column: those along `axis`."""

    axis: ClassVar[int]
    indices: Array
    indptr: Array
    parts = ("data", "indices", "indptr")

    def _lengths(self, first: tuple[int, ...]) -> list[tuple[int, ...]]:
        return [first[:1], first[:1], (self.shape[self.axis] + 1,)]


@register_pytree_node_class
class CSR(_Compressed):
    """A sparse matrix by rows: `indptr[i]` to `indptr[i + 1]` are the elements of row i.

    `indices` are their columns.

    >>> import effax.numpy as jnp
    >>> m = CSR.fromdense(jnp.array([[0.0, 1.0], [2.0, 3.0]]))
    >>> m.indices.tolist(), m.indptr.tolist()
    ([1, 0, 1], [0, 1, 3])
    """

    axis = 0

    @classmethod
    def from_bcoo(cls, arr: BCOO) -> Self:
        """The matrix that is given by positions."""
        return cls(BCSR.from_bcoo(arr).tree_flatten()[0], shape=arr.shape)

    def to_bcoo(self) -> BCOO:
        """The same matrix by positions."""
        return BCSR(self.vectors(), shape=self.shape).to_bcoo()

    def transpose(self, axes: Sequence[int] | None = None) -> CSC:
        """The transposed matrix, of the same vectors; `axes` must be None."""
        no_axes(axes)
        return CSC(self.vectors(), shape=self.shape[::-1])


@register_pytree_node_class
class CSC(_Compressed):
    """A sparse matrix by columns: `indptr[j]` to `indptr[j + 1]` are the elements of column j.

    `indices` are their rows.

    >>> import effax.numpy as jnp
    >>> m = CSC.fromdense(jnp.array([[0.0, 1.0], [2.0, 3.0]]))
    >>> m.indices.tolist(), m.indptr.tolist()
    ([1, 0, 1], [0, 1, 3])
    """

    axis = 1

    @classmethod
    def from_bcoo(cls, arr: BCOO) -> Self:
        """The matrix that is given by positions."""
        return cls(BCSR.from_bcoo(arr.T).tree_flatten()[0], shape=arr.shape)

    def to_bcoo(self) -> BCOO:
        """The same matrix by positions."""
        return self.transpose().to_bcoo().T

    def transpose(self, axes: Sequence[int] | None = None) -> CSR:
        """The transposed matrix, of the same vectors; `axes` must be None."""
        no_axes(axes)
        return CSR(self.vectors(), shape=self.shape[::-1])


def csr_fromdense(mat: Array, *, nse: int | None = None, index_dtype: Any = jnp.int32) -> CSR:
    """Return the elements of a dense matrix that are not zero, by rows.

    Args:
      mat: array_like with two axes.
      nse: the number of elements to make room for; by default as many as are not zero.
      index_dtype: the dtype of the indices.

    >>> import effax.numpy as jnp
    >>> csr_fromdense(jnp.array([[1.0, 0.0], [0.0, 2.0]])).indptr
    Array([0, 1, 2], dtype=int32)
    """
    return CSR.fromdense(mat, nse=nse, index_dtype=index_dtype)


def csr_todense(mat: CSR) -> Array:
    """Return the dense matrix of a sparse one.

    Args:
      mat: the sparse matrix.

    >>> csr_todense(CSR(([1.0, 2.0], [1, 0], [0, 1, 2]), shape=(2, 2)))
    Array([[0., 1.],
           [2., 0.]], dtype=float32)
    """
    return mat.todense()


def csr_matvec(mat: CSR, v: Array, transpose: bool = False) -> Array:
    """Return the product of a sparse matrix and a dense vector.

    Args:
      mat: the sparse matrix.
      v: the vector.
      transpose: whether the matrix is transposed first.

    >>> import effax.numpy as jnp
    >>> csr_matvec(CSR(([1.0, 2.0], [1, 0], [0, 1, 2]), shape=(2, 2)), jnp.array([1.0, 10.0]))
    Array([10.,  2.], dtype=float32)
    """
    return product(mat, v, 1, transpose, "csr_matvec")


def csr_matmat(mat: CSR, B: Array, *, transpose: bool = False) -> Array:  # noqa: N803
    """Return the product of a sparse matrix and a dense one.

    Args:
      mat: the sparse matrix.
      B: the dense matrix.
      transpose: whether the sparse matrix is transposed first.

    >>> import effax.numpy as jnp
    >>> csr_matmat(CSR(([1.0, 2.0], [1, 0], [0, 1, 2]), shape=(2, 2)), jnp.eye(2))
    Array([[0., 1.],
           [2., 0.]], dtype=float32)
    """
    return product(mat, B, 2, transpose, "csr_matmat")


__getattr__ = of_the_package("csr_")
