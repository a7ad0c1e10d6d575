"""Structural differences between two pytrees, in words.

The functions take the registry as an argument: `effects.tree` calls them when a mismatch is
known, and they find the places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple, TypeAlias

IsLeaf: TypeAlias = Callable[[Any], bool] | None
Path: TypeAlias = tuple[Any, ...]


class Mismatch(NamedTuple):
    """One place where two trees differ: the nodes there in each, and the reason.

    `kind` is one of "types", "lengths", "numbers of pytree children" and "pytree metadata".
    """

    path: Path
    kind: str
    first: str
    second: str
    explanation: str


def is_one_leaf(registry: Any, tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether a tree is nothing but a leaf."""
    treedef = registry.flatten(tree, is_leaf)[1]
    return bool(treedef.num_nodes == 1 and treedef.num_leaves == 1)


def one_level(registry: Any, tree: Any) -> tuple[list[tuple[Any, Any]], Any] | None:
    """A node's children with their keys, and its metadata; None for a leaf."""
    found = registry.flatten_one_level(tree)
    if found is None:
        return None
    # jaxlib 0.10.2's flatten_one_level_with_keys gives every field of a named tuple the first name.
    pairs, _ = registry.flatten_with_path(tree, lambda path, _: len(path) == 1)
    return [(path[0], child) for path, child in pairs], found[1]


def mismatches(
    registry: Any, first: Any, second: Any, is_leaf: IsLeaf, *, prefix: bool, path: Path = ()
) -> Iterator[Mismatch]:
    """The places where `second` has not the structure of `first`, outermost places only.

    Under `prefix`, a leaf of `first` may stand for any subtree of `second`.
    """
    if is_one_leaf(registry, first, is_leaf) and (prefix or is_one_leaf(registry, second, is_leaf)):
        return
    kinds = type(first), type(second)
    if kinds[0] is not kinds[1]:
        yield Mismatch(path, "types", str(kinds[0]), str(kinds[1]), "their Python types differ")
        return
    if isinstance(first, list | tuple) and len(first) != len(second):
        name = kinds[0].__name__
        sizes = f"{name} of length {len(first)}", f"{name} of length {len(second)}"
        yield Mismatch(path, "lengths", *sizes, "the lengths do not match")
        return
    parts = (
        registry.flatten_one_level_with_keys(first),
        registry.flatten_one_level_with_keys(second),
    )
    if None in parts:  # one side is a leaf by `is_leaf`, the other a node of the same type
        yield Mismatch(path, "types", str(kinds[0]), str(kinds[1]), "only one of them is a node")
        return
    children = [part[0] for part in parts]
    keys = [[key for key, _ in c] for c in children]
    if len(keys[0]) != len(keys[1]):
        one, two = (
            f"{t} with {len(k)} child{'ren' if len(k) != 1 else ''}"
            for t, k in zip(kinds, keys, strict=True)
        )
        only = _only_in_one(*keys)
        why = "the numbers of children do not match" + only
        yield Mismatch(path, "numbers of pytree children", one, two, why)
        return
    if parts[0][1] != parts[1][1]:
        one, two = (f"{t} with pytree metadata {p[1]}" for t, p in zip(kinds, parts, strict=True))
        only = _only_in_one(*keys)
        why = "the pytree metadata do not match" + only
        yield Mismatch(path, "pytree metadata", one, two, why)
        return
    for (key, one), (_, other) in zip_longest(*children):
        yield from mismatches(registry, one, other, is_leaf, prefix=prefix, path=(*path, key))


def _only_in_one(first: Sequence[Any], second: Sequence[Any]) -> str:
    names = [str(key) for key in first], [str(key) for key in second]
    found = [n for n in names[0] if n not in names[1]] + [n for n in names[1] if n not in names[0]]
    return f"; keys on one side only: {', '.join(found)}" if found else ""


def prefix_message(found: Mismatch, name: str) -> str:
    """A mismatch in words, for a tree called `name` that should be a prefix of another."""
    where = f"{name}{''.join(map(str, found.path))}"
    if found.kind == "lengths":
        headline = f"different lengths of {found.first.split(' ')[0]}"
    else:
        headline = f"different {found.kind}"
    return (
        f"pytree structure error: {headline} at key path\n    {where}\nThere the prefix pytree "
        f"{name} has\n    {found.first}\nand the full pytree has\n    {found.second}\nso it is "
        f"not a prefix: {found.explanation}."
    )
