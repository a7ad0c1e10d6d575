"""`BCOO`: elements with their positions, in batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import effax.numpy as jnp
from effax.effects.tree import register_pytree_node_class
from effax.effects.value import Array
from effax.experimental.sparse.batches import shape_in_batches


class JAXSparse:
    """The base class of sparse arrays: they have a shape and a dtype, and never become dense
    silently.
    """

    shape: tuple[int, ...]
    data: Array
    nse: int
    __array_priority__ = 100
    __hash__ = None  # type: ignore[assignment]

    @property
    def dtype(self) -> Any:
        """The type of the elements."""
        return self.data.dtype

    def todense(self) -> Array:
        """The dense array, which each format makes in its way."""
        raise TypeError(f"{type(self).__name__} does not define todense")

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements, zeros counted."""
        return prod(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        kind = type(self).__name__
        try:
            batch = f", n_batch={self.n_batch}" if self.n_batch else ""  # type: ignore[attr-defined]
            dense = f", n_dense={self.n_dense}" if self.n_dense else ""  # type: ignore[attr-defined]
            return f"{kind}({self.dtype}{list(self.shape)}, nse={self.nse}{batch}{dense})"
        except (AttributeError, IndexError):  # in a tree that holds other leaves than arrays
            return f"{kind}(<invalid>)"

    def __array__(self, *args: Any, **keywords: Any) -> Any:
        raise TypeError(f"{self!r} is never made dense implicitly: call todense()")


@register_pytree_node_class
class BCOO(JAXSparse):
    """A sparse array by the positions of its elements, in batches.

    `data` has shape (*batch, nse, *dense) and `indices` (*batch, nse, n_sparse): the axes of
    `shape` are batch axes, sparse ones and dense ones, in this order. A batch axis of length 1 in
    one of them, or both, is shared by all batches. Elements whose position lies outside do not
    count, which is how unused places are filled; those at one position are summed.

    >>> import effax.numpy as jnp
    >>> BCOO((jnp.array([1.0, 2.0]), jnp.array([[0, 2], [1, 0]])), shape=(2, 3)).todense()
    Array([[0., 0., 1.],
           [2., 0., 0.]], dtype=float32)
    """

    def __init__(
        self,
        args: tuple[Array, Array],
        *,
        shape: Sequence[int],
        indices_sorted: bool = False,
        unique_indices: bool = False,
    ) -> None:
        data, indices = (jnp.asarray(x) for x in args)
        self.data, self.indices = data, indices
        self.shape = tuple(int(n) for n in shape)
        self.indices_sorted = bool(indices_sorted)
        self.unique_indices = bool(unique_indices)
        self._check()

    def _check(self) -> None:
        data, indices, shape = self.data.shape, self.indices.shape, self.shape
        batch, dense = len(indices) - 2, len(data) - len(indices) + 1
        fits = (
            batch >= 0
            and dense >= 0
            and batch + indices[-1] + dense == len(shape)
            and data[batch] == indices[batch]
            and all(n in (1, m) for n, m in zip(data[:batch], shape, strict=False))
            and all(n in (1, m) for n, m in zip(indices[:batch], shape, strict=False))
            and data[batch + 1 :] == shape[len(shape) - dense :]
            and jnp.issubdtype(self.indices.dtype, jnp.integer)
        )
        if not fits:
            raise ValueError(
                f"Invalid BCOO: data of shape {data} and indices "
                f"{self.indices.dtype}{list(indices)} do not fit shape {shape}: their shapes must "
                "be (*batch, nse, *dense) and (*batch, nse, n_sparse)"
            )

    def tree_flatten(self) -> tuple[tuple[Array, Array], Any]:
        """Data and indices; the shape is metadata."""
        return (self.data, self.indices), (self.shape, self.indices_sorted, self.unique_indices)

    @classmethod
    def tree_unflatten(cls, metadata: Any, children: Sequence[Any]) -> BCOO:
        """The array of these parts: of a lane, or of many, where `vmap` took or gave an axis."""
        made: BCOO = object.__new__(cls)
        made.data, made.indices = data, indices = children
        shape, made.indices_sorted, made.unique_indices = metadata
        if hasattr(data, "shape") and hasattr(indices, "shape") and len(indices.shape) > 1:
            n_batch = len(indices.shape) - 2
            others = len(data.shape) - n_batch - 1 + indices.shape[-1]
            stored = data.shape[:n_batch], indices.shape[:n_batch]
            shape = shape_in_batches(shape, stored, others)
        made.shape = shape
        return made

    @property
    def nse(self) -> int:  # type: ignore[override]
        """The number of specified elements in each batch."""
        return int(self.indices.shape[-2])

    @property
    def n_batch(self) -> int:
        """The number of leading batch axes."""
        return self.indices.ndim - 2

    @property
    def n_sparse(self) -> int:
        """The number of axes along which positions are given."""
        return int(self.indices.shape[-1])

    @property
    def n_dense(self) -> int:
        """The number of trailing axes that are dense in each element."""
        return self.data.ndim - self.n_batch - 1

    def like(self, data: Array, indices: Array | None = None, **changed: Any) -> BCOO:
        """Other elements at the same positions, or at others."""
        known: dict[str, Any] = {
            "shape": self.shape,
            "indices_sorted": self.indices_sorted,
            "unique_indices": self.unique_indices,
        }
        return BCOO((data, self.indices if indices is None else indices), **known | changed)

    # The operations below are defined in the modules that they import.

    @classmethod
    def fromdense(
        cls,
        mat: Array,
        *,
        nse: int | None = None,
        index_dtype: Any = jnp.int32,
        n_dense: int = 0,
        n_batch: int = 0,
    ) -> BCOO:
        """The elements of a dense array that are not zero: see `bcoo_fromdense`."""
        from effax.experimental.sparse.elements import bcoo_fromdense

        return bcoo_fromdense(
            mat, nse=nse, index_dtype=index_dtype, n_dense=n_dense, n_batch=n_batch
        )

    @classmethod
    def from_scipy_sparse(
        cls, mat: Any, *, index_dtype: Any = None, n_dense: int = 0, n_batch: int = 0
    ) -> BCOO:
        """The elements of a matrix of `scipy.sparse`."""
        if n_dense or n_batch:
            raise NotImplementedError("BCOO.from_scipy_sparse with nonzero n_dense/n_batch.")
        coo = mat.tocoo()
        indices = jnp.stack([jnp.asarray(x) for x in coo.coords], axis=1)
        return cls(
            (jnp.asarray(coo.data), indices.astype(index_dtype or jnp.int32)), shape=mat.shape
        )

    def todense(self) -> Array:
        """The dense array."""
        from effax.experimental.sparse.elements import bcoo_todense

        return bcoo_todense(self)

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> BCOO:
        """The same array with each position once, in order: see `bcoo_sum_duplicates`."""
        from effax.experimental.sparse.duplicates import bcoo_sum_duplicates, without_zeros

        return bcoo_sum_duplicates(without_zeros(self) if remove_zeros else self, nse=nse)

    def sort_indices(self) -> BCOO:
        """The same array, its positions in order."""
        from effax.experimental.sparse.duplicates import bcoo_sort_indices

        return bcoo_sort_indices(self)

    def update_layout(
        self,
        *,
        n_batch: int | None = None,
        n_dense: int | None = None,
        on_inefficient: str | None = "error",
    ) -> BCOO:
        """The same array with other numbers of batch and dense axes: see `bcoo_update_layout`."""
        from effax.experimental.sparse.layouts import bcoo_update_layout

        return bcoo_update_layout(
            self, n_batch=n_batch, n_dense=n_dense, on_inefficient=on_inefficient
        )

    def transpose(self, axes: Sequence[int] | None = None) -> BCOO:
        """The axes in another order; batch, sparse and dense axes stay among themselves."""
        from effax.experimental.sparse.rearranging import bcoo_transpose

        order = tuple(range(self.ndim))[::-1] if axes is None else tuple(axes)
        return bcoo_transpose(self, permutation=order)

    @property
    def T(self) -> BCOO:  # noqa: N802
        """The axes in opposite order."""
        return self.transpose()

    def reshape(self, *shape: Any, order: str = "C") -> BCOO:
        """The elements in another shape: see `bcoo_reshape`."""
        from effax.experimental.sparse.reshaping import bcoo_reshape

        if order != "C":
            raise NotImplementedError(f"BCOO.reshape: order must be 'C', got {order!r}")
        sizes = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        return bcoo_reshape(self, new_sizes=sizes)

    def sum(self, axis: int | Sequence[int] | None = None) -> Any:
        """The sum of the elements: a number, or a sparse array if it is along some axes."""
        from effax.experimental.sparse.rearranging import bcoo_reduce_sum

        axes = range(self.ndim) if axis is None else [axis] if isinstance(axis, int) else axis
        found = bcoo_reduce_sum(self, axes=tuple(axes))
        return found if axis is not None else found.todense()

    def astype(self, dtype: Any) -> BCOO:
        """The elements as another dtype."""
        return self.like(self.data.astype(dtype))

    def block_until_ready(self) -> BCOO:
        """Wait until the elements are computed."""
        self.data.block_until_ready()
        self.indices.block_until_ready()
        return self

    def __getitem__(self, index: Any) -> BCOO:
        from effax.experimental.sparse.slicing import at

        return at(self, index)

    def __neg__(self) -> BCOO:
        return self.like(-self.data)

    def __pos__(self) -> BCOO:
        return self

    def _each_once(self) -> BCOO:
        from effax.experimental.sparse.duplicates import bcoo_sum_duplicates

        return self if self.unique_indices else bcoo_sum_duplicates(self, nse=self.nse)

    def __abs__(self) -> BCOO:
        found = self._each_once()
        return found.like(abs(found.data))

    def __pow__(self, power: Any) -> BCOO:
        if isinstance(power, JAXSparse) or jnp.ndim(power):
            raise NotImplementedError(
                f"the power of a sparse array must be a number, got {power!r}"
            )
        if not power > 0:
            raise NotImplementedError(
                f"sparse rule for integer_pow with non-positive exponent is not implemented: of "
                f"{power!r} the result is dense. If that is intended, use todense() first"
            )
        found = self._each_once()
        return found.like(found.data**power)

    def __mul__(self, other: Any) -> Any:
        from effax.experimental.sparse import elements, multiplying

        if isinstance(other, BCOO):
            return multiplying.bcoo_multiply_sparse(self, other)
        if isinstance(other, JAXSparse):
            return NotImplemented
        return self.like(elements.bcoo_multiply_dense(self, jnp.asarray(other)))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, JAXSparse):
            return NotImplemented
        from effax.experimental.sparse.sparsify import sparsify

        return sparsify(jnp.true_divide)(self, other)

    def __add__(self, other: Any) -> Any:
        from effax.experimental.sparse.layouts import added

        if isinstance(other, BCOO):
            return added(self, other)
        return NotImplemented if isinstance(other, JAXSparse) else self.todense() + other

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, JAXSparse) and not isinstance(other, BCOO):
            return NotImplemented
        return self + -other

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __eq__(self, other: object) -> Any:
        raise NotImplementedError(
            f"{self!r} == ... would be dense: compare the dense arrays, by todense()"
        )

    __ne__ = __eq__

    def __matmul__(self, other: Any) -> Any:
        from effax.experimental.sparse.products import matmul

        return matmul(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        from effax.experimental.sparse.products import matmul

        return matmul(other, self)


def is_sparse(x: Any) -> bool:
    """Whether a value is a sparse array, which is a leaf for what handles them."""
    return isinstance(x, JAXSparse)


def of_the_package(prefix: str) -> Callable[[str], Any]:
    """The `__getattr__` of a module: functions of a format, which JAX has beside its class.

    JAX's functions of a format's arrays are there too: `_bcoo_todense(data, indices, spinfo=...)`.
    """

    def find(name: str) -> Any:
        from effax.experimental import sparse

        found = None
        if name.startswith(prefix):
            found = getattr(sparse, name, None)
        elif name.startswith("_") and not name.startswith("__"):
            from effax.experimental.sparse.primitives import of_arrays

            found = of_arrays(name[1:])
        if found is None:
            raise AttributeError(
                f"module 'effax.experimental.sparse.{prefix[:-1]}' has no attribute {name!r}"
            )
        return found

    return find


__getattr__ = of_the_package("bcoo_")
