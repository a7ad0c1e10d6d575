"""The arguments of one call of a jitted function: statics, leaves with their types, donations."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from effax.api.calling.arguments import name_of
from effax.api.calling.float0 import Nothing, is_nothing
from effax.api.calling.signatures import Parameters, leaf_names
from effax.backends.xla.array import Array
from effax.eager.calls import Arguments
from effax.effects.config import trace_key
from effax.effects.handler import Carrier, bottom, innermost, stack
from effax.effects.leaf_paths import leaf_paths
from effax.effects.tree import keystr, tree_flatten, tree_unflatten
from effax.effects.types import registration, typeof
from effax.effects.value import Value

if TYPE_CHECKING:
    from effax.api.compiling.jitted import Jit


class CallArguments(Arguments):
    """The arguments of a call of `jit`, with the types of the leaves, and which are given away."""

    __slots__ = ("donated", "key", "types")

    types: list[Any]
    donated: tuple[int, ...]
    key: Any

    @classmethod
    def of(
        cls, jit: Jit, args: tuple[Any, ...], keywords: dict[str, Any], typing: Any = typeof
    ) -> CallArguments:
        """Part the arguments of a call of `jit`, whose leaves have the types `typing` says."""
        places: Sequence[int] = ()
        if jit._has_static:
            places = jit._places(len(args))
            given: dict[int | str, Any] = {i: args[i] for i in places}
            given |= {n: x for n, x in keywords.items() if n in jit._static_names}
            for at, x in given.items():
                require_static(x, at, "jitted", "static_argnums")
        found = cls.bind(args, keywords, places, jit._static_names)
        if any(map(is_nothing, found.leaves)):
            filled = [Nothing(x.shape) if is_nothing(x) else x for x in found.leaves]
            found.leaves, found.tree = tree_flatten(tree_unflatten(found.tree, filled))
        found.types = _leaf_types(jit, found.leaves, found.tree, found.statics, typing)
        if jit._shardings is not None:
            asked = jit._shardings.of_arguments(found.tree, len(found.types))
            pairs = zip(found.types, asked, strict=True)
            found.types = [t if s is None else s.typed(t) for t, s in pairs]
        found.donated = _donated_leaves(jit, len(args), found) if jit._donates else ()
        axes = axes_in_scope()
        scope = axes, axes and tracked_axes()
        found.key = trace_key(), *scope, found.tree, found.statics, tuple(found.types)
        return found


def require_static(value: Any, at: int | str, how: str, option: str) -> None:
    """Raise `ValueError` unless compiled code can be found by a static argument's value."""
    if isinstance(at, str):
        option = option.replace("argnums", "argnames")
    instead, reason = f"leave the argument out of {option}", ""
    if isinstance(value, Carrier):  # hashable, but by identity
        from effax.effects.dependence import arguments_of, static_remedy

        reason = "its elements are not known while a function is transformed"
        around = arguments_of(value)
        remedy = around and static_remedy(*around[0])
        if remedy:
            instead = f"{remedy} in the function around it, or {instead}"
    else:
        try:
            hash(value)
        except TypeError as error:
            reason = str(error)
    if reason:
        shown = f"is of type {type(value)}"
        if isinstance(value, Value):
            shown = f"is {value!r}" if isinstance(value, Carrier) else f"is an array {value.type!r}"
        hashable = _HASHABLE.get(type(value))
        if hashable:
            arrays = isinstance(value, Value | np.ndarray)
            instead = f"pass {hashable}" + (f", or {instead}" if arrays else "")
        raise ValueError(
            f"Non-hashable static arguments are not supported: argument {at!r} of a {how} function "
            f"{shown}. Static arguments must be hashable and compare by value, "
            f"since compiled code is found by them: {instead} ({reason})"
        )


