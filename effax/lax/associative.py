"""All prefixes of a sequence at once, folded by an associative function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from effax.effects import cumulative
from effax.effects.tree import tree_flatten, tree_unflatten
from effax.effects.types import typeof
from effax.lax.shapes import axis_of


def associative_scan(
    fn: Callable[[Any, Any], Any], elems: Any, reverse: bool = False, axis: int = 0
) -> Any:
    """Every prefix of some arrays along an axis, folded by an associative function.

    Args:
      fn: takes and gives pytrees like `elems`; it is applied to whole slices at once, of which
        the axis has about half, a quarter, ... of its length.
      elems: a pytree of arrays with equal lengths along the axis.
      reverse: fold from the end.
      axis: the axis of the sequence.

    Raises:
      TypeError: where `fn` is not callable.
      ValueError: where the lengths differ, or `fn` gives another tree.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.associative_scan(lax.add, jnp.arange(4))
    Array([0, 1, 3, 6], dtype=int32)
    """
    if not callable(fn):
        raise TypeError("lax.associative_scan: fn argument should be callable.")
    leaves, tree = tree_flatten(elems)
    if not leaves:
        return elems
    at = axis_of(axis, typeof(leaves[0]).ndim)
    lengths = [typeof(x).shape[at] for x in leaves]
    if len(set(lengths)) > 1:
        shapes = [typeof(x).shape for x in leaves]
        raise ValueError(
            f"Array inputs to associative_scan must have the same first dimension. (saw: {shapes})"
        )

    def combine(before: Sequence[Any], after: Sequence[Any]) -> Sequence[Any]:
        result = fn(tree_unflatten(tree, before), tree_unflatten(tree, after))
        flat, found = tree_flatten(result)
        if found != tree:
            raise ValueError(
                f"the function of associative_scan must give a tree like its arguments', {tree}, "
                f"but it gave {found}"
            )
        return flat

    return tree_unflatten(tree, cumulative.associative_scan(combine, leaves, at, bool(reverse)))
