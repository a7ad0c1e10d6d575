"""`explain`: who took each effect, and what they performed outside.

While a log is open the `perform` of every class of handlers is wrapped, and put back afterwards:
nothing is asked, read or paid where nobody explains.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, TextIO

from effax.backends.reference.evaluate import Reference
from effax.effects.columns import load, ready
from effax.effects.contexts import put, put_back
from effax.effects.effect import Effect, all_effects, find_effect
from effax.effects.frames import describe, user_frame
from effax.effects.handler import Handler, bottom
from effax.effects.program import Variable
from effax.effects.provenance import source
from effax.interpreters.functor.lifting import functor
from effax.interpreters.residual import planners
from effax.interpreters.residual.record import Record, opened
from effax.interpreters.stage import Stage
from effax.seeing.values import attributes_text, shown


class Performed:
    """One effect that was performed, and what answering it performed in turn.

    `handler` is the name of who took it and `how` what it did with it; `operands` and `results` are
    texts; `children` what it performed outside; `passed` who was asked before and passed it on;
    `place` the user's line; `stack` the handlers that were asked and those outside them.
    """

    __slots__ = (
        "_key",
        "_settled",
        "at",
        "attributes",
        "children",
        "depth",
        "effect",
        "failed",
        "handler",
        "how",
        "installed",
        "number",
        "operands",
        "passed",
        "place",
        "results",
        "stack",
    )

    def __init__(self, effect: Effect, operands: Any, attributes: Any, handler: Any) -> None:
        self.effect = effect
        self.operands = tuple(map(shown, operands))
        self.attributes = attributes_text(attributes)
        self.at = getattr(source.at, "equation", source.at)
        self.place = describe(source.frame or user_frame())
        self.stack = stack_names(handler)
        self.handler = name_of_handler(handler)
        self.installed = handler
        self.how = ""
        self.results: tuple[str, ...] = ()
        self.failed = False
        self.passed: list[str] = []
        self.children: list[Performed] = []
        self.depth = 0
        self.number = 0
        self._key = attributes
        self._settled = False

    @property
    def derived(self) -> bool:
        """Whether the functor answered: there was no rule for the effect."""
        return self.how == FUNCTOR

    def __str__(self) -> str:
        call = f"{self.effect.name}{self.attributes}({', '.join(self.operands)})"
        return f"{'  ' * self.depth}{call} -> {self.handler} {self.how}"

    def __repr__(self) -> str:
        return f"<{str(self).strip()}>"


RULE: Final = "by its rule"
DEFAULT: Final = "by its default rule"
FUNCTOR: Final = "by the functor"
EXPANDED: Final = "writes it out"
RECORDS: Final = "records"
SPLITS: Final = "splits"
COMPUTES: Final = "computes"
ANSWERS: Final = "answers"


def how_taken(handler: Any, effect: Effect) -> str:
    """Describe the answer of a handler to an effect that it takes."""
    if handler is bottom or isinstance(handler, Reference):
        return COMPUTES
    if isinstance(handler, Record):
        return SPLITS if effect in planners else EXPANDED if effect in opened else RECORDS
    if isinstance(handler, Stage):
        return RECORDS
    rules = getattr(handler, "rules", None)
    if rules is None:
        return ANSWERS
    if effect in rules or effect in getattr(handler, "overrides", ()):
        return RULE
    if getattr(handler, "catch_all", None) is not None and not effect.higher_order:
        return DEFAULT
    lifting = functor.get(effect)
    if lifting is None:
        return ANSWERS
    return EXPANDED if lifting.__name__ == "written_out" else FUNCTOR


def name_of_handler(handler: Any) -> str:
    """Return the name of a handler: its class, or the name of a user's interpreter."""
    return "XLA" if handler is bottom else type(handler).__name__


def stack_names(handler: Any) -> tuple[str, ...]:
    """The names from a handler outwards, the bottom included."""
    names = []
    while handler is not None:
        if not isinstance(handler, Watcher):
            names.append(name_of_handler(handler))
        handler = handler.outer
    return tuple(names)


