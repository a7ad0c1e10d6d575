"""The caches of a jitted function: traces, compiled calls, and the reason for each of them."""

from __future__ import annotations

import logging
import warnings
from collections import deque
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, Final
from weakref import WeakKeyDictionary

import attrs

from effax.api.calling.call_arguments import CallArguments, axes_in_scope
from effax.api.calling.signatures import Parameters, Signature, nearest
from effax.backends.xla import dispatch
from effax.backends.xla.array import Array
from effax.backends.xla.compile import forget_compiled
from effax.backends.xla.ledger import Work
from effax.eager import whole
from effax.effects import config
from effax.effects.config import trace_key
from effax.effects.frames import describe, user_frame
from effax.effects.handler import Carrier
from effax.effects.program import Program
from effax.effects.rows.state import Ref
from effax.interpreters import stage

_log: Final = logging.getLogger("effax")
_REMEMBERED: Final = 32


@attrs.frozen(slots=True, eq=False)
class Trace:
    """A function staged for some types: a program, what it captured, and its results' tree."""

    program: Program
    captured: tuple[Any, ...]
    out_tree: Any
    used_keys: tuple[int, ...] = ()
    """Positions of the random keys among the arguments that were used, under `debug_key_reuse`."""
    mutates: bool = False
    """Whether some inputs are references."""

    @property
    def alive(self) -> bool:
        """Whether what was captured may still be used: the handlers that own it are installed."""
        return all(not isinstance(x, (Carrier, Ref)) or x.handler.live for x in self.captured)


class Caches:
    """Everything staged and compiled for a function under some options of `jit`."""

    __slots__ = ("__weakref__", "cleared", "entries", "signatures", "traces")

    def __init__(self) -> None:
        self.traces: dict[Any, Trace] = {}
        self.entries: dict[Any, dict[Any, Any]] = {}
        """The compiled calls, by the form of the call, then by the key that the form computes."""
        self.signatures: deque[Signature] = deque(maxlen=_REMEMBERED)
        self.cleared = False

    def clear(self) -> None:
        """Forget what was staged and compiled."""
        self.traces.clear()
        self.signatures.clear()
        # Emptied, not replaced: the functions written for calls hold these dicts.
        for found in list(self.entries.values()):
            found.clear()
        self.cleared = True

    def explain(
        self, function: Callable[..., Any], work: Work, parted: CallArguments, ended: bool
    ) -> None:
        """Note why these arguments need a trace of their own.

        `ended` says that there was one, whose captured values can't be used any more.
        """
        earlier = list(self.signatures)  # a copy, as other threads may add to it
        now = Signature(
            Parameters.of(function),
            trace_key(),
            axes_in_scope(),
            parted.tree,
            tuple(parted.types),
            tuple([(at, x.value) for at, x in parted.statics]),
        )
        reasons: list[str] = []
        if ended:
            reasons = [
                "it closes over a traced value of a transform that has ended: pass that value as "
                "an argument"
            ]
        elif earlier:
            reasons = nearest(now, earlier)
        elif self.cleared:
            reasons = ["its traces were cleared"]
        elif work.traces and work.functions > 1:
            reasons = [
                f"another function defined on the same line was jitted before: {work.functions} "
                f"functions made at {work.place}, and each has traces of its own. Call jit once, "
                "outside the loop or function that calls it"
            ]
        self.signatures.append(now)
        if reasons:
            work.reasons.append("; ".join(reasons))
        if config.read("explain_cache_misses"):
            _log.warning(
                "TRACING CACHE MISS at %s for %s because:\n  %s",
                describe(user_frame()),
                work.name,
                "\n  ".join(reasons or [f"{_FIRST} ({work.place})"]),
            )


_FIRST: Final = "never seen function: it is called for the first time"
_caches: Final[WeakKeyDictionary[Any, dict[Any, Caches]]] = WeakKeyDictionary()


def caches_of(function: Any, options: Any) -> tuple[Caches, bool]:
    """The caches that all calls of `jit` with this function object and these options share.

    With them comes whether the function object was not seen before.
    """
    if type(function) is not FunctionType:
        # Such as a bound method, which is made anew at each access, or compares by its parts.
        return Caches(), True
    new = function not in _caches
    return _caches.setdefault(function, {}).setdefault(options, Caches()), new


def clear_caches() -> None:
    """Forget everything staged and compiled: of `jit`, of single effects, of whole functions."""
    # The references are read in one step, as other threads may add to the table; functions that
    # traces alone hold go while these are cleared.
    for reference in _caches.keyrefs():
        function = reference()
        found = {} if function is None else _caches.get(function, {})
        for caches in list(found.values()):
            caches.clear()
    stage.clear()
    dispatch.clear()
    whole.clear()


forget_compiled.append(clear_caches)


def warn_of_large(captured: Sequence[Array], name: str) -> None:
    """Warn where a function closes over more bytes than `captured_constants_warn_bytes` allows."""
    total, limit = sum(x.nbytes for x in captured), config.read("captured_constants_warn_bytes")
    if 0 <= limit <= total:
        largest = max(captured, key=lambda x: x.nbytes)
        warnings.warn(
            "A large amount of constants were captured during lowering: the jitted function "
            f"{name} closes over {total} bytes of arrays, the largest of type {largest.type!r}, "
            "and each executable holds them. Pass them as arguments",
            stacklevel=2,
        )
