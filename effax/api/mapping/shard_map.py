"""`shard_map`: a function that sees one piece of each array, at each place of a mesh."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack
from math import prod
from typing import Any, Final, ParamSpec, TypeVar, overload

import attrs
import numpy as np

from effax.api.calling.arguments import name_of, wearing
from effax.api.calling.call_arguments import axes_in_scope, check_results, tracked_axes
from effax.api.calling.places import Places
from effax.api.calling.signatures import traced_function
from effax.backends.xla.array import Array, asarray
from effax.backends.xla.mesh import Mesh, NamedSharding
from effax.effects.config import trace_key
from effax.effects.cuts import along, cut_of, entry_of
from effax.effects.frames import filtered
from effax.effects.handler import Carrier, bottom, innermost
from effax.effects.mesh import (
    UNCONSTRAINED,
    AbstractMesh,
    AxisType,
    MeshShape,
    PartitionSpec,
    current_mesh,
    under_mesh,
)
from effax.effects.program import Program
from effax.effects.rows.sharding import shard_map as perform
from effax.effects.tree import (
    broadcast_prefix,
    keystr,
    mismatch_details,
    tree_flatten,
    tree_flatten_with_path,
    tree_unflatten,
)
from effax.effects.types import typeof
from effax.effects.value import Value
from effax.interpreters.functor.varying import forgotten
from effax.interpreters.stage import stage

P = ParamSpec("P")
R = TypeVar("R")


class _Infer:
    """The default of `in_specs`: how the arguments lie."""

    def __repr__(self) -> str:
        return "Infer"


Infer: Final = _Infer()


@attrs.frozen(slots=True, eq=False)
class PieceTrace:
    """A function staged for one place."""

    program: Program
    captured: tuple[Any, ...]
    out_tree: Any
    out_specs: tuple[PartitionSpec, ...]

    @property
    def alive(self) -> bool:
        """Whether what was captured may still be used."""
        return all(not isinstance(x, Carrier) or x.handler.live for x in self.captured)


class ShardMap:
    """The result of `shard_map(f)`: call it with whole arrays."""

    def __init__(
        self,
        function: Callable[..., Any],
        mesh: MeshShape | None,
        in_specs: Any,
        out_specs: Any,
        axis_names: frozenset[Any],
        check: bool,
    ) -> None:
        self._function = function
        self._name = name_of(function)
        self._mesh = mesh
        self._in_specs = in_specs
        self._out_specs = out_specs
        self._axis_names = axis_names
        self._check = check
        self._traces: dict[Any, PieceTrace] = {}
        wearing(function)(self)

    @filtered
    def __call__(self, *args: Any) -> Any:
        """The results of all places, joined as `out_specs` say."""
        given, tree = tree_flatten(args)
        mesh = _mesh(self._mesh, given)
        binds = _binds(mesh, self._axis_names)
        fixed, asked = self._parted(args, given)
        paths = [i for i in range(len(given)) if i not in fixed]
        leaves = [x if isinstance(x, Value) else asarray(x) for x in map(given.__getitem__, paths)]
        specs = self._specs_of(leaves, asked, mesh, binds)
        _check_specs("in_specs", specs, binds)
        _check_cuts(leaves, specs, binds)
        types = [
            self._piece(i, args, typeof(x), mesh, spec, binds)
            for i, x, spec in zip(paths, leaves, specs, strict=True)
        ]
        traced = self._trace(tree, tuple(types), mesh, binds, fixed)
        results = perform(
            *traced.captured,
            *leaves,
            program=traced.program,
            mesh=mesh,
            in_specs=(*(PartitionSpec() for _ in traced.captured), *specs),
            out_specs=traced.out_specs,
            binds=binds,
            name=self._name,
        )
        return tree_unflatten(traced.out_tree, results)

    def _parted(self, args: Any, given: Sequence[Any]) -> tuple[dict[int, Any], Any]:
        """Find the arguments that are no arrays and have no spec, and the specs of the rest."""
        if self._in_specs is Infer:
            return {}, None
        asked = tuple(self._in_specs) if isinstance(self._in_specs, list) else self._in_specs
        specs = _prefix("in_specs", asked, args)
        pairs = list(enumerate(zip(specs, given, strict=True)))
        fixed = {i: x for i, (s, x) in pairs if s is None and not isinstance(x, Value | np.ndarray)}
        whole = PartitionSpec()
        return fixed, [whole if s is None else s for i, (s, _) in pairs if i not in fixed]

    def _specs_of(
        self, leaves: Sequence[Any], asked: Any, mesh: Any, binds: Sequence[Any]
    ) -> list[PartitionSpec]:
        if asked is None:
            return [_inferred(x, mesh, binds) for x in leaves]
        found: list[PartitionSpec] = asked
        for spec, x in zip(found, leaves, strict=True):
            if len(spec) > typeof(x).ndim:
                raise ValueError(
                    f"shard_map applied to the function '{self._name}' was given an in_specs entry "
                    "which is too long to be compatible with the corresponding argument: "
                    f"{spec} which has length {len(spec)}, but the argument is "
                    f"{typeof(x).str_short()}, which has rank {typeof(x).ndim}. Write a shorter "
                    "spec; for a scalar, consider using an in_specs entry of `P()`"
                )
        return found

    def _piece(
        self, i: int, args: Any, type: Any, mesh: Any, spec: PartitionSpec, binds: tuple[Any, ...]
    ) -> Any:
        sizes = mesh.shape
        lengths = list(type.shape)
        for axis in range(len(spec)):
            names = spec.names(axis)
            pieces = prod(sizes[name] for name in names)
            if lengths[axis] % pieces:
                path = keystr(tree_flatten_with_path(args)[0][i][0])
                raise ValueError(
                    f"shard_map applied to the function {self._name!r} was given argument arrays "
                    "with axis sizes that are not evenly divisible by the corresponding mesh axis "
                    f"sizes: args{path} of type {type.str_short()} is to be cut as {spec} says, "
                    f"axis {axis} of length {lengths[axis]} along {names} into {pieces} pieces. "
                    f"The mesh has axes {dict(zip(mesh.axis_names, mesh.axis_sizes, strict=True))}"
                )
            lengths[axis] //= pieces
        piece = _local(type.update(shape=tuple(lengths)), type, binds)
        return piece.vary(piece.varying | set(spec.used)) if self._check else piece

    def _trace(
        self,
        tree: Any,
        types: tuple[Any, ...],
        mesh: Any,
        binds: tuple[Any, ...],
        fixed: dict[int, Any],
    ) -> Any:
        scope = trace_key(), axes_in_scope(), tracked_axes()
        key = *scope, tree, types, mesh, binds, tuple((i, type(x), x) for i, x in fixed.items())
        remembered = all(isinstance(x, Hashable) for x in fixed.values())
        found = self._traces.get(key) if remembered else None
        if found is not None and found.alive:
            return found
        out: list[Any] = []

        def flat(*values: Any) -> list[Any]:
            rest = iter(values)
            given = [fixed[i] if i in fixed else next(rest) for i in range(tree.num_leaves)]
            result = self._function(*tree_unflatten(tree, given))
            leaves, out_tree = tree_flatten(result)
            check_results(leaves, self._function, out_tree)
            specs = _prefix("out_specs", self._out_specs, result)
            _check_specs("out_specs", specs, binds)
            out[:] = [out_tree, tuple(specs)]
            self._check_ranks(leaves, specs)
            if self._check:
                self._check_varying(leaves, specs, mesh, binds)
            return leaves

        sizes = mesh.shape
        with ExitStack() as scopes:
            scopes.enter_context(under_mesh(_manual(mesh, binds)))
            for name in binds:
                scopes.enter_context(Places(name, sizes[name], self._check).installed())
            named = traced_function(self._function, "shard_map", tree, positional=True)
            staged = stage(flat, types, self._name, named)
        program = forgotten(staged.program, frozenset(binds)) if self._check else staged.program
        traced = PieceTrace(program, staged.captured, *out)
        if remembered:
            self._traces[key] = traced
        return traced

    def _check_ranks(self, leaves: Sequence[Any], specs: Sequence[PartitionSpec]) -> None:
        for x, spec in zip(leaves, specs, strict=True):
            if len(spec) > typeof(x).ndim:
                scalar = "P() for a scalar"
                if typeof(x).varying:
                    scalar = "reduce the result (lax.psum) for P()"
                raise ValueError(
                    f"shard_map applied to the function '{self._name}' was given an out_specs "
                    "entry which is too long to be compatible with the corresponding output value "
                    f"from the function: {spec} which has length {len(spec)}, but the result is "
                    f"{typeof(x).str_short()}, which has rank {typeof(x).ndim}. Write a shorter "
                    "spec, "
                    f"{scalar}, or give the result an axis for each place: x[None]"
                )

    def _check_varying(
        self,
        leaves: Sequence[Any],
        specs: Sequence[PartitionSpec],
        mesh: Any,
        binds: Sequence[Any],
    ) -> None:
        for x, spec in zip(leaves, specs, strict=True):
            differs = [n for n in binds if n in typeof(x).varying and n not in spec.used]
            if differs:
                others = [n for n in binds if n not in spec.used]
                raise ValueError(
                    f"shard_map applied to the function {self._name!r} was given out_specs which "
                    "require replication which can't be statically inferred given the mesh: "
                    f"out_specs is {spec} which implies that the corresponding output value is "
                    f"only varying across mesh axes {_axes(spec.used)} and not {_axes(others)}, "
                    f"but it was inferred to be possibly varying over {_axes(typeof(x).varying)}. "
                    f"Name {', '.join(map(repr, differs))} in out_specs; or make the result the "
                    "same, by psum, pmean or pmax; or, where effax can't see that it is the same, "
                    "pass check_vma=False"
                )

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        from functools import partial

        return partial(self, instance)

    def __repr__(self) -> str:
        return f"<shard_map of {self._function!r}>"


def _check_cuts(
    leaves: Sequence[Any], specs: Sequence[PartitionSpec], binds: Sequence[Any]
) -> None:
    """Refuse an argument that is cut along explicit axes in another way than its spec says.

    One that is cut along none of them is cut here, where all devices have all of it.
    """
    for x, spec in zip(leaves, specs, strict=True):
        cut = typeof(x).cut
        if cut is None:
            continue
        own = [*along(cut.entries, binds)]
        wanted = [entry_of(spec.names(i)) for i in range(len(own))]
        if any(own) and own != wanted:
            raise ValueError(
                f"in_specs passed to shard_map: {spec} does not match the specs of the input: "
                f"{cut.spec} for arg: {typeof(x).str_short()}. `in_specs` may be left out: then it "
                "is taken from the arguments. To shard an argument otherwise, use "
                "`effax.sharding.reshard` on it first"
            )


def _local(piece: Any, whole: Any, binds: tuple[Any, ...]) -> Any:
    """The type of a piece, cut as the whole is along the axes that are not mapped over."""
    if whole.cut is None:
        return piece
    left = set(whole.cut.used).difference(binds)
    return piece.cut_by(cut_of(whole.cut.mesh, [*along(whole.cut.entries, left)]))


def _mesh(given: MeshShape | None, args: Sequence[Any]) -> Any:
    """The mesh that was given, over the devices in context or those of arguments if it has none.

    Within a program it has none until it is known where the program's arguments lie.
    """
    context = current_mesh()
    if isinstance(given, Mesh):
        if given.empty:
            raise ValueError("shard_map requires a non-empty mesh.")
        return given
    if isinstance(given, AbstractMesh) and not given.empty:
        if isinstance(context, Mesh) and context.shape_tuple == given.shape_tuple:
            return context
        return given if innermost() is not bottom else _mesh_of_arguments(given, args)
    if context is None or context.empty:
        raise ValueError(
            "The context mesh cannot be empty. Use `effax.set_mesh(mesh)` to enter into a mesh "
            "context"
        )
    if isinstance(context, Mesh):
        return context
    found: Mesh = context.of
    return found


def _mesh_of_arguments(wanted: AbstractMesh, args: Sequence[Any]) -> Mesh:
    placed = [x.sharding for x in args if isinstance(x, Array)]
    found: list[Mesh] = [s.mesh for s in placed if isinstance(s, NamedSharding)]
    if not found:
        raise ValueError(
            "Please pass `effax.Array`s with a `NamedSharding` as input to `shard_map` when "
            f"passing `AbstractMesh` to the mesh argument: {wanted} has no devices; or pass a "
            "Mesh, or set one with set_mesh"
        )
    for mesh in found:
        if mesh.shape_tuple != wanted.shape_tuple:
            raise ValueError(
                f"Mesh shape of the input {mesh.shape_tuple} does not match the mesh shape passed "
                f"to shard_map {wanted.shape_tuple}; move the input to a mesh of that shape by "
                "device_put"
            )
    return found[0]


class _Inside(AbstractMesh):
    """The mesh in context under `shard_map`: some axes are manual; `of` has the devices."""

    __slots__ = ("of",)

    of: Mesh | AbstractMesh

    def _parts(self) -> Any:
        return *super()._parts(), self.of


def _manual(mesh: Mesh, binds: tuple[Any, ...]) -> _Inside:
    context = current_mesh()
    before = context.axis_types if isinstance(context, _Inside) else mesh.axis_types
    types = [
        AxisType.Manual if name in binds else kind
        for name, kind in zip(mesh.axis_names, before, strict=True)
    ]
    inside = _Inside(mesh.axis_sizes, mesh.axis_names, types)
    inside.of = mesh
    return inside


def planned(mesh: AbstractMesh) -> AbstractContextManager[Any]:
    """Return a context in which `shard_map` without a mesh is staged over one without devices.

    Args:
      mesh: the mesh; a program that is staged over it can be looked at, but not run.
    """
    inside = _Inside(mesh.axis_sizes, mesh.axis_names, mesh.axis_types)
    inside.of = mesh
    return under_mesh(inside)


def _binds(mesh: Mesh, names: frozenset[Any]) -> tuple[Any, ...]:
    """The axes that are mapped, in the mesh's order; those that already are, are not again."""
    strange = names - set(mesh.axis_names)
    if strange:
        raise ValueError(
            f"shard_map requires axis_names={set(names)} to be a subset of "
            f"mesh.axis_names={mesh.axis_names}"
        )
    context = current_mesh()
    done = set(context.manual_axes) if isinstance(context, _Inside) else set()
    if names & done:
        raise ValueError(
            f"shard_map over the axes {set(names & done)}: an enclosing shard_map is over them "
            "already; name others in axis_names"
        )
    wanted = names or set(mesh.axis_names) - done
    if not wanted:
        raise ValueError(
            f"shard_map over {mesh}: enclosing shard_maps are over all of its axes already"
        )
    return tuple(name for name in mesh.axis_names if name in wanted)


