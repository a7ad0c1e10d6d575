"""Counters by function: traces, compilations, and the time they took."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any, Final
from weakref import WeakKeyDictionary

import attrs

from effax.backends.xla import events

_REASONS: Final = 16


@attrs.define(slots=True, eq=False)
class Work:
    """The record of the work done for one function, or for one operation called eagerly.

    Functions with the same code are one: a function that is made anew in each call has one entry,
    and `functions` counts them.
    """

    name: str
    place: str
    calls_counted: bool = True
    functions: int = 0
    traces: int = 0
    trace_seconds: float = 0.0
    compiles: int = 0
    compile_seconds: float = 0.0
    disk_hits: int = 0
    hits: int = 0
    reasons: deque[str] = attrs.field(factory=lambda: deque(maxlen=_REASONS))

    def restart(self) -> None:
        """Forget what was counted."""
        fresh = Work(self.name, self.place, self.calls_counted)
        for field in attrs.fields(Work):
            setattr(self, field.name, getattr(fresh, field.name))

    def traced(self, seconds: float) -> None:
        """Note a trace."""
        self.traces += 1
        self.trace_seconds += seconds
        events.tell("duration", events.TRACED, seconds, fun_name=self.name)

    def compiled(self, seconds: float, from_disk: bool) -> None:
        """Note that an executable was made, or found on disk."""
        if from_disk:
            self.disk_hits += 1
            events.tell("event", events.FOUND_ON_DISK)
            events.tell("duration", events.RETRIEVAL, seconds, fun_name=self.name)
        else:
            self.compiles += 1
            self.compile_seconds += seconds
            events.tell("event", events.NOT_ON_DISK)
        events.tell("duration", events.COMPILED, seconds, fun_name=self.name)


_lock: Final = threading.Lock()
_functions: Final[WeakKeyDictionary[Any, Work]] = WeakKeyDictionary()
_operations: Final[dict[str, Work]] = {}


def of_function(function: Callable[..., Any], name: str, new: bool) -> Work:
    """The entry of a function; where it is `new`, one more function object has its code."""
    inner = function
    while not hasattr(inner, "__code__"):
        further = getattr(inner, "func", None) or getattr(inner, "__wrapped__", None)
        if further is None or further is inner:
            break
        inner = further
    code: Any = getattr(inner, "__code__", type(inner))
    with _lock:
        found = _functions.get(code)
        if found is None:
            place = f"{code.co_filename}:{code.co_firstlineno}" if _is_code(code) else ""
            found = _functions[code] = Work(name, place)
        found.functions += new
    return found


def _is_code(x: Any) -> bool:
    return isinstance(x, CodeType)


def of_operation(name: str) -> Work:
    """The entry of an operation that was called with nothing staged."""
    found = _operations.get(name)
    if found is None:
        with _lock:
            found = _operations.setdefault(name, Work(name, "", calls_counted=False))
    return found


def entries() -> Iterator[Work]:
    """The entries that have seen any work, functions first."""
    with _lock:
        every = [*_functions.values(), *_operations.values()]
    return iter([w for w in every if w.traces or w.compiles or w.disk_hits])


def clear() -> None:
    """Start counting anew."""
    with _lock:
        for work in (*_functions.values(), *_operations.values()):
            work.restart()
        _operations.clear()