class EffectLog:
    """The record of the effects performed under `explain`: a sequence of `Performed`, in order.

    `str(log)` is the text that is printed; `log.roots` those performed by nobody else's answer.
    """

    def __init__(
        self, limit: int, wanted: Callable[[Effect], bool], out: Callable[[str], None] | None
    ) -> None:
        self.roots: list[Performed] = []
        self.all: list[Performed] = []
        self.count = 0
        self.origins: dict[Variable, Any] = {}
        self._limit = limit
        self._wanted = wanted
        self._out = out
        self._open: list[Performed] = []
        self._closed = False

    def __iter__(self) -> Iterator[Performed]:
        return iter(self.all)

    def __len__(self) -> int:
        return len(self.all)

    def __getitem__(self, index: int) -> Performed:
        return self.all[index]

    @property
    def left_out(self) -> int:
        """The number of effects performed after the limit was reached."""
        return self.count - len(self.all)

    def __str__(self) -> str:
        lines = [str(e) for e in self.all]
        if self.left_out:
            lines.append(self._end())
        return "\n".join(lines)

    def _end(self) -> str:
        return f"... {self.left_out} more: explain(limit=...) says how many are shown"

    def performed(
        self,
        handler: Any,
        perform: Callable[..., Any],
        effect: Effect,
        operands: tuple[Any, ...],
        attributes: dict[str, Any],
    ) -> Any:
        """Let a handler perform an effect, and write down what becomes of it."""
        opened_last = self._open[-1] if self._open else None
        if opened_last is not None and opened_last._key is attributes:
            # The same call met further out: the handler that was asked first has passed it on.
            if opened_last.installed is not handler:
                self._pass_on(opened_last, handler)
            return perform(effect, operands, attributes)
        if opened_last is not None:
            if opened_last.installed is bottom:
                return perform(effect, operands, attributes)  # the backend's own entry
            self._settle(opened_last)
        event = Performed(effect, operands, attributes, handler)
        self._open.append(event)
        try:
            result = perform(effect, operands, attributes)
        except BaseException:
            event.failed = True
            raise
        finally:
            self._settle(event)
            self._open.pop()
        results = result if effect.multiple else (result,)
        event.results = tuple(map(shown, results))
        if event.how in (RECORDS, SPLITS) and event.at is not None:
            self.origins.update((x, event.at) for x in results if type(x) is Variable)
        return result

    @staticmethod
    def _pass_on(event: Performed, handler: Any) -> None:
        if not isinstance(event.installed, Watcher):
            event.passed.append(event.handler)
        event.installed, event.handler = handler, name_of_handler(handler)

    def _settle(self, event: Performed) -> None:
        """Note the handler that takes the effect, and print it."""
        if event._settled:
            return
        event._settled = True
        event.how = how_taken(event.installed, event.effect)
        if not self._wanted(event.effect):
            return
        self.count += 1
        if self.count > self._limit:
            return
        parents = [e for e in self._open[: self._open.index(event)] if e.number]
        event.depth, event.number = len(parents), self.count
        (parents[-1].children if parents else self.roots).append(event)
        self.all.append(event)
        if self._out is not None:
            self._out(f"{event}  # {event.place}")

    def close(self) -> None:
        """Let go of handlers and attributes; say what was left out."""
        self._closed = True
        self.origins.clear()
        for event in self.all:
            event.installed = event.at = event._key = None
        if self._out is not None and self.left_out:
            self._out(self._end())


