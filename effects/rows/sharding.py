"""Shardings: how a value is to be cut up among devices, and programs that see one piece of it.

Meshes and specs are `effects.mesh`'s; what devices there are is known to a backend only.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from effax.effects.effect import Effect
from effax.effects.facts import LINEAR, SOUND
from effax.effects.mesh import PartitionSpec
from effax.effects.types import ShapedArray

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


def local_type(x: ShapedArray, mesh: Any, spec: PartitionSpec) -> ShapedArray:
    """The type of one piece of an array that a spec cuts.

    Raises `ValueError` where an axis can't be cut into equal pieces.
    """
    sizes = mesh.shape
    shape = list(x.shape)
    if len(spec) > len(shape):
        raise ValueError(f"{spec} has {len(spec)} entries, and {x.str_short()} {len(shape)} axes")
    for i in range(len(spec)):
        pieces = prod(sizes[name] for name in spec.names(i))
        if shape[i] % pieces:
            raise ValueError(f"{spec} cuts axis {i} of {x.str_short()} into {pieces} equal pieces")
        shape[i] //= pieces
    return x.update(shape=tuple(shape))


def global_type(x: ShapedArray, mesh: Any, spec: PartitionSpec) -> ShapedArray:
    """The type of an array of which this is the type of one piece."""
    sizes = mesh.shape
    lengths = [n * prod(sizes[name] for name in spec.names(i)) for i, n in enumerate(x.shape)]
    return x.update(shape=tuple(lengths))


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
                f"{x.str_short()}, and the program is for {expected.str_short()}"
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
