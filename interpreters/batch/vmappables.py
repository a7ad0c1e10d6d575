"""Types of a library's own that `vmap` maps as it is told: `batching.register_vmappable`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple

import attrs

from effax.effects.tree import tree_flatten, tree_map, tree_unflatten


class Vmappable(NamedTuple):
    """The mapping of a type by `vmap`: how it is taken apart, and put together again."""

    to_elt: Callable[..., Any]
    from_elt: Callable[..., Any]


VMAPPABLE: Final[dict[type, Vmappable]] = {}
"""The types that were registered."""


@attrs.frozen(eq=False)
class Held:
    """A value of such a type, which is a leaf of trees while it is held."""

    value: Any


def register_vmappable(
    data_type: type,
    spec_type: type,
    axis_size_type: type,
    to_elt: Callable[..., Any],
    from_elt: Callable[..., Any],
    make_iota: Callable[..., Any] | None = None,
) -> None:
    """Say how `vmap` maps over values of a type.

    Args:
      data_type: the type. Its values are leaves for `vmap`, whether or not they are trees.
      spec_type: the type of its entries in `in_axes` and `out_axes`; any value is taken.
      axis_size_type: the type of axis sizes; any value is taken.
      to_elt: `to_elt(cont, get_index, x, spec)` gives what the mapped function sees of x;
        `cont(part, axis)` does so for an array.
      from_elt: `from_elt(cont, axis_size, x, spec)` gives what comes of such a result;
        `cont(axis_size, part, axis)` does so for an array.
      make_iota: accepted.
    """
    VMAPPABLE[data_type] = Vmappable(to_elt, from_elt)


def unregister_vmappable(data_type: type) -> None:
    """Let `vmap` take values of a type for what they were before they were registered."""
    del VMAPPABLE[data_type]


def is_vmappable(x: Any) -> bool:
    """Whether a value is of a type that was registered.

    >>> is_vmappable([1.0])
    False
    """
    return type(x) in VMAPPABLE


def hold(tree: Any) -> Any:
    """Return a tree with its values of registered types held."""
    leaves, structure = tree_flatten(tree, is_vmappable)
    held = [Held(x) if is_vmappable(x) else x for x in leaves]
    return tree_unflatten(structure, held)


def element(map_leaf: Callable[[Any, Any], Any], x: Any, spec: Any) -> Any:
    """Return what a mapped function sees of x, whose arrays `map_leaf(array, axis)` maps."""
    rules = VMAPPABLE.get(type(x))
    if rules is not None:
        return rules.to_elt(partial(element, map_leaf), None, x, spec)
    return x if spec is None else tree_map(lambda leaf: map_leaf(leaf, spec), x)


def whole(gather_leaf: Callable[[Any, Any], Any], size: Any, x: Any, spec: Any) -> Any:
    """Return what comes of a result x, whose arrays `gather_leaf(array, axis)` puts together."""
    rules = VMAPPABLE.get(type(x))
    if rules is not None:
        return rules.from_elt(partial(whole, gather_leaf), size, x, spec)
    return tree_map(lambda leaf: gather_leaf(leaf, spec), x)
