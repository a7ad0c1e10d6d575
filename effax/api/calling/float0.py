"""Values of dtype `float0` where programs begin and end.

They are the tangents of integers: they have a shape and no elements, so no program takes or gives
them. At the borders they move from the leaves of a tree into its structure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from effax.effects.mismatch import IsLeaf
from effax.effects.tree import PyTreeDef, registry, tree_flatten, tree_unflatten
from effax.effects.types import float0
from effax.keys.arrays import KeyArray, KeyType, is_keys


class Nothing:
    """A node without leaves that stands for zeros of dtype `float0`; unflattening gives them."""

    __slots__ = ("shape",)

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape


registry.register_node(Nothing, lambda x: ((), x.shape), lambda shape, _: np.zeros(shape, float0))


def is_nothing(x: Any) -> bool:
    """Whether a value is an array of dtype `float0`."""
    return type(x) is np.ndarray and x.dtype == float0


def of_words(direction: Any, width: int) -> Any:
    """The tangent of the words of keys, `width` a key, given the keys' own; None is none."""
    return np.zeros((*direction.shape, width), float0) if is_nothing(direction) else direction


def directions_like(tree: PyTreeDef, directions: Any, is_leaf: IsLeaf = None) -> list[Any] | None:
    """Flatten tangents or cotangents of what has this tree; return None where theirs is another.

    The tangent of an array of keys is one leaf, `float0` zeros in the shape of the keys, though
    the keys are a node over their words.
    """
    leaves, found = tree_flatten(directions, is_leaf)
    if found == tree or not _has_keys(tree):
        return leaves if found == tree else None
    stop = is_keys if is_leaf is None else lambda x: is_keys(x) or is_leaf(x)
    primals, expected = tree_flatten(tree_unflatten(tree, range(tree.num_leaves)), is_keys)
    leaves, found = tree_flatten(directions, stop)
    if found != expected:
        return None
    return [
        of_words(x, KeyType(p.implementation).width) if is_keys(p) else x
        for x, p in zip(leaves, primals, strict=True)
    ]


def _has_keys(tree: PyTreeDef) -> bool:
    node = tree.node_data()
    return node is not None and (node[0] is KeyArray or any(map(_has_keys, tree.children())))


def set_aside(leaves: Sequence[Any], tree: Any) -> tuple[list[Any], Any]:
    """The leaves that have elements, and a tree that puts the others back when unflattened."""
    if not any(map(is_nothing, leaves)):
        return list(leaves), tree
    filled = [Nothing(x.shape) if is_nothing(x) else x for x in leaves]
    return tree_flatten(tree_unflatten(tree, filled))
