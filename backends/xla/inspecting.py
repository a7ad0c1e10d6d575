"""Values whose placement is asked for while a program over several devices is compiled.

The compiler says it: the partitioner answers a custom call `InspectSharding` with the sharding of
its operand, wherever in the program it stands. Loaded with the first program that asks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from effax.backends.xla.device import Device
from effax.backends.xla.layout import ProgramLayout
from effax.backends.xla.placement import Placement, Sharding, from_hlo, tiled
from effax.effects.runtime import _jax


class Asked:
    """One value of a program whose placement somebody asked for, and the compiler's answer.

    The program's text holds its address, so it must live until the program is compiled.

    Args:
      telling: the function to call.
      ndim: the number of axes of the value.
      left: inside a `shard_map`, strides and lengths of the mesh axes that it is not over, the
        slowest first: the compiler speaks of these alone.
    """

    __slots__ = ("answered", "left", "ndim", "proto", "telling")

    def __init__(
        self,
        telling: Callable[[Sharding], None],
        ndim: int,
        left: Sequence[tuple[int, int]] | None = None,
    ) -> None:
        self.telling = telling
        self.ndim = ndim
        self.left = left
        self.answered = False
        self.proto: Any = None

    def __call__(self, sharding: Any) -> None:
        """Note the compiler's answer, an `HloSharding`."""
        self.answered = True
        self.proto = None if sharding.is_manual() else sharding.to_proto()

    @property
    def key(self) -> str:
        """The address by which the compiler calls this object, as a string of MLIR."""
        return "".join(f"\\{byte:02X}" for byte in _jax.encode_inspect_sharding_callback(self))

    def tell(self, layout: ProgramLayout) -> None:
        """Call whoever asked, unless the value is one that the compiler has dropped.

        A piece of a value under `shard_map` counts as whole.
        """
        if not self.answered:
            return
        devices, proto = layout.where.devices, self.proto
        if proto is None:
            placement = layout.where
        elif self.left is None:
            placement = from_hlo(devices, proto)
        else:
            placement = self._along_all(devices, proto)
        self.telling(layout.name(placement, self.ndim) or placement)

    def _along_all(self, devices: tuple[Device, ...], proto: Any) -> Placement:
        """Return what a sharding along the axes left is on all devices: the same along others."""
        places = np.arange(len(devices))
        among = np.zeros(len(devices), int)  # the number of a device among those of these axes
        for stride, size in self.left or ():
            among = among * size + places // stride % size
        groups = [np.flatnonzero(among == i).tolist() for i in range(among.max() + 1)]
        small = from_hlo([devices[group[0]] for group in groups], proto)
        order = [place for position in small.order for place in groups[position]]
        return tiled(devices, small.split, small.copies * len(groups[0]), order)


def tell(asked: Sequence[Asked], layout: ProgramLayout) -> None:
    """Say where values lie to those who asked, in the order of the program."""
    for one in asked:
        one.tell(layout)
