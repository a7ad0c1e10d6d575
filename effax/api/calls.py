"""Calls of a jitted function that were compiled before: what there is of each, and its form."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from keyword import iskeyword
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from effax.api.call_forms import (
    ARRAY,
    DICT,
    ENTERED,
    HOST,
    MISSING,
    MIXED,
    STATIC,
    TREE,
    Form,
    form_of,
    note_keys,
)
from effax.backends.xla.array import Array, asarray, entered, note_host
from effax.backends.xla.dispatch import Executor, operand
from effax.backends.xla.executable import XlaRuntimeError, explain_failure
from effax.effects.effect import LITERALS, REFERENCES
from effax.effects.tree import registry, tree_flatten

if TYPE_CHECKING:
    from effax.api.jit import Jit

_LEAF: Final = tree_flatten(0)[1]


class CompiledCall:
    """An executable and the tree of its results: buffers in, the function's results out."""

    __slots__ = ("build", "executor", "plain", "specs", "tree")

    def __init__(self, executor: Executor, tree: Any) -> None:
        self.executor = executor
        self.tree = tree
        self.specs = executor.specs
        self.build = _builder(tree)
        self.plain = executor.direct and not executor.captured
        """Whether calling is no more than running the executable on the operands."""

    def __call__(self, buffers: list[Any]) -> Any:
        """The results for operands in these buffers."""
        return self.build(self.executor(buffers))

    def explain(self, error: XlaRuntimeError, buffers: list[Any]) -> None:
        """Raise what is known better of a failure than XLA says it, if anything is."""
        explain_failure(error, zip(self.executor.in_specs, buffers, strict=True))

    @property
    def entry(self) -> tuple[Any, Any, Any, CompiledCall]:
        """What calls are found with: how to run it, and the spec of the result if it is all."""
        spec = self.executor.single if self.plain and self.tree == _LEAF else None
        return self.executor.run, self.executor.handlers, spec, self


def _builder(tree: Any) -> Callable[[Iterable[Any]], Any]:
    """What makes a function's results of the leaves of their tree."""
    root = tree.node_data()
    if root is not None and all(child == _LEAF for child in tree.children()):
        kind, keys = root
        if kind in (tuple, list):
            return kind
        if kind is dict:
            named = partial(zip, keys)
            return lambda leaves: dict(named(leaves))
    unflatten: Callable[[Iterable[Any]], Any] = tree.unflatten
    return unflatten


class Found(NamedTuple):
    """Where a call's compiled form is found, or is to be put."""

    shape: Any
    form: Form
    entries: dict[Any, Any]
    key: Any
    buffers: list[Any]
    compiled: CompiledCall | None


def find(
    jit: Jit, known: Form | None, shape: Any, args: tuple[Any, ...], keywords: dict[str, Any]
) -> Found | None:
    """Where a call of a function is found; calls of its shape (how many, what names) had `known`.

    None for arguments that have to be looked at more closely: references, what is no array,
    statics that can't be hashed.
    """
    try:
        form = _form_of(jit, args, keywords, known)
        if form is None:
            return None
        entries = jit._caches.entries.setdefault(form, {})
        key, buffers = form.find(args, keywords, jit._enter)
        entry = entries.get(key)
    except (AttributeError, TypeError):
        return None
    return Found(shape, form, entries, key, buffers, None if entry is None else entry[-1])


def _entrance(convert: Callable[[Any], Any]) -> Callable[[Any], tuple[Any, Any]]:
    def entering(x: Any) -> tuple[Any, Any]:
        found = entered(x)
        if found is not None:
            return found
        array = convert(x)
        return array.spec, array.buffer

    return entering


enter: Final = _entrance(operand)
"""Gives spec and buffer of an operand; numbers have buffers in common."""
enter_own: Final = _entrance(asarray)
"""The same, for buffers that may be given away."""


def _form_of(
    jit: Jit, args: tuple[Any, ...], keywords: dict[str, Any], known: Form | None
) -> Form | None:
    """The form of a call, wide enough for those of the same shape that had a `known` one.

    None for calls that have to be looked at more closely: with references, or names that can't be
    written.
    """
    places = jit._places(len(args)) if jit._has_static else ()
    kinds = [STATIC if i in places else _kind(x) for i, x in enumerate(args)]
    names = tuple(sorted(keywords))
    for name in names:
        if iskeyword(name) or name.startswith("__") or not (name.isascii() and name.isidentifier()):
            return None
        kinds.append(STATIC if name in jit._static_names else _kind(keywords[name]))
    if None in kinds:
        return None
    if known is not None:
        kinds = [*map(_wider, kinds, known.kinds)]
    return form_of(tuple(kinds), names)


def _kind(x: Any) -> Any:
    """What an argument is that is not static; None for references."""
    kind = type(x)
    if kind is Array:
        return ARRAY
    if kind is np.ndarray:
        return HOST if note_host(x) else ENTERED
    if kind in LITERALS:
        return ENTERED
    if kind is dict and x and all(type(y) is Array for y in x.values()) and note_keys(x):
        return DICT
    leaves, tree = registry.flatten(x)
    kinds = set(map(type, leaves))
    if not kinds.isdisjoint(REFERENCES):
        return None
    if tree == _LEAF:
        return ENTERED
    return TREE if kinds <= {Array} else MIXED


def _wider(kind: Any, other: Any) -> Any:
    """The kind of what may be of either."""
    if kind == other:
        return kind
    both = {kind, other}
    if both <= {ARRAY, HOST, ENTERED}:
        return ENTERED
    return TREE if both <= {ARRAY, DICT, TREE} else MIXED


def given(
    args: tuple[Any, ...], keywords: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call without what stands for missing ones."""
    return (
        tuple([x for x in args if x is not MISSING]),
        {name: x for name, x in keywords.items() if x is not MISSING},
    )
