"""Events: what happens in the library, told to whoever listens.

Their names are JAX's. Nothing is told before someone listens.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

Listener = Callable[..., None]

KINDS: Final = ("event", "duration", "time_span", "scalar")
_listeners: Final[dict[str, list[Listener]]] = {kind: [] for kind in KINDS}

TRACED: Final = "/jax/core/compile/jaxpr_trace_duration"
COMPILED: Final = "/jax/core/compile/backend_compile_duration"
FOUND_ON_DISK: Final = "/jax/compilation_cache/cache_hits"
NOT_ON_DISK: Final = "/jax/compilation_cache/cache_misses"
RETRIEVAL: Final = "/jax/compilation_cache/cache_retrieval_time_sec"


def tell(kind: str, *what: Any, **metadata: str | int) -> None:
    """Call the listeners of a kind, in the order in which they came."""
    for listener in tuple(_listeners[kind]):
        listener(*what, **metadata)


def listen(kind: str, listener: Listener) -> None:
    """Have a function called for each event of a kind."""
    if not callable(listener):
        raise TypeError(f"a listener must be callable, got {listener!r}")
    _listeners[kind].append(listener)


def forget(kind: str, listener: Listener) -> None:
    """Call it no more. Raises `ValueError` for a function that does not listen."""
    if listener not in _listeners[kind]:
        raise ValueError(f"{listener!r} does not listen to events of the kind {kind!r}")
    _listeners[kind].remove(listener)


def clear() -> None:
    """Have no one listen any more."""
    for listeners in _listeners.values():
        listeners.clear()
