"""Metadata for XLA: in a `with` block, on a function, on values, and on a call."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import update_wrapper
from typing import Any, Generic, ParamSpec, TypeVar, cast

from effax.api.calling.scopes import rescoped
from effax.effects import jaxpr
from effax.effects.config import Overriding, trace_key
from effax.effects.provenance import Tags, tagged

P = ParamSpec("P")
R = TypeVar("R")


class TaggedFunction(Generic[P, R]):
    """A function whose operations carry metadata for XLA, and so do those of its methods.

    The methods of a jitted function, such as `lower`, trace it under the same metadata.
    """

    def __init__(self, function: Callable[P, R], updates: dict[str, Any]) -> None:
        update_wrapper(self, function)
        self._function = function
        self._updates = updates

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function under the metadata."""
        with Tagging(self._updates):
            return self._function(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name in ("_function", "_updates"):  # it is being copied or unpickled
            raise AttributeError(name)
        found = getattr(self._function, name)
        return TaggedFunction(found, self._updates) if callable(found) else found


class Tagging:
    """The context manager, or decorator, under which operations carry metadata for XLA."""

    def __init__(self, updates: dict[str, Any]) -> None:
        self._updates = updates
        self._entered: list[ExitStack] = []

    def __enter__(self) -> None:
        """Add the metadata to that around; a value None removes a key."""
        with ExitStack() as entered:
            merged = {**dict(trace_key().xla_metadata), **self._updates}
            tags = as_tags({k: v for k, v in merged.items() if v is not None})
            entered.enter_context(Overriding("xla_metadata", tags))
            entered.enter_context(rescoped(lambda r: (tagged(r.scope, tags), r.scoped)))
            self._entered.append(entered.pop_all())

    def __exit__(self, *exception: Any) -> None:
        """Restore the metadata from before."""
        self._entered.pop().close()

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """Return the function, with its operations under the metadata."""
        return cast("Callable[P, R]", TaggedFunction(function, self._updates))


jaxpr.managers["metadata"] = Tagging


def as_tags(metadata: dict[str, Any]) -> Tags:
    """Metadata by sorted keys.

    Raises:
      TypeError: for a value that has no hash, as programs are found by their metadata.
    """
    for key, value in metadata.items():
        try:
            hash(value)
        except TypeError:
            raise TypeError(
                f"set_xla_metadata: {key} must be a string, a number or a bool, got "
                f"{type(value).__name__}; XLA gets its text, so pass str({key})"
            ) from None
    return tuple(sorted(metadata.items()))
