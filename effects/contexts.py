"""Context variables: what holds for a stretch of the program, in one thread or task."""

from __future__ import annotations

from contextvars import Context, ContextVar, Token
from typing import TypeVar

T = TypeVar("T")


def put(variable: ContextVar[T], value: T) -> Token[T]:
    """Set a variable; its default stays in the context for `reset` to go back to.

    Without it, the outermost `reset` would take the variable out of the context, and CPython
    (3.11 at least) lets go of the old value there before it clears the cache that `get` looks
    into. A garbage collection at that moment may run a finaliser that reads the variable; every
    `get` afterwards then gives memory that was freed.

    >>> variable = ContextVar("variable", default=0)
    >>> token = put(variable, 1)
    >>> variable.reset(token)
    >>> variable.get(), token.old_value
    (0, 0)
    """
    token = variable.set(value)
    if token.old_value is Token.MISSING:
        variable.set(Context().run(variable.get))
        token = variable.set(value)
    return token


def put_back(token: Token[T]) -> None:
    """Undo the setting of a variable, unless that was done in another context.

    One task may enter what another leaves. What was set stays where it was set, and has to be
    ended by other means: a dead handler counts as absent.
    """
    try:  # noqa: SIM105 (`suppress` takes longer than the rest, in every transform)
        token.var.reset(token)
    except ValueError:
        pass
