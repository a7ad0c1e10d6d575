"""Functions that XLA schedules as a group, and other metadata for it on a whole call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from effax.api.calling.tags import as_tags
from effax.api.custom.marked import marked_call

__all__ = ["scheduling_group", "xla_metadata_call"]


def scheduling_group(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator under which XLA schedules a function's operations as one group.

    Args:
      name: the name of the group.

    Raises:
      NotImplementedError: for a name that is no string.

    >>> import effax
    >>> f = scheduling_group("first")(lambda x: x * 2.0)
    >>> 'scheduling_group = "first"' in effax.jit(f).lower(1.0).as_text()
    True
    """
    decorator: Callable[[Callable[..., Any]], Callable[..., Any]]
    decorator = xla_metadata_call(scheduling_group=name)
    return decorator


def xla_metadata_call(f: Callable[..., Any] | None = None, **meta: str) -> Any:
    """Return `f` as one call of the compiled program, with metadata for XLA on the call.

    A derivative or a batch of the function is such a call, too. `inlineable="false"` keeps XLA
    from writing the function out in its caller.

    Args:
      f: a function of trees of arrays; without it the result is a decorator.
      **meta: the metadata, strings.

    Raises:
      NotImplementedError: for a value that is no string.

    >>> import effax
    >>> f = xla_metadata_call(lambda x: x * x, inlineable="false")
    >>> effax.grad(f)(3.0)
    Array(6., dtype=float32, weak_type=True)
    """
    for key, value in meta.items():
        if not isinstance(value, str):
            raise NotImplementedError(
                f"xla_metadata_call: {key} must be a string, got {type(value).__name__}; pass its "
                "text"
            )
    metadata = as_tags(meta)

    def called(function: Callable[..., Any]) -> Callable[..., Any]:
        return marked_call(function, metadata, "xla_metadata_call")

    return called if f is None else called(f)
