"""The cache key of a jitted call, one component per argument, and why two keys differ."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import attrs

from effax.effects.config import Settings
from effax.effects.frames import TracedFunction
from effax.effects.handler import Carrier
from effax.effects.leaf_paths import leaf_paths
from effax.effects.tree import keystr, tree_structure, treedef_children, treedef_tuple
from effax.effects.types import ShapedArray

_SHORT = 60


@attrs.frozen(slots=True)
class Parameters:
    """The names of a function's positional parameters, as messages call its arguments."""

    named: tuple[str, ...] = ()
    rest: str = "args"

    @classmethod
    def of(cls, function: Callable[..., Any]) -> Parameters:
        """The names in the function's signature; none where it has no signature."""
        try:
            parameters = inspect.signature(function).parameters.values()
        except (ValueError, TypeError):
            return cls()
        kinds = inspect.Parameter
        named = tuple(
            p.name
            for p in parameters
            if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)
        )
        rest = [p.name for p in parameters if p.kind is kinds.VAR_POSITIONAL]
        return cls(named, rest[0] if rest else "args")

    def first(self, count: int) -> list[str]:
        """Return names of the first `count` arguments: `x`, or `args[i]` where a parameter has no
        name.
        """
        n = len(self.named)
        return [self.named[i] if i < n else f"{self.rest}[{i - n}]" for i in range(count)]


def leaf_names(parameters: Parameters, tree: Any, statics: Iterable[Any] = ()) -> list[str]:
    """A name for each leaf of `(args, keywords)`: `x`, `params['w'][0]`.

    `statics` are the positions among the user's arguments of those that the tree leaves out.
    """
    fixed = {at for at in statics if isinstance(at, int)}
    count = len(treedef_children(treedef_children(tree)[0])) + len(fixed)
    dynamic = [n for i, n in enumerate(parameters.first(count)) if i not in fixed]
    names = []
    for inside, first, *rest in leaf_paths(tree):
        if inside.idx == 0:
            names.append(dynamic[first.idx] + keystr(tuple(rest)))
        else:
            names.append(f"{first.key}{keystr(tuple(rest))}")
    return names


def traced_function(
    function: Callable[..., Any],
    transform: str,
    tree: Any,
    statics: Iterable[Any] = (),
    positional: bool = False,
    leaves: Sequence[Any] = (),
) -> TracedFunction:
    """Name the arguments of a function that is traced, for messages.

    `tree` is the tree of `(args, keywords)`, or of `args` alone if these are all `positional`;
    `leaves` are the values of the call.
    """

    def names() -> list[str]:
        both = treedef_tuple((tree, tree_structure({}))) if positional else tree
        return leaf_names(Parameters.of(function), both, statics)

    tracers = [i for i, x in enumerate(leaves) if isinstance(x, Carrier)]
    return TracedFunction(function, transform, names, tracers)


@attrs.frozen(slots=True, eq=False)
class Signature:
    """The signature for which a trace was made."""

    parameters: Parameters
    settings: Settings
    axes: tuple[Any, ...]
    tree: Any
    types: tuple[ShapedArray, ...]
    statics: tuple[tuple[Any, Any], ...]

    def leaves(self) -> dict[str, ShapedArray]:
        """The types by the names of their arguments."""
        names = leaf_names(self.parameters, self.tree, [at for at, _ in self.statics])
        return dict(zip(names, self.types, strict=True))

    def fixed(self) -> dict[str, tuple[type, Any]]:
        """The static arguments by name, each with its class."""
        places = [at for at, _ in self.statics if isinstance(at, int)]
        names = self.parameters.first(max(places, default=-1) + 1)
        return {names[at] if isinstance(at, int) else at: (type(x), x) for at, x in self.statics}

    def differences(self, before: Signature) -> list[str]:
        """Describe the changes since an earlier signature, a line each."""
        return [
            *_changed_settings(before.settings, self.settings),
            *_changed_axes(before.axes, self.axes),
            *_changed_statics(before.fixed(), self.fixed()),
            *_changed_leaves(before.leaves(), self.leaves()),
            *_changed_trees(before, self),
        ]


