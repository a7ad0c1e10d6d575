"""The origin of equations: the user's line, and the enclosing scopes by name.

Recorders ask. Code that runs now came from the caller's frame and the recorder's open
scopes; equations that run again (a program under other handlers, a tape walked backwards) keep
the line they were written on, and their scopes say what was done to them: a scope `x` is
`jvp(x)` in the derivative of a program, and `transpose(jvp(x))` in its reverse. An equation that
holds programs and is in no scope by name has the scope `jvp()`, or `transpose(jvp())`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from effax.effects.frames import Frame
from effax.effects.handler import innermost


class Origin(NamedTuple):
    """An equation that runs again, in other scopes."""

    frame: Frame | None
    scope: str
    equation: Any


class Source(threading.local):
    """The equation that runs again just now (or an `Origin`), and the handler its program met.

    Each thread runs its own programs, so each has its own.
    """

    at: Any = None
    top: Any = None

    @property
    def frame(self) -> Frame | None:
        """The place of the equation that runs again; None where none does."""
        return None if self.at is None else self.at.frame


source: Final = Source()

UNNAMED: Final = "()"
"""The scope of what is labelled though no scope by name is around it."""


def labelled(handler: Any, lifting: Callable[..., Any], *performed: Any) -> Any:
    """Call a functor's entry for a handler; what it performs bears the labels from there on.

    An equation in a scope by name bears them already.
    """
    before = at, _ = source.at, source.top
    if at is not None and at.scope:
        return lifting(handler, *performed)
    equation = getattr(at, "equation", at)
    source.at, source.top = Origin(None if at is None else at.frame, UNNAMED, equation), handler
    try:
        return lifting(handler, *performed)
    finally:
        source.at, source.top = before


def is_named(scope: str) -> bool:
    """Whether there is a name in a scope, and not only labels.

    >>> is_named("jvp(layer)"), is_named("transpose(jvp())"), is_named("")
    (True, False, False)
    """
    return bool(scope) and not all(x.rstrip(")").endswith("(") for x in scope.split("/"))


def scope_of(recorder: Any) -> str:
    """The scope of an equation that a recorder is about to write down."""
    scope: str = recorder.scope
    at = source.at
    if at is None or not at.scope:
        return scope
    labels = _labels(source.top, recorder, recorder.scoped)
    return scope if labels is None else _joined(scope, _under(labels, at.scope))


def transposed(equation: Any) -> Any:
    """The origin of what transposing an equation in a scope performs."""
    return Origin(equation.frame, _under(["transpose"], equation.scope), equation)


def inlined(equation: Any, around: Any, top: Any) -> Any:
    """The origin of an equation whose program runs as part of another equation, `around`.

    Where it runs to be recorded apart, as a program of its own, that equation's scope is not its.
    """
    if _recorder(innermost()) is not _recorder(top):
        return equation
    return Origin(equation.frame, _joined(around.scope, equation.scope), equation)


def scope_opened(recorder: Any, name: str) -> str:
    """A recorder's scope with one more name, under the labels of the handlers inside it."""
    labels = _labels(innermost(), recorder, recorder.scoped) or []
    return _joined(recorder.scope, _under(labels, name))


def _joined(outside: str, inside: str) -> str:
    return f"{outside}/{inside}" if outside and inside else outside or inside


def _under(labels: Sequence[str], scope: str) -> str:
    """The scope under these labels, which go to its outermost name."""
    first, slash, rest = ("" if scope == UNNAMED else scope).partition("/")
    for label in labels:
        first = f"{label}({first})"
    return f"{first}{slash}{rest}"


def _labels(top: Any, end: Any, nearer: Any = None) -> list[str] | None:
    """The labels of the handlers from `top` out to one of the others; None if neither is there."""
    labels: list[str] = []
    while top is not None:
        if top is end or top is nearer:
            return labels
        if top.label:
            labels.append(top.label)
        top = top.outer
    return None


def _recorder(handler: Any) -> Any:
    while handler is not None and not handler.records:
        handler = handler.outer
    return handler
