"""`BCSR`: elements row by row, with the columns they are in, in batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import effax.numpy as jnp
from effax.effects.tree import register_pytree_node_class
from effax.effects.value import Array
from effax.experimental.sparse.batches import over_batches, shape_in_batches, whole_batches
from effax.experimental.sparse.bcoo import BCOO, JAXSparse, of_the_package
from effax.experimental.sparse.compiling import compiled
from effax.experimental.sparse.duplicates import bcoo_sort_indices
from effax.experimental.sparse.elements import (
    bcoo_fromdense,
    inside,
    only_inside,
    outside,
    sparse_shape,
)
from effax.experimental.sparse.products import bcoo_dot_general, matmul


@register_pytree_node_class
class BCSR(JAXSparse):
    """Sparse matrices by rows: `indptr[i]` to `indptr[i + 1]` are the elements of row i.

    `indices` are their columns. The axes of `shape` are batch axes, the two sparse ones, and dense
    ones: `data` has shape (*batch, nse, *dense), `indices` (*batch, nse), and `indptr`
    (*batch, rows + 1). A batch axis of length 1 is shared by all batches, as in a `BCOO`.

    >>> import effax.numpy as jnp
    >>> m = BCSR.fromdense(jnp.array([[0.0, 1.0], [2.0, 3.0]]))
    >>> m.indices.tolist(), m.indptr.tolist()
    ([1, 0, 1], [0, 1, 3])
    >>> m @ jnp.array([1.0, 10.0])
    Array([10., 32.], dtype=float32)
    """

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
        self._check()

    def _check(self) -> None:
        data, indices, indptr = (x.shape for x in (self.data, self.indices, self.indptr))
        batch, dense, shape = len(indices) - 1, len(data) - len(indices), self.shape
        fits = (
            batch >= 0
            and dense >= 0
            and len(indptr) == batch + 1
            and len(shape) == batch + 2 + dense
            and data[batch] == indices[batch]
            and indptr[batch] == shape[batch] + 1
            and data[batch + 1 :] == shape[batch + 2 :]
            and all(
                n in (1, m)
                for x in (data, indices, indptr)
                for n, m in zip(x[:batch], shape, strict=False)
            )
        )
        if not fits:
            raise ValueError(
                f"Invalid BCSR: data {data}, indices {indices} and indptr {indptr} do not fit "
                f"shape {shape}: their shapes must be (*batch, nse, *dense), (*batch, nse) and "
                "(*batch, rows + 1)"
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
        """The array of these parts: of a lane, or of many, where `vmap` took or gave an axis."""
        made: BCSR = object.__new__(cls)
        made.data, made.indices, made.indptr = children
        shape, made.indices_sorted, made.unique_indices = metadata
        if all(hasattr(x, "shape") for x in children) and made.indices.shape:
            n_batch = len(made.indices.shape) - 1
            others = len(made.data.shape) - n_batch + 1
            shape = shape_in_batches(shape, [x.shape[:n_batch] for x in children], others)
        made.shape = shape
        return made

    @property
    def nse(self) -> int:  # type: ignore[override]
        """The number of specified elements in each batch."""
        return int(self.indices.shape[-1])

    @property
    def n_batch(self) -> int:
        """The number of leading batch axes."""
        return self.indices.ndim - 1

    @property
    def n_dense(self) -> int:
        """The number of trailing axes that are dense in each element."""
        return self.data.ndim - self.indices.ndim

    @classmethod
    def fromdense(
        cls,
        mat: Array,
        *,
        nse: int | None = None,
        index_dtype: Any = jnp.int32,
        n_dense: int = 0,
        n_batch: int = 0,
    ) -> BCSR:
        """The elements of a dense array that are not zero: see `bcsr_fromdense`."""
        return bcsr_fromdense(
            mat, nse=nse, n_batch=n_batch, n_dense=n_dense, index_dtype=index_dtype
        )

    @classmethod
    def from_bcoo(cls, arr: BCOO) -> BCSR:
        """The array that is given by positions. It must have two sparse axes."""
        if arr.n_sparse != 2:
            raise NotImplementedError(
                f"BCSR.from_bcoo: expected an array with two sparse axes, got {arr!r}; use "
                "arr.update_layout(n_batch=..., n_dense=...)"
            )
        return _by_rows(arr)

    @classmethod
    def from_scipy_sparse(cls, mat: Any, *, index_dtype: Any = None) -> BCSR:
        """The elements of a matrix of `scipy.sparse`."""
        csr = mat.tocsr()
        dtype = index_dtype or jnp.int32
        indices, indptr = (jnp.asarray(x, dtype) for x in (csr.indices, csr.indptr))
        parts = jnp.asarray(csr.data), indices, indptr
        return cls(parts, shape=mat.shape)

    def to_bcoo(self) -> BCOO:
        """The same array by positions."""

        def one(indices: Array, indptr: Array) -> Array:
            place = jnp.arange(self.nse)
            rows = jnp.searchsorted(indptr, place, side="right").astype(indices.dtype) - 1
            return jnp.stack([rows, indices], 1)

        n_batch = self.n_batch
        stored = jnp.broadcast_shapes(self.indices.shape[:n_batch], self.indptr.shape[:n_batch])
        return BCOO(
            (self.data, over_batches(one, stored)(self.indices, self.indptr)),
            shape=self.shape,
            indices_sorted=self.indices_sorted,
            unique_indices=self.unique_indices,
        )

    def todense(self) -> Array:
        """The dense array."""
        return self.to_bcoo().todense()

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> BCSR:
        """The same array with each position once, in order."""
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

    def __getitem__(self, index: Any) -> BCSR:
        found = self.to_bcoo()[index]
        if found.n_sparse != 2:
            raise NotImplementedError(
                f"{self!r}[{index!r}] has {found.n_sparse} sparse axes, and a BCSR has two: index "
                "to_bcoo() instead"
            )
        return BCSR.from_bcoo(found)

    def __matmul__(self, other: Any) -> Any:
        return matmul(self.to_bcoo(), other.to_bcoo() if isinstance(other, BCSR) else other)

    def __rmatmul__(self, other: Any) -> Any:
        return matmul(other, self.to_bcoo())


@compiled()
def _by_rows(arr: BCOO) -> BCSR:
    arr = whole_batches(arr)
    if not arr.indices_sorted:
        keep = inside(arr.indices, sparse_shape(arr))[..., None]
        arr = bcoo_sort_indices(
            arr.like(only_inside(arr), indices=jnp.where(keep, arr.indices, outside(arr)))
        )
    rows, columns = arr.indices[..., 0], arr.indices[..., 1]
    count = arr.shape[arr.n_batch]

    def starts(rows: Array) -> Array:
        return jnp.searchsorted(rows, jnp.arange(count + 1)).astype(rows.dtype)

    return BCSR(
        (arr.data, columns, over_batches(starts, arr.shape[: arr.n_batch])(rows)),
        shape=arr.shape,
        indices_sorted=True,
        unique_indices=arr.unique_indices,
    )


def bcsr_fromdense(
    mat: Array,
    *,
    nse: int | None = None,
    n_batch: int = 0,
    n_dense: int = 0,
    index_dtype: Any = jnp.int32,
) -> BCSR:
    """Return the elements of a dense array that are not zero, by rows.

    Args:
      mat: array_like with two axes more than `n_batch` and `n_dense` together.
      nse: the number of elements to make room for in each batch; by default as many as are not
        zero.
      n_batch, n_dense: how many axes are batch axes, and how many are dense.
      index_dtype: the dtype of the indices.

    Raises:
      ValueError: for another number of axes.

    >>> import effax.numpy as jnp
    >>> from effax.experimental import sparse
    >>> m = sparse.bcsr_fromdense(jnp.array([[1., 0., 2.], [0., 3., 0.]]))
    >>> m.indptr
    Array([0, 2, 3], dtype=int32)
    """
    mat = jnp.asarray(mat)
    if mat.ndim - n_batch - n_dense != 2:
        raise ValueError(
            f"bcsr_fromdense: mat of shape {mat.shape} must have two sparse axes, got {n_batch=} "
            f"and {n_dense=}"
        )
    options: dict[str, Any] = {"nse": nse, "n_batch": n_batch, "n_dense": n_dense}
    return BCSR.from_bcoo(bcoo_fromdense(mat, index_dtype=index_dtype, **options))


def bcsr_todense(mat: BCSR) -> Array:
    """Return the dense array of a sparse one.

    Args:
      mat: the sparse array.

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


__getattr__ = of_the_package("bcsr_")
