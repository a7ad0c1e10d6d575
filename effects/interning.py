"""Tables of objects made before, each of bounded size.

Types, specs, placements and settings are interned: there is one object for each combination of
parts, so that they compare and hash by identity and a tuple of them is a cheap cache key. Their
table is an `Interned`. What can be computed again is kept by `keep`, in a plain dictionary.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable
from typing import Any, Final, Generic, TypeVar
from weakref import WeakValueDictionary

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

LIMIT: Final = 1 << 14
_lock = threading.RLock()  # reentrant: making an object may intern its parts


class Referable:
    """Objects with slots, to which weak references may be made."""

    __slots__ = ("__weakref__",)


class Interned(Generic[K, V]):
    """The one object for each key, for as long as something refers to it.

    `recent` holds the objects made or found last, and is emptied when it is full: objects that
    nobody else holds then go, and the others stay the only ones of their keys. Look there first,
    which takes one access to a dictionary; then call `find`.

    >>> class Pair(list):
    ...     pass
    >>> pairs = Interned[tuple[int, int], Pair](limit=1)
    >>> first = pairs.find((1, 2), lambda: Pair((1, 2)))
    >>> second = pairs.find((3, 4), lambda: Pair((3, 4)))
    >>> (1, 2) in pairs.recent, pairs.find((1, 2), Pair) is first
    (False, True)
    """

    __slots__ = ("_held", "_limit", "recent")

    def __init__(self, limit: int = LIMIT) -> None:
        self.recent: dict[Any, V] = {}
        self._held: WeakValueDictionary[K, V] = WeakValueDictionary()
        self._limit = limit

    def find(self, key: K, make: Callable[[], V]) -> V:
        """Return the object of a key; if there is none, `make()` makes it."""
        found = self.recent.get(key)
        if found is None:
            with _lock:  # two threads must not make the same object twice
                found = self._held.get(key)
                if found is None:
                    found = make()
                    self._held[key] = found
                keep(self.recent, key, found, self._limit)
        return found

    def __len__(self) -> int:
        """The number of objects."""
        return len(self._held)

    def clear(self) -> None:
        """Forget all objects: equal ones made from now on are others."""
        with _lock:
            self.recent.clear()
            self._held.clear()


def keep(table: dict[K, V], key: K, value: V, limit: int = LIMIT) -> V:
    """Put a value into a table, which is emptied first if it is full, and return the value.

    >>> table = {1: "one", 2: "two"}
    >>> keep(table, 3, "three", limit=2), table
    ('three', {3: 'three'})
    """
    if len(table) >= limit:
        table.clear()
    table[key] = value
    return value


def _renew_lock() -> None:
    """Let the child after a fork not wait for a thread that it does not have."""
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)
