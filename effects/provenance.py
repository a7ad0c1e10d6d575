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

Tags = tuple[tuple[str, Any], ...]
"""Metadata for XLA by sorted keys, as `experimental.xla_metadata.set_xla_metadata` gives it."""


class TaggedScope(str):
    """A scope in which equations carry metadata for XLA, `tags`; it may have no name.

    Scopes without metadata are plain texts. Two scopes are equal if names and metadata are, and a
    scope with metadata is never false.
    """

    __slots__ = ("tags",)

    tags: Tags

    def __bool__(self) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        return type(other) is TaggedScope and self.tags == other.tags and str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((str(self), self.tags))

    def __reduce__(self) -> Any:
        return tagged, (str(self), self.tags)


def tagged(scope: str, tags: Tags) -> str:
    """The scope of these names with this metadata, and no other.

    >>> scope = tagged("layer", (("a", "b"),))
    >>> scope, tags_of(scope), tags_of("layer")
    ('layer', (('a', 'b'),), ())
    """
    if not tags:
        return str(scope)
    made = TaggedScope(scope)
    made.tags = tags
    return made


def tags_of(scope: str) -> Tags:
    """Return the metadata for XLA of equations in a scope."""
    return scope.tags if type(scope) is TaggedScope else ()


def labelled(handler: Any, lifting: Callable[..., Any], *performed: Any) -> Any:
    """Call a functor's entry for a handler; what it performs bears the labels from there on.

    An equation in a scope by name bears them already.
    """
    before = at, _ = source.at, source.top
    scope = "" if at is None else at.scope
    if str(scope):
        return lifting(handler, *performed)
    unnamed = tagged(UNNAMED, tags_of(scope))
    frame, equation = (None if at is None else at.frame), getattr(at, "equation", at)
    source.at, source.top = Origin(frame, unnamed, equation), handler
    try:
        return lifting(handler, *performed)
    finally:
        source.at, source.top = before


def is_named(scope: str) -> bool:
    """Whether there is a name in a scope, and not only labels.

    >>> is_named("jvp(layer)"), is_named("transpose(jvp())"), is_named("")
    (True, False, False)
    """
    return bool(str(scope)) and not all(x.rstrip(")").endswith("(") for x in scope.split("/"))


def scope_of(recorder: Any) -> str:
    """The scope of an equation that a recorder is about to write down."""
    scope: str = recorder.scope
    at = source.at
    if at is None or not at.scope:
        return scope
    labels = _labels(source.top, recorder, recorder.scoped)
    inside = tagged("", tags_of(at.scope)) if labels is None else _under(labels, at.scope)
    return joined(scope, inside)


def transposed(equation: Any) -> Any:
    """The origin of what transposing an equation in a scope performs."""
    return Origin(equation.frame, _under(["transpose"], equation.scope), equation)


def inlined(equation: Any, around: Any, top: Any) -> Any:
    """The origin of an equation whose program runs as part of another equation, `around`.

    Where it runs to be recorded apart, as a program of its own, that equation's scope is not its.
    """
    if _recorder(innermost()) is not _recorder(top):
        return equation
    return Origin(equation.frame, joined(around.scope, equation.scope), equation)


def scope_opened(recorder: Any, name: str) -> str:
    """A recorder's scope with one more name, under the labels of the handlers inside it."""
    labels = _labels(innermost(), recorder, recorder.scoped) or []
    return joined(recorder.scope, _under(labels, name))


def joined(outside: str, inside: str) -> str:
    """The scope `inside` another: names by slashes; for each key the inner metadata counts."""
    if type(outside) is not TaggedScope and type(inside) is not TaggedScope:
        return f"{outside}/{inside}" if outside and inside else outside or inside
    tags = {**dict(tags_of(outside)), **dict(tags_of(inside))}
    names = "/".join(name for name in (str(outside), str(inside)) if name not in ("", UNNAMED))
    return tagged(names, tuple(sorted(tags.items())))


def _under(labels: Sequence[str], scope: str) -> str:
    """The scope under these labels, which go to its outermost name."""
    names = str(scope)
    first, slash, rest = ("" if names == UNNAMED else names).partition("/")
    if names or not tags_of(scope):
        for label in labels:
            first = f"{label}({first})"
    return tagged(f"{first}{slash}{rest}", tags_of(scope))


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
