"""Random keys that were used, under the setting `debug_key_reuse`.

A key is known by the array of its words, whatever holds it, or by its place in an array of keys.
Words are not kept alive here, except while a trace that made them goes on.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, Final, TypeVar

from effax.effects.errors import KeyReuseError
from effax.effects.frames import Frame, describe, user_frame

R = TypeVar("R")
_Use = tuple[Any, str, Frame | None]
_used: Final[dict[tuple[int, Hashable], _Use]] = {}


def _forget(identity: int) -> None:
    for key in [k for k in _used if k[0] == identity]:
        del _used[key]


def _layers(words: Any) -> Iterator[Any]:
    """The words of a key, and the values that they are made of under the installed handlers."""
    while words is not None:
        yield words
        words = getattr(words, "many", getattr(words, "primal", None))


def use(words: Any, index: Hashable, function: str, told: str = "") -> None:
    """Note that a function uses a key; raises `KeyReuseError` if one did before.

    `index` is the place among the keys of these words, None for all of them; `told` is what the
    message says first.
    """
    for carrier, _, _ in list(_used.values()):
        if carrier is not None and not carrier.handler.live:
            _forget(id(carrier))
    here = user_frame()
    for layer in _layers(words):
        before = _before(layer, index)
        if before is not None:
            raise KeyReuseError(
                f"{told}at {describe(here)}, {function} uses a random key that was used before, by "
                f"{before[1]} at {describe(before[2])}: the numbers will not be independent. Split "
                "the key first (key, other = random.split(key)) and use each part once; "
                "random.clone(key) makes a copy that may be used again"
            )
    for layer in _layers(words):
        carrier = layer if hasattr(layer, "handler") else None
        if carrier is None:
            weakref.finalize(layer, _forget, id(layer))
        _used[id(layer), index] = carrier, function, here


def _before(words: Any, index: Hashable) -> _Use | None:
    if index is not None:
        return _used.get((id(words), index)) or _used.get((id(words), None))
    return next((found for key, found in _used.items() if key[0] == id(words)), None)


def was_used(words: Any) -> bool:
    """Whether a key of these words, or of a place among them, was used."""
    return any(identity == id(words) for identity, _ in _used)


def alternatives(jobs: Iterable[Callable[[], R]]) -> list[R]:
    """Trace branches of which one will run: a key may be used once in each."""
    results: list[R] = []
    after: dict[Any, Any] = {}
    for job in jobs:
        before = set(_used)
        results.append(job())
        after |= _taken_back(before)
    _used.update(after)
    return results


def repeated(job: Callable[[], R], passed_on: Callable[[R], Iterable[Any]], name: str) -> R:
    """Trace a function that will run again and again.

    `passed_on` gives what a step hands to the next. Raises `KeyReuseError` for a used key that is
    from outside, or is handed on.
    """
    before = set(_used)
    result = job()
    later = {id(x) for x in passed_on(result)}
    for carrier, function, frame in _taken_back(before).values():
        if carrier is None or carrier.handler.live or id(carrier) in later:
            raise KeyReuseError(
                f"at {describe(frame)}, {function} uses a random key in {name}, which runs in "
                "each step of a loop and closes over the key or passes it on unchanged: each step "
                "uses it again. Carry the key and split it in each step (key, now = "
                "random.split(key)), or use random.fold_in(key, i)"
            )
    return result


def _taken_back(before: set[tuple[int, Hashable]]) -> dict[tuple[int, Hashable], _Use]:
    """Forget the uses noted since then, and return them."""
    return {key: _used.pop(key) for key in list(_used) if key not in before}