_HASHABLE: Final[dict[type, str]] = {
    list: "a tuple",
    set: "a frozenset",
    dict: "a tuple of pairs",
    np.ndarray: "a tuple of its elements",
    Array: "a tuple of its elements",
}
"""Hashable substitutes, by the class of a value that is not hashable."""


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
                    f"{type(x)}, is not an array, but converts to one: pass what its "
                    "__jax_array__() returns"
                ) from None
            raise TypeError(
                f"Error interpreting argument to the jitted function {jit._name} as an abstract "
                f"array. The problematic value is of type {type(x)} and was passed to the function "
                f"at path {path(i)}. {_instead(x, path(i), jit._name)}"
            ) from None
    return types


def _instead(x: Any, path: str, function: str) -> str:
    """Say how to pass a value that is no array to a jitted function."""
    if hasattr(type(x), function) and path.isidentifier():
        kept = "; or take it as it is now, by static_argnums=0" if _is_hashable(x) else ""
        return (
            f"It is the object whose method {function} is: register its class as a pytree "
            f"({registration(x)}), so that its arrays are arguments{kept}"
        )
    if isinstance(x, np.ndarray):
        return f"It has the dtype {x.dtype}: {_instead_of_array(x, path)}"
    if isinstance(x, str | bytes) or callable(x) or type(x) in _HASHABLE:
        return f"It is not an array: {_made_static(_HASHABLE.get(type(x), 'it'), path)}"
    ways = [_made_static("it", path)] * _is_hashable(x) + [
        f"register its class as a pytree ({registration(x)})"
    ]
    return f"It is not an array: {', or '.join(ways)}"


def _made_static(what: str, path: str) -> str:
    """Say how to make a leaf of the arguments static, passed as `what`."""
    outside = "" if path.isidentifier() else f"take it out of {path.partition('[')[0]} and "
    return f"{outside}pass {what} as a static argument (static_argnums, static_argnames)"


def _is_hashable(x: Any) -> bool:
    return type(x).__hash__ is not None


def _instead_of_array(x: Any, path: str) -> str:
    """Say how to pass a NumPy array of a dtype that is not a number's, by its elements."""
    if x.dtype.names:
        return f"pass a dict of its fields, {{name: {path}[name] for name in {path}.dtype.names}}"
    if any(isinstance(e, str | bytes) for e in x.flat):
        return f"it holds text, so {_made_static('a tuple of its elements', path)}"
    if x.dtype == object and not all(isinstance(e, _REAL) for e in x.flat):
        return f"pass a list of its elements, {path}.tolist()"
    return f"convert it to a numeric dtype, such as {path}.astype(float)"


_REAL: Final = (int, float, np.bool_, np.integer, np.floating)


def _donated_leaves(jit: Jit, count: int, found: Arguments) -> tuple[int, ...]:
    """Find the leaves that are given away, of a call with so many positional arguments."""
    places = {n % count for n in jit._donated if -count <= n < count}
    fixed = {at for at, _ in found.statics}
    positional, named = found.tree.children()
    arguments = [i in places for i in range(count) if i not in fixed]
    arguments += [name in jit._donated_names for name in named.node_data()[1]]
    donated: list[int] = []
    start = 0
    children = *positional.children(), *named.children()
    for given_away, tree in zip(arguments, children, strict=True):
        stop = start + tree.num_leaves
        if given_away:
            donated += range(start, stop)
        start = stop
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


def check_results(leaves: Sequence[Any], function: Callable[..., Any], tree: Any) -> None:
    """Refuse results that are not arrays.

    Raises `TypeError` that names where in the results such a value stands.
    """
    for i, x in enumerate(leaves):
        try:
            typeof(x)
        except TypeError:
            path = keystr(leaf_paths(tree)[i])
            code = getattr(inspect.unwrap(function), "__code__", None)
            place = f" at {code.co_filename}:{code.co_firstlineno}" if code is not None else ""
            raise TypeError(
                f"function {name_of(function)}{place} returned a value of type {type(x)}"
                f"{path and f' at output component {path}'}, which is not a valid effax type: "
                "functions to be transformed must return arrays"
            ) from None
