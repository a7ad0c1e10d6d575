"""The structure of a sparse value: format, number of elements, and dtype of indices.

The functor carries sparse values through branches and loops as their parts, elements and positions.
A structure says which parts a value has, and makes the value of its parts again.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, ClassVar, Final

import attrs

import effax.numpy as jnp
from effax.effects.errors import EffaxError, MissingRuleError
from effax.effects.tree import tree_flatten, tree_unflatten
from effax.effects.types import ShapedArray, typeof
from effax.experimental.sparse.bcoo import BCOO, JAXSparse

_REPEATED: Final = 16
"""The number of elements for each position of an array beyond which a loop is refused."""


class SparseStructureError(EffaxError, TypeError):
    """Two branches, or two steps of a loop, give values that no structure holds both of."""


class Unlike(Exception):  # noqa: N818  (caught where the effect is known, which words the refusal)
    """Two structures have no join."""


@attrs.frozen
class DenseStructure:
    """The structure of a dense array whose broadcast is deferred: its one part is the array."""

    count: ClassVar[int] = 1

    def types(self, type: ShapedArray) -> Sequence[ShapedArray]:
        """The type of the value itself."""
        return (type,)

    def __str__(self) -> str:
        return "a dense array"


DENSE: Final = DenseStructure()


@attrs.frozen
class PositionStructure:
    """The structure of a `BCOO`.

    It does not say how many batch axes there are, nor how long they are: those are the axes of the
    value's type before the sparse ones. So a scan over the first batch axis changes no structure.
    """

    nse: int
    sparse_shape: tuple[int, ...]
    n_dense: int
    index_dtype: Any
    indices_sorted: bool
    unique_indices: bool
    count: ClassVar[int] = 2

    @classmethod
    def of(cls, x: BCOO) -> PositionStructure:
        """The structure of an array."""
        sparse = tuple(x.shape[x.n_batch : x.n_batch + x.n_sparse])
        flags = x.indices_sorted, x.unique_indices
        return cls(x.nse, sparse, x.n_dense, x.indices.dtype, *flags)

    def types(self, type: ShapedArray) -> Sequence[ShapedArray]:
        """The types of elements and positions, for a value of that type."""
        n_batch = type.ndim - len(self.sparse_shape) - self.n_dense
        if n_batch < 0:
            raise MissingRuleError(
                "sparsify: scan and map take a sparse array apart along its first axis, but "
                f"{self} has no batch axis; make one of that axis, as BCOO.fromdense(x, n_batch=1) "
                "does, or make it dense by sparse.todense"
            )
        rows = (*type.shape[:n_batch], self.nse)
        dense = type.shape[type.ndim - self.n_dense :]
        indices = (*rows, len(self.sparse_shape))
        return (
            type.update(shape=(*rows, *dense)),
            type.update(shape=indices, dtype=self.index_dtype, weak_type=False),
        )

    def make(self, parts: Sequence[Any]) -> BCOO:
        """The array of these elements and positions."""
        data, indices = parts
        n_batch = indices.ndim - 2
        shape = (*data.shape[:n_batch], *self.sparse_shape, *data.shape[n_batch + 1 :])
        flags = {"indices_sorted": self.indices_sorted, "unique_indices": self.unique_indices}
        return BCOO((data, indices), shape=shape, **flags)

    def parts(self, x: BCOO) -> list[Any]:
        """Elements and positions of an array, with places outside of it added up to `nse`."""
        n, data, indices = x.n_batch, x.data, x.indices
        batches = x.shape[:n]
        # Arrays that fit stay the same objects, by which `same_positions` knows them.
        if data.shape[:n] != batches:  # a format may share parts among batches
            data = jnp.broadcast_to(data, (*batches, *data.shape[n:]))
        if indices.shape[:n] != batches:
            indices = jnp.broadcast_to(indices, (*batches, *indices.shape[n:]))
        if indices.dtype != self.index_dtype:
            indices = indices.astype(self.index_dtype)
        more = self.nse - x.nse
        if not more:
            return [data, indices]
        rows = (*batches, more)
        zeros = jnp.zeros((*rows, *data.shape[n + 1 :]), data.dtype)
        outside = jnp.asarray(self.sparse_shape, self.index_dtype)
        spare = jnp.broadcast_to(outside, (*rows, len(self.sparse_shape)))
        return [jnp.concatenate([data, zeros], n), jnp.concatenate([indices, spare], n)]

    def join(self, other: Any) -> PositionStructure:
        """The structure that has room for values of both.

        Raises `Unlike` if there is none, or if a loop adds elements in each step, so
        that there are many for each position.
        """
        if not isinstance(other, PositionStructure) or self._kind != other._kind:
            raise Unlike(f"{self} and {other}")
        nse = max(self.nse, other.nse)
        if self.nse != other.nse and nse > _REPEATED * prod(self.sparse_shape):
            raise Unlike(f"{self} and {other}")
        return PositionStructure(
            nse,
            self.sparse_shape,
            self.n_dense,
            jnp.promote_types(self.index_dtype, other.index_dtype),
            self.indices_sorted and other.indices_sorted and self.nse == other.nse,
            self.unique_indices and other.unique_indices,
        )

    @property
    def _kind(self) -> Any:
        return self.sparse_shape, self.n_dense

    def __str__(self) -> str:
        return f"a BCOO with nse={self.nse} and {len(self.sparse_shape)} sparse axes"


@attrs.frozen
class MatrixStructure:
    """The structure of a matrix in another format: that of its pytree, and its parts' types."""

    tree: Any
    name: str
    parts_after_data: tuple[ShapedArray, ...]
    elements: tuple[int, ...]
    shape: tuple[int, ...]

    @property
    def count(self) -> int:
        """The number of parts."""
        return 1 + len(self.parts_after_data)

    @classmethod
    def of(cls, x: JAXSparse) -> MatrixStructure:
        """The structure of a matrix."""
        (data, *rest), tree = tree_flatten(x)
        types = tuple(map(typeof, rest))
        return cls(tree, type(x).__name__, types, tuple(data.shape), tuple(x.shape))

    def types(self, type: ShapedArray) -> Sequence[ShapedArray]:
        """The types of the parts, elements first."""
        if type.shape != self.shape:
            raise MissingRuleError(
                f"sparsify: scan can't take {self} apart; give it a BCOO with a batch axis, as "
                "BCOO.fromdense(x, n_batch=1) makes, or make it dense by sparse.todense"
            )
        return type.update(shape=self.elements), *self.parts_after_data

    def make(self, parts: Sequence[Any]) -> Any:
        """The matrix of these parts."""
        return tree_unflatten(self.tree, parts)

    def parts(self, x: JAXSparse) -> list[Any]:
        """The parts of a matrix of this structure."""
        found: list[Any] = tree_flatten(x)[0]
        return found

    def join(self, other: Any) -> Any:
        """Refused: the parts of two matrices of one format differ in length.

        Raises `Unlike`.
        """
        raise Unlike(f"{self} and {other}")

    def __str__(self) -> str:
        return f"a {self.name} with nse={self.elements[-1]}"


def structure_of(x: JAXSparse) -> Any:
    """Return the structure of a sparse array."""
    return PositionStructure.of(x) if isinstance(x, BCOO) else MatrixStructure.of(x)


def with_data(x: Any, data: Any) -> Any:
    """Return a sparse array of the same format with other elements at the same positions."""
    if isinstance(x, BCOO):
        return x.like(data)
    (_, *places), structure = tree_flatten(x)
    return tree_unflatten(structure, (data, *places))


def same_positions(x: Any, y: Any) -> bool:
    """Return whether two sparse arrays have one format, and share the arrays of positions."""
    if type(x) is not type(y) or x.shape != y.shape:
        return False
    (_, *one), _ = tree_flatten(x)
    (_, *other), _ = tree_flatten(y)
    return all(a is b for a, b in zip(one, other, strict=True))
