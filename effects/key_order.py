"""Dicts whose keys can't be sorted, which are no pytrees: errors that name the keys."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any


def refuse_unsortable(registry: Any, tree: Any, error: ValueError) -> None:
    """Raise a `ValueError` that names two keys of a dict in a tree that do not compare.

    Return where `error`, which flattening the tree raised, has another reason.
    """
    if not str(error).startswith("Comparator raised exception"):
        return
    for keys in _keys_of_dicts(registry, tree):
        for one, other in combinations(keys, 2):
            why = _why_incomparable(one, other)
            if why:
                kinds = " and ".join(dict.fromkeys(type(k).__name__ for k in (one, other)))
                raise ValueError(
                    f"the keys of a dict in a pytree are sorted, but {one!r} and {other!r} ({kinds}"
                    f") can't be: {why}. Make all keys of the dict of one type, such as str, or "
                    "use an OrderedDict, whose keys keep their order"
                ) from None


def _keys_of_dicts(registry: Any, tree: Any) -> Iterator[list[Any]]:
    """The keys of all dicts in a tree, the outer ones first."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if type(node) is dict:
            yield list(node)
            waiting += node.values()
        else:
            found = registry.flatten_one_level(node)
            waiting += () if found is None else found[0]


def _why_incomparable(one: Any, other: Any) -> str:
    """Python's reason why two keys do not compare; "" where they do."""
    try:
        _ = one < other, other < one
    except TypeError as error:
        return str(error)
    return ""
