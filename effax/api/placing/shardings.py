"""The shardings that `jit` is asked for: trees of them, each made a leaf."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from effax.backends.xla.array import Array
from effax.backends.xla.device import Device
from effax.backends.xla.mesh import NamedSharding
from effax.backends.xla.placement import Placement, Sharding, place
from effax.effects.mesh import (
    UNCONSTRAINED,
    AxisType,
    PartitionSpec,
    current_mesh,
    entered_mesh,
    placing_mesh,
)
from effax.effects.tree import flatten_axes, keystr, tree_flatten, tree_flatten_with_path, tree_map
from effax.effects.types import ShapedArray, str_long

UNSPECIFIED: Final = object()
"""The tree of shardings of a `pjit` that was given none."""

_SHOWN: Final = {"_read_part": "at[...].get", "reshape_values": "reshape"}
"""The public names of functions that are called by other ones."""

Leaves = tuple[Sharding | None, ...]


class Shardings:
    """The trees `in_shardings` and `out_shardings` of one `jit`, prefixes of its trees.

    For `jit` None leaves arrays alone. For `pjit` under `with mesh:` it replicates them over the
    mesh, and `UNSPECIFIED` leaves them alone.

    Args:
      ins, outs: the trees.
      function: the public function they were given to, `jit` or `pjit`.
    """

    __slots__ = ("function", "ins", "key", "outs")

    def __init__(self, ins: Any, outs: Any, function: str = "jit") -> None:
        self.ins = tuple(ins) if isinstance(ins, list) else ins
        self.outs = outs
        self.function = function
        self.key = (*_key(self.ins, "in_shardings"), *_key(outs, "out_shardings"))

    def _leaves_alone(self, asked: Any) -> bool:
        return asked is UNSPECIFIED or (asked is None and self._filling() is None)

    def _filling(self) -> Sharding | None:
        mesh = entered_mesh() if self.function == "pjit" else None
        return None if mesh is None or mesh.empty else NamedSharding(mesh, PartitionSpec())

    def of_arguments(self, tree: Any, count: int) -> Leaves:
        """A sharding, or None, for each leaf of the arguments, whose tree is `(args, kwargs)`."""
        if self._leaves_alone(self.ins):
            return (None,) * count
        positional, named = tree.children()
        if named.num_leaves:
            raise ValueError("pjit does not support kwargs when in_shardings is specified.")
        given, n = self.ins, len(positional.children())
        single = given is None or isinstance(given, (Sharding, PartitionSpec, Device))
        if not single and (type(given) is not tuple or len(given) != n):
            raise ValueError(_no_prefix(given, n))
        return self._leaves("pjit in_shardings", positional, given, "in_shardings")

    def of_results(self, tree: Any, types: Sequence[ShapedArray]) -> Leaves | None:
        """A sharding, or None, for each leaf of the results; None if nothing is asked."""
        if self._leaves_alone(self.outs):
            return None
        found = self._leaves("pjit out_shardings", tree, self.outs, "out_shardings")
        for i, (sharding, t) in enumerate(zip(found, types, strict=True)):
            if sharding is not None:
                check_rank(sharding, t.shape, partial(_result, tree, i))
                sharding.shard_shape(t.shape)
        return found

    def _leaves(self, what: str, tree: Any, given: Any, option: str) -> Leaves:
        found = flatten_axes(what, tree, given)
        filling = self._filling()
        return tuple(filling if x is None else resolve(x, self.function, option) for x in found)


def _result(tree: Any, i: int) -> str:
    paths, _ = tree_flatten_with_path(tree.unflatten(range(tree.num_leaves)))
    return f"pjit outputs with pytree key path result{keystr(paths[i][0])}"


def _no_prefix(given: Any, count: int) -> str:
    kind = f"is not a tuple: got {type(given).__name__}"
    if type(given) is tuple:
        kind = f"is the wrong length: got a tuple or list of length {len(given)}"
    wrapped = " It might need to be wrapped in a tuple of length 1." * (count == 1)
    return (
        "pjit in_shardings specification must be a tree prefix of the positional arguments tuple. "
        "In particular, pjit in_shardings must either be a Sharding, a PartitionSpec, or a tuple "
        "of length equal to the number of positional arguments. But pjit in_shardings "
        f"{kind} for an args tuple of length {count}.{wrapped}"
    )


def _key(asked: Any, what: str) -> tuple[Any, ...]:
    if asked is UNSPECIFIED:
        return (asked, None)
    leaves, tree = tree_flatten(asked)
    for x in leaves:
        if not isinstance(x, (Sharding, PartitionSpec, Device)):
            raise TypeError(
                f"{what} leaf specifications are expected to be PartitionSpec instances or None, "
                f"but got {x}"
            )
        spec = x.spec if isinstance(x, NamedSharding) else x
        if isinstance(spec, PartitionSpec) and UNCONSTRAINED in spec:
            raise ValueError(
                f"Unconstrained dims are not allowed when passed to {what}: {x}; leave the entry "
                "to XLA by with_sharding_constraint inside, or give None for the whole array"
            )
    return tuple(leaves), tree


def resolve(x: Any, function: str, option: str) -> Sharding:
    """The sharding that a user names: a spec is over the mesh in context.

    Raises `RuntimeError` for a spec where there is no such mesh, or `ValueError` where JAX's
    function does; `ValueError` for what is no sharding.
    """
    if isinstance(x, PartitionSpec):
        mesh = placing_mesh() if function == "jit" else current_mesh()
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


def check_rank(sharding: Sharding, shape: Sequence[int], describe: Callable[[], str]) -> None:
    """Raise `ValueError` for a sharding that cuts more axes than an array of this shape has.

    Args:
      sharding: the sharding.
      shape: the shape.
      describe: a function that returns which values of which function they are, for errors.
    """
    try:
        sharding.check_compatible_aval(shape)
    except ValueError as error:
        raise ValueError(
            f"One of {describe()} is incompatible with its sharding annotation {sharding}: {error}"
        ) from None


def check_arguments(
    asked: Leaves, values: Sequence[Any], names: Callable[[], Sequence[str]]
) -> None:
    """Refuse arguments that cannot be cut as asked, or were cut otherwise by their user."""
    for i, (sharding, x) in enumerate(zip(asked, values, strict=True)):
        if sharding is None:
            continue
        check_rank(sharding, x.shape, partial(_pjit_argument, names, i))
        sharding.shard_shape(x.shape)
        if type(x) is Array and x.committed and not _alike(x.spec.placement, sharding.placement()):
            raise ValueError(
                "Sharding passed to jit does not match the sharding on the respective arg. Got "
                f"jit sharding: {sharding}, arg sharding: {x.sharding} for arg type: "
                f"{str_long(x.type)}; move argument {names()[i]} by device_put, or leave "
                "in_shardings out"
            )


def _pjit_argument(names: Callable[[], Sequence[str]], i: int) -> str:
    return f"pjit arguments with pytree key path {names()[i]}"


def _alike(one: Placement, other: Placement) -> bool:
    """Whether two placements cut arrays alike, perhaps over other devices."""
    return one is other or (
        one.split == other.split and one.copies == other.copies and one.order == other.order
    )


def constrained(values: Sequence[Any], asked: Leaves | None) -> list[Any]:
    """Values inside a larger program, told to lie as asked where a mesh is named."""
    from effax.effects.rows.sharding import reshard, with_sharding_constraint

    def told(x: Any, sharding: Sharding | None) -> Any:
        if not isinstance(sharding, NamedSharding):
            return x
        effect = reshard if sharding.mesh.explicit_axes else with_sharding_constraint
        return effect(x, sharding=sharding)

    return list(map(told, values, asked or (None,) * len(values)))


def canonical(where: Any, function: str, other_meshes: bool = False) -> Any:
    """The `NamedSharding`s that results are to have, in the tree of those or of specs.

    Args:
      where: what the keyword was given.
      function: the name of the public function it was given to, for errors.
      other_meshes: whether the mesh may be another one than that in context.

    Raises:
      TypeError: for what is neither a `NamedSharding` nor a spec.
      ValueError: for a spec without a mesh in context, one that names an axis of the mesh that is
        not `Explicit`, and for another mesh than that in context.
    """

    function = _SHOWN.get(function, function)

    def of(x: Any) -> Any:
        if isinstance(x, PartitionSpec):
            x = NamedSharding(_mesh_for(x, function), x)
        elif not isinstance(x, NamedSharding):
            raise TypeError(
                f"`out_sharding` argument of {function} only supports instances of `NamedSharding` "
                f"or `PartitionSpec`. Got {x} of type: {type(x)}; use device_put for others"
            )
        elif not other_meshes:
            _check_mesh(x.mesh, function)
        _refuse_other_axes(x, function)
        return x

    return tree_map(of, where)


def _mesh_for(spec: PartitionSpec, function: str) -> Any:
    mesh = current_mesh()
    if mesh is None or mesh.empty:
        raise ValueError(
            "Using PartitionSpec when you are not under a mesh context is not allowed: "
            f"{function} got {spec}; call it under `with effax.set_mesh(mesh):`, or give a "
            "NamedSharding, which names its mesh"
        )
    return mesh


def _check_mesh(mesh: Any, function: str) -> None:
    context = current_mesh()
    if context is None or context.empty or mesh.empty:
        return
    both_auto = mesh.are_all_axes_auto and context.are_all_axes_auto
    alike = mesh.shape_tuple == context.shape_tuple and mesh.axis_types == context.axis_types
    if not (both_auto or alike):
        raise ValueError(
            f"Context mesh {context} should match the mesh of sharding {mesh} passed to {function}:"
            " give a spec, which is over the mesh in context"
        )


def _refuse_other_axes(x: NamedSharding, function: str) -> None:
    kinds = dict(zip(x.mesh.axis_names, x.mesh.axis_types, strict=True))
    for name in x.spec.used:
        if kinds[name] is not AxisType.Explicit:
            raise ValueError(
                f"PartitionSpec passed to {function} cannot contain axis names that are of type "
                f"Auto or Manual. Got PartitionSpec: {x.spec} with axis name: {name} of type: "
                f"{kinds[name]}; use with_sharding_constraint, or a mesh whose axes are Explicit"
            )
