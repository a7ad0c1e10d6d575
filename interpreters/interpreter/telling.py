"""Arguments of an interpreter's class methods beside values: the settings and the mode."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import attrs

from effax.interpreters.functor.lifting import PLAIN

if TYPE_CHECKING:
    from effax.interpreters.interpreter.handler import Interpretation


@attrs.frozen
class Mode:
    """The shape of an interpreter's value: the axes in front of its leaves, and its statics.

    `axes` has the lengths of those axes for each leaf by name, None for a leaf that is absent.
    """

    axes: dict[str, tuple[int, ...] | None]
    statics: dict[str, Any]


def wants(method: Any, name: str) -> bool:
    """Whether a method has a parameter of that name."""
    return name in _parameters(getattr(method, "__func__", method))


@functools.lru_cache(maxsize=1024)
def _parameters(function: Any) -> frozenset[str]:
    return frozenset(inspect.signature(function).parameters)


def tell(handler: Interpretation, method: Callable[..., Any], *args: Any, mode: Any = PLAIN) -> Any:
    """Call a method with what it asks for: `settings`, by name, and `mode`, a `Mode` or None."""
    more: dict[str, Any] = {}
    fields = handler.interpreter._fields
    if wants(method, "settings"):
        given = zip(fields.settings, handler.settings, strict=True)
        more["settings"] = SimpleNamespace(**dict(given))
    if wants(method, "mode"):
        more["mode"] = None if mode is PLAIN else _described(fields, mode)
    return method(*args, **more)


def _described(fields: Any, mode: Any) -> Mode:
    axes = {n: None if m is None else m[0] for n, m in zip(fields.leaves, mode[0], strict=True)}
    return Mode(axes, dict(zip(fields.statics, mode[1], strict=True)))
