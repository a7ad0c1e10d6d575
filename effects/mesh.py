"""Meshes by their axes only, and specs: which axes of a mesh cut which axes of an array.

Only the back-end knows the devices of a mesh: an effect holds meshes and specs as attributes, and
uses their names and lengths alone.
"""

from __future__ import annotations

import enum
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod
from typing import Any, ClassVar, Final, NoReturn

import attrs

from effax.effects import config
from effax.effects.interning import Interned


class AxisType(enum.Enum):
    """The kind of a mesh axis: it says who decides how arrays are cut along it.

    `Auto`: XLA, from what is given and from constraints. `Explicit`: the program, in the types of
    its arrays (`effects.cuts`). `Manual`: the function under `shard_map`, which sees one piece.
    """

    Auto = enum.auto()
    Explicit = enum.auto()
    Manual = enum.auto()

    def __repr__(self) -> str:
        return self.name


@attrs.frozen
class AbstractDevice:
    """The kind of devices that a mesh without devices is for."""

    device_kind: str
    num_cores: int | None
    platform: str


class ManualAxisType:
    """A mark of the mesh axes along which a value may differ, under `shard_map`: `varying`.

    Interned. `unreduced` and `reduced` are of JAX's explicit types, and empty here.

    >>> ManualAxisType(varying=frozenset({"x"})) is ManualAxisType(varying=frozenset({"x"}))
    True
    """

    __slots__ = ("__weakref__", "varying")

    varying: frozenset[Any]

    def __new__(
        cls,
        *,
        varying: Iterable[Any] = (),
        unreduced: Iterable[Any] = (),
        reduced: Iterable[Any] = (),
    ) -> ManualAxisType:
        """The one object with these axes."""
        if unreduced or reduced:
            raise NotImplementedError(
                "ManualAxisType(unreduced=..., reduced=...) is not supported: unreduced sums "
                "belong to explicit sharding types; use shard_map and psum"
            )
        axes = frozenset(varying)

        def make() -> ManualAxisType:
            made = object.__new__(cls)
            object.__setattr__(made, "varying", axes)
            return made

        return _manual_types.find(axes, make)

    @property
    def unreduced(self) -> frozenset[Any]:
        """Axes along which sums are not added up: none."""
        return frozenset()

    reduced = unreduced

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a ManualAxisType is immutable")

    def __repr__(self) -> str:
        return f"ManualAxisType(varying={set(self.varying) or '{}'})"

    def __reduce__(self) -> Any:
        return _manual_type, (self.varying,)


_manual_types: Final = Interned[frozenset[Any], ManualAxisType]()


def _manual_type(axes: frozenset[Any]) -> ManualAxisType:
    return ManualAxisType(varying=axes)


class _Unconstrained:
    """The entry of a spec for an axis that may be cut in any way."""

    def __repr__(self) -> str:
        return "UNCONSTRAINED"

    def __reduce__(self) -> str:
        return "UNCONSTRAINED"


UNCONSTRAINED: Final = _Unconstrained()


def _entry(x: Any) -> Any:
    if isinstance(x, (tuple, list)):
        names = tuple(x)
        if any(isinstance(name, (tuple, list)) for name in names):
            raise ValueError(
                f"A tuple inside PartitionSpec cannot contain a nested tuple, got {x}: name the "
                "mesh axes that cut one axis of the array in one tuple"
            )
        return None if not names else names[0] if len(names) == 1 else names
    return x


