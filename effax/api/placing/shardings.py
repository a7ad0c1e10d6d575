"""The shardings that `jit` is asked for: trees of them, each made a leaf."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from effax.backends.xla.array import Array
from effax.backends.xla.device import Device
from effax.backends.xla.mesh import NamedSharding
from effax.backends.xla.placement import Sharding, place
from effax.effects.mesh import PartitionSpec, current_mesh
from effax.effects.rows.sharding import reshard, with_sharding_constraint
from effax.effects.tree import flatten_axes, tree_flatten
from effax.effects.types import ShapedArray

Leaves = tuple[Sharding | None, ...]


class Shardings:
    """The trees `in_shardings` and `out_shardings` of one `jit`, prefixes of its trees."""

    __slots__ = ("ins", "key", "outs")

    def __init__(self, ins: Any, outs: Any) -> None:
        self.ins = tuple(ins) if isinstance(ins, list) else ins
        self.outs = outs
        self.key = (*_key(self.ins, "in_shardings"), *_key(outs, "out_shardings"))

    @property
    def singles(self) -> list[Sharding] | None:
        """The devices that are asked for if each is one device alone, else None."""
        asked = [*tree_flatten(self.ins)[0], *tree_flatten(self.outs)[0]]
        places = [None if isinstance(x, PartitionSpec) else place(x) for x in asked]
        named = any(isinstance(x, NamedSharding) for x in asked)
        if named or not all(p is not None and p.is_single for p in places):
            return None
        return [p for p in places if p is not None]

    def of_arguments(self, tree: Any, count: int) -> Leaves:
        """A sharding, or None, for each leaf of the arguments, whose tree is `(args, kwargs)`."""
        if self.ins is None:
            return (None,) * count
        positional, named = tree.children()
        if named.num_leaves:
            raise ValueError("pjit does not support kwargs when in_shardings is specified.")
        given, n = self.ins, len(positional.children())
        if isinstance(given, tuple) and len(given) != n:
            raise ValueError(
                "pjit in_shardings specification must be a tree prefix of the tuple of positional "
                f"arguments: it has {len(given)} entries, and there are {n} arguments; give one "
                "sharding for all of them, or one for each"
            )
        return _leaves("pjit in_shardings", positional, given, "jit", "in_shardings")

    def of_results(self, tree: Any, types: Sequence[ShapedArray]) -> Leaves | None:
        """A sharding, or None, for each leaf of the results; None if nothing is asked."""
        if self.outs is None:
            return None
        found = _leaves("pjit out_shardings", tree, self.outs, "jit", "out_shardings")
        for sharding, t in zip(found, types, strict=True):
            if sharding is not None:
                sharding.shard_shape(t.shape)
        return found


def _key(asked: Any, what: str) -> tuple[Any, ...]:
    leaves, tree = tree_flatten(asked)
    for x in leaves:
        if not isinstance(x, (Sharding, PartitionSpec, Device)):
            raise TypeError(
                f"{what} leaf specifications are expected to be PartitionSpec instances or None, "
                f"but got {x}"
            )
    return tuple(leaves), tree


def _leaves(what: str, tree: Any, given: Any, function: str, option: str) -> Leaves:
    found = flatten_axes(what, tree, given)
    return tuple(None if x is None else resolve(x, function, option) for x in found)


def resolve(x: Any, function: str, option: str) -> Sharding:
    """The sharding that a user names: a spec is over the mesh in context.

    Raises `RuntimeError` for a spec where there is no such mesh, or `ValueError` where JAX's
    function does; `ValueError` for what is no sharding.
    """
    if isinstance(x, PartitionSpec):
        mesh = current_mesh()
        if mesh is None or mesh.empty:
            kind = ValueError if function in ("device_put", "reshard") else RuntimeError
            raise kind(
                f"{function} requires a non-empty mesh in context for a PartitionSpec as "
                f"{option}: call it under `with effax.set_mesh(mesh):`, or give Shardings, which "
                "name their mesh"
            )
        return NamedSharding(mesh, x)
    if isinstance(x, NamedSharding):
        return x.in_context()
    return x if isinstance(x, Sharding) else place(x)


def check_arguments(asked: Leaves, values: Sequence[Any]) -> None:
    """Refuse arguments that cannot be cut as asked, or were put elsewhere by their user."""
    for sharding, x in zip(asked, values, strict=True):
        if sharding is None:
            continue
        sharding.shard_shape(x.shape)
        if type(x) is Array and x.committed and x.spec.placement is not sharding.placement():
            raise ValueError(
                "Sharding passed to jit does not match the sharding on the respective arg: in "
                f"in_shardings it is {sharding}, but the argument of type {x.type.str_short()} "
                f"was put on {x.sharding}; move it by device_put, or leave in_shardings out"
            )


def constrained(values: Sequence[Any], asked: Leaves | None) -> list[Any]:
    """Values inside a larger program, told to lie as asked where a mesh is named."""

    def told(x: Any, sharding: Sharding | None) -> Any:
        if not isinstance(sharding, NamedSharding):
            return x
        effect = reshard if sharding.mesh.explicit_axes else with_sharding_constraint
        return effect(x, sharding=sharding)

    return list(map(told, values, asked or (None,) * len(values)))
