"""Live arrays, and those that the garbage collector frees."""

from __future__ import annotations

import gc
import logging
import os
import weakref
from typing import Any, Final

from effax.backends.xla.array import Array
from effax.backends.xla.client import backend
from effax.effects import config
from effax.effects.frames import filtered

_log: Final = logging.getLogger("effax")


@filtered
def live_arrays(platform: str | None = None) -> list[Any]:
    """Return the arrays of a platform (by default the default one) that Python still holds.

    They are found by walking the objects that the garbage collector knows, so it takes
    milliseconds. Arrays that were deleted or given away are left out, and so are constants inside
    executables.

    Raises `RuntimeError` for a platform that is not there.

    >>> import effax, effax.numpy as jnp
    >>> x = jnp.ones(3)
    >>> any(y is x for y in effax.live_arrays())
    True
    >>> x.delete()
    >>> any(y is x for y in effax.live_arrays())
    False
    """
    wanted = backend(platform)
    return [
        x for x in _all_arrays() if x.spec.placement.device.backend is wanted and not x.is_deleted()
    ]


def _all_arrays() -> list[Array]:
    return [x for x in gc.get_objects() if type(x) is Array]


class _Watch:
    """Between the start of a collection and its end, what it may free."""

    def __init__(self) -> None:
        self.before: list[weakref.ref[Array]] = []

    def __call__(self, phase: str, info: dict[str, int]) -> None:
        level = config.read("array_garbage_collection_guard")
        if level in (None, "allow"):
            self.before = []
        elif phase == "start":
            self.before = [weakref.ref(x) for x in _all_arrays()]
        else:
            freed = sum(x() is None for x in self.before)
            self.before = []
            if freed:
                _tell(freed, level)


def _tell(freed: int, level: str) -> None:
    _log.error(
        "`effax.Array` was deleted by the Python garbage collector: %d arrays were reachable from "
        "reference cycles only, and held the memory of their devices until it ran "
        "(array_garbage_collection_guard=%s)",
        freed,
        level,
    )
    if level == "fatal":
        os.abort()


_watch: Final = _Watch()


def watch_collections() -> None:
    """Look, at each garbage collection from now on, whether the setting asks for it."""
    if _watch not in gc.callbacks:
        gc.callbacks.append(_watch)
