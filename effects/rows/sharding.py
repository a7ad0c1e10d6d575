"""Shardings: how a value is to be cut up among devices, and programs that see one piece of it.

Meshes and specs are `effects.mesh`'s; what devices there are is known to a backend only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from effax.effects.cuts import cut_of, entry_of, made, names_of
from effax.effects.effect import Effect
from effax.effects.facts import LINEAR, POINTWISE, SOUND
from effax.effects.handler import bottom
from effax.effects.mesh import AxisType, PartitionSpec
from effax.effects.types import ShapedArray, typeof

if TYPE_CHECKING:
    from effax.effects.program import Program

FAMILY = "sharding"


def _constrained_type(x: ShapedArray, *, sharding: Any) -> ShapedArray:
    sharding.check_compatible_aval(x.shape)
    return x


with_sharding_constraint = Effect(
    "with_sharding_constraint",
    family=FAMILY,
    typing=_constrained_type,
    facts=LINEAR | SOUND,
)
"""`with_sharding_constraint(x, sharding)`: x itself, cut up among devices as a sharding says."""


def _resharded_type(x: ShapedArray, *, sharding: Any) -> ShapedArray:
    sharding.shard_shape(x.shape)
    typed: ShapedArray = sharding.typed(x)
    return typed


reshard = Effect("reshard", family=FAMILY, typing=_resharded_type, facts=LINEAR | SOUND)
"""`reshard(x, sharding)`: x itself, moved to where a sharding says, and its type says so too."""


def _opened_type(x: ShapedArray, *, axes: tuple[Any, ...]) -> ShapedArray:
    if x.cut is None:
        return x
    kinds = zip(x.cut.mesh.axis_names, x.cut.mesh.axis_types, strict=True)
    hidden = tuple(AxisType.Auto if n in axes else kind for n, kind in kinds)
    return x.cut_by(cut_of(x.cut.mesh.update(axis_types=hidden), x.cut.entries))


opened = Effect("opened", family=FAMILY, typing=_opened_type, facts=LINEAR | SOUND)
"""`opened(x, axes)`: x itself; its type does not say any more how it is cut along these axes."""


def _grouped_type(*xs: ShapedArray, group: tuple[int, ...]) -> tuple[ShapedArray, ...]:
    return xs


grouped = Effect(
    "sharding_group", family=FAMILY, typing=_grouped_type, multiple=True, facts=LINEAR | SOUND
)
"""`sharding_group(*xs, group)`: xs themselves, cut as all values of the group of that name are."""


def _put_type(x: ShapedArray, *, sharding: Any, back: Any) -> ShapedArray:
    return _resharded_type(x, sharding=sharding)


put = Effect("device_put", family=FAMILY, typing=_put_type, facts=LINEAR | SOUND | POINTWISE)
"""`device_put(x, sharding, back)`: x itself, on the devices of a sharding; its cotangent goes to
the sharding `back`, or stays on these devices for None. A program runs on one set of devices: there
a sharding over several constrains it, and one device says nothing."""


def open_all(x: Any) -> Any:
    """The value, of a type that does not say how it is cut."""
    cut = typeof(x).cut
    return x if cut is None else opened(x, axes=cut.mesh.axis_names)


def cut_as(x: Any, type: ShapedArray, mesh: Any) -> Any:
    """The value, cut as a type says: along no axis of the mesh where the type names none.

    Args:
      x: the value.
      type: the type it is to have.
      mesh: the mesh whose axes the type names.
    """
    cut = typeof(x).cut
    if cut is not None and cut is type.cut:
        return x
    return reshard(x, sharding=bottom.sharding_of(type, mesh))


def cut_to(x: Any, type: ShapedArray) -> Any:
    """The value, cut as a type says if it says so; as it is where the type is not cut.

    Args:
      x: the value.
      type: the type.
    """
    return x if type.cut is None else cut_as(x, type, type.cut.mesh)


def explicit_mesh(values: Iterable[Any]) -> Any:
    """The mesh along whose explicit axes some of these values are cut, or None.

    Args:
      values: arrays, carriers, atoms of programs or numbers.
    """
    if not made:
        return None
    for x in values:
        cut = getattr(getattr(x, "type", None), "cut", None)
        if cut is not None:
            return cut.mesh
    return None


def differing(
    program: Program, specs: Iterable[PartitionSpec], binds: Sequence[Any]
) -> tuple[Any, ...]:
    """The mesh axes along which places may differ: that cut something, or that collectives name.

    Args:
      program: the program of each place.
      specs: how its operands are cut, and results, if it is linear.
      binds: the axes that places are along.
    """
    cutting = {name for spec in specs for name in spec.used}
    return tuple(n for n in binds if n in cutting or f"axis {n}" in program.row)


def local_type(x: ShapedArray, mesh: Any, spec: PartitionSpec) -> ShapedArray:
    """The type of one piece of an array that a spec cuts.

    Raises `ValueError` where an axis can't be cut into equal pieces.
    """
    sizes = mesh.shape
    shape = list(x.shape)
    if len(spec) > len(shape):
        raise ValueError(
            f"{spec} has {len(spec)} entries, but {x.str_short()} has only {len(shape)} axes"
        )
    for i in range(len(spec)):
        pieces = prod(sizes[name] for name in spec.names(i))
        if shape[i] % pieces:
            raise ValueError(
                f"{spec} can't cut axis {i} of {x.str_short()} into {pieces} equal pieces"
            )
        shape[i] //= pieces
    return x.update(shape=tuple(shape))


def global_type(x: ShapedArray, mesh: Any, spec: PartitionSpec) -> ShapedArray:
    """The type of an array of which this is the type of one piece."""
    sizes = mesh.shape
    lengths = [n * prod(sizes[name] for name in spec.names(i)) for i, n in enumerate(x.shape)]
    found = x.update(shape=tuple(lengths))
    if x.cut is None and not mesh.explicit_axes:
        return found
    own = (None,) * x.ndim if x.cut is None else x.cut.entries
    entries = [entry_of((*spec.names(i), *names_of(entry))) for i, entry in enumerate(own)]
    return found.cut_by(cut_of(mesh, entries))


def _mapped_types(
    *operands: ShapedArray,
    program: Program,
    mesh: Any,
    in_specs: tuple[PartitionSpec, ...],
    out_specs: tuple[PartitionSpec, ...],
    binds: tuple[Any, ...],
    name: str = "",
) -> Sequence[ShapedArray]:
    for x, expected, spec in zip(operands, program.in_types, in_specs, strict=True):
        found = local_type(x, mesh, spec)
        if found.shape != expected.shape:
            raise TypeError(
                f"shard_map: {spec} over {mesh} makes pieces {found.str_short()} of an operand "
                f"{x.str_short()}, but the program expects {expected.str_short()}"
            )
    return [
        global_type(t.vary(t.varying - set(binds)), mesh, spec)
        for t, spec in zip(program.out_types, out_specs, strict=True)
    ]


shard_map = Effect(
    "shard_map", family=FAMILY, typing=_mapped_types, multiple=True, higher_order=True
)
"""`shard_map(*operands, program, mesh, in_specs, out_specs, binds, name)`: a program at each place
of a mesh, which gets the piece of each operand that its spec cuts off for it, and gives a piece of
each result. `binds` are the axes of the mesh that it is mapped over, and by which collectives name
the places; along others (whose names specs must not have) it is one program, cut up as XLA likes.
Of a result whose spec leaves out an axis the first place's is taken: it is to be the same at all.
"""
