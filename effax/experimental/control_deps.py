"""Control dependencies: the order in which XLA runs operations that do not need each other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from effax.ffi import ffi_call

__all__ = ["control_dep", "schedule"]


def control_dep(src: Any, dst: Any) -> Any:
    """Make XLA run the operation that makes `src` before the one that makes `dst`.

    Args:
      src: an array, made by one operation.
      dst: an array, made by another operation, on which `src` does not depend.

    >>> import effax, effax.numpy as jnp
    >>> @effax.jit
    ... def f(x):
    ...     first, second = jnp.sin(x), jnp.cos(x)
    ...     control_dep(first, second)
    ...     return first + second
    >>> 'custom_call_target="control_dep"' in f.lower(1.0).as_text(dialect="hlo")
    True
    """
    return ffi_call("control_dep", (), has_side_effect=True)(src, dst)


def schedule(ops: Sequence[Any]) -> None:
    """Make XLA run the operations that make these arrays in this order.

    Args:
      ops: arrays, each made by one operation; none depends on a later one.

    >>> import effax, effax.numpy as jnp
    >>> @effax.jit
    ... def f(x):
    ...     parts = [jnp.sin(x), jnp.cos(x), jnp.exp(x)]
    ...     schedule(parts)
    ...     return sum(parts)
    >>> f.lower(1.0).as_text().count("control_dep")
    2
    """
    for src, dst in pairwise(ops):
        control_dep(src, dst)