def _prefix(what: str, specs: Any, full: Any) -> list[Any]:
    """A spec for each leaf; for one of the arguments also None, which has no spec."""
    for spec in tree_flatten(specs)[0]:
        if not isinstance(spec, PartitionSpec):
            raise TypeError(
                f"shard_map {what} argument must be a pytree of `effax.sharding.PartitionSpec` "
                f"instances, but there is {spec!r} of type {type(spec)} in it; P() is the spec of "
                "a value that all places share"
            )
        if UNCONSTRAINED in spec:
            raise ValueError(f"shard_map {what}: {spec} must say how each axis is cut")
    try:
        return broadcast_prefix(specs, full, _is_none if what == "in_specs" else None)
    except ValueError:
        raise ValueError(
            f"shard_map {what} must be a tree prefix of the "
            f"{'arguments' if what == 'in_specs' else 'result'}. "
            f"{mismatch_details(f'shard_map {what}', specs, full)}"
        ) from None


def _axes(names: Iterable[Any]) -> str:
    return f"{{{','.join(sorted(map(str, names)))}}}"


def _is_none(x: Any) -> bool:
    return x is None


def _check_specs(what: str, specs: Iterable[PartitionSpec], binds: Sequence[Any]) -> None:
    for spec in specs:
        for name in spec.used:
            if name not in binds:
                raise ValueError(
                    f"shard_map {what} argument must refer to an axis marked as manual "
                    f"({frozenset(binds)}), but:\n\n  {what} refers to {name!r}\n\nCheck the "
                    f"{what} values passed to shard_map."
                )
            if spec.used.count(name) > 1:
                raise ValueError(
                    f"shard_map {what} argument cannot contain duplicate axis names, but {spec} "
                    f"names {name!r} twice"
                )


