"""Values of dtype `float0` where programs begin and end.

They are the tangents of integers: they have a shape and no elements, so no program takes or gives
them. At the borders they move from the leaves of a tree into its structure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from effax.effects.tree import registry, tree_flatten, tree_unflatten
from effax.effects.types import float0


class Nothing:
    """A node without leaves that stands for zeros of dtype `float0`; unflattening gives them."""

    __slots__ = ("shape",)

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape


registry.register_node(Nothing, lambda x: ((), x.shape), lambda shape, _: np.zeros(shape, float0))


def is_nothing(x: Any) -> bool:
    """Whether a value is an array of dtype `float0`."""
    return type(x) is np.ndarray and x.dtype == float0


def set_aside(leaves: Sequence[Any], tree: Any) -> tuple[list[Any], Any]:
    """The leaves that have elements, and a tree that puts the others back when unflattened."""
    if not any(map(is_nothing, leaves)):
        return list(leaves), tree
    filled = [Nothing(x.shape) if is_nothing(x) else x for x in leaves]
    return tree_flatten(tree_unflatten(tree, filled))
