"""The paths of a structure's leaves, where no tree of that structure is at hand.

A class's own keys are asked of an instance that is made of placeholders. A class whose constructor
or flattening refuses them (it reads `x.ndim`, or sorts its children by type) has its children
numbered instead: messages need names, and a program is never refused for want of one.

>>> from effax.effects.tree import keystr, tree_structure
>>> [keystr(path) for path in leaf_paths(tree_structure({"w": [1, 2], "b": None}))]
["['w'][0]", "['w'][1]"]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from effax.effects.mismatch import one_level
from effax.effects.tree import (
    FlattenedIndexKey,
    KeyPath,
    PyTreeDef,
    registry,
    tree_structure,
    treedef_children,
    treedef_is_strict_leaf,
)


def leaf_paths(structure: PyTreeDef) -> list[KeyPath]:
    """Return the path of each leaf of a structure.

    Args:
      structure: the structure of a tree.
    """
    if treedef_is_strict_leaf(structure):
        return [()]
    children = treedef_children(structure)
    return [
        (key, *path)
        for key, child in zip(_keys(structure, len(children)), children, strict=True)
        for path in leaf_paths(child)
    ]


def _keys(node: PyTreeDef, count: int) -> Sequence[Any]:
    """Return the keys of a node's children; their numbers where the class doesn't tell them."""
    alone = PyTreeDef.from_node_data_and_children(
        registry, node.node_data(), [tree_structure(0)] * count
    )
    try:
        found = one_level(registry, alone.unflatten([object() for _ in range(count)]))
    except Exception:  # a user's class may refuse placeholders with any exception
        found = None
    if found is None or len(found[0]) != count:
        return [FlattenedIndexKey(i) for i in range(count)]
    return [key for key, _ in found[0]]
