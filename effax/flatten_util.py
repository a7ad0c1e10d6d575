"""A tree of arrays as one vector, and back."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from math import prod
from typing import Any

import attrs

from effax.effects.frames import filtered
from effax.effects.promotion import lattice_result
from effax.effects.rows import conversion, shape
from effax.effects.tree import tree_flatten, tree_unflatten
from effax.effects.types import DType, float32, typeof

__all__ = ["ravel_pytree"]
__dir__ = __all__.copy


@attrs.frozen
class Unravel:
    """The function that takes a vector apart: equal to those of all trees of its structure.

    So it may be a static argument, or part of a structure that loops carry.
    """

    tree: Any
    shapes: tuple[tuple[int, ...], ...]
    dtype: DType | None
    """The vector's, where the leaves' differ."""
    dtypes: tuple[DType, ...] | None
    """The leaves', where they differ."""

    @property
    def sizes(self) -> list[int]:
        """The number of elements of each leaf."""
        return [prod(lengths) for lengths in self.shapes]

    def __call__(self, flat: Any) -> Any:
        """Return the tree whose elements a vector has."""
        given, sizes = typeof(flat), self.sizes
        total = sum(sizes)
        if given.shape != (total,):
            raise ValueError(f"unravel function expected shape ({total},) but got {given.shape}")
        if self.dtypes is not None and given.dtype != self.dtype:
            raise TypeError(
                f"unravel function given array of dtype {given.dtype}, but expected dtype "
                f"{self.dtype}"
            )
        parts = [
            shape.reshape(shape.slice_axis(flat, 0, end - size, end), shape=lengths)
            for lengths, size, end in zip(self.shapes, sizes, accumulate(sizes), strict=True)
        ]
        if self.dtypes is not None:
            parts = [
                conversion.convert_element_type(part, dtype=dtype)
                for part, dtype in zip(parts, self.dtypes, strict=True)
            ]
        return tree_unflatten(self.tree, parts)


@filtered
def ravel_pytree(pytree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Return all elements of a tree of arrays as one vector, and the function that undoes it.

    The vector has the dtype in which the leaves' meet, Python's numbers and weak types counted as
    those of arrays; `unravel` gives each its own back. Where all leaves have one dtype, it takes
    vectors of any, and gives leaves of theirs.

    Args:
      pytree: a tree of arrays.

    >>> from effax.flatten_util import ravel_pytree
    >>> flat, unravel = ravel_pytree({"a": 1.0, "b": (2.0, 3.0)})
    >>> flat
    Array([1., 2., 3.], dtype=float32, weak_type=True)
    >>> unravel(flat)["a"]
    Array(1., dtype=float32, weak_type=True)
    """
    leaves, tree = tree_flatten(pytree)
    types = [typeof(x) for x in leaves]
    # A number is a leaf as good as an array: 1e6 beside float16 must not become infinite.
    dtype = lattice_result([t.strong() for t in types])[0] if types else float32
    mixed = any(t.dtype != dtype for t in types)
    dtypes = (dtype, tuple(t.dtype for t in types)) if mixed else (None, None)
    unravel = Unravel(tree, tuple(t.shape for t in types), *dtypes)
    if not leaves:
        return shape.full((0,), 0, dtype), unravel
    vectors = [shape.reshape(x, shape=(n,)) for x, n in zip(leaves, unravel.sizes, strict=True)]
    if mixed:
        vectors = [conversion.convert_element_type(v, dtype=dtype) for v in vectors]
    return shape.concatenate(*vectors, axis=0), unravel
