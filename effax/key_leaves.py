"""Trees in which an array of keys is one leaf: what `tree` and `tree_util` show.

Transformations see through it to its words (`key_arrays`), by the functions of `effects.tree`.
These are the same functions, told to stop at keys where there are some in the tree.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from functools import wraps
from typing import Any

from effax.effects import tree as trees
from effax.effects.mismatch import IsLeaf
from effax.key_arrays import KeyArray, flattened, is_keys

Leaves = tuple[list[Any], trees.PyTreeDef]


def _stop(tree: Any, is_leaf: IsLeaf, takes_path: bool = False) -> IsLeaf:
    """Where to stop in a tree: as asked, and at keys.

    Asking at every node is slow, so it is found out first whether any key is met.
    """
    before = flattened.count
    trees.tree_structure(tree)
    if flattened.count == before:
        return is_leaf
    if is_leaf is None:
        return (lambda _, x: is_keys(x)) if takes_path else is_keys  # type: ignore[return-value,misc]
    if takes_path:
        return lambda path, x: is_keys(x) or is_leaf(path, x)  # type: ignore[call-arg,misc,return-value]
    return lambda x: is_keys(x) or is_leaf(x)


@wraps(trees.tree_flatten)
def tree_flatten(tree: Any, is_leaf: IsLeaf = None) -> Leaves:
    return trees.tree_flatten(tree, _stop(tree, is_leaf))


@wraps(trees.tree_leaves)
def tree_leaves(tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    return trees.tree_leaves(tree, _stop(tree, is_leaf))


@wraps(trees.tree_structure)
def tree_structure(tree: Any, is_leaf: IsLeaf = None) -> trees.PyTreeDef:
    return trees.tree_structure(tree, _stop(tree, is_leaf))


@wraps(trees.tree_map)
def tree_map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf = None) -> Any:
    return trees.tree_map(f, tree, *rest, is_leaf=_stop(tree, is_leaf))


@wraps(trees.tree_all)
def tree_all(tree: Any, *, is_leaf: IsLeaf = None) -> bool:
    return trees.tree_all(tree, is_leaf=_stop(tree, is_leaf))


@wraps(trees.tree_reduce)
def tree_reduce(
    function: Callable[[Any, Any], Any], tree: Any, *initial: Any, **options: Any
) -> Any:
    options["is_leaf"] = _stop(tree, options.get("is_leaf"))
    return trees.tree_reduce(function, tree, *initial, **options)


@wraps(trees.tree_reduce_associative)
def tree_reduce_associative(operation: Callable[[Any, Any], Any], tree: Any, **options: Any) -> Any:
    options["is_leaf"] = _stop(tree, options.get("is_leaf"))
    return trees.tree_reduce_associative(operation, tree, **options)


@wraps(trees.tree_transpose)
def tree_transpose(
    outer_treedef: trees.PyTreeDef, inner_treedef: trees.PyTreeDef | None, pytree_to_transpose: Any
) -> Any:
    stop = _stop(pytree_to_transpose, None)
    return trees.tree_transpose(outer_treedef, inner_treedef, pytree_to_transpose, stop)


@wraps(trees.tree_broadcast)
def tree_broadcast(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf = None) -> Any:
    leaves = trees.broadcast_prefix(prefix_tree, full_tree, _stop(prefix_tree, is_leaf))
    return tree_structure(full_tree).unflatten(leaves)


@wraps(trees.tree_flatten_with_path)
def tree_flatten_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[trees.KeyPath, Any]], trees.PyTreeDef]:
    stop = _stop(tree, is_leaf, is_leaf_takes_path)
    return trees.tree_flatten_with_path(tree, stop, is_leaf_takes_path)


@wraps(trees.tree_leaves_with_path)
def tree_leaves_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> list[tuple[trees.KeyPath, Any]]:
    return tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


@wraps(trees.tree_map_with_path)
def tree_map_with_path(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: Callable[..., bool] | None = None,
    is_leaf_takes_path: bool = False,
) -> Any:
    stop = _stop(tree, is_leaf, is_leaf_takes_path)
    options: dict[str, Any] = {"is_leaf": stop, "is_leaf_takes_path": is_leaf_takes_path}
    return trees.tree_map_with_path(f, tree, *rest, **options)


@wraps(trees.all_leaves)
def all_leaves(iterable: Iterable[Any], is_leaf: IsLeaf = None) -> bool:
    return trees.all_leaves([0 if is_keys(x) else x for x in iterable], is_leaf)


@wraps(trees.is_tree_node)
def is_tree_node(kind: type) -> bool:
    return kind is not KeyArray and trees.is_tree_node(kind)


def _no_node(tree: Any) -> None:
    if is_keys(tree):
        raise ValueError("can't flatten a leaf, and an array of random keys is one")


@wraps(trees.flatten_one_level)
def flatten_one_level(tree: Any) -> tuple[Iterable[Any], Hashable]:
    _no_node(tree)
    return trees.flatten_one_level(tree)


@wraps(trees.flatten_one_level_with_keys)
def flatten_one_level_with_keys(
    tree: Any,
) -> tuple[list[tuple[trees.KeyEntry, Any]], Hashable]:
    _no_node(tree)
    return trees.flatten_one_level_with_keys(tree)
