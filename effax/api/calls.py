"""Calls of a jitted function that were compiled before: the key they are found by, and the call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from effax.backends.xla.array import Array, asarray, buffer_of, spec_of
from effax.backends.xla.dispatch import Executor, operand
from effax.backends.xla.executable import XlaRuntimeError, explain_failure
from effax.effects.config import trace_key
from effax.effects.effect import LITERALS, REFERENCES
from effax.effects.tree import registry, tree_flatten, tree_unflatten

if TYPE_CHECKING:
    from effax.api.jit import Jit

_LEAF: Final = tree_flatten(0)[1]
_ENTERED: Final = LITERALS | {np.ndarray}
_TREES: Final = frozenset({dict, list, tuple})
_flatten: Final = registry.flatten


class CompiledCall:
    """An executable and the tree of its results: buffers in, the function's results out."""

    __slots__ = ("captured", "direct", "executor", "handlers", "run", "spec", "specs", "tree")

    def __init__(self, executor: Executor, tree: Any) -> None:
        self.executor = executor
        self.tree = tree
        self.run = executor.run
        self.handlers = executor.handlers
        self.captured = executor.captured
        self.specs = executor.specs
        self.direct = executor.direct
        self.spec = executor.single if self.direct and tree == _LEAF else None

    def __call__(self, buffers: list[Any]) -> Any:
        """The results for operands in these buffers."""
        if not self.direct:
            return tree_unflatten(self.tree, self.executor(buffers))
        everything = self.captured + buffers if self.captured else buffers
        try:
            outs = self.run(everything).consume_with_handlers(self.handlers)
        except XlaRuntimeError as error:
            explain_failure(error, zip(self.executor.in_specs, everything, strict=True))
            raise
        if self.spec is not None:
            return Array(outs[0], self.spec)
        return self.tree.unflatten(map(Array, outs, self.specs))


def find(jit: Jit, args: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, list[Any], Any]:
    """The compiled call for these arguments or None, the operands' buffers, and the call's key.

    The key is None for arguments that have to be looked at more closely: references, what is no
    array, statics that can't be hashed.
    """
    try:
        key, buffers = _key_of_arrays(jit, args, keywords) or _key_of_trees(jit, args, keywords)
        return jit._fast.get(key), buffers, key
    except TypeError:  # no array, or a static that can't be hashed: the long way says so
        return None, [], None


def _key_of_arrays(
    jit: Jit, args: tuple[Any, ...], keywords: dict[str, Any]
) -> tuple[Any, list[Any]] | None:
    """Key and buffers of a call with arrays, numbers and statics; None where there are trees."""
    if args and type(args[0]) in _TREES:
        return None
    parts: list[Any] = [trace_key(), len(args)]
    buffers: list[Any] = []
    enter = asarray if jit._donates else operand
    places = jit._places(len(args)) if jit._has_static else ()
    for i, x in enumerate(args):
        if i in places:
            parts += type(x), x
            continue
        if type(x) is not Array:
            if type(x) not in _ENTERED:
                return None
            x = enter(x)
        parts.append(x.spec)
        buffers.append(x.buffer)
    for name in sorted(keywords) if len(keywords) > 1 else keywords:
        x = keywords[name]
        parts.append(name)
        if name in jit._static_names:
            parts += type(x), x
            continue
        if type(x) is not Array:
            if type(x) not in _ENTERED:
                return None
            x = enter(x)
        parts.append(x.spec)
        buffers.append(x.buffer)
    return tuple(parts), buffers


def _key_of_trees(
    jit: Jit, args: tuple[Any, ...], keywords: dict[str, Any]
) -> tuple[Any, list[Any]]:
    """Key and buffers of a call with trees; the key is None where one has references."""
    statics: list[Any] = []
    if jit._has_static:
        places = jit._places(len(args))
        statics = [(type(args[i]), args[i]) for i in places]
        args = tuple([x for i, x in enumerate(args) if i not in places])
        named = jit._static_names & keywords.keys()
        if named:
            statics += [(name, type(keywords[name]), keywords[name]) for name in sorted(named)]
            keywords = {name: x for name, x in keywords.items() if name not in named}
    leaves, tree = _flatten((args, keywords))
    try:
        specs: Sequence[Any] = [*map(spec_of, leaves)]
    except AttributeError:
        if not REFERENCES.isdisjoint(map(type, leaves)):
            return None, []
        enter = asarray if jit._donates else operand
        leaves = [x if type(x) is Array else enter(x) for x in leaves]
        specs = [*map(spec_of, leaves)]
    return (trace_key(), tree, tuple(statics), *specs), [*map(buffer_of, leaves)]
