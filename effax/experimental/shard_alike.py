"""`shard_alike`: two arrays that lie in the same way."""

from __future__ import annotations

from typing import Any

from effax.api.placing.devices import device_put
from effax.backends.xla.array import Array
from effax.effects.types import typeof

__all__ = ["shard_alike"]
__dir__ = __all__.copy


def shard_alike(x: Any, y: Any) -> tuple[Any, Any]:
    """Return both arrays, the second moved to where the first is.

    While a function is traced both stay as they are, and XLA chooses where they lie.

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
    return x, y
