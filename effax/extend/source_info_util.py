"""The origin of equations, under the names of `jax.extend.source_info_util`.

An equation knows the user's frame and, as a text, the scopes around it. What is set here is known
to whatever records a program; where none is recorded, there is nothing that could have a scope.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from effax.api.calling.scopes import named_scope, recorders, rescoped
from effax.effects.frames import describe, hide, user_frame
from effax.effects.handler import innermost
from effax.effects.jaxpr import SourceInfo
from effax.effects.provenance import Origin, source, tagged, tags_of

__all__ = [
    "NameStack",
    "SourceInfo",
    "current",
    "current_name_stack",
    "extend_name_stack",
    "new_name_stack",
    "new_source_info",
    "register_exclusion",
    "reset_name_stack",
    "set_name_stack",
    "summarize",
    "transform_name_stack",
    "user_context",
]

register_exclusion = hide
extend_name_stack = named_scope


class NameStack(str):
    """The names of scopes, by slashes.

    >>> NameStack("layer").extend("dense").transform("jvp") + NameStack("inner")
    'jvp(layer/dense)/inner'
    """

    __slots__ = ()

    def extend(self, name: str) -> NameStack:
        """The scopes with another inside."""
        return self + name

    def transform(self, transform_name: str) -> NameStack:
        """The scopes of what a transform makes of equations in these."""
        return NameStack(f"{transform_name}({self})")

    def __add__(self, other: str) -> NameStack:
        return NameStack("/".join(filter(None, (str(self), str(other)))))


def new_name_stack(name: str = "") -> NameStack:
    """Return no scope, or one of a name."""
    return NameStack(name)


def new_source_info() -> SourceInfo:
    """Return the origin of what comes from no line."""
    return SourceInfo(None, NameStack())


def current_name_stack() -> NameStack:
    """Return the scopes that are open.

    >>> import effax
    >>> def f(x):
    ...     with effax.named_scope("layer"):
    ...         print(current_name_stack())
    ...     return x
    >>> program = effax.make_jaxpr(f)(0.0)
    layer
    """
    return NameStack(next((str(r.scope) for r in recorders()), ""))


def current() -> SourceInfo:
    """Return the user's frame, and the scopes that are open."""
    return SourceInfo(source.frame or user_frame(), current_name_stack())


@contextmanager
def set_name_stack(name_stack: str) -> Iterator[None]:
    """Put scopes in place of those that are open, in a `with` block or a decorated function.

    >>> import effax
    >>> def f(x):
    ...     with effax.named_scope("outer"), set_name_stack(new_name_stack("own")):
    ...         return effax.lax.sin(x)
    >>> effax.make_jaxpr(f)(0.0).eqns[0].source_info.name_stack
    'own'
    """
    with rescoped(lambda r: (tagged(str(name_stack), tags_of(r.scope)), innermost())):
        yield


def reset_name_stack() -> Any:
    """Close all scopes, in a `with` block or a decorated function."""
    return set_name_stack("")


def transform_name_stack(name: str) -> Any:
    """Say that a transform makes what is recorded, in a `with` block or a decorated function."""
    return set_name_stack(current_name_stack().transform(name))


@contextmanager
def user_context(traceback: Any, *, name_stack: str | None = None) -> Iterator[None]:
    """Let what is recorded come from a frame and scopes that are known from before.

    Args:
      traceback: the frame, `equation.source_info.traceback`; None for the user's own.
      name_stack: the scopes; by default those that are open.

    >>> import effax
    >>> (sine,) = effax.make_jaxpr(effax.lax.sin)(0.0).eqns
    >>> def f(x):
    ...     with effax.named_scope("f"):
    ...         with user_context(sine.source_info.traceback, name_stack="again"):
    ...             return effax.lax.cos(x)
    >>> (cosine,) = effax.make_jaxpr(f)(0.0).eqns
    >>> cosine.source_info == (sine.source_info.frame, "again")
    True
    """
    scope = current_name_stack() if name_stack is None else name_stack
    before = source.at, source.top
    with set_name_stack(scope):
        source.at, source.top = Origin(traceback, "", None), innermost()
        try:
            yield
        finally:
            source.at, source.top = before


def summarize(source_info: SourceInfo) -> str:
    """The user's line: file, line and function.

    >>> import effax
    >>> (equation,) = effax.make_jaxpr(lambda x: x + 1.0)(0.0).eqns
    >>> summarize(equation.source_info)
    '<doctest effax.extend.source_info_util.summarize[1]>:1 (<lambda>)'
    """
    return describe(source_info.frame)
