"""Placements: how an array lies on devices; and specs, what dispatch asks about an array."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from math import prod
from typing import Any, Final

import numpy as np

from effax.backends.xla.client import VERSION
from effax.backends.xla.device import Device, default_device
from effax.effects import config
from effax.effects.interning import Interned
from effax.effects.runtime import _hlo, _jax
from effax.effects.types import ShapedArray
from effax.effects.value import is_symbolic

Index = tuple[slice, ...]


def bounds(index: Sequence[slice], shape: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """The start and the end of a part of an array along each axis."""
    return tuple(i.indices(n)[:2] for i, n in zip(index, shape, strict=True))


class IndivisibleError(ValueError):
    """An axis of an array can't be cut into as many equal pieces as a sharding asks for."""


def too_few_axes(sharding: Sharding, needed: int, shape: Sequence[int]) -> ValueError:
    """Return the error for an array that has fewer axes than a sharding needs."""
    told = "" if shape else "For scalars the PartitionSpec should be P(): "
    return ValueError(
        f"{told}Sharding {sharding} is only valid for values of rank at least {needed}, but was "
        f"applied to a value of rank {len(shape)}"
    )


class Sharding:
    """The base class of placements and of shardings over a mesh."""

    __slots__ = ()

    def placement(self) -> Placement:
        """The devices, and how an array is cut up among them."""
        raise NotImplementedError(f"{type(self).__name__} must define `placement`")

    def typed(self, type: ShapedArray) -> ShapedArray:
        """The type of arrays that lie so: it says along which explicit axes of a mesh."""
        return type.cut_by(None)

    @property
    def memory_kind(self) -> str | None:
        """The memory of the devices that arrays are in."""
        return "device"

    @property
    def _is_concrete(self) -> bool:
        """JAX asks this of an array that it is given, and has no better error to say."""
        if hasattr(sys.modules.get("jax._src.sharding_impls"), "__file__"):  # not effax's own
            raise TypeError(
                "JAX was given an array of effax: convert it with np.asarray, or let effax be the "
                "jax of all libraries, by python -m effax.as_jax"
            )
        return True

    @property
    def device_set(self) -> set[Device]:
        """The devices, as a set."""
        return set(self.placement().devices)

    @property
    def num_devices(self) -> int:
        """The number of devices."""
        return len(self.placement().devices)

    @property
    def addressable_devices(self) -> set[Device]:
        """The devices that belong to this process."""
        return {device for device in self.placement().devices if device.is_addressable}

    @property
    def _device_assignment(self) -> tuple[Device, ...]:
        """The devices in order; Orbax asks for them by JAX's private name."""
        return self.placement().devices

    @property
    def _addressable_device_assignment(self) -> tuple[Device, ...]:
        """The devices of this process in order, likewise."""
        return tuple(device for device in self.placement().devices if device.is_addressable)

    @property
    def has_addressable_devices(self) -> bool:
        """Whether any device belongs to this process."""
        return bool(self.addressable_devices)

    @property
    def is_fully_addressable(self) -> bool:
        """Whether all devices belong to this process."""
        return self.placement().is_fully_addressable

    @property
    def is_fully_replicated(self) -> bool:
        """Whether each device has the whole array."""
        return all(n == 1 for n in self.cuts())

    def cuts(self) -> tuple[int, ...]:
        """Into how many pieces each axis of an array is cut; axes after the last, into one."""
        return self.placement().split

    def check_compatible_aval(self, aval_shape: Sequence[int]) -> None:
        """Raise `ValueError` where an array of this shape has too few axes."""
        if len(self.cuts()) > len(aval_shape):
            raise too_few_axes(self, len(self.cuts()), aval_shape)

    def shard_shape(self, global_shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of the piece on each device.

        Raises `IndivisibleError`, a `ValueError`, where an axis can't be cut into equal pieces.
        """
        cuts = self.cuts()
        shape = tuple(global_shape)
        if not cuts:
            return shape
        self.check_compatible_aval(shape)
        splits = cuts + (1,) * (len(shape) - len(cuts))
        for axis, (length, pieces) in enumerate(zip(shape, splits, strict=True)):
            if length % pieces:
                raise IndivisibleError(
                    f"{self} cuts axis {axis} into {pieces} pieces, but its length is {length}: "
                    f"the numbers of pieces {list(cuts)} should evenly divide the shape {shape}"
                )
        return tuple(length // pieces for length, pieces in zip(shape, splits, strict=True))

    def devices_indices_map(self, global_shape: Sequence[int]) -> dict[Device, Index]:
        """For each device, which part of an array of this shape it has."""
        self.shard_shape(global_shape)
        where = self.placement()
        return dict(zip(where.devices, where.indices(tuple(global_shape)), strict=True))

    def addressable_devices_indices_map(self, global_shape: Sequence[int]) -> dict[Device, Index]:
        """The same for the devices of this process."""
        parts = self.devices_indices_map(global_shape)
        return {device: index for device, index in parts.items() if device.is_addressable}

    def is_equivalent_to(self, other: Any, ndim: int) -> bool:
        """Whether another sharding puts the same pieces of an array on the same devices."""
        return isinstance(other, Sharding) and other.placement() is self.placement()


def check_memory(device: Device, kind: str) -> None:
    """Raise `ValueError` for the name of a memory that a device does not reach."""
    if device.backend.absent:  # nothing is known of its memories
        return
    kinds = [memory.kind for memory in device.addressable_memories()]
    if kind not in kinds:
        name = device.device_kind
        raise ValueError(
            f"Could not find memory addressable by device {name}. Device {name} can address the "
            f"following memory kinds: {', '.join(kinds)}. Got memory kind: {kind}"
        )


class Placement(Sharding):
    """Devices, and how an array is cut up among them. Interned: equal placements are one object.

    Axis `d` is cut into `split[d]` equal pieces (axes after the last of `split` into one); each
    piece lies on `copies` devices. The pieces in row-major order, each repeated `copies` times,
    go to `devices[order[0]]`, `devices[order[1]]`, ... Three common cases:

    - one device: `split = ()`, `copies = 1`;
    - replicated over n devices: `split = ()`, `copies = n`;
    - leading, the layout of `pmap`: `split = (n,)`. An array of shape (n, ...) has one row per
      device, and the piece on each device has the shape (1, ...): the axis stays.
    """

    __slots__ = (
        "__weakref__",
        "_addressable",
        "_parts",
        "_runtime",
        "_whole",
        "copies",
        "device_list",
        "devices",
        "is_single",
        "on_cpu",
        "order",
        "split",
    )

    def __init__(
        self, devices: tuple[Device, ...], split: tuple[int, ...], copies: int, order: Any
    ) -> None:
        self.devices = devices
        self.split = split
        self.copies = copies
        self.order: tuple[int, ...] = order
        self.is_single = len(devices) == 1
        self.on_cpu = devices[0].platform == "cpu"
        self._addressable = all(device.is_addressable for device in devices)
        self.device_list = _jax.DeviceList(tuple(device.raw for device in devices))
        self._runtime: dict[int, Any] = {}
        self._parts: tuple[Placement, ...] | None = None
        self._whole: bool | None = None

    # -- what it is

    @property
    def device(self) -> Device:
        """The device of a placement on one device, else the first."""
        return self.devices[0]

    def placement(self) -> Placement:
        """The placement itself."""
        return self

    @property
    def is_fully_addressable(self) -> bool:
        """Whether all devices belong to this process."""
        return self._addressable

    @property
    def is_whole_here(self) -> bool:
        """Whether each piece lies on some device of this process."""
        if self._whole is None:
            here = {
                place // self.copies
                for place, position in enumerate(self.order)
                if self.devices[position].is_addressable
            }
            self._whole = len(here) == prod(self.split)
        return self._whole

    @property
    def is_replicated(self) -> bool:
        """Whether each device has the whole array."""
        return not self.split

    @property
    def is_leading(self) -> bool:
        """Whether the array has one row (of shape (1, ...)) per device, in the devices' order."""
        n = len(self.devices)
        return self.split == (n,) and n > 1 and self.order == tuple(range(n))

    # -- shapes

    def batched(self) -> Placement:
        """The placement of arrays with one more axis, the first, that is not cut."""
        split = (1, *self.split) if self.split else ()
        return tiled(self.devices, split, self.copies, self.order)

    def _splits(self, ndim: int) -> tuple[int, ...]:
        if len(self.split) > ndim:
            raise ValueError(f"{self} cuts {len(self.split)} axes; the array has {ndim}")
        return self.split + (1,) * (ndim - len(self.split))

    def indices(self, shape: tuple[int, ...]) -> list[Index]:
        """For each device, in the order of `devices`, which part of the array it has."""
        piece = self.shard_shape(shape)
        splits = self._splits(len(shape))
        found: list[Index] = [()] * len(self.devices)
        for place, position in enumerate(self.order):
            tile = np.unravel_index(place // self.copies, splits) if splits else ()
            found[position] = tuple(
                slice(None) if pieces == 1 else slice(int(t) * length, (int(t) + 1) * length)
                for t, pieces, length in zip(tile, splits, piece, strict=True)
            )
        return found

    @property
    def replicas(self) -> list[int]:
        """For each device, in the order of `devices`, which copy of its piece it has."""
        found = [0] * len(self.devices)
        for place, position in enumerate(self.order):
            found[position] = place % self.copies
        return found

    # -- the runtime

    def hlo(self, ndim: int) -> Any:
        """The `HloSharding` of arrays with `ndim` axes."""
        if not self.split:
            return _hlo.HloSharding.replicate()
        dimensions = list(self._splits(ndim))
        partial = self.copies > 1
        proto = _hlo.OpSharding()
        proto.type = _hlo.OpSharding.Type.OTHER
        proto.tile_assignment_dimensions = dimensions + [self.copies] * partial
        proto.tile_assignment_devices = list(self.order)
        proto.replicate_on_last_tile_dim = partial
        return _hlo.HloSharding.from_proto(proto)

    def runtime(self, ndim: int = 0) -> Any:
        """The C++ sharding object of arrays with `ndim` axes; of any, where nothing is cut."""
        key = ndim if self.split else 0
        found = self._runtime.get(key)
        if found is None:
            found = self._runtime[key] = _jax.GSPMDSharding(self.device_list, self.hlo(ndim))
        return found

    def parts(self) -> tuple[Placement, ...]:
        """The placement of each device's piece on its own."""
        if self._parts is None:
            self._parts = tuple(single(device) for device in self.devices)
        return self._parts

    def __repr__(self) -> str:
        devices = ", ".join(map(str, self.devices))
        if not self.split:
            return f"ReplicatedSharding([{devices}])"
        if self.is_leading:
            return f"LeadingSharding([{devices}])"
        return f"TiledSharding([{devices}], split={self.split}, copies={self.copies})"

    def __reduce__(self) -> tuple[Any, ...]:
        ids = [(device.backend.name, device.id) for device in self.devices]
        return _from_ids, (ids, self.split, self.copies, self.order)


class SingleDeviceSharding(Placement):
    """The whole array on one device.

    >>> from effax.backends.xla.device import devices
    >>> SingleDeviceSharding(devices()[0])
    SingleDeviceSharding(device=CpuDevice(id=0))
    """

    __slots__ = ()

    def __new__(cls, device: Any, *parts: Any, memory_kind: str | None = None) -> Any:
        """The one placement of that device (`parts` are given by `tiled` alone)."""
        if parts:
            return object.__new__(cls)
        found: Any = single(device)
        return found if memory_kind is None else found.with_memory_kind(memory_kind)

    def __init__(self, device: Any, *parts: Any, memory_kind: str | None = None) -> None:
        if parts:
            super().__init__(device, *parts)

    def with_memory_kind(self, kind: str) -> SingleDeviceSharding:
        """The sharding in another memory of the device, which is a name only.

        Raises `ValueError` for a memory that the device does not reach.
        """
        check_memory(self.devices[0], kind)
        return self

    def __repr__(self) -> str:
        return f"SingleDeviceSharding(device={self.devices[0]!r})"


_placements: Final = Interned[Any, Placement]()
_specs: Final = Interned[Any, "Spec"]()
_recent: Final = _specs.recent


def tiled(
    devices: Sequence[Device],
    split: Sequence[int],
    copies: int = 1,
    order: Sequence[int] | None = None,
) -> Placement:
    """The placement that cuts axis `d` into `split[d]` pieces, each on `copies` devices.

    `order` are positions in `devices`; without it the pieces go to the devices as they come.
    Raises `ValueError` where the numbers do not multiply to the number of devices.
    """
    devices = tuple(devices)
    pieces = tuple(split)
    while pieces and pieces[-1] == 1:
        pieces = pieces[:-1]
    n = len(devices)
    positions = tuple(range(n)) if order is None or not pieces else tuple(order)
    if copies > 1 and pieces:  # the copies of a piece have no order
        rows = [sorted(positions[i : i + copies]) for i in range(0, n, copies)]
        positions = tuple(position for row in rows for position in row)
    key = (devices, pieces, copies, positions)
    found = _placements.recent.get(key)
    if found is not None:
        return found

    def make() -> Placement:
        if not n or prod(pieces) * copies != n:
            raise ValueError(f"{pieces} pieces of {copies} copies do not fill {n} devices")
        if sorted(positions) != list(range(n)):
            raise ValueError(f"positions must have each of the {n} devices once, got {positions}")
        kind = SingleDeviceSharding if n == 1 else Placement
        return kind(devices, pieces, copies, positions)

    return _placements.find(key, make)


def single(device: Device) -> Placement:
    """The whole array on one device."""
    return tiled((device,), ())


def replicated(devices: Sequence[Device]) -> Placement:
    """The whole array on each of the devices; `single` where there is only one."""
    return tiled(devices, (), len(devices))


def leading(devices: Sequence[Device]) -> Placement:
    """One row of the leading axis on each of n devices; `single` where there is only one."""
    return tiled(devices, (len(devices),))


def from_hlo(devices: Sequence[Device], sharding: Any) -> Placement:
    """The placement that an `OpSharding` of a compiled program describes, on these devices.

    Raises `ValueError` for one that places nothing (manual or unreduced).
    """
    hlo = _hlo.HloSharding.from_proto(sharding)
    if hlo.is_replicated():
        return replicated(devices)
    if hlo.is_maximal():
        return single(devices[hlo.tile_assignment_devices()[0]])
    if not hlo.is_tiled() or hlo.subgroup_types():
        raise ValueError(f"the sharding {hlo} does not say where pieces of an array lie")
    dimensions = hlo.tile_assignment_dimensions()
    order = hlo.tile_assignment_devices()
    if hlo.replicate_on_last_tile_dim():
        return tiled(devices, dimensions[:-1], dimensions[-1], order)
    return tiled(devices, dimensions, 1, order)


def default() -> Placement:
    """Return the placement of new arrays: the setting `default_device`, else the first device."""
    chosen = config.trace_key().default_device
    if chosen is None:
        return single(default_device())
    return place(chosen)


def place(where: Any) -> Placement:
    """The placement that a user names: a device, a platform ("cpu"), a sharding, a `Format`.

    Raises `ValueError` for anything else.
    """
    if isinstance(where, Sharding):
        return where.placement()
    if isinstance(where, Device):
        return single(where)
    if isinstance(where, str):
        from effax.backends.xla.device import local_devices

        return single(local_devices(backend=where)[0])
    of_format = getattr(where, "placement", None)
    if callable(of_format):
        found: Placement = of_format()
        return found
    raise ValueError(
        f"`device_put` expected a device, a platform's name or a sharding, got {where!r}"
    )


def _from_ids(ids: Any, split: Any, copies: int, order: Any) -> Placement:
    from effax.backends.xla.device import devices

    known = {(name, device.id): device for name in {n for n, _ in ids} for device in devices(name)}
    return tiled([known[tuple(i)] for i in ids], split, copies, order)


# ------------------------------------------------------------------------------------- specs


class Spec:
    """The dispatch key of an array: its type, its placement, and whether the user chose the
    placement.

    Interned: specs compare and hash by identity, so that a tuple of them is a cheap cache key.
    `handler` makes the runtime's buffers of this spec from an executable's results. `named` is
    the placement in the words of a mesh, where there is one.
    """

    __slots__ = ("__weakref__", "committed", "handler", "named", "placement", "type")

    def __new__(
        cls,
        type: ShapedArray,
        placement: Placement,
        committed: bool = False,
        named: Sharding | None = None,
    ) -> Spec:
        """The spec with these parts."""
        key = (type, placement, committed, named)
        found = _recent.get(key)
        return _specs.find(key, lambda: cls._of(*key)) if found is None else found

    @classmethod
    def _of(
        cls, type: ShapedArray, placement: Placement, committed: bool, named: Sharding | None
    ) -> Spec:
        typed = type.cut_by(None) if named is None else named.typed(type)
        if typed is not type:
            return cls(typed, placement, committed, named)
        made = object.__new__(cls)
        made.type = type
        made.placement = placement
        made.committed = committed
        made.named = named
        made.handler = result_handler(type, placement)
        return made

    type: ShapedArray
    placement: Placement
    committed: bool
    named: Sharding | None
    handler: Any

    @property
    def sharding(self) -> Sharding:
        """The placement, in the words it was given in."""
        return self.placement if self.named is None else self.named

    def update(
        self,
        type: ShapedArray | None = None,
        placement: Placement | None = None,
        committed: bool | None = None,
    ) -> Spec:
        """The spec with some parts replaced."""
        return Spec(
            self.type if type is None else type,
            self.placement if placement is None else placement,
            self.committed if committed is None else committed,
            self.named if placement is None else None,
        )

    def __repr__(self) -> str:
        return f"Spec({self.type!r}, {self.placement!r}, committed={self.committed})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Spec, (self.type, self.placement, self.committed, self.named)


def result_handler(type: ShapedArray, placement: Placement) -> Any:
    """Return the function that wraps a result of the runtime, or a view of a buffer, as a typed
    buffer.
    """
    if is_symbolic(type.shape):  # no such array exists, but programs are staged for such types
        return None
    sharding = placement.runtime(len(type.shape))
    if VERSION < (0, 11):
        # The fourth argument skips a check that only jax can do.
        return _jax.array_result_handler(type, sharding, True, True)
    return _jax.array_result_handler(type, sharding, True)
