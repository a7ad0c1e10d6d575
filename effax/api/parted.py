"""The arguments of one call of a jitted function: statics, leaves with their types, donations."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from effax.api.float0 import Nothing, is_nothing, set_aside
from effax.api.signatures import Parameters, leaf_names
from effax.backends.xla.array import Array
from effax.effects.config import trace_key
from effax.effects.handler import Carrier, bottom, innermost, stack
from effax.effects.tree import (
    keystr,
    tree_flatten,
    tree_flatten_with_path,
    tree_unflatten,
)
from effax.effects.types import typeof

if TYPE_CHECKING:
    from effax.api.jit import Jit


@attrs.frozen(slots=True, eq=False)
class Parted:
    """The arguments of a call: statics in a skeleton, leaves of the rest with their types."""

    leaves: list[Any]
    types: list[Any]
    tree: Any
    is_flat: bool
    statics: tuple[tuple[Any, Any], ...]
    donated: tuple[int, ...]
    key: Any

    @classmethod
    def of(
        cls, jit: Jit, args: tuple[Any, ...], keywords: dict[str, Any], typing: Any = typeof
    ) -> Parted:
        """Part the arguments of a call of `jit`, whose leaves have the types `typing` says."""
        statics: list[tuple[Any, Any]] = []
        rest: list[Any] = list(args)
        named = dict(keywords)
        if jit._has_static:
            count = len(args)
            places = jit._places(count)
            rest = []
            for i, x in enumerate(args):
                if i in places:
                    statics.append((i, _Static(x, i)))
                else:
                    rest.append(x)
            for name in jit._static_names & named.keys():
                statics.append((name, _Static(named.pop(name), name)))
        leaves, tree = tree_flatten((tuple(rest), named))
        if any(map(is_nothing, leaves)):
            filled = [Nothing(x.shape) if is_nothing(x) else x for x in leaves]
            rest, named = tree_unflatten(tree, filled)
            leaves, tree = tree_flatten((tuple(rest), named))
        types = _leaf_types(jit, leaves, tree, statics, typing)
        donated: tuple[int, ...] = ()
        if jit._donates:
            donated = _donated_leaves(jit, args, statics, rest, named)
        fixed = tuple(statics)
        axes = axes_in_scope()
        key = trace_key(), axes, axes and tracked_axes(), tree, fixed, tuple(types)
        is_flat = not keywords and all(type(x) is Array for x in args)
        return cls(leaves, types, tree, is_flat, fixed, donated, key)

    def call(self, function: Callable[..., Any], values: Sequence[Any]) -> Any:
        """Call the function with these leaves in place of its dynamic arguments."""
        args, keywords = tree_unflatten(self.tree, values)
        if self.statics:
            args = list(args)
            for at, x in self.statics:
                if isinstance(at, int):
                    args.insert(at, x.value)
                else:
                    keywords = {**keywords, at: x.value}
        return function(*args, **keywords)


def require_static(value: Any, at: int | str, how: str, option: str) -> None:
    """Raise `ValueError` unless compiled code can be found by a static argument's value."""
    reason = ""
    if isinstance(value, Carrier):  # it hashes by identity
        reason = "its elements are not known while a function is transformed"
    else:
        try:
            hash(value)
        except TypeError as error:
            reason = str(error)
    if reason:
        raise ValueError(
            f"Non-hashable static arguments are not supported: argument {at!r} of a {how} function "
            f"is of type {type(value)}. Static arguments must be hashable and compare by value, "
            "since compiled code is found by them: pass a tuple for a list, or leave the "
            f"argument out of {option} ({reason})"
        )


class _Static:
    """A static argument: compared by type and value."""

    __slots__ = ("value",)

    def __init__(self, value: Any, at: int | str) -> None:
        require_static(value, at, "jitted", "static_argnums")
        self.value = value

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, _Static)
            and type(self.value) is type(other.value)
            and bool(self.value == other.value)
        )


def _leaf_types(
    jit: Any, leaves: Sequence[Any], tree: Any, statics: Sequence[tuple[Any, Any]], typing: Any
) -> list[Any]:
    types = []

    def path(i: int) -> str:
        return leaf_names(Parameters.of(jit.__wrapped__), tree, [at for at, _ in statics])[i]

    for i, x in enumerate(leaves):
        try:
            types.append(typing(x))
        except OverflowError as error:
            raise OverflowError(
                f"An overflow was encountered while parsing an argument to the jitted function "
                f"{jit._name}, whose argument path is {path(i)}: {error}"
            ) from None
        except TypeError:
            if hasattr(x, "__jax_array__"):
                raise ValueError(
                    "Triggering __jax_array__() during abstractification is no longer supported. "
                    f"The argument {path(i)} of the jitted function {jit._name}, of type "
                    f"{type(x)}, is no array but becomes one: pass what its __jax_array__() returns"
                ) from None
            raise TypeError(
                f"Error interpreting argument to the jitted function {jit._name} as an abstract "
                f"array. The problematic value is of type {type(x)} and was passed to the function "
                f"at path {path(i)}. It does not have a dtype attribute: pass it as a static "
                "argument (static_argnums, static_argnames), or register its class as a pytree"
            ) from None
    return types


def _donated_leaves(
    jit: Jit,
    args: tuple[Any, ...],
    statics: Sequence[tuple[Any, Any]],
    rest: Sequence[Any],
    named: dict[str, Any],
) -> tuple[int, ...]:
    count = len(args)
    places = {n % count for n in jit._donated if -count <= n < count}
    skipped = {at for at, _ in statics}
    donated: list[int] = []
    position = 0
    for i, x in enumerate(args):
        if i in skipped:
            continue
        n = len(set_aside(*tree_flatten(x))[0])
        if i in places:
            donated += range(position, position + n)
        position += n
    for name in sorted(named):
        n = len(set_aside(*tree_flatten(named[name]))[0])
        if name in jit._donated_names:
            donated += range(position, position + n)
        position += n
    return tuple(donated)


def tracked_axes() -> frozenset[Hashable]:
    """The named axes along which types tell whether values may differ."""
    return frozenset(h.axis_name for h in stack() if getattr(h, "tracks", False))


def axes_in_scope() -> tuple[tuple[Hashable, int], ...]:
    """The named axes that handlers now installed bind, with their lengths, innermost first."""
    handler = innermost()
    axes = []
    while handler is not bottom:
        name = getattr(handler, "axis_name", None)
        if name is not None:
            axes.append((name, handler.size))
        handler = handler.outer
    return tuple(axes)


def check_results(leaves: Sequence[Any], name: str, tree: Any) -> None:
    """Refuse results that are not arrays.

    Raises `TypeError` that names where in the results such a value stands.
    """
    for i, x in enumerate(leaves):
        try:
            typeof(x)
        except TypeError:
            filled = tree_unflatten(tree, [object() for _ in leaves])
            path = keystr(tree_flatten_with_path(filled)[0][i][0])
            raise TypeError(
                f"function {name} to be transformed must return arrays, but it returned a value "
                f"of type {type(x)} at output component {path or '(the whole result)'}"
            ) from None
