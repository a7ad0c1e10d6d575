"""The threaded state of a user's interpreter: its states and logs."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

from effax.effects.promotion import promote_types
from effax.effects.rows import conversion, shape
from effax.effects.tree import PyTreeDef, tree_flatten, tree_map, tree_unflatten
from effax.effects.types import ShapedArray, typeof
from effax.effects.value import Value

if TYPE_CHECKING:
    from effax.interpreters.interpreter.handler import Interpretation

Mode = tuple[PyTreeDef, tuple[ShapedArray, ...]]
"""The structure of the states, and the types of their leaves."""

Logs = dict[str, dict[Hashable, list[Any]]]
"""For each log, for each of its keys, what was written: arrays to join along the first axis."""


def mode_of(states: Any) -> Mode:
    """The mode of some states."""
    leaves, tree = tree_flatten(states)
    return tree, tuple(map(typeof, leaves))


def join_modes(one: Mode, other: Mode, name: str) -> Mode:
    """The promoted types, and the entries of both where dicts differ; shapes may not change."""
    if one[0] == other[0]:
        return one[0], tuple(map(joined_type, one[1], other[1]))
    union = _union(tree_unflatten(*one), tree_unflatten(*other), name)
    leaves, tree = tree_flatten(union)
    return tree, tuple(leaves)


def _union(one: Any, other: Any, name: str) -> Any:
    if isinstance(one, ShapedArray) and isinstance(other, ShapedArray):
        return joined_type(one, other)
    if type(one) is dict and type(other) is dict:
        both = {k: _union(x, other[k], name) for k, x in one.items() if k in other}
        return one | other | both
    if type(one) is type(other) is list and len(one) == len(other):
        return [_union(a, b, name) for a, b in zip(one, other, strict=True)]
    raise TypeError(
        f"{name} is {one} in one branch or step of a loop, and {other} in another: only entries of "
        "dicts may be there in one and not in the other"
    )


def leaves_at(states: Any, mode: Mode, name: str) -> list[Any]:
    """The leaves of some states, converted to a mode's types; zeros for missing entries."""
    tree, types = mode
    leaves, found = tree_flatten(states)
    if found != tree:
        leaves = tree_flatten(_filled(states, tree_unflatten(tree, types)))[0]
    return [converted(name, x, t) for x, t in zip(leaves, types, strict=True)]


def _filled(states: Any, types: Any) -> Any:
    if type(types) is dict:
        return {k: _filled(states[k], t) if k in states else _zeros(t) for k, t in types.items()}
    if type(types) is list:
        return [_filled(x, t) for x, t in zip(states, types, strict=True)]
    return states


def _zeros(types: Any) -> Any:
    return tree_map(lambda t: shape.full(t.shape, 0, t.dtype), types)


def converted(name: str, x: Any, type: ShapedArray) -> Any:
    """A value as one of the type, which may have another dtype but not another shape."""
    found = typeof(x)
    if found.shape != type.shape:
        raise TypeError(
            f"{name} is {found.str_short()} in one branch or step of a loop, and "
            f"{type.str_short()} in another: shapes may not change"
        )
    if found.dtype == type.dtype:
        return x
    return conversion.convert_element_type(x, dtype=type.dtype, weak_type=False)


def joined_type(one: ShapedArray, other: ShapedArray) -> ShapedArray:
    """The type with the promoted dtype."""
    if one is other:
        return one
    return one.update(
        dtype=promote_types(one.dtype, other.dtype),
        weak_type=one.weak_type and other.weak_type,
    )


def ready(x: Any) -> Any:
    """A leaf as a value: Python numbers and NumPy arrays become arrays of their type."""
    if x is None or isinstance(x, Value):
        return x
    t = typeof(x)
    return conversion.convert_element_type(x, dtype=t.dtype, weak_type=t.weak_type)


class States:
    """A handler's states by name, to read and to assign; settings, to read; logs, to append to."""

    __slots__ = ("_handler",)

    def __init__(self, handler: Interpretation) -> None:
        object.__setattr__(self, "_handler", handler)

    def __getattr__(self, name: str) -> Any:
        fields, handler = self._handler.interpreter._fields, self._handler
        if name in fields.settings:
            return handler.settings[fields.settings.index(name)]
        if name in fields.logs:
            return LogState(handler.logs[name])
        return handler.states[self._place(name)]

    def __setattr__(self, name: str, value: Any) -> None:
        self._handler.states[self._place(name)] = tree_map(ready, value)

    def _place(self, name: str) -> int:
        names = self._handler.interpreter._fields.states
        if name not in names:
            raise AttributeError(f"{self._handler.interpreter.__name__} declares no state '{name}'")
        return names.index(name)


class LogState:
    """A log as seen by a rule."""

    __slots__ = ("_pieces",)

    def __init__(self, pieces: dict[Hashable, list[Any]]) -> None:
        self._pieces = pieces

    def append(self, key: Hashable, x: Any) -> None:
        """Write an array under a key.

        Raises `TypeError` where those written before have another shape or dtype.
        """
        x = shape.expand_dims(ready(x), (0,))
        _append(self._pieces.setdefault(key, []), key, x)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._pieces


def written(logs: Logs) -> tuple[tuple[Any, ...], Sequence[Any]]:
    """The entries of some logs (log, key, how many), and the array of each."""
    entries, leaves = [], []
    for name, keys in logs.items():
        for key, pieces in keys.items():
            x = pieces[0] if len(pieces) == 1 else shape.concatenate(*pieces, axis=0)
            entries.append((name, key, typeof(x).shape[0]))
            leaves.append(x)
    return tuple(entries), leaves


def write(logs: Logs, entries: Sequence[Any], leaves: Sequence[Any], steps: bool) -> None:
    """Add entries as `written` gives them, or with a loop's steps as one more axis in front."""
    for (name, key, _), x in zip(entries, leaves, strict=True):
        if steps:
            n, k, *rest = typeof(x).shape
            x = shape.reshape(x, shape=(n * k, *rest))
        _append(logs[name].setdefault(key, []), key, x)


def _append(pieces: list[Any], key: Hashable, x: Any) -> None:
    found = typeof(x)
    known = typeof(pieces[0]) if pieces else found
    if (known.shape[1:], known.dtype) != (found.shape[1:], found.dtype):
        one, other = (t.update(shape=t.shape[1:]).str_short() for t in (known, found))
        raise TypeError(f"a log has {one} under {key!r}, but {other} is written there")
    pieces.append(x)
