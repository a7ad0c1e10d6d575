"""Names for parts of programs, and parts of functions that are computed while they are staged."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

from effax.effects.handler import bottom, current, outside
from effax.effects.provenance import scope_opened
from effax.interpreters.stage import Stage


@contextmanager
def named_scope(name: str) -> Iterator[None]:
    """Give a name to the equations staged in a `with` block, or in a decorated function.

    Names of nested blocks are joined by slashes; they are kept in the equations' `scope`.

    >>> with named_scope("layer"):
    ...     y = 1.0
    """
    if not isinstance(name, str):
        raise TypeError(f"named_scope name argument must be a string, got {name!r}")
    opened = [(h, h.scope, h.scoped) for h in _recorders()]
    for recorder, _, _ in opened:
        recorder.scope, recorder.scoped = scope_opened(recorder, name), current.get()
    try:
        yield
    finally:
        for recorder, scope, scoped in opened:
            recorder.scope, recorder.scoped = scope, scoped


def _recorders() -> Iterator[Any]:
    """The handlers that write down what is performed here, out to the first that takes all."""
    handler = current.get()
    while handler is not bottom:
        if handler.records:
            yield handler
            if isinstance(handler, Stage):
                return
        handler = handler.outer


def named_call(fun: Callable[..., Any], *, name: str | None = None) -> Callable[..., Any]:
    """The function, its equations under its name.

    >>> named_call(lambda x: x + 1.0, name="step")(2.0)
    3.0
    """
    label = getattr(fun, "__name__", "function") if name is None else name

    @wraps(fun)
    def named(*args: Any, **keywords: Any) -> Any:
        with named_scope(label):
            return fun(*args, **keywords)

    return named


@contextmanager
def ensure_compile_time_eval() -> Iterator[None]:
    """Compute what follows at once, on arrays, also while a function is being transformed.

    Raises `UnexpectedTracerError` where a value that is not known yet is used in it.

    >>> import effax, effax.numpy as jnp
    >>> @effax.jit
    ... def f(x):
    ...     with ensure_compile_time_eval():
    ...         n = int(jnp.arange(4).sum())
    ...     return x * n
    >>> f(1.0)
    Array(6., dtype=float32, weak_type=True)
    """
    with outside(bottom):
        yield
