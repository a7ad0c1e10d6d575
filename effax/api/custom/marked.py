"""Calls that carry metadata for XLA: the function is one call of the compiled program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from effax.api.calling.arguments import flat_function, name_of, wearing
from effax.api.calling.kept import find_trace, keep_trace, key_of
from effax.api.calling.signatures import traced_function
from effax.api.custom.calls import staged_over
from effax.effects.frames import filtered
from effax.effects.provenance import Tags
from effax.effects.rows import control
from effax.effects.tree import tree_flatten, tree_unflatten

P = ParamSpec("P")
R = TypeVar("R")


def marked_call(fun: Callable[P, R], metadata: Tags, transform: str) -> Callable[P, R]:
    """Return the function as one call with metadata, in each derivative and batch of it too.

    Args:
      fun: a function of trees of arrays.
      metadata: the metadata of the call, sorted by keys.
      transform: the name of the public function that asks, for messages.
    """

    @wearing(fun)
    @filtered
    def marked(*args: Any, **keywords: Any) -> Any:
        leaves, tree = tree_flatten((args, keywords))
        key = key_of(tree, leaves, ())
        found = find_trace(fun, key)
        if found is None:
            flat, out = flat_function(fun, tree)
            told = traced_function(fun, transform, tree, ())
            (staged,), leaves = staged_over([flat], leaves, [name_of(fun)], [told])
            found = staged.program, out[0]
            keep_trace(fun, key, staged.captured, found)
            leaves = [*staged.captured, *leaves]
        program, out_tree = found
        results = control.call(*leaves, program=program, name=name_of(fun), metadata=metadata)
        return tree_unflatten(out_tree, results)

    return marked
