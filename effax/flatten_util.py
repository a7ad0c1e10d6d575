"""A tree of arrays as one vector, and back."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from effax.effects.frames import filtered
from effax.effects.promotion import lattice_result
from effax.effects.rows import conversion, shape
from effax.effects.tree import tree_flatten, tree_unflatten
from effax.effects.types import float32, typeof

__all__ = ["ravel_pytree"]
__dir__ = __all__.copy


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
    sizes = [prod(t.shape) for t in types]
    ends = [sum(sizes[: i + 1]) for i in range(len(sizes))]
    total = ends[-1] if ends else 0

    def unravel(flat: Any) -> Any:
        given = typeof(flat)
        if given.shape != (total,):
            raise ValueError(f"unravel function expected shape ({total},) but got {given.shape}")
        if mixed and given.dtype != dtype:
            raise TypeError(
                f"unravel function given array of dtype {given.dtype}, but expected dtype {dtype}"
            )
        parts = []
        for t, end, size in zip(types, ends, sizes, strict=True):
            part = shape.reshape(shape.slice_axis(flat, 0, end - size, end), shape=t.shape)
            parts.append(conversion.convert_element_type(part, dtype=t.dtype) if mixed else part)
        return tree_unflatten(tree, parts)

    if not leaves:
        return shape.full((0,), 0, dtype), unravel
    vectors = [shape.reshape(x, shape=(n,)) for x, n in zip(leaves, sizes, strict=True)]
    if mixed:
        vectors = [conversion.convert_element_type(v, dtype=dtype) for v in vectors]
    return shape.concatenate(*vectors, axis=0), unravel