class PartitionSpec:
    """A partition spec: for each axis of an array, the axes of the mesh that cut it.

    An entry is a name, a tuple of names (the first varying slowest), None for an axis that is not
    cut, or `PartitionSpec.UNCONSTRAINED`. Axes after the last entry are not cut.

    >>> P = PartitionSpec
    >>> P("x", None, ("y", "z")), P(("x",)) == P("x")
    (P('x', None, ('y', 'z')), True)
    """

    __slots__ = ("_entries",)

    UNCONSTRAINED: ClassVar[Any] = UNCONSTRAINED

    def __init_subclass__(cls) -> None:
        raise TypeError("Subclassing `effax.P` is prohibited: specs are compared by their entries")

    def __init__(
        self, *partitions: Any, unreduced: Iterable[Any] = (), reduced: Iterable[Any] = ()
    ) -> None:
        if unreduced or reduced:
            raise NotImplementedError(
                "PartitionSpec(unreduced=..., reduced=...) is not supported: unreduced sums "
                "belong to explicit sharding types; use shard_map and psum"
            )
        self._entries = tuple(map(_entry, partitions))

    @property
    def partitions(self) -> tuple[Any, ...]:
        """The entries."""
        return self._entries

    @property
    def unreduced(self) -> frozenset[Any]:
        """Axes along which sums are not added up: none."""
        return frozenset()

    reduced = unreduced

    def names(self, dimension: int) -> tuple[Any, ...]:
        """The mesh axes that cut this axis of the array, the first varying slowest."""
        if dimension >= len(self._entries):
            return ()
        entry = self._entries[dimension]
        if entry is None or entry is UNCONSTRAINED:
            return ()
        return entry if isinstance(entry, tuple) else (entry,)

    @property
    def used(self) -> tuple[Any, ...]:
        """All mesh axes that are named, in order."""
        return tuple(name for i in range(len(self._entries)) for name in self.names(i))

    def update(self, *, partitions: Sequence[Any] | None = None) -> PartitionSpec:
        """The spec with other entries."""
        return self if partitions is None else PartitionSpec(*partitions)

    def index(self, value: Any) -> int:
        """The position of an entry."""
        return self._entries.index(_entry(value))

    def count(self, value: Any) -> int:
        """Count the occurrences of an entry."""
        return self._entries.count(_entry(value))

    def __getitem__(self, i: Any) -> Any:
        return self._entries[i]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __add__(self, other: Any) -> PartitionSpec:
        if not isinstance(other, (PartitionSpec, tuple)):
            return NotImplemented
        return PartitionSpec(*self._entries, *other)

    def __radd__(self, other: Any) -> PartitionSpec:
        return PartitionSpec(*other, *self._entries)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, PartitionSpec):
            return self._entries == other._entries
        return isinstance(other, tuple) and self._entries == tuple(map(_entry, other))

    def __hash__(self) -> int:
        return hash(self._entries)

    def __repr__(self) -> str:
        inside = ", ".join(map(repr, self._entries))
        return f"P({inside},)" if len(self._entries) == 1 else f"P({inside})"

    def __reduce__(self) -> Any:
        return PartitionSpec, self._entries


class MeshShape:
    """The base class of meshes: axes with names, lengths and types."""

    __slots__ = ("_types", "axis_names", "axis_sizes")

    axis_names: tuple[Any, ...]
    axis_sizes: tuple[int, ...]

    def _describe(self, sizes: Sequence[int], names: Any, types: Any) -> None:
        names = (names,) if isinstance(names, str) else tuple(names)
        if any(name is None for name in names):
            raise ValueError(f"Mesh axis names cannot be None. Got: {names}")
        if len(set(names)) != len(names):
            raise ValueError(f"Mesh requires unique axis names, got {names}")
        if types is None:
            kinds: tuple[Any, ...] = (AxisType.Auto,) * len(names)
        elif isinstance(types, (AxisType, str)):
            kinds = (types,)
        else:
            kinds = tuple(types)
        if not all(isinstance(kind, AxisType) for kind in kinds):
            raise TypeError(
                "each of axis_types must be of type AxisType, that is AxisType.Auto, Explicit or "
                f"Manual, got {kinds}"
            )
        if len(kinds) != len(names):
            raise ValueError(
                "Number of axis names should match the number of axis_types, got "
                f"axis_names={names} and axis_types={kinds}"
            )
        self.axis_names = names
        self.axis_sizes = tuple(map(int, sizes))
        self._types = kinds

    @property
    def axis_types(self) -> tuple[AxisType, ...]:
        """The type of each axis."""
        return self._types

    @property
    def shape(self) -> OrderedDict[Any, int]:
        """The length of each axis, by name."""
        return OrderedDict(zip(self.axis_names, self.axis_sizes, strict=True))

    @property
    def shape_tuple(self) -> tuple[tuple[Any, int], ...]:
        """The axes with their lengths, as pairs."""
        return tuple(zip(self.axis_names, self.axis_sizes, strict=True))

    @property
    def size(self) -> int:
        """The number of places: the product of the lengths; 0 where there are no axes."""
        return prod(self.axis_sizes) if self.axis_names else 0

    @property
    def empty(self) -> bool:
        """Whether there are no axes."""
        return not self.axis_names

    def _of_type(self, kind: AxisType) -> tuple[Any, ...]:
        return tuple(n for n, k in zip(self.axis_names, self._types, strict=True) if k is kind)

    @property
    def auto_axes(self) -> tuple[Any, ...]:
        """The names of the axes of type `Auto`."""
        return self._of_type(AxisType.Auto)

    @property
    def explicit_axes(self) -> tuple[Any, ...]:
        """The names of the axes of type `Explicit`."""
        return self._of_type(AxisType.Explicit)

    @property
    def manual_axes(self) -> tuple[Any, ...]:
        """The names of the axes of type `Manual`."""
        return self._of_type(AxisType.Manual)

    @property
    def are_all_axes_auto(self) -> bool:
        """Whether every axis is of type `Auto`."""
        return len(self.auto_axes) == len(self.axis_names)

    @property
    def are_all_axes_explicit(self) -> bool:
        """Whether every axis is of type `Explicit`."""
        return len(self.explicit_axes) == len(self.axis_names)

    @property
    def are_all_axes_manual(self) -> bool:
        """Whether every axis is of type `Manual`."""
        return len(self.manual_axes) == len(self.axis_names)

    def strides(self) -> dict[Any, tuple[int, int]]:
        """For each axis, how far apart its places are in row-major order, and how many."""
        found, stride = {}, self.size
        for name, length in self.shape_tuple:
            stride //= max(length, 1)
            found[name] = (stride, length)
        return found

    def __str__(self) -> str:
        axes = ", ".join(f"{name!r}: {length}" for name, length in self.shape_tuple)
        return f"{type(self).__name__}({axes or '()'}, axis_types={self._types})"


