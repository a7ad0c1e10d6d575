"""`shard_map` as it was called while it was experimental; now it is `effax.shard_map`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from effax.api.mapping.shard_map import shard_map as mapped

__all__ = ["shard_map"]


def shard_map(
    f: Callable[..., Any], mesh: Any, in_specs: Any, out_specs: Any, check_rep: bool = True
) -> Callable[..., Any]:
    """`effax.shard_map` by its old signature: `check_rep` is what `check_vma` is now.

    >>> import effax, effax.numpy as jnp
    >>> mesh = effax.make_mesh((1,), ("x",))
    >>> shard_map(lambda x: 2 * x, mesh, effax.P("x"), effax.P("x"))(jnp.arange(2.0))
    Array([0., 2.], dtype=float32)
    """
    found: Callable[..., Any] = mapped(
        f, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=check_rep
    )
    return found
