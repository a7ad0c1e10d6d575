"""Matrices by three vectors, in the formats of `scipy.sparse`: what COO, CSR and CSC share.

Each is a `BCOO` in other words (`to_bcoo`), which computes for it, and has batches too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import effax.numpy as jnp
from effax.effects.value import Array
from effax.experimental.sparse.bcoo import BCOO, JAXSparse
from effax.experimental.sparse.bcsr import BCSR
from effax.experimental.sparse.elements import bcoo_fromdense
from effax.experimental.sparse.products import matmul


class Vectors(JAXSparse):
    """A matrix whose elements and their places are three vectors."""

    n_batch = n_dense = 0
    n_sparse = 2
    parts: ClassVar[tuple[str, str, str]]
    """The attributes that hold the vectors."""

    def __init__(self, args: Sequence[Any], *, shape: Sequence[int], **known: bool) -> None:
        for name, x in zip(self.parts, args, strict=True):
            setattr(self, name, jnp.asarray(x))
        self.shape = tuple(int(n) for n in shape)
        if len(self.shape) != 2:
            raise ValueError(f"{type(self).__name__} must have two axes, got shape {self.shape}")
        self.known = known
        lengths = [x.shape for x in self.vectors()]
        if lengths != self._lengths(lengths[0]):
            shown = ", ".join(f"{n} {k}" for n, k in zip(self.parts, lengths, strict=True))
            raise ValueError(
                f"Invalid {type(self).__name__}: vectors of shapes {shown} for a matrix of shape "
                f"{self.shape}"
            )

    def _lengths(self, first: tuple[int, ...]) -> list[tuple[int, ...]]:
        """The shapes that the vectors must have, if that of the elements is `first`."""
        return [first[:1]] * 3

    def vectors(self) -> tuple[Array, Array, Array]:
        """The three vectors: elements first."""
        data, first, second = (getattr(self, name) for name in self.parts)
        return data, first, second

    def tree_flatten(self) -> tuple[tuple[Array, Array, Array], Any]:
        """The vectors; the shape is metadata."""
        return self.vectors(), (self.shape, tuple(self.known.items()))

    @classmethod
    def tree_unflatten(cls, metadata: Any, children: Sequence[Any]) -> Self:
        """The matrix of these vectors."""
        made = object.__new__(cls)
        for name, x in zip(cls.parts, children, strict=True):
            setattr(made, name, x)
        made.shape, known = metadata
        made.known = dict(known)
        return made

    @property
    def nse(self) -> int:  # type: ignore[override]
        """The number of specified elements."""
        return int(self.data.shape[0])

    @classmethod
    def fromdense(cls, mat: Array, *, nse: int | None = None, index_dtype: Any = jnp.int32) -> Self:
        """The elements of a dense matrix that are not zero; `nse` is the room for them."""
        return cls.from_bcoo(bcoo_fromdense(mat, nse=nse, index_dtype=index_dtype))

    @classmethod
    def from_bcoo(cls, arr: BCOO) -> Self:
        """The matrix that is given by positions."""
        raise TypeError(f"{cls.__name__} does not define from_bcoo")

    def to_bcoo(self) -> BCOO:
        """The same matrix by positions."""
        raise TypeError(f"{type(self).__name__} does not define to_bcoo")

    def todense(self) -> Array:
        """The dense matrix."""
        return self.to_bcoo().todense()

    def transpose(self, axes: Sequence[int] | None = None) -> Any:
        """The transposed matrix, of the same vectors; `axes` must be None."""
        raise TypeError(f"{type(self).__name__} does not define transpose")

    @property
    def T(self) -> Any:  # noqa: N802
        """The transposed matrix."""
        return self.transpose()

    def block_until_ready(self) -> Self:
        """Wait until the elements are computed."""
        for x in self.vectors():
            x.block_until_ready()
        return self

    def __matmul__(self, other: Any) -> Any:
        return matmul(self.to_bcoo(), by_position(other))

    def __rmatmul__(self, other: Any) -> Any:
        return matmul(by_position(other), self.to_bcoo())


def by_position(x: Any) -> Any:
    """A sparse matrix of any format as a `BCOO`; other values as they are."""
    return x.to_bcoo() if isinstance(x, Vectors | BCSR) else x


def no_axes(axes: Sequence[int] | None) -> None:
    """Refuse an order of axes: matrices have two."""
    if axes is not None:
        raise NotImplementedError(f"transpose of a matrix takes no axes, got {tuple(axes)}; use .T")


def product(mat: Vectors, other: Any, axes: int, transpose: bool, name: str) -> Array:
    """The product of a matrix with a dense vector or matrix, of `axes` axes; `name` asks."""
    other = jnp.asarray(other)
    if other.ndim != axes:
        kind = "a vector" if axes == 1 else "a matrix"
        raise ValueError(f"{name}: the second operand must be {kind}, got shape {other.shape}")
    return (mat.T if transpose else mat) @ other
