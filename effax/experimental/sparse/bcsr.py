"""`BCSR`: elements row by row, with the columns they are in; for matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import effax.numpy as jnp
from effax.effects.tree import register_pytree_node_class
from effax.effects.value import Array
from effax.experimental.sparse.bcoo import BCOO, JAXSparse
from effax.experimental.sparse.elements import bcoo_fromdense, bcoo_sum_duplicates
from effax.experimental.sparse.products import bcoo_dot_general, matmul


@register_pytree_node_class
class BCSR(JAXSparse):
    """A sparse matrix by rows: `indptr[i]` to `indptr[i + 1]` are the elements of row i.

    `indices` are their columns. There are no batch and no dense axes.

    >>> import effax.numpy as jnp
    >>> m = BCSR.fromdense(jnp.array([[0.0, 1.0], [2.0, 3.0]]))
    >>> m.indices.tolist(), m.indptr.tolist()
    ([1, 0, 1], [0, 1, 3])
    >>> m @ jnp.array([1.0, 10.0])
    Array([10., 32.], dtype=float32)
    """

    n_batch = n_dense = 0
    n_sparse = 2

    def __init__(
        self,
        args: tuple[Array, Array, Array],
        *,
        shape: Sequence[int],
        indices_sorted: bool = False,
        unique_indices: bool = False,
    ) -> None:
        self.data, self.indices, self.indptr = (jnp.asarray(x) for x in args)
        self.shape = tuple(int(n) for n in shape)
        self.indices_sorted = bool(indices_sorted)
        self.unique_indices = bool(unique_indices)
        fits = (
            len(self.shape) == 2
            and self.data.ndim == 1
            and self.data.shape == self.indices.shape
            and self.indptr.shape == (self.shape[0] + 1,)
        )
        if not fits:
            raise ValueError(
                f"Invalid BCSR: data {self.data.shape}, indices {self.indices.shape} and indptr "
                f"{self.indptr.shape} for a matrix of shape {self.shape}; use a BCOO for batch "
                "and dense axes"
            )

    def tree_flatten(self) -> tuple[tuple[Array, Array, Array], Any]:
        """Data, columns and rows; the shape is metadata."""
        return (self.data, self.indices, self.indptr), (
            self.shape,
            self.indices_sorted,
            self.unique_indices,
        )

    @classmethod
    def tree_unflatten(cls, metadata: Any, children: Sequence[Any]) -> BCSR:
        """The matrix of these parts."""
        made: BCSR = object.__new__(cls)
        made.data, made.indices, made.indptr = children
        made.shape, made.indices_sorted, made.unique_indices = metadata
        return made

    @property
    def nse(self) -> int:  # type: ignore[override]
        """The number of specified elements."""
        return int(self.indices.shape[0])

    @classmethod
    def fromdense(cls, mat: Array, *, nse: int | None = None, index_dtype: Any = jnp.int32) -> BCSR:
        """The elements of a dense matrix that are not zero; `nse` is the room for them."""
        return cls.from_bcoo(bcoo_fromdense(mat, nse=nse, index_dtype=index_dtype))

    @classmethod
    def from_bcoo(cls, arr: BCOO) -> BCSR:
        """The matrix that is given by positions."""
        if arr.n_sparse != 2 or arr.n_batch or arr.n_dense:
            raise NotImplementedError(
                f"BCSR.from_bcoo: expected a matrix of two sparse axes, got {arr!r}"
            )
        ordered = bcoo_sum_duplicates(arr, nse=arr.nse)
        rows, columns = ordered.indices.T
        starts = jnp.searchsorted(rows, jnp.arange(arr.shape[0] + 1)).astype(rows.dtype)
        return cls(
            (ordered.data, columns, starts),
            shape=arr.shape,
            indices_sorted=True,
            unique_indices=True,
        )

    @classmethod
    def from_scipy_sparse(cls, mat: Any, *, index_dtype: Any = None) -> BCSR:
        """The elements of a matrix of `scipy.sparse`."""
        csr = mat.tocsr()
        dtype = index_dtype or jnp.int32
        indices, indptr = (jnp.asarray(x, dtype) for x in (csr.indices, csr.indptr))
        parts = jnp.asarray(csr.data), indices, indptr
        return cls(parts, shape=mat.shape)

    def to_bcoo(self) -> BCOO:
        """The same matrix by positions."""
        place = jnp.arange(self.nse)
        rows = jnp.searchsorted(self.indptr, place, side="right").astype(self.indices.dtype) - 1
        return BCOO(
            (self.data, jnp.stack([rows, self.indices], 1)),
            shape=self.shape,
            indices_sorted=self.indices_sorted,
            unique_indices=self.unique_indices,
        )

    def todense(self) -> Array:
        """The dense matrix."""
        return self.to_bcoo().todense()

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> BCSR:
        """The same matrix with each position once, in order."""
        return BCSR.from_bcoo(self.to_bcoo().sum_duplicates(nse, remove_zeros))

    def astype(self, dtype: Any) -> BCSR:
        """The elements as another dtype."""
        parts = self.data.astype(dtype), self.indices, self.indptr
        known = {"indices_sorted": self.indices_sorted, "unique_indices": self.unique_indices}
        return BCSR(parts, shape=self.shape, **known)

    def block_until_ready(self) -> BCSR:
        """Wait until the elements are computed."""
        for x in (self.data, self.indices, self.indptr):
            x.block_until_ready()
        return self

    def __matmul__(self, other: Any) -> Any:
        return matmul(self.to_bcoo(), other.to_bcoo() if isinstance(other, BCSR) else other)

    def __rmatmul__(self, other: Any) -> Any:
        return matmul(other, self.to_bcoo())


def bcsr_fromdense(mat: Array, *, nse: int | None = None, index_dtype: Any = jnp.int32) -> BCSR:
    """Return the elements of a dense matrix that are not zero, by rows.

    Args:
      mat: array_like with two axes.
      nse: the number of elements to make room for; by default as many as are not zero.
      index_dtype: the dtype of the indices.

    >>> import effax.numpy as jnp
    >>> from effax.experimental import sparse
    >>> m = sparse.bcsr_fromdense(jnp.array([[1., 0., 2.], [0., 3., 0.]]))
    >>> m.indptr
    Array([0, 2, 3], dtype=int32)
    """
    return BCSR.fromdense(mat, nse=nse, index_dtype=index_dtype)


def bcsr_todense(mat: BCSR) -> Array:
    """Return the dense matrix of a sparse one.

    Args:
      mat: the sparse matrix.

    >>> import effax.numpy as jnp
    >>> from effax.experimental import sparse
    >>> m = sparse.BCSR.fromdense(jnp.array([[1., 0., 2.], [0., 3., 0.]]))
    >>> sparse.bcsr_todense(m)
    Array([[1., 0., 2.],
           [0., 3., 0.]], dtype=float32)
    """
    return mat.todense()


def bcsr_dot_general(
    lhs: Any,
    rhs: Any,
    *,
    dimension_numbers: Any,
    precision: None = None,
    preferred_element_type: Any = None,
) -> Any:
    """Compute `dot_general` where an operand is a `BCSR`: see `bcoo_dot_general`.

    Args:
      lhs, rhs: a `BCSR` and an array, in either order; or two sparse arrays.
      dimension_numbers: as for `lax.dot_general`.
      precision: must be None.
      preferred_element_type: the dtype of the result.

    >>> import effax.numpy as jnp
    >>> from effax.experimental import sparse
    >>> m = sparse.BCSR.fromdense(jnp.array([[1., 0., 2.], [0., 3., 0.]]))
    >>> numbers = (([1], [0]), ([], []))
    >>> sparse.bcsr_dot_general(m, jnp.array([1.0, 2.0, 3.0]), dimension_numbers=numbers)
    Array([7., 6.], dtype=float32)
    """
    a, b = (x.to_bcoo() if isinstance(x, BCSR) else x for x in (lhs, rhs))
    return bcoo_dot_general(
        a,
        b,
        dimension_numbers=dimension_numbers,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )
