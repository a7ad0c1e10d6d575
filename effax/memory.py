"""`Space`: the memories of a device, as `device_put` names them."""

from __future__ import annotations

import enum

__all__ = ["Space"]
__dir__ = __all__.copy


class Space(enum.Enum):
    """A memory that a device can reach: its own, or the host's.

    On the CPU they are one, and a value that is moved stays where it is.

    >>> import effax
    >>> effax.jit(lambda x: 2 * effax.device_put(x, effax.memory.Space.Host))(3.0)
    Array(6., dtype=float32, weak_type=True)
    """

    Device = enum.auto()
    Host = enum.auto()
    Any = enum.auto()

    def __repr__(self) -> str:
        return f"MemorySpace.{self.name}"
