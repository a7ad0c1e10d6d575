"""Cuts: along which explicit axes of a mesh an array's axes are cut, as a part of its type."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import Any, Final, NoReturn

from effax.effects.errors import ShardingTypeError
from effax.effects.interning import Interned
from effax.effects.mesh import AxisType, PartitionSpec

Entries = tuple[Any, ...]


class Cut:
    """The part of an array's type that says how its axes are cut: a mesh, and an entry per axis.

    An entry is None, the name of a mesh axis of type `Explicit`, or a tuple of such names (the
    first varying slowest). Interned; an array that is cut along no explicit axis has no `Cut`, so
    that its type is the one it has without a mesh.

    >>> from effax.effects.mesh import AbstractMesh
    >>> mesh = AbstractMesh((2, 4), ("x", "y"), (AxisType.Explicit, AxisType.Auto))
    >>> cut_of(mesh, ("x", "y"))
    Cut('x', None)
    >>> cut_of(mesh, (None, "y")) is None
    True
    """

    __slots__ = ("__weakref__", "entries", "mesh")

    mesh: Any
    entries: Entries

    @property
    def spec(self) -> PartitionSpec:
        """The entries as a spec, one for each axis."""
        return PartitionSpec(*self.entries)

    @property
    def used(self) -> tuple[Any, ...]:
        """The names of the mesh axes along which some axis is cut, in order."""
        return tuple(name for entry in self.entries for name in names_of(entry))

    def pieces(self, axis: int) -> int:
        """Count the pieces into which an axis is cut."""
        return count(self.mesh, self.entries[axis])

    def without_first(self) -> Cut | None:
        """The cut of one row: without the first axis."""
        return cut_of(self.mesh, self.entries[1:])

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a Cut is immutable")

    def __repr__(self) -> str:
        return f"Cut({', '.join(map(repr, self.entries))})"

    def __reduce__(self) -> Any:
        return cut_of, (self.mesh, self.entries)


_cuts: Final = Interned[tuple[Any, Entries], Cut]()
made: Final = _cuts.recent
"""Empty until an array is cut along an explicit axis; until then nobody looks for cuts."""


def cut_of(mesh: Any, entries: Sequence[Any]) -> Cut | None:
    """The cut with these entries, of which names of axes that are not `Explicit` are left out.

    None where nothing remains.

    Args:
      mesh: the mesh, with or without devices.
      entries: an entry for each axis of the array.
    """
    explicit = {n for n, k in zip(mesh.axis_names, mesh.axis_types, strict=True) if k is _EXPLICIT}
    kept = tuple(along(entries, explicit))
    if all(entry is None for entry in kept):
        return None
    key = mesh.abstract_mesh, kept

    def make() -> Cut:
        cut = object.__new__(Cut)
        object.__setattr__(cut, "mesh", key[0])
        object.__setattr__(cut, "entries", kept)
        return cut

    return _cuts.find(key, make)


_EXPLICIT: Final = AxisType.Explicit


def names_of(entry: Any) -> tuple[Any, ...]:
    """The names of the mesh axes in an entry of a spec, the first varying slowest."""
    return PartitionSpec(entry).names(0)


def entry_of(names: Sequence[Any]) -> Any:
    """The entry of a spec that has these names."""
    return None if not names else names[0] if len(names) == 1 else tuple(names)


def along(entries: Iterable[Any], names: Container[Any]) -> PartitionSpec:
    """The spec of these entries without the axes of the mesh that have other names.

    >>> along(("x", ("y", "z")), {"z"})
    P(None, 'z')
    """
    return PartitionSpec(*(entry_of([n for n in names_of(e) if n in names]) for e in entries))


def shortest(entries: Sequence[Any]) -> PartitionSpec:
    """The spec of these entries without the last ones that are None.

    >>> shortest(["x", None, None])
    P('x',)
    """
    n = len(entries)
    while n and entries[n - 1] is None:
        n -= 1
    return PartitionSpec(*entries[:n])


def count(mesh: Any, entry: Any) -> int:
    """Count the pieces into which an entry of a spec cuts an axis.

    Args:
      mesh: the mesh whose axes the entry names.
      entry: None, a name, or a tuple of names.
    """
    sizes, found = mesh.shape, 1
    for name in names_of(entry):
        found *= sizes[name]
    return found


def lengths_text(lengths: Sequence[Any], cut: Cut | None) -> str:
    """The lengths of a type's axes, each with the mesh axes that cut it: `8@x,4`.

    >>> from effax.effects.mesh import AbstractMesh
    >>> mesh = AbstractMesh((2, 4), ("x", "y"), (AxisType.Explicit,) * 2)
    >>> lengths_text((8, 4), cut_of(mesh, (("x", "y"), None)))
    '8@(x,y),4'
    """
    if cut is None:
        return ",".join(map(str, lengths))
    found = []
    for n, entry in zip(lengths, cut.entries, strict=True):
        names = ",".join(map(str, names_of(entry)))
        found.append(
            f"{n}@({names})" if isinstance(entry, tuple) else f"{n}@{names}" if names else f"{n}"
        )
    return ",".join(found)


def check_whole(type: Any, axis: int | None, why: str, lengths: Sequence[int] = (1,)) -> None:
    """Raise `ShardingTypeError` where an axis is cut, and not into pieces that divide some lengths.

    Args:
      type: the type of an array.
      axis: the axis; None for all of them.
      why: what the error says.
      lengths: the lengths that the pieces may divide, by which the axis may be cut.
    """
    if type.cut is None:
        return
    for i in range(type.ndim) if axis is None else (axis,):
        pieces = type.cut.pieces(i)
        if any(n % pieces for n in lengths):
            raise ShardingTypeError(
                f"{why}. Got input type={type.str_short()}; reshard it (effax.sharding.reshard)"
            )
