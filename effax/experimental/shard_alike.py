"""`shard_alike`: two arrays that lie in the same way."""

from __future__ import annotations

from itertools import count
from typing import Any, Final

from effax.api.placing.devices import device_put
from effax.backends.xla.array import Array
from effax.effects.rows.sharding import grouped
from effax.effects.types import typeof

__all__ = ["shard_alike"]
__dir__ = __all__.copy


def shard_alike(x: Any, y: Any) -> tuple[Any, Any]:
    """Return both arrays, the second moved to where the first is.

    While a function is traced, XLA is told to cut them alike, and cotangents too; it chooses how.

    Args:
      x: an array.
      y: an array of the same shape.

    Raises:
      ValueError: where their shapes differ.

    >>> import effax.numpy as jnp
    >>> x, y = shard_alike(jnp.ones(2), jnp.zeros(2))
    >>> x.sharding == y.sharding
    True
    """
    if typeof(x).shape != typeof(y).shape:
        raise ValueError(
            f"shard_alike: shapes must be equal, got {typeof(x).shape} and {typeof(y).shape}"
        )
    if isinstance(x, Array) and isinstance(y, Array):
        return x, device_put(y, x.sharding)
    group = (next(_groups),)
    return grouped(x, group=group), grouped(y, group=group)


_groups: Final = count(1)
