"""Meshes of devices, and shardings in their words: which mesh axis cuts which axis of an array."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from importlib import import_module
from math import prod
from typing import Any, Final, ParamSpec, TypeVar
from weakref import WeakSet

import numpy as np

from effax.backends.xla.device import Device
from effax.backends.xla.device import devices as all_devices
from effax.backends.xla.placement import Placement, Sharding, check_memory, tiled, too_few_axes
from effax.effects.cuts import cut_of, entry_of
from effax.effects.frames import filtered
from effax.effects.mesh import (
    UNCONSTRAINED,
    AbstractDevice,
    AbstractMesh,
    AxisType,
    MeshShape,
    PartitionSpec,
    current_mesh,
    under_mesh,
)
from effax.effects.types import ShapedArray

P = ParamSpec("P")
R = TypeVar("R")


class DuplicateSpecError(ValueError):
    """A spec names an axis of the mesh twice."""


class Mesh(MeshShape):
    """Devices in an array whose axes have names.

    >>> mesh = Mesh(all_devices()[:1], "x")
    >>> mesh.shape["x"]
    1
    """

    __slots__ = ("__weakref__", "_entered", "_flat", "_hash", "_named", "devices")

    def __init__(
        self,
        devices: Any,
        axis_names: str | Sequence[Any],
        axis_types: AxisType | Sequence[AxisType] | None = None,
    ) -> None:
        names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
        grid = np.array(devices, dtype=object)
        if None in names:
            raise ValueError(f"Mesh axis names cannot be None. Got: {names}")
        if grid.ndim != len(names):
            raise ValueError(
                f"Mesh: the ndim of its first argument, the array of devices, is {grid.ndim}, but "
                f"there are {len(names)} axis_names; give a name for each axis"
            )
        empty = not names and grid.item() is None
        if not empty and not all(isinstance(device, Device) for device in grid.flat):
            raise TypeError(f"Mesh: expected devices, as of effax.devices(), got {devices!r}")
        self._describe(grid.shape, names, axis_types)
        grid.flags.writeable = False
        self.devices = grid
        self._flat: tuple[Device, ...] = () if empty else tuple(grid.flat)
        if len(set(self._flat)) != len(self._flat):
            raise ValueError(f"Mesh: devices must not repeat, got {devices!r}")
        self._hash = hash((self._flat, self.shape_tuple, self._types))
        self._named: dict[Any, NamedSharding | None] = {}
        self._entered: list[Any] = []

    @property
    def flat(self) -> tuple[Device, ...]:
        """The devices in row-major order."""
        return self._flat

    @property
    def size(self) -> int:
        """The number of devices."""
        return len(self._flat)

    @property
    def device_ids(self) -> np.ndarray[Any, Any]:
        """The numbers of the devices, in their array."""
        return np.array([d.id for d in self._flat]).reshape(self.axis_sizes)

    @property
    def local_devices(self) -> list[Device]:
        """The devices of this process."""
        return [device for device in self._flat if device.is_addressable]

    @property
    def is_multi_process(self) -> bool:
        """Whether there are devices of other processes."""
        return len(self.local_devices) != len(self._flat)

    @property
    def local_mesh(self) -> Mesh:
        """The mesh of this process's devices.

        Raises `ValueError` where they are no box of the mesh, or there are none.
        """
        if not self.is_multi_process:
            return self
        mine = np.array([device.is_addressable for device in self._flat]).reshape(self.axis_sizes)
        places = np.argwhere(mine)
        if len(places):
            lowest, highest = places.min(0), places.max(0) + 1
            box = tuple(slice(a, b) for a, b in zip(lowest, highest, strict=True))
            if mine[box].all():
                return Mesh(self.devices[box], self.axis_names, self._types)
        raise ValueError(
            f"Mesh.local_mesh: the {len(places)} devices of this process do not form a box of the "
            f"mesh {dict(self.shape)}; make the mesh so that each process has one "
            "(mesh_utils.create_device_mesh), or use local_devices"
        )

    @property
    def is_scalar(self) -> bool:
        """Whether there are no axes, and one device."""
        return self.empty and len(self._flat) == 1

    @property
    def abstract_mesh(self) -> AbstractMesh:
        """The axes without the devices, but for their kind."""
        kind = None
        if self._flat:
            first = self._flat[0]
            kind = AbstractDevice(first.device_kind, None, first.platform)
        return AbstractMesh(self.axis_sizes, self.axis_names, self._types, abstract_device=kind)

    def update(self, devices: Any = None, axis_names: Any = None, axis_types: Any = None) -> Mesh:
        """The mesh with some parts replaced."""
        return Mesh(
            self.devices if devices is None else devices,
            self.axis_names if axis_names is None else axis_names,
            self._types if axis_types is None else axis_types,
        )

    def named(self, placement: Placement) -> NamedSharding | None:
        """A placement on the mesh's devices in its words, or None where it has none for it."""
        if placement not in self._named:
            self._named[placement] = self._name(placement)
        return self._named[placement]

    def _name(self, placement: Placement) -> NamedSharding | None:
        if placement.devices != self._flat:
            return None
        digits = radices(placement)
        strides = [(n, s, k) for n, (s, k) in self.strides().items() if k > 1]
        entries: list[Any] = []
        for dimension in digits or ():
            found: list[Any] = []
            for stride, count in dimension:
                inside = [(s, n, k) for n, s, k in strides if stride <= s < stride * count]
                if prod(k for _, _, k in inside) != count:
                    return None
                found += [name for _, name, _ in sorted(inside, reverse=True)]
            entries.append(tuple(found))
        if digits is None:
            return None
        named = NamedSharding(self, PartitionSpec(*entries))
        return named if named.placement() is placement else None

    def __enter__(self) -> Mesh:
        scope = under_mesh(self, places=False)
        scope.__enter__()
        self._entered.append(scope)
        return self

    def __exit__(self, *exception: object) -> None:
        self._entered.pop().__exit__(*exception)

    def __call__(self, func: Callable[P, R]) -> Callable[P, R]:
        """The function, run under `with mesh:`; so a mesh is a decorator.

        Args:
          func: any function.
        """

        @wraps(func)
        def under_this_mesh(*args: P.args, **keywords: P.kwargs) -> R:
            with self:
                return func(*args, **keywords)

        return under_this_mesh

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Mesh)
            and self._flat == other._flat
            and self.shape_tuple == other.shape_tuple
            and self._types == other._types
        )

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return (
            f"Mesh(axis_sizes={self.axis_sizes}, axis_names={self.axis_names}, "
            f"axis_types={self._types})"
        )

    def __reduce__(self) -> Any:
        ids = [(device.backend.name, device.id) for device in self._flat]
        return _mesh_of_ids, (ids, self.axis_sizes, self.axis_names, self._types)


