"""Functions with transformations around them, by the names of `jax.extend.linear_util`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator
from typing import Any

__all__ = [
    "WrappedFun",
    "merge_linear_aux",
    "transformation",
    "transformation_with_aux",
    "wrap_init",
]


class WrappedFun:
    """A function and its keyword parameters; transformations of it are functions of one's own."""

    __slots__ = ("debug_info", "f", "params")

    def __init__(self, f: Callable[..., Any], params: dict[str, Any], debug_info: Any) -> None:
        self.f = f
        self.params = params
        self.debug_info = debug_info

    @property
    def __name__(self) -> str:
        return getattr(self.f, "__name__", "function")

    def call_wrapped(self, *args: Any, **keywords: Any) -> Any:
        """The function's result."""
        return self.f(*args, **{**self.params, **keywords})

    def wrap(self, transformed: Callable[..., Any]) -> WrappedFun:
        """`transformed(call, *args)` in this function's place, where `call` is this function."""
        return WrappedFun(
            lambda *args: transformed(self.call_wrapped, *args), {}, debug_info=self.debug_info
        )


def wrap_init(
    f: Callable[..., Any], params: dict[str, Any] | None = None, *, debug_info: Any = None
) -> WrappedFun:
    """The function, to be given to `api_util.flatten_fun` and `partial_eval`.

    >>> wrap_init(max).call_wrapped(1, 2)
    2
    """
    return WrappedFun(f, params or {}, debug_info)


def transformation(
    around: Callable[..., Generator[tuple[Any, Any], Any, Any]],
) -> Callable[..., WrappedFun]:
    """Make a transformation of wrapped functions of a generator.

    It is called with the parameters of the transformation, then the arguments; it yields the
    arguments and keywords to call the function with, is sent the result, and yields its own.

    >>> @transformation
    ... def scaled(factor, x):
    ...     result = yield (x,), {}
    ...     yield factor * result
    >>> scaled(wrap_init(lambda x: x + 1), 10).call_wrapped(2)
    30
    """

    @functools.wraps(around)
    def transformed(fun: WrappedFun, *parameters: Any) -> WrappedFun:
        def call(inner: Callable[..., Any], *args: Any) -> Any:
            steps = around(*parameters, *args)
            given, keywords = next(steps)
            return steps.send(inner(*given, **keywords))

        return fun.wrap(call)

    return transformed


def transformation_with_aux(
    around: Callable[..., Generator[tuple[Any, Any], Any, Any]],
) -> Callable[..., tuple[WrappedFun, Callable[[], Any]]]:
    """The same, of a generator that yields its result and what else it found, last.

    The transformation returns a function besides, which gives what else was found by the last call.

    >>> @transformation_with_aux
    ... def counted(x):
    ...     result = yield (x,), {}
    ...     yield result, 1
    >>> fun, found = counted(wrap_init(lambda x: x + 1))
    >>> fun.call_wrapped(2), found()
    (3, 1)
    """

    @functools.wraps(around)
    def transformed(fun: WrappedFun, *parameters: Any) -> tuple[WrappedFun, Callable[[], Any]]:
        found: list[Any] = []

        @transformation
        def kept(*args: Any) -> Generator[tuple[Any, Any], Any, Any]:
            steps = around(*parameters, *args)
            result, aux = steps.send((yield next(steps)))
            found[:] = [aux]
            yield result

        def aux() -> Any:
            if not found:
                raise ValueError(f"{around.__name__}: the function was not called yet")
            return found[0]

        return kept(fun), aux

    return transformed


def merge_linear_aux(aux1: Callable[[], Any], aux2: Callable[[], Any]) -> tuple[bool, Any]:
    """Return what else was found by whichever of two transformed functions was called.

    Args:
      aux1: the function that `transformation_with_aux` gave beside the first.
      aux2: that beside the second.

    Returns:
      Whether it is of the first, which is asked first, and what was found.

    Raises:
      ValueError: where neither was called.

    >>> @transformation_with_aux
    ... def counted(x):
    ...     result = yield (x,), {}
    ...     yield result, 1
    >>> (first, one), (_, two) = counted(wrap_init(abs)), counted(wrap_init(abs))
    >>> first.call_wrapped(-2), merge_linear_aux(one, two)
    (2, (True, 1))
    """
    try:
        return True, aux1()
    except ValueError:
        return False, aux2()
