"""The arguments that a traced value depends on, for messages that name them."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any, Final

from effax.effects.frames import TracedFunction


def parts(value: Any) -> Iterator[Any]:
    """The carriers that a carrier is made of."""
    for cls in type(value).__mro__:
        for name in getattr(cls, "__slots__", ()):
            part: Any = getattr(value, name, None) if name != "handler" else None
            for x in part if isinstance(part, (tuple, list)) else (part,):
                if hasattr(x, "handler"):
                    yield x


def arguments_of(value: Any, depth: int = 6) -> list[tuple[TracedFunction, dict[str, Any]]]:
    """The traced functions around whose arguments a value depends on; their types by their names.

    The innermost function comes first. A value that is an input of an effect counts for all of
    its results. Functions that were traced without a name for their arguments are left out.
    """
    handler: Any = getattr(value, "handler", None)
    traced = getattr(handler, "traced", None)
    found: list[tuple[TracedFunction, dict[str, Any]]] = []
    outer = []
    if traced is not None:
        needed = {id(value)}
        for e in reversed(handler.equations):
            if any(id(x) in needed for x in e.outputs):
                needed.update(map(id, e.inputs))
        inputs = zip(handler.inputs, traced.names(), strict=False)
        types = {name: x.type for x, name in inputs if id(x) in needed}
        if types:
            found.append((traced, types))
        outer = [x for x, variable in handler.captured.values() if id(variable) in needed]
    if depth:
        for x in (*parts(value), *outer):
            found += arguments_of(x, depth - 1)
    return found


_WITH_STATIC: Final = frozenset(["jit", "checkpoint"])
"""The transforms that have the options static_argnums and static_argnames."""


def static_remedy(traced: TracedFunction, arguments: dict[str, Any]) -> str:
    """Say how to know the arguments' values by static arguments, or "" where that can't work.

    Arrays can't be static, nor what another transform traces outside (a value that is
    differentiated or mapped): neither is hashable.
    """
    how = traced.transform
    if how not in _WITH_STATIC or any(t.shape for t in arguments.values()):
        return ""
    names = traced.names()
    if any(names[i] in arguments for i in traced.tracers):
        return ""
    if all(name.isidentifier() for name in arguments):
        return f"make {_listed(list(arguments))} static ({_option(traced, list(arguments))})"
    return (
        f"pass {_listed(list(arguments))} by an argument of its own and make that static "
        f"({how}'s static_argnums or static_argnames)"
    )


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _option(traced: TracedFunction, names: list[str]) -> str:
    """The option of the transform that makes these arguments static."""
    named = f"static_argnames={(names[0] if len(names) == 1 else tuple(names))!r}"
    try:
        parameters = dict(inspect.signature(traced.function).parameters)
    except (ValueError, TypeError):
        parameters = {}
    by_position = all(
        name in parameters and parameters[name].kind is not inspect.Parameter.KEYWORD_ONLY
        for name in names
    )
    return f"{traced.transform}'s {'static_argnums or ' if by_position else ''}{named}"
