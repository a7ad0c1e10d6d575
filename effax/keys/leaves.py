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
from effax.effects.program import Program
from effax.keys.arrays import KeyArray, flattened, is_keys, traced_part

Leaves = tuple[list[Any], trees.PyTreeDef]


def _stops(is_leaf: IsLeaf) -> IsLeaf:
    """Return a predicate that stops at keys, and where `is_leaf` does."""
    if is_leaf is None:
        return is_keys
    return lambda x: is_keys(x) or is_leaf(x)


def _flatten(tree: Any, is_leaf: IsLeaf) -> tuple[list[Any], trees.PyTreeDef, IsLeaf]:
    """Return the leaves of a tree, its structure, and the predicate that found them.

    Asking a predicate at every node is slow, so a tree is flattened without one first, and again
    only if keys were met. With `is_leaf` one walk asks for both: below what it calls a leaf
    nothing may be touched, as a tree may be cyclic there.
    """
    if is_leaf is None:
        before = flattened.count
        leaves, treedef = trees.tree_flatten(tree)
        if flattened.count == before:
            return leaves, treedef, None
    stops = _stops(is_leaf)
    return *trees.tree_flatten(tree, stops), stops


@wraps(trees.tree_flatten)
def tree_flatten(tree: Any, is_leaf: IsLeaf = None) -> Leaves:
    return _flatten(tree, is_leaf)[:2]


@wraps(trees.tree_leaves)
def tree_leaves(tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    return _flatten(tree, is_leaf)[0]


@wraps(trees.tree_structure)
def tree_structure(tree: Any, is_leaf: IsLeaf = None) -> trees.PyTreeDef:
    return _flatten(tree, is_leaf)[1]


@wraps(trees.tree_map)
def tree_map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf = None) -> Any:
    leaves, treedef, stops = _flatten(tree, is_leaf)
    columns = trees.flatten_up_to(treedef, tree, rest, stops, "tree_map tree")
    return treedef.unflatten(f(*row) for row in zip(leaves, *columns, strict=True))


@wraps(trees.tree_all)
def tree_all(tree: Any, *, is_leaf: IsLeaf = None) -> bool:
    return all(tree_leaves(tree, is_leaf))


@wraps(trees.tree_reduce)
def tree_reduce(
    function: Callable[[Any, Any], Any],
    tree: Any,
    initializer: Any = trees.UNSPECIFIED,
    is_leaf: IsLeaf = None,
) -> Any:
    leaves = tree_leaves(tree, is_leaf)
    return trees.reduce_leaves(function, leaves, initializer)


@wraps(trees.tree_reduce_associative)
def tree_reduce_associative(operation: Callable[[Any, Any], Any], tree: Any, **options: Any) -> Any:
    stops = _flatten(tree, options.pop("is_leaf", None))[2]
    return trees.tree_reduce_associative(operation, tree, is_leaf=stops, **options)


@wraps(trees.tree_transpose)
def tree_transpose(
    outer_treedef: trees.PyTreeDef, inner_treedef: trees.PyTreeDef | None, pytree_to_transpose: Any
) -> Any:
    stops = _flatten(pytree_to_transpose, None)[2]
    return trees.tree_transpose(outer_treedef, inner_treedef, pytree_to_transpose, stops)


@wraps(trees.tree_broadcast)
def tree_broadcast(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf = None) -> Any:
    stops = _flatten(prefix_tree, is_leaf)[2]
    leaves = trees.broadcast_prefix(prefix_tree, full_tree, stops)
    return tree_structure(full_tree).unflatten(leaves)


def _flatten_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None, takes_path: bool
) -> tuple[list[tuple[trees.KeyPath, Any]], trees.PyTreeDef]:
    if is_leaf is None:
        before = flattened.count
        found = trees.tree_flatten_with_path(tree)
        if flattened.count == before:
            return found
    if is_leaf is not None and takes_path:
        return trees.tree_flatten_with_path(tree, lambda p, x: is_keys(x) or is_leaf(p, x), True)
    return trees.tree_flatten_with_path(tree, _stops(is_leaf))


@wraps(trees.tree_flatten_with_path)
def tree_flatten_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[trees.KeyPath, Any]], trees.PyTreeDef]:
    return _flatten_with_path(tree, is_leaf, is_leaf_takes_path)


@wraps(trees.tree_leaves_with_path)
def tree_leaves_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> list[tuple[trees.KeyPath, Any]]:
    return _flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


@wraps(trees.tree_map_with_path)
def tree_map_with_path(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: Callable[..., bool] | None = None,
    is_leaf_takes_path: bool = False,
) -> Any:
    pairs, treedef = _flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    stops = _stops(None if is_leaf_takes_path else is_leaf)
    columns = trees.flatten_up_to(treedef, tree, rest, stops, "tree_map_with_path tree")
    rows = zip(pairs, *columns, strict=True)
    return treedef.unflatten(f(path, leaf, *others) for (path, leaf), *others in rows)


@wraps(trees.all_leaves)
def all_leaves(iterable: Iterable[Any], is_leaf: IsLeaf = None) -> bool:
    return trees.all_leaves([0 if is_keys(x) else x for x in iterable], is_leaf)


@wraps(trees.is_tree_node)
def is_tree_node(kind: type) -> bool:
    return kind is not KeyArray and trees.is_tree_node(kind)


def _no_node(tree: Any) -> None:
    if is_keys(tree):
        raise ValueError("expected a container, got a leaf: an array of random keys")


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


RESULT_TREE = "tree of results"
"""The entry of a program's memo for the tree of its results, where there are keys among them."""


def run_on_keys(program: Program, values: Iterable[Any]) -> list[Any]:
    """Run a program of words on keys, and return keys where the staged function did."""
    results = program.run(*map(traced_part, values))
    tree = program.memo.get(RESULT_TREE)
    return results if tree is None else tree_leaves(trees.tree_unflatten(tree, results))
