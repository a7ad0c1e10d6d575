"""Values cut up along the axes of a mesh: `reshard`, constraints, and who chooses how."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import wraps
from typing import Any, Final

import numpy as np

from effax.api.placing.shardings import canonical, check_rank, resolve
from effax.backends.xla import array as arrays
from effax.backends.xla.layout import layout_of, over_devices
from effax.backends.xla.mesh import Mesh, NamedSharding
from effax.backends.xla.placement import Sharding
from effax.effects.cuts import along, count, entry_of, names_of, shortest
from effax.effects.errors import ShardingTypeError
from effax.effects.frames import filtered
from effax.effects.handler import Carrier, bottom, innermost
from effax.effects.mesh import UNCONSTRAINED, AxisType, PartitionSpec, current_mesh, under_mesh
from effax.effects.rows import sharding as effects
from effax.effects.tree import broadcast_prefix, tree_flatten, tree_leaves, tree_map, tree_unflatten
from effax.effects.types import str_long, typeof
from effax.effects.value import Value


def _each(
    x: Any, shardings: Any, option: str, apply: Callable[[Any, Sharding], Any], function: str
) -> Any:
    leaves, tree = tree_flatten(x)
    try:
        asked = broadcast_prefix(shardings, x, is_leaf=lambda s: s is None)
    except ValueError as error:
        raise ValueError(f"{function}: {option} must be a tree prefix of x: {error}") from None
    for s in asked:
        if s is None:
            raise ValueError(_NONE[function])
        if isinstance(s, (str, int)):
            raise TypeError(
                f"{function}: {option} leaf specifications are expected to be Sharding or "
                f"PartitionSpec instances, but got {s!r}"
            )
    return tree_unflatten(
        tree,
        [apply(v, resolve(s, function, option)) for v, s in zip(leaves, asked, strict=True)],
    )


_NONE: Final = {
    "with_sharding_constraint": (
        "One of with_sharding_constraint arguments got sharding None which is not allowed. Please "
        "only pass `effax.sharding.Sharding` instances; leave arrays out that are to stay as they "
        "are"
    ),
    "reshard": (
        "Reshard should only be used with out_shardings which are non-None and have a non-empty "
        "mesh. Got sharding None; leave arrays out that are to stay as they are"
    ),
}


@filtered
def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """Shard the arrays of a tree as given: now, or where a program computes them.

    Along `Explicit` axes of the mesh it is an assertion: types say how arrays are cut there, and
    `reshard` changes it.

    Args:
      x: arrays.
      shardings: shardings, or specs over the mesh in context, in a prefix of the tree of `x`;
        an entry `PartitionSpec.UNCONSTRAINED` leaves an axis to XLA.

    Raises:
      AssertionError: where an array is cut otherwise along an explicit axis.
      ValueError: for None, a sharding of more axes than the array has, and an array that was put
        on other devices.
      IndivisibleError: where an array, not a traced value, can't be cut into equal pieces.

    >>> import effax, effax.numpy as jnp
    >>> mesh = effax.make_mesh((1,), ("x",), (effax.sharding.AxisType.Auto,))
    >>> spread = effax.NamedSharding(mesh, effax.P("x"))
    >>> effax.jit(lambda x: with_sharding_constraint(2 * x, spread))(jnp.ones(2)).sharding.mesh.size
    1
    """
    return _each(x, shardings, "shardings", _constrained, "with_sharding_constraint")


def _constrained(x: Any, sharding: Sharding) -> Any:
    if isinstance(sharding, NamedSharding) and sharding.mesh.explicit_axes:
        sharding.shard_shape(np.shape(x))
        sharding = _beside_cut(x, sharding)
        if sharding.mesh.are_all_axes_explicit:
            return x
    return moved(x, sharding, "with_sharding_constraint")


def _beside_cut(x: Any, sharding: NamedSharding) -> NamedSharding:
    """The sharding along the explicit axes that the type of a value names, and as asked for others.

    Raises `AssertionError` where it asks for other explicit axes.
    """
    type, mesh = typeof(x), sharding.mesh
    found = (None,) * type.ndim if type.cut is None else type.cut.entries
    entries: list[Any] = []
    for own, asked in zip(found, sharding.ranked(type.ndim).spec, strict=True):
        if asked is UNCONSTRAINED:
            entries.append(asked)
            continue
        explicit = along((asked,), mesh.explicit_axes)[0]
        if explicit != own and (explicit is not None or mesh.are_all_axes_explicit):
            raise AssertionError(
                "`with_sharding_constraint` acts as an assert when all axes of mesh are of type "
                f"`Explicit`. The array sharding: {PartitionSpec(*found)} did not match the "
                f"sharding provided: {sharding.spec}. Please use `effax.sharding.reshard` to shard "
                "the array as you want it"
            )
        more = [n for n in names_of(asked) if n not in mesh.explicit_axes]
        entries.append(entry_of([*names_of(own), *more]))
    return sharding.update(spec=PartitionSpec(*entries))


def moved(x: Any, sharding: Sharding, function: str) -> Any:
    """A value, put where a sharding says: now, or by the program that computes it.

    Args:
      x: an array or a traced value.
      sharding: the sharding.
      function: the public function that was called, for errors.
    """
    if isinstance(sharding, NamedSharding) and sharding.mesh.empty:
        return x
    constrains = function == "with_sharding_constraint"
    traced = isinstance(x, Carrier) or innermost() is not bottom
    check_rank(sharding, np.shape(x), lambda: f"{function} arguments")
    if not (constrains and traced):  # XLA pads what a program can't cut into equal pieces
        sharding.shard_shape(np.shape(x))
    if isinstance(sharding, NamedSharding):
        context = current_mesh()
        manual = (
            [] if context is None else [n for n in sharding.spec.used if n in context.manual_axes]
        )
        if manual:
            raise ValueError(
                f"{function}: {sharding.spec} refers to the mesh axes {manual}, but an enclosing "
                "shard_map is over them: a value inside is one piece along them"
            )
        if traced and (sharding.mesh.explicit_axes or not constrains):
            return effects.reshard(x, sharding=sharding)
        if traced or sharding.is_constraint:
            return effects.with_sharding_constraint(x, sharding=sharding)
        sharding = _with_devices(x, sharding)
        if not constrains:
            sharding = _beside_open(x, sharding)
        elif sharding.mesh.explicit_axes:
            sharding = sharding.ranked(np.ndim(x))
    elif traced and constrains:
        return effects.with_sharding_constraint(x, sharding=sharding)
    elif isinstance(x, Carrier):
        raise NotImplementedError(
            f"{function} to {sharding} inside a program: a program runs on the "
            "devices of a mesh; give a NamedSharding, or device_put the result"
        )
    if constrains and isinstance(x, arrays.Array):  # refuses one that was put elsewhere
        layout_of([x.spec], outs=(sharding,), what=function)
    return arrays.device_put(x, sharding)


def _beside_open(x: Any, sharding: NamedSharding) -> NamedSharding:
    """The sharding, with the cuts that an array has along axes of the mesh that are not explicit.

    Along those XLA decides, and it leaves an array where it lies.
    """
    mesh, ndim = sharding.mesh, np.ndim(x)
    asked = sharding.ranked(ndim) if mesh.explicit_axes else sharding
    if mesh.are_all_axes_explicit or not isinstance(x, arrays.Array):
        return asked
    now = mesh.named(x.spec.placement) if x.spec.placement.devices == mesh.flat else None
    if now is None:
        return asked
    entries: list[Any] = []
    specs = sharding.ranked(ndim).spec, now.ranked(ndim).spec
    for length, wish, own in zip(x.shape, *specs, strict=True):
        names = [n for n in names_of(own) if n not in mesh.explicit_axes]
        entry = entry_of([*names_of(wish), *names])
        entries.append(wish if length % count(mesh, entry) else entry)
    if PartitionSpec(*entries) == asked.ranked(ndim).spec:
        return asked
    return sharding.update(spec=shortest(entries))


def _with_devices(x: Any, sharding: NamedSharding) -> NamedSharding:
    """The sharding over devices: those of the value, where its mesh has none."""
    mesh = sharding.mesh
    if isinstance(mesh, Mesh):
        return sharding
    over = current_mesh()
    if not isinstance(over, Mesh) or over.shape_tuple != mesh.shape_tuple:
        over = _mesh_of(x, mesh)
    return sharding.update(mesh=over_devices(mesh, over))


def _mesh_of(x: Any, wanted: Any) -> Mesh:
    """The mesh of an array that goes to a sharding over a mesh without devices."""
    if not isinstance(x, arrays.Array):
        raise ValueError(
            "Target sharding contains a `effax.sharding.AbstractMesh` which requires the input "
            f"passed should be a `effax.Array`. Got {type(x)} with shape {str_long(typeof(x))}; "
            "give a sharding over a Mesh"
        )
    if not isinstance(x.sharding, NamedSharding):
        raise TypeError(
            "The sharding on the input must be a `NamedSharding` since the target sharding has an "
            f"`AbstractMesh` in it. Got sharding type {type(x.sharding)} for shape "
            f"{str_long(x.type)}; give a sharding over a Mesh"
        )
    found: Mesh = x.sharding.mesh
    if found.shape_tuple != wanted.shape_tuple:
        raise ValueError(
            f"Mesh shape of the input {found.shape_tuple} does not match the mesh shape of the "
            f"target sharding {wanted.shape_tuple} for shape {str_long(x.type)}"
        )
    return found


@filtered
def reshard(xs: Any, out_shardings: Any) -> Any:
    """Move the arrays of a tree between devices, to the shardings given.

    Args:
      xs: a pytree of arrays.
      out_shardings: `NamedSharding`s, or specs over the mesh in context, in a prefix of the tree of
        `xs`. They name explicit axes of the mesh; along the others arrays are left as they are.

    Raises:
      TypeError: for what is neither a `NamedSharding` nor a spec.
      ValueError: for a spec without a mesh in context, and one that names an axis of the mesh that
        is not `Explicit`.

    >>> import effax, effax.numpy as jnp
    >>> mesh = effax.make_mesh((1,), ("x",))
    >>> effax.typeof(reshard(jnp.ones(2), effax.NamedSharding(mesh, effax.P("x"))))
    f32[2@x]
    """
    asked = canonical(out_shardings, "reshard", other_meshes=True)
    return _each(xs, asked, "out_shardings", _resharded, "reshard")


def _resharded(x: Any, sharding: Sharding) -> Any:
    return moved(x, sharding, "reshard")


def opened(tree: Any, axes: Sequence[Any] | None = None) -> Any:
    """The values of a tree, whose types do not say how they are cut along some axes, or any.

    Args:
      tree: a pytree.
      axes: names of mesh axes; without them, all.
    """
    return tree_map(lambda x: _opened(x, axes), tree)


def for_result(
    function: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any], where: Any
) -> Any:
    """The results of a function, where `out_sharding` says.

    Types inside do not say how operands are cut, unless by them the results lie there anyway.

    Args:
      function: a function without that keyword.
      args: its arguments.
      keywords: its keyword arguments.
      where: what `out_sharding` is.
    """
    where = canonical(where, function.__name__)
    if innermost() is not bottom and effects.explicit_mesh(tree_leaves((args, keywords))):
        with suppress(ShardingTypeError):
            typed = function(*args, **keywords)
            placed = reshard(typed, where)
            if list(map(typeof, tree_leaves(typed))) == list(map(typeof, tree_leaves(placed))):
                return placed
    args, keywords = opened((args, keywords))
    return reshard(function(*args, **keywords), where)


def _opened(x: Any, axes: Sequence[Any] | None) -> Any:
    if not isinstance(x, Value) or (cut := typeof(x).cut) is None:
        return x
    return effects.opened(x, axes=tuple(cut.mesh.axis_names if axes is None else axes))


def _axes(axes: str | tuple[str, ...] | None, mesh: Any) -> tuple[Any, ...]:
    if axes is None:
        return tuple(mesh.axis_names)
    return (axes,) if isinstance(axes, str) else tuple(axes)


def _with_axes(mesh: Any, axes: Sequence[Any], kind: AxisType, function: str) -> Any:
    """The mesh whose axes of these names have another type.

    Raises `ValueError` for names it does not have, and for axes that a `shard_map` is over.
    """
    strange = [n for n in axes if n not in mesh.axis_names]
    if strange:
        raise ValueError(f"{function}: the mesh {mesh} has no axes {strange}; name its own")
    manual = [n for n in axes if n in mesh.manual_axes]
    if manual:
        raise NotImplementedError(
            "Going from `Manual` AxisType to `Auto` or `Explicit` AxisType is not allowed: "
            f"{function} would, for the mesh axes {manual}, which a shard_map around is over; name "
            "others in axes"
        )
    pairs = zip(mesh.axis_names, mesh.axis_types, strict=True)
    return mesh.update(axis_types=tuple(kind if n in axes else k for n, k in pairs))


def auto_axes(
    f: Callable[..., Any] | None = None,
    /,
    *,
    axes: str | tuple[str, ...] | None = None,
    out_sharding: Any = None,
) -> Any:
    """Return a function in which XLA decides how values are sharded.

    In it, types do not say how values are cut along these axes, and any operation is allowed.

    Args:
      f: the function; without it, the result is a decorator.
      axes: the names of the mesh axes along which XLA decides, by default all.
      out_sharding: the sharding of the results, or specs over the mesh in context; without it, the
        function takes it as a keyword.

    Raises:
      TypeError: when called without an `out_sharding`, here or there.

    >>> import effax, effax.numpy as jnp
    >>> mesh = effax.make_mesh((1,), ("x",))
    >>> with effax.set_mesh(mesh):
    ...     x = reshard(jnp.ones((2, 2)), effax.P("x"))
    ...     effax.typeof(auto_axes(lambda x: x @ x.T)(x, out_sharding=effax.P(None, "x")))
    f32[2,2@x]
    """
    if f is None:
        return lambda g: auto_axes(g, axes=axes, out_sharding=out_sharding)

    @wraps(f)
    def call(*args: Any, **keywords: Any) -> Any:
        where = keywords.pop("out_sharding", None) if out_sharding is None else out_sharding
        if where is None:
            raise TypeError(
                "Missing required keyword argument: 'out_sharding'; auto_axes needs to know how "
                "the results of the function are cut"
            )
        given = [s.mesh for s in tree_leaves(where) if isinstance(s, NamedSharding)]
        mesh = given[0] if given else current_mesh()
        if mesh is None or mesh.empty:
            return f(*args, **keywords)
        names = _axes(axes, mesh)
        inner = _with_axes(mesh, names, AxisType.Auto, "auto_axes")
        if inner.axis_types == mesh.axis_types:  # XLA decides all along
            return f(*args, **keywords)
        args, keywords = opened((args, keywords), names)
        with under_mesh(inner):
            result = f(*args, **keywords)
        return reshard(result, where)

    return call


def explicit_axes(
    f: Callable[..., Any] | None = None,
    /,
    *,
    axes: str | tuple[str, ...] | None = None,
    in_sharding: Any = None,
) -> Any:
    """Return a function in which types say how values are cut, and XLA decides nothing.

    Args:
      f: the function; without it, the result is a decorator.
      axes: the names of the mesh axes of which types speak, by default all.
      in_sharding: the sharding of the arguments, or a tuple with one for each, or specs over the
        mesh in context; without it, the function takes it as a keyword.

    Raises:
      TypeError: when called without an `in_sharding`, here or there.
      ValueError: where there is no mesh in context.

    >>> import effax, effax.numpy as jnp
    >>> mesh = effax.make_mesh((1,), ("x",), (AxisType.Auto,))
    >>> with effax.set_mesh(mesh):
    ...     explicit_axes(lambda x: print(effax.typeof(x)))(jnp.ones(2), in_sharding=effax.P("x"))
    float32[2@x]
    """
    if f is None:
        return lambda g: explicit_axes(g, axes=axes, in_sharding=in_sharding)

    @wraps(f)
    def call(*args: Any, **keywords: Any) -> Any:
        where = keywords.pop("in_sharding", None) if in_sharding is None else in_sharding
        if where is None:
            raise TypeError(
                "Missing required keyword argument: 'in_sharding'; explicit_axes needs to know how "
                "the arguments of the function are cut"
            )
        mesh = current_mesh()
        if mesh is None or mesh.empty:
            raise ValueError(
                "Context mesh cannot be empty. Please use `effax.set_mesh` to enter into a mesh "
                "context when using `explicit_axes`"
            )
        inner = _with_axes(mesh, _axes(axes, mesh), AxisType.Explicit, "explicit_axes")
        with under_mesh(inner):
            whole = not isinstance(where, tuple) or len(where) != len(args)
            args = reshard(args, (where,) * len(args) if whole else where)
            result = f(*args, **keywords)
        hidden = [n for n in inner.explicit_axes if n not in mesh.explicit_axes]
        return opened(result, hidden)

    return call