def _mesh_of_ids(ids: Any, sizes: Any, names: Any, types: Any) -> Mesh:
    known = {(n, d.id): d for n in {n for n, _ in ids} for d in all_devices(n)}
    grid = np.array([known[tuple(i)] for i in ids], dtype=object).reshape(sizes)
    return Mesh(grid, names, types)


def radices(placement: Placement) -> list[list[tuple[int, int]]] | None:
    """For each axis cut: how its pieces count through the devices, the slowest first.

    Each pair is a stride among the devices and a count of places. None where the pieces do not
    lie so regularly.
    """
    splits, order = placement.split, np.array(placement.order)
    if not splits:
        return []
    tiles = order.reshape(*splits, placement.copies)[..., 0]
    found = []
    for axis, pieces in enumerate(splits):
        line = np.moveaxis(tiles, axis, 0).reshape(pieces, -1)[:, 0]
        digits, here = [], line - line[0]
        while len(here) > 1:
            stride, count = int(here[1]), 1
            while count < len(here) and here[count] == count * stride:
                count += 1
            if stride <= 0 or len(here) % count:
                return None
            digits.append((stride, count))
            here = here[::count]
        found.append(digits[::-1])
    return found


MEMORIES: Final = ("device", "pinned_host", "unpinned_host")
"""The names of memories that some devices have."""


