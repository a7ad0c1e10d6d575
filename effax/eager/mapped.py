"""Public functions under an eager `vmap`: one cached executable for all lanes of a batch.

A function's body performs a dozen effects or a hundred, each of which would be batched and launched
by itself. Where nothing but `vmap` is installed, nobody can see them: the body is staged under the
same batches, once for the types of its operands, and compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from effax.backends.xla.array import Array
from effax.backends.xla.dispatch import operand, refuse_execution
from effax.backends.xla.launch import Launch
from effax.eager.calls import Arguments, as_values, is_unseen, launch_of
from effax.effects.config import trace_key
from effax.effects.effect import LITERALS
from effax.effects.handler import bottom, innermost
from effax.effects.interning import keep
from effax.effects.tree import tree_flatten, tree_unflatten
from effax.interpreters.batch.batched import Batch, Batched
from effax.interpreters.stage import stage

NOT_WHOLE: Final = object()
"""The answer where the body has to be run, effect by effect."""
_LIMIT: Final = 4096

Levels = tuple[int, ...]
"""The batches that a value differs along, by their numbers, innermost first."""


class _Mapped(NamedTuple):
    """A compiled call: its launch, and the tree and the levels of its results."""

    launch: Launch
    tree: Any
    levels: Sequence[Levels]


def call_mapped(calls: Any, top: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Call a `whole` function whose operands may be values mapped by the batch on top.

    Args:
      calls: the compiled calls of the function.
      top: the handler on top, a batch.
      args: the arguments by position, their `__jax_array__` asked.
      keywords: the arguments by name.

    Returns:
      The results, or `NOT_WHOLE` where other handlers are installed, or the arguments are none
      that a program is compiled for.
    """
    batches = _batches(top)
    if batches is None:
        return NOT_WHOLE
    bound = Arguments.bind(args, keywords, calls.places, calls.names)
    arrays: list[Array] = []
    levels: list[Levels] = []
    for x in bound.leaves:
        x, along = _lanes_of(x, batches)
        if type(x) is not Array:
            if calls.reads and type(x) not in LITERALS:
                return NOT_WHOLE
            try:
                x = operand(x)
            except TypeError:
                return NOT_WHOLE
        if x.spec.type.cut is not None:
            return NOT_WHOLE
        arrays.append(x)
        levels.append(along)
    specs = [x.spec for x in arrays]
    kinds = tuple([b.static for b in batches])
    key = trace_key(), bound.statics, bound.tree, kinds, (*levels,), (*specs,)
    try:
        found = calls.mapped.get(key)
    except TypeError:  # statics that can't be hashed
        return NOT_WHOLE
    if found is None:
        found = keep(
            calls.mapped, key, _make(calls.function, bound, batches, levels, specs), _LIMIT
        )
    results = found.launch([x.buffer for x in arrays])
    outs = [_mapped(x, batches, at) for x, at in zip(results, found.levels, strict=True)]
    return tree_unflatten(found.tree, outs)


def _batches(top: Any) -> list[Batch] | None:
    """The batches installed, innermost first; None where a call may be seen, or is not plain."""
    if not is_unseen():
        return None
    found = []
    while type(top) is Batch and not top.directions and top.cut is None:
        found.append(top)
        top = top.outer
    return found if top is bottom else None


def _make(
    function: Callable[..., Any],
    bound: Arguments,
    batches: Sequence[Batch],
    levels: Sequence[Levels],
    specs: Sequence[Any],
) -> _Mapped:
    """Stage and compile a function for operands that differ along these levels of batches."""
    name = function.__name__
    refuse_execution(name)
    trees: list[Any] = []
    found: list[Levels] = []

    def body(*values: Any) -> list[Any]:
        again: list[Batch] = []
        outer: Any = innermost()
        for b in reversed(batches):
            outer = b.fresh(outer)
            outer.spare = b.spare
            again.insert(0, outer)
        lanes = [_mapped(x, again, at) for x, at in zip(values, levels, strict=True)]
        results, tree = tree_flatten(again[0].run(lambda: as_values(bound.call(function, lanes))))
        trees[:] = [tree]
        pairs = [_lanes_of(x, again) for x in results]
        found[:] = [along for _, along in pairs]
        return [x for x, _ in pairs]

    staged = stage(body, [s.type for s in specs], name)
    return _Mapped(launch_of(staged, specs, list), trees[0], (*found,))


def _lanes_of(x: Any, batches: Sequence[Batch]) -> tuple[Any, Levels]:
    """The values of all lanes, and the levels along which they differ."""
    along = []
    while type(x) is Batched and x.handler in batches:
        along.append(batches.index(x.handler))
        x = x.many
    return x, (*along,)


def _mapped(x: Any, batches: Sequence[Batch], levels: Levels) -> Any:
    """An array as a value that differs along these levels."""
    for at in reversed(levels):
        x = Batched(batches[at], x)
    return x
