"""Random keys that were used, under the setting `debug_key_reuse`.

A key is known by the array of its words, whatever holds it, or by its place in an array of keys.
Words are not kept alive here, except while a trace that made them goes on.
"""

from __future__ import annotations

import weakref
from collections.abc import Hashable, Iterator
from typing import Any, Final

from effax.effects.errors import KeyReuseError
from effax.effects.frames import Frame, describe, user_frame

_used: Final[dict[tuple[int, Hashable], tuple[Any, str, Frame | None]]] = {}


def _forget(identity: int) -> None:
    for key in [k for k in _used if k[0] == identity]:
        del _used[key]


def _layers(words: Any) -> Iterator[Any]:
    """The words themselves, and what they are made of under the handlers that are installed."""
    while words is not None:
        yield words
        words = getattr(words, "many", getattr(words, "primal", None))


def use(words: Any, index: Hashable, function: str) -> None:
    """Note that a function uses a key; raises `KeyReuseError` if one did before.

    `index` is the place among the keys of these words, None for all of them.
    """
    for carrier, _, _ in list(_used.values()):
        if carrier is not None and not carrier.handler.live:
            _forget(id(carrier))
    here = user_frame()
    for layer in _layers(words):
        before = _before(layer, index)
        if before is not None:
            raise KeyReuseError(
                f"at {describe(here)}, {function} uses a random key that was used before, by "
                f"{before[1]} at {describe(before[2])}: the numbers will not be independent. Split "
                "the key first (key, other = random.split(key)) and use each part once; "
                "random.clone(key) makes a copy that may be used again"
            )
    for layer in _layers(words):
        carrier = layer if hasattr(layer, "handler") else None
        if carrier is None:
            weakref.finalize(layer, _forget, id(layer))
        _used[id(layer), index] = carrier, function, here


def _before(words: Any, index: Hashable) -> tuple[Any, str, Frame | None] | None:
    if index is not None:
        return _used.get((id(words), index)) or _used.get((id(words), None))
    return next((found for key, found in _used.items() if key[0] == id(words)), None)


def was_used(words: Any) -> bool:
    """Whether a key of these words, or of a place among them, was used."""
    return any(identity == id(words) for identity, _ in _used)
