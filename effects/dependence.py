"""The arguments that a traced value depends on, for messages that name them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

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
