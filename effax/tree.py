"""Trees of containers, under short names: `tree.map`, `tree.leaves`, ... (see `tree_util`)."""

import dataclasses
from typing import Any

from effax.effects.frames import cut_at as _cut_at
from effax.effects.tree import tree_unflatten as unflatten
from effax.keys.leaves import tree_all as all
from effax.keys.leaves import tree_broadcast as broadcast
from effax.keys.leaves import tree_flatten as flatten
from effax.keys.leaves import tree_flatten_with_path as flatten_with_path
from effax.keys.leaves import tree_leaves as leaves
from effax.keys.leaves import tree_leaves_with_path as leaves_with_path
from effax.keys.leaves import tree_map as map
from effax.keys.leaves import tree_map_with_path as map_with_path
from effax.keys.leaves import tree_reduce as reduce
from effax.keys.leaves import tree_reduce_associative as reduce_associative
from effax.keys.leaves import tree_structure as structure
from effax.keys.leaves import tree_transpose as transpose


def static(**options: Any) -> Any:
    """Declare a field of a dataclass that is part of the tree's structure, and no leaf of it.

    `tree_util.register_dataclass` looks for the mark that it puts in the field's metadata.

    Args:
      **options: options of `dataclasses.field`; the mark is added to `metadata`.

    >>> import dataclasses
    >>> from effax import tree, tree_util
    >>> @tree_util.register_dataclass
    ... @dataclasses.dataclass
    ... class Scaled:
    ...     x: float
    ...     by: str = tree.static(default="metre")
    >>> tree.leaves(Scaled(2.0))
    [2.0]
    """
    marked = {"static": True, **(options.pop("metadata", None) or {})}
    return dataclasses.field(metadata=marked, **options)


__all__ = [
    "all",
    "broadcast",
    "flatten",
    "flatten_with_path",
    "leaves",
    "leaves_with_path",
    "map",
    "map_with_path",
    "reduce",
    "reduce_associative",
    "static",
    "structure",
    "transpose",
    "unflatten",
]
__dir__ = __all__.copy

_cut_at(globals(), home=False)