def _changed_settings(before: Settings, now: Settings) -> list[str]:
    if before is now:
        return []
    return [
        f"different tracing context: {name}, now {getattr(now, name)} and before "
        f"{getattr(before, name)}"
        for name in Settings.__slots__
        if getattr(before, name) != getattr(now, name)
    ]


def _changed_axes(before: Sequence[Any], now: Sequence[Any]) -> list[str]:
    if before == now:
        return []

    def text(axes: Sequence[Any]) -> str:
        return ", ".join(f"{name!r} of size {size}" for name, size in axes) or "none"

    return [f"the named axes in scope were: {text(before)}; and are: {text(now)}"]


def _changed_statics(
    before: dict[str, tuple[type, Any]], now: dict[str, tuple[type, Any]]
) -> list[str]:
    found = []
    for name in sorted(before.keys() | now.keys()):
        if name not in now:
            found.append(f"static argument {name} was given before, and is left out")
        elif name not in before:
            found.append(f"static argument {name} is given, and was left out before")
        elif before[name] != now[name]:
            was, new = before[name][1], now[name][1]
            why = ""
            if _short(was) == _short(new):
                why = f" ({_unequal(was, new)})"
            found.append(f"static argument {name} was {_short(was)} and is {_short(new)}{why}")
    return found


def _unequal(was: Any, new: Any) -> str:
    if type(was) is not type(new):
        return f"a {type(was).__name__} before, a {type(new).__name__} now"
    if callable(new):
        return "another function object: define it once, outside the call"
    return f"another object, which is not equal by {type(new).__name__}.__eq__"


def _changed_leaves(before: dict[str, ShapedArray], now: dict[str, ShapedArray]) -> list[str]:
    return [
        f"different input types: at {name}, {_now_and_before(t, before[name])}"
        for name, t in now.items()
        if name in before and before[name] is not t
    ]


def _now_and_before(now: ShapedArray, before: ShapedArray) -> str:
    """The two types, and which parts of them changed."""
    texts = [t.str_short() for t in (now, before)]
    if now.weak_type != before.weak_type:
        texts = [f"{t.str_short()}{{weak_type={t.weak_type}}}" for t in (now, before)]
    return f"now {texts[0]} and before {texts[1]}{_kind(before, now)}"


def _kind(was: ShapedArray, now: ShapedArray) -> str:
    """Return the parts of a type that changed."""
    parts = []
    if was.ndim != now.ndim:
        parts.append("the number of axes")
    elif was.shape != now.shape:
        parts.append("the shape")
    if was.dtype != now.dtype:
        parts.append("the dtype")
    if was.weak_type != now.weak_type:
        weak = "weak, as a Python number's" if now.weak_type else "strong, as an array's"
        parts.append(f"the weakness of the dtype: now {weak}")
    return f" ({', '.join(parts)})"


def _changed_trees(before: Signature, now: Signature) -> list[str]:
    if before.tree == now.tree:
        return []
    was, new = set(before.leaves()), set(now.leaves())
    found = []
    if new - was:
        found.append(f"there are new arguments, or parts of them: {_listed(new - was)}")
    if was - new:
        found.append(f"arguments, or parts of them, are missing: {_listed(was - new)}")
    if not found:
        found.append(f"the tree of the arguments was {before.tree} and is {now.tree}")
    return found


def _listed(names: set[str]) -> str:
    few = sorted(names)[:5]
    return ", ".join(few) + (f", and {len(names) - 5} more" if len(names) > 5 else "")


def _short(x: Any) -> str:
    text = repr(x)
    return text if len(text) <= _SHORT else text[: _SHORT - 3] + "..."


def nearest(now: Signature, earlier: Iterable[Signature]) -> list[str]:
    """Explain the changes since the most similar earlier signature; of equals, the latest."""
    found: list[str] = []
    least = float("inf")
    for signature in earlier:
        differences = now.differences(signature)
        cost = sum(1 + 0.1 * text.count(",") for text in differences)
        if cost <= least:
            found, least = differences, cost
    return found