class Watcher(Handler):
    """Owns nothing and passes everything on; where it is, no shortcut past handlers is taken."""

    __slots__ = ()

    def perform(self, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        """Pass it on."""
        return self.outer.perform(effect, operands, attributes)


_log: Final[ContextVar[EffectLog | None]] = ContextVar("effax.explain", default=None)
_lock: Final = threading.Lock()
_originals: Final[dict[Any, Callable[..., Any]]] = {}
_readers: Final[list[EffectLog]] = []


def _classes(parent: type) -> Iterator[type]:
    yield parent
    children: list[type] = type.__subclasses__(parent)
    for child in children:
        yield from _classes(child)


def _watch(log: EffectLog) -> None:
    with _lock:
        _readers.append(log)
        for handlers in {*_classes(Handler)}:
            if "perform" in vars(handlers) and handlers not in _originals:
                original = vars(handlers)["perform"]
                _originals[handlers] = original
                handlers.perform = _watched(original)  # type: ignore[attr-defined]
        if bottom not in _originals:
            _originals[bottom] = evaluate = bottom.perform
            bottom.perform = functools.partial(_watched(lambda _, *call: evaluate(*call)), bottom)


def _unwatch(log: EffectLog) -> None:
    with _lock:
        _readers.remove(log)
        if not _readers:
            for where, original in _originals.items():
                where.perform = original
            _originals.clear()


def _watched(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def perform(
        handler: Any, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]
    ) -> Any:
        log = _log.get()
        if log is None or log._closed:
            return original(handler, effect, operands, attributes)
        return log.performed(
            handler, functools.partial(original, handler), effect, operands, attributes
        )

    return perform


@contextmanager
def explain(
    *,
    limit: int = 1000,
    effects: Sequence[Effect | str] | None = None,
    families: Sequence[str] | None = None,
    file: TextIO | None = None,
    quiet: bool = False,
) -> Iterator[EffectLog]:
    """Print each effect performed in a `with` block: who took it, and what that performed outside.

    Each line is an effect with its operands, the handler that took it, and how: by a rule of its
    own, by the functor (nobody wrote a rule for this effect: it follows from the others), by
    recording or computing it. What a handler performed outside to answer is indented below it.
    Compiled shortcuts are not taken in the block, so `jnp.sin(x)` shows what it performs. Of blocks
    inside each other the innermost tells.

    Args:
      limit: how many are shown and kept; the others are counted.
      effects: only these, by name or as `effax.effects.sin`.
      families: only those of these families ("elementwise", "control").
      file: where to print; standard output by default.
      quiet: print nothing.

    Returns:
      A context manager, which gives the log: a sequence with an entry for each effect; each has
      `effect`, `operands`, `handler`, `how`, `derived`, `children`, `results` and `place`.

    Raises:
      ValueError: where there is no effect, or no family, of that name.

    >>> import effax, numpy as np
    >>> with effax.explain(quiet=True) as log:
    ...     _ = effax.jvp(effax.numpy.sin, (np.float32(0),), (np.float32(1),))
    >>> print(log)
    sin(Dual(0, 1)) -> JVP by its rule
      sin(0) -> XLA computes
      cos(0) -> XLA computes
      mul(1, 1) -> XLA computes
    """
    wanted = _filter(effects, families)

    def out(line: str) -> None:
        print(line, file=file or sys.stdout)

    ready()
    load("effax.interpreters.checkify")  # classes that are loaded later would not be watched
    log = EffectLog(limit, wanted, None if quiet else out)
    _watch(log)
    token = put(_log, log)
    try:
        with Watcher().installed():
            yield log
    finally:
        put_back(token)
        _unwatch(log)
        log.close()


@contextmanager
def not_explained() -> Iterator[None]:
    """Nothing of what follows is written down."""
    token = put(_log, None)
    try:
        yield
    finally:
        _log.reset(token)


def _filter(
    effects: Sequence[Effect | str] | None, families: Sequence[str] | None
) -> Callable[[Effect], bool]:
    if effects is None and families is None:
        return lambda effect: True
    chosen = {_effect(x) for x in effects or ()}
    known = {e.family for e in all_effects()}
    for family in families or ():
        if family not in known:
            raise ValueError(
                f"explain: there is no family of effects named {family!r}; there are "
                f"{', '.join(sorted(known))}"
            )
    return lambda effect: effect in chosen or effect.family in (families or ())


def _effect(x: Effect | str) -> Effect:
    if isinstance(x, Effect):
        return x
    try:
        return find_effect(x)
    except KeyError:
        raise ValueError(
            f"explain: there is no effect named {x!r}; `python -m effax.matrix` lists them"
        ) from None