class AbstractMesh(MeshShape):
    """A mesh without devices: names and lengths of axes.

    >>> AbstractMesh((2, 4), ("x", "y")).shape["y"]
    4
    """

    __slots__ = ("abstract_device",)

    def __init__(
        self,
        axis_sizes: Sequence[int],
        axis_names: Sequence[Any],
        axis_types: AxisType | Sequence[AxisType] | None = None,
        *,
        abstract_device: AbstractDevice | None = None,
    ) -> None:
        names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
        if len(names) != len(tuple(axis_sizes)):
            raise ValueError(
                "axis_sizes and axis_names must have the same number of entries, got "
                f"{tuple(axis_sizes)} and {names}"
            )
        self._describe(axis_sizes, names, axis_types)
        self.abstract_device = abstract_device

    @property
    def abstract_mesh(self) -> AbstractMesh:
        """The mesh itself."""
        return self

    def update(
        self, axis_sizes: Any = None, axis_names: Any = None, axis_types: Any = None
    ) -> AbstractMesh:
        """The mesh with some parts replaced."""
        return AbstractMesh(
            self.axis_sizes if axis_sizes is None else axis_sizes,
            self.axis_names if axis_names is None else axis_names,
            self._types if axis_types is None else axis_types,
            abstract_device=self.abstract_device,
        )

    def update_axis_types(self, name_to_type: Mapping[Any, AxisType]) -> AbstractMesh:
        """The mesh with other types of the axes that are named."""
        pairs = zip(self.axis_names, self.axis_types, strict=True)
        return self.update(axis_types=tuple(name_to_type.get(n, kind) for n, kind in pairs))

    def describes(self, mesh: Any) -> bool:
        """Whether a mesh has these axes, and devices of this kind where that is known.

        Args:
          mesh: a mesh with devices or without.
        """
        kind = self.abstract_device
        return (
            self.shape_tuple == mesh.shape_tuple
            and self.axis_types == mesh.axis_types
            and (kind is None or bool(kind == mesh.abstract_mesh.abstract_device))
        )

    def _parts(self) -> Any:
        return self.shape_tuple, self._types, self.abstract_device

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbstractMesh) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(self._parts())

    def __repr__(self) -> str:
        return str(self)

    def __reduce__(self) -> Any:
        return AbstractMesh, (self.axis_sizes, self.axis_names, self._types)


@attrs.frozen(slots=True)
class _Entered:
    """The mesh of a `with mesh:`: specs are over it, and it places the calls of `pjit` only."""

    mesh: Any
    places: bool = False


def current_mesh() -> Any:
    """The mesh in context, which specs without a mesh are over; None where there is none."""
    found = config.trace_key().mesh
    return found.mesh if type(found) is _Entered else found


def placing_mesh() -> Any:
    """The mesh whose devices run computations that nobody placed: that of `set_mesh`, or None.

    During a call of `pjit`, also that of an enclosing `with mesh:`.
    """
    found = config.trace_key().mesh
    if type(found) is _Entered:
        return found.mesh if found.places else None
    return found


def entered_mesh() -> Any:
    """The mesh of an enclosing `with mesh:`, on which `pjit` computes; None where there is none."""
    found = config.trace_key().mesh
    return found.mesh if type(found) is _Entered else None


def under_mesh(mesh: Any, places: bool = True) -> config.Overriding:
    """A context manager under which a mesh is the one in context.

    Unless it `places`, arrays that nobody put anywhere stay where they are.
    """
    return config.Overriding("mesh", mesh if places else _Entered(mesh))


def placed_by(entered: Any) -> config.Overriding:
    """A context manager under which the mesh of a `with mesh:` places, as `pjit` asks."""
    return config.Overriding("mesh", _Entered(entered, True))