class NamedSharding(Sharding):
    """A spec over a mesh: each axis of an array cut along axes of the mesh, or not.

    >>> mesh = Mesh(all_devices()[:1], "x")
    >>> NamedSharding(mesh, PartitionSpec("x")).shard_shape((4, 2))
    (4, 2)
    """

    __slots__ = ("_hash", "_kind", "_placement", "mesh", "spec")

    @filtered
    def __init__(self, mesh: Any, spec: Any, *, memory_kind: str | None = None) -> None:
        if not isinstance(mesh, MeshShape):
            swapped = "; mesh is the first argument, spec the second" * isinstance(
                mesh, PartitionSpec
            )
            raise TypeError(f"NamedSharding: mesh must be a Mesh, got {mesh!r}{swapped}")
        if not isinstance(spec, PartitionSpec):
            entries = spec if isinstance(spec, tuple) else () if spec is None else (spec,)
            raise TypeError(
                f"NamedSharding: spec must be a PartitionSpec, got {spec!r} of type "
                f"{type(spec).__name__}; write PartitionSpec({', '.join(map(repr, entries))})"
            )
        check_spec(mesh, spec)
        if memory_kind is not None:
            if isinstance(mesh, Mesh) and not mesh.empty:
                check_memory(mesh.flat[0], memory_kind)
            elif memory_kind not in MEMORIES:
                raise ValueError(
                    f"Got invalid memory kind: {memory_kind}. Valid memory kinds are: "
                    f"{', '.join(MEMORIES)}"
                )
        self.mesh: Any = mesh
        self.spec = spec
        self._kind = memory_kind
        self._hash = hash((mesh, spec, self.memory_kind))
        self._placement: Placement | None = None

    @property
    def memory_kind(self) -> str | None:
        """The memory of the devices that arrays are in; None where nobody chose, or knows it."""
        return self._kind or ("device" if isinstance(self.mesh, Mesh) else None)

    def with_memory_kind(self, kind: str) -> NamedSharding:
        """The sharding in another memory of the devices."""
        return NamedSharding(self.mesh, self.spec, memory_kind=kind)

    def update(self, *, mesh: Any = None, spec: Any = None, memory_kind: Any = None) -> Any:
        """The sharding with some parts replaced."""
        return NamedSharding(
            self.mesh if mesh is None else mesh,
            self.spec if spec is None else spec,
            memory_kind=self._kind if memory_kind is None else memory_kind,
        )

    def typed(self, type: ShapedArray) -> ShapedArray:
        """The type of arrays that lie so: it says along which explicit axes of the mesh."""
        if not self.mesh.explicit_axes:
            return type.cut_by(None)
        entries = [entry_of(self.spec.names(i)) for i in range(type.ndim)]
        if isinstance(self.mesh, Mesh):
            if not _explicit:
                import_module("effax.backends.xla.opening")  # it imports this module
            _explicit.add(self.mesh)
        return type.cut_by(cut_of(self.mesh, entries))

    def ranked(self, ndim: int) -> NamedSharding:
        """The same with an entry for each axis of an array, as types have it."""
        return self.update(spec=PartitionSpec(*self.spec, *(None,) * (ndim - len(self.spec))))

    @property
    def replicated_axes(self) -> frozenset[Any]:
        """The axes of the mesh along which every device has the same."""
        return frozenset(self.mesh.axis_names) - set(self.spec.used)

    def in_context(self) -> NamedSharding:
        """The same over the devices of the mesh in context, where only that one has devices."""
        mesh = None if isinstance(self.mesh, Mesh) else current_mesh()
        if isinstance(mesh, Mesh) and self.mesh.abstract_mesh.describes(mesh):
            return NamedSharding(mesh, self.spec, memory_kind=self._kind)
        return self

    def placement(self) -> Placement:
        """The devices, and how an array is cut up among them.

        Raises `ValueError` for a mesh without devices, unless the one in context has its axes.
        """
        if self._placement is None:
            mesh, spec = self.mesh, self.spec
            if not isinstance(mesh, Mesh):
                found = self.in_context()
                if found is not self:
                    return found.placement()
                raise ValueError(f"{mesh} has no devices: make a Mesh of devices")
            at = {name: i for i, name in enumerate(mesh.axis_names)}
            cut = [at[name] for name in spec.used]
            rest = [i for i in range(len(at)) if i not in cut]
            places = np.arange(mesh.size).reshape(mesh.axis_sizes).transpose(*cut, *rest)
            copies = prod(mesh.axis_sizes[i] for i in rest)
            self._placement = tiled(mesh.flat, self.cuts(), copies, places.ravel().tolist())
        return self._placement

    def cuts(self) -> tuple[int, ...]:
        """Into how many pieces each axis of an array is cut."""
        sizes, spec = self.mesh.shape, self.spec
        return tuple(prod(sizes[n] for n in spec.names(i)) for i in range(len(spec)))

    @property
    def is_constraint(self) -> bool:
        """Whether some axes may be cut in any way, so that it only constrains."""
        return UNCONSTRAINED in self.spec

    def check_compatible_aval(self, aval_shape: Sequence[int]) -> None:
        """Raise `ValueError` where an array of this shape has too few axes."""
        if len(self.spec) > len(aval_shape):
            raise too_few_axes(self, len(self.spec), aval_shape)

    def shard_shape(self, global_shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of the piece on each device."""
        self.check_compatible_aval(global_shape)
        return super().shard_shape(global_shape)

    def is_equivalent_to(self, other: Any, ndim: int) -> bool:
        """Whether another sharding cuts arrays of `ndim` axes alike, over the same devices.

        Shardings over meshes without devices are equivalent if they name the same axes.
        """
        if isinstance(self.mesh, Mesh) and isinstance(getattr(other, "mesh", self.mesh), Mesh):
            return super().is_equivalent_to(other, ndim)
        return (
            isinstance(other, NamedSharding)
            and (self.mesh, self.memory_kind) == (other.mesh, other.memory_kind)
            and self.ranked(ndim).spec == other.ranked(ndim).spec
        )

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, NamedSharding)
            and self.spec == other.spec
            and self.mesh == other.mesh
            and self.memory_kind == other.memory_kind
        )

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        kind = "" if self.memory_kind is None else f", memory_kind={self.memory_kind}"
        return f"NamedSharding(mesh={self.mesh!s}, spec={self.spec}{kind})"

    def __reduce__(self) -> Any:
        return _named_sharding, (self.mesh, self.spec, self._kind)


def _named_sharding(mesh: Any, spec: Any, kind: Any) -> NamedSharding:
    return NamedSharding(mesh, spec, memory_kind=kind)


def check_spec(mesh: Any, spec: PartitionSpec) -> None:
    """Refuse a spec that names axes the mesh does not have, or one of them twice.

    And one that leaves to XLA what the types of a mesh's axes leave to nobody.
    """
    used = spec.used
    if UNCONSTRAINED in spec and mesh.are_all_axes_explicit:
        raise ValueError(
            f"{spec} cannot contain `P.UNCONSTRAINED` when no mesh axis_types are `Auto`. Got mesh "
            f"axis_types: {mesh.axis_types}; name the axes, or write None"
        )
    for name in used:
        if name not in mesh.axis_names:
            raise ValueError(
                f"Resource axis: {name} of {spec} is not found in mesh: {mesh.axis_names}."
            )
        if used.count(name) > 1:
            raise DuplicateSpecError(
                "A single NamedSharding spec specification can map every mesh axis to at most one "
                f"positional dimension, but {spec} has duplicate entries for `{name}`"
            )


_explicit: Final[WeakSet[Mesh]] = WeakSet()


def with_devices(mesh: Any) -> Any:
    """The mesh of devices that a mesh of a type stands for; itself where that is not clear.

    That in context, if it has these axes; else the one over whose axes arrays were cut.

    Args:
      mesh: a mesh, perhaps without devices.
    """
    if isinstance(mesh, Mesh):
        return mesh
    context = current_mesh()
    if isinstance(context, Mesh) and context.shape_tuple == mesh.shape_tuple:
        return context.update(axis_types=mesh.axis_types)
    found = {one for one in _explicit if one.abstract_mesh == mesh}
    return found.pop() if len(found) == 1 else mesh


EMPTY: Final = Mesh(np.array(None, dtype=object), ())
"""No mesh: what is in context where nothing was set."""
