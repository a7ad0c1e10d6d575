"""`shard_alike`: two arrays that lie in the same way."""

from __future__ import annotations

from itertools import count
from typing import Any, Final

from effax.backends.xla.putting import alike
from effax.effects.types import typeof

__all__ = ["shard_alike"]
__dir__ = __all__.copy


def shard_alike(x: Any, y: Any) -> tuple[Any, Any]:
    """Return both arrays, put where the first of them is that is cut up over a mesh.

    While a function is traced, XLA is told to cut them alike, and cotangents too; it chooses how.

    Args:
      x: an array.
      y: an array of the same shape.

    Raises:
      ValueError: where their shapes differ, or they are on other devices.

    >>> import effax.numpy as jnp
    >>> x, y = shard_alike(jnp.ones(2), jnp.zeros(2))
    >>> x.sharding == y.sharding
    True
    """
    if typeof(x).shape != typeof(y).shape:
        raise ValueError(
            f"shard_alike: shapes must be equal, got {typeof(x).shape} and {typeof(y).shape}"
        )
    one, other = alike(x, y, next(_groups))
    return one, other


_groups: Final = count(1)