def _inferred(x: Any, mesh: Mesh, binds: Sequence[Any]) -> PartitionSpec:
    cut = typeof(x).cut
    if cut is not None and cut.mesh.shape_tuple == mesh.shape_tuple:
        return along(cut.entries, binds)
    where = getattr(x, "sharding", None) if isinstance(x, Array) else None
    if where is None and mesh.are_all_axes_explicit:
        return PartitionSpec()
    if isinstance(where, NamedSharding) and where.mesh == mesh:
        return along(where.spec, binds)
    raise NotImplementedError(
        "shard_map without in_specs takes them from arrays on its mesh, but an argument of type "
        f"{typeof(x).str_short()} is not known to be on it: pass in_specs"
    )


@overload
def shard_map(
    f: Callable[P, R],
    /,
    *,
    out_specs: Any,
    in_specs: Any = ...,
    mesh: Mesh | AbstractMesh | None = ...,
    axis_names: Iterable[Any] = ...,
    check_vma: bool = ...,
) -> Callable[P, R]: ...
@overload
def shard_map(
    *,
    out_specs: Any,
    in_specs: Any = ...,
    mesh: Mesh | AbstractMesh | None = ...,
    axis_names: Iterable[Any] = ...,
    check_vma: bool = ...,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
@filtered
def shard_map(
    f: Callable[..., Any] | None = None,
    /,
    *,
    out_specs: Any,
    in_specs: Any = Infer,
    mesh: Mesh | AbstractMesh | None = None,
    axis_names: Iterable[Any] = frozenset(),
    check_vma: bool = True,
) -> Any:
    """Run a function at each place of a mesh, on its own piece of each argument.

    Collectives such as `psum` speak to the places along an axis of the mesh by its name.

    Args:
      f: a function of pytrees of arrays, as one place sees them.
      out_specs: how the places' results are joined, for each: along axes that a mesh axis is named
        for. Along mesh axes that are not named, all places must have the same.
      in_specs: how arguments are cut into pieces; along mesh axes not named all places get the
        same. Without them, as the arguments lie. None is for what is no array, and for arrays that
        all places get whole.
      mesh: the mesh; by default the one in context.
      axis_names: the axes that it is mapped over, by default all; along the others the function is
        one program, cut up as XLA likes.
      check_vma: whether to refuse results that may differ along a mesh axis their spec leaves out.

    Returns:
      A function of whole arrays.

    Raises:
      ValueError: for specs that do not fit the arrays, or name other axes.

    >>> import effax, effax.numpy as jnp
    >>> mesh = effax.make_mesh((1,), ("x",))
    >>> total = lambda x: effax.lax.psum(x.sum(), "x")
    >>> shard_map(total, mesh=mesh, in_specs=effax.P("x"), out_specs=effax.P())(jnp.arange(4.0))
    Array(6., dtype=float32)
    """
    if f is None:
        return lambda g: shard_map(
            g,
            out_specs=out_specs,
            in_specs=in_specs,
            mesh=mesh,
            axis_names=axis_names,
            check_vma=check_vma,
        )
    if not callable(f):
        raise TypeError(f"Expected a callable value, got {f}")
    if mesh is not None and not isinstance(mesh, MeshShape):
        raise TypeError(f"shard_map requires a `effax.sharding.Mesh` instance, got {type(mesh)}")
    if isinstance(axis_names, str):
        raise TypeError(
            f"shard_map: axis_names must be a set of names, got the string {axis_names!r}; pass "
            f"{{{axis_names!r}}}"
        )
    return ShardMap(f, mesh, in_specs, out_specs, frozenset(axis_names), bool(check_vma))


@filtered
def smap(
    f: Callable[..., Any] | None = None,
    /,
    *,
    in_axes: Any = Infer,
    out_axes: Any,
    axis_name: Any,
) -> Any:
    """Apply `shard_map` over one axis of the mesh in context, which cuts one axis of each array.

    Args:
      f: a function of pytrees of arrays, as one place sees them.
      in_axes: the axis of each argument that is cut, None for what all places share.
      out_axes: the same for results.
      axis_name: the axis of the mesh.

    >>> import effax, effax.numpy as jnp
    >>> with effax.set_mesh(effax.make_mesh((1,), ("x",))):
    ...     smap(lambda x: 2 * x, in_axes=0, out_axes=0, axis_name="x")(jnp.arange(3.0))
    Array([0., 2., 4.], dtype=float32)
    """
    if f is None:
        return lambda g: smap(g, in_axes=in_axes, out_axes=out_axes, axis_name=axis_name)
    if not isinstance(axis_name, str):
        raise TypeError(f"smap axis_name should be a string, got {axis_name!r}")
    specs = Infer if in_axes is Infer else _specs_of_axes("in_axes", in_axes, axis_name)
    return shard_map(
        f,
        in_specs=specs,
        out_specs=_specs_of_axes("out_axes", out_axes, axis_name),
        axis_names={axis_name},
    )


def _specs_of_axes(what: str, axes: Any, name: str) -> Any:
    leaves, tree = tree_flatten(axes, is_leaf=lambda x: x is None)
    for axis in leaves:
        if axis is not None and (isinstance(axis, bool) or not isinstance(axis, int)):
            raise TypeError(f"smap {what} must be integers or None, but got {axis!r}")
        if axis is not None and axis < 0:
            raise NotImplementedError(f"smap {what}: axes must not be negative, got {axis}")
    return tree_unflatten(
        tree,
        [
            PartitionSpec() if axis is None else PartitionSpec(*(None,) * axis, name)
            for axis in leaves
        ],
    )
