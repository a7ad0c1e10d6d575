"""Functions with transformations around them, by the names of `jax.extend.linear_util`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["WrappedFun", "wrap_init"]


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
