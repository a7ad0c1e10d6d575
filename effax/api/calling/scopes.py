"""Names for parts of programs, and parts of functions that are computed while they are staged."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

from effax.api.calling.arguments import name_of, wearing
from effax.effects.effect import Effect
from effax.effects.handler import Carrier, Handler, bottom, innermost, outside, stack
from effax.effects.provenance import scope_opened
from effax.interpreters.stage import Stage

P = ParamSpec("P")
R = TypeVar("R")


@contextmanager
def named_scope(name: str) -> Iterator[None]:
    """Give a name to the equations staged in a `with` block, or in a decorated function.

    Names of nested blocks are joined by slashes; they are kept in the equations' `scope`.

    >>> with named_scope("layer"):
    ...     y = 1.0
    """
    if not isinstance(name, str):
        raise TypeError(f"named_scope name argument must be a string, got {name!r}")
    with rescoped(lambda recorder: (scope_opened(recorder, name), innermost())):
        yield


@contextmanager
def rescoped(scope_of: Callable[[Any], tuple[str, Any]]) -> Iterator[None]:
    """Put other scopes on what the handlers that are recording write down.

    Args:
      scope_of: a recorder's new `scope`, and its `scoped`: the handler inside which it was opened.
    """
    opened = [(h, h.scope, h.scoped) for h in recorders()]
    for recorder, _, _ in opened:
        recorder.scope, recorder.scoped = scope_of(recorder)
    try:
        yield
    finally:
        for recorder, scope, scoped in opened:
            recorder.scope, recorder.scoped = scope, scoped


def recorders() -> Iterator[Any]:
    """The handlers that write down what is performed here, out to the first that takes all."""
    handler = innermost()
    while handler is not bottom:
        if handler.records:
            yield handler
            if isinstance(handler, Stage):
                return
        handler = handler.outer


def named_call(fun: Callable[P, R], *, name: str | None = None) -> Callable[P, R]:
    """Return the function with its equations under a name.

    Args:
      fun: the function.
      name: the name; by default the function's own.

    >>> named_call(lambda x: x + 1.0, name="step")(2.0)
    3.0
    """
    label = name_of(fun) if name is None else name

    @wearing(fun)
    def named(*args: Any, **keywords: Any) -> Any:
        with named_scope(label):
            return fun(*args, **keywords)

    return named


class AtOnce(Handler):
    """Effects on arrays are performed by the bottom, others by who owns an operand."""

    __slots__ = ("around",)
    at_once = True

    def __init__(self, around: Any) -> None:
        super().__init__(bottom)
        self.around = around

    def perform(self, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        """Perform an effect where its operands belong."""
        owners = [x.handler for x in operands if isinstance(x, Carrier)]
        where = bottom
        if owners:
            with outside(self.around):
                # A handler on the stack may own values through another one that is not on it.
                where = next((h for h in stack() if h in owners), self.around)
        with outside(where):
            return where.perform(effect, operands, attributes)


@contextmanager
def ensure_compile_time_eval() -> Iterator[None]:
    """Compute what follows at once, on arrays, also while a function is being transformed.

    What is done to a value of a transform is done by that transform, as outside of the block: only
    what is known by itself is no longer staged.

    >>> import effax, effax.numpy as jnp
    >>> @effax.jit
    ... def f(x):
    ...     with ensure_compile_time_eval():
    ...         n = int(jnp.arange(4).sum())
    ...     return x * n
    >>> f(1.0)
    Array(6., dtype=float32, weak_type=True)
    """
    around = innermost()
    if around is bottom:
        yield
        return
    with AtOnce(around).installed():
        yield
