"""Dense arrays whose broadcast is deferred until its result is needed.

A row times a sparse matrix needs the row's elements at the matrix's positions, and no dense matrix.
"""

from __future__ import annotations

from typing import Any

from effax.effects.rows import shape as shapes
from effax.effects.types import typeof


class Broadcast:
    """A dense array to be broadcast: axis i of `operand` lies along axis `dims[i]` of `shape`."""

    __slots__ = ("_dense", "dims", "operand", "shape")

    def __init__(self, operand: Any, shape: tuple[int, ...], dims: tuple[int, ...]) -> None:
        self.operand = operand
        self.shape = shape
        self.dims = dims
        self._dense: Any = None

    def dense(self) -> Any:
        """The array of the whole shape; it is made once."""
        if self._dense is None:
            self._dense = shapes.broadcast_in_dim(self.operand, shape=self.shape, dims=self.dims)
        return self._dense

    def compact(self) -> Any:
        """The operand with an axis of length 1 for each axis along which it is constant."""
        lengths = [1] * len(self.shape)
        for n, d in zip(typeof(self.operand).shape, self.dims, strict=True):
            lengths[d] = n
        return shapes.reshape(self.operand, shape=tuple(lengths))
