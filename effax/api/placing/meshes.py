"""Meshes in context, and values cut up along them: `make_mesh`, `set_mesh`, `reshard` and kin."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from math import prod
from typing import Any

import numpy as np

from effax.api.placing.shardings import resolve
from effax.backends.xla import array as arrays
from effax.backends.xla.device import devices as all_devices
from effax.backends.xla.mesh import EMPTY, Mesh, NamedSharding
from effax.backends.xla.placement import Sharding, SingleDeviceSharding
from effax.effects.frames import filtered
from effax.effects.handler import Carrier, bottom, innermost
from effax.effects.mesh import AbstractMesh, AxisType, MeshShape, current_mesh, under_mesh
from effax.effects.rows import sharding as effects
from effax.effects.tree import broadcast_prefix, tree_flatten, tree_unflatten


def make_mesh(
    axis_shapes: Sequence[int],
    axis_names: Sequence[Any],
    axis_types: tuple[AxisType, ...] | None = None,
    *,
    devices: Sequence[Any] | None = None,
) -> Mesh:
    """Return a mesh of so many devices along each axis.

    Args:
      axis_shapes: the number of devices along each axis.
      axis_names: the names of the axes.
      axis_types: the types of the axes; by default all are `Explicit`, as in JAX 0.10, which is
        here the same as `Auto`.
      devices: the devices, as many as the mesh has; by default the first ones there are.

    Raises:
      ValueError: where there are too few devices, or more are given than the mesh has.

    >>> make_mesh((1,), ("x",)).shape["x"]
    1
    """
    shape, names = tuple(map(int, axis_shapes)), tuple(axis_names)
    if len(shape) != len(names):
        raise ValueError(
            f"Number of mesh axes ({len(names)}) must equal the length of axis_shapes "
            f"({len(shape)}): {shape} for {names}"
        )
    found = list(all_devices() if devices is None else devices)
    count = prod(shape)
    if len(found) < count:
        raise ValueError(
            f"Number of devices {len(found)} must be >= the product of mesh_shape {shape}"
        )
    if devices is not None and len(found) != count:
        raise ValueError(
            f"Number of devices {len(found)} must equal the product of mesh_shape {shape}"
        )
    types = (AxisType.Explicit,) * len(names) if axis_types is None else axis_types
    return Mesh(np.array(found[:count], dtype=object).reshape(shape), names, types)


class set_mesh:  # noqa: N801 (JAX's name)
    """Make a mesh the one in context: at once, and until the end of a `with` block if there is one.

    Specs without a mesh are then over it, and what is computed from arrays that nobody put
    anywhere is computed on its devices. It holds for this thread.

    >>> mesh = make_mesh((1,), ("x",))
    >>> with set_mesh(mesh):
    ...     get_mesh() == mesh
    True
    """

    def __init__(self, mesh: Mesh | None) -> None:
        if mesh is not None and not isinstance(mesh, Mesh):
            raise ValueError(f"Expected mesh of type `effax.sharding.Mesh`. Got type {type(mesh)}")
        if innermost() is not bottom:
            raise ValueError(
                "`set_mesh` can only be used outside of `effax.jit` and other transformations; "
                "enter it around the call"
            )
        self._scope = under_mesh(mesh)
        self._scope.__enter__()

    def __enter__(self) -> None:
        """The mesh is in context already."""

    def __exit__(self, *exception: object) -> None:
        self._scope.__exit__()


class use_abstract_mesh:  # noqa: N801
    """A context manager under which specs without a mesh are over this one, without devices."""

    def __init__(self, mesh: AbstractMesh) -> None:
        if not isinstance(mesh, MeshShape):
            raise ValueError(f"Expected an AbstractMesh, got {type(mesh)}")
        self._mesh = mesh

    def __enter__(self) -> MeshShape:
        self._scope = under_mesh(self._mesh)
        self._scope.__enter__()
        return self._mesh

    def __exit__(self, *exception: object) -> None:
        self._scope.__exit__()


def get_mesh() -> Mesh:
    """The mesh that `set_mesh` put in context, else one without axes.

    >>> get_mesh().empty
    True
    """
    found = current_mesh()
    return found if isinstance(found, Mesh) else EMPTY


def get_abstract_mesh() -> AbstractMesh:
    """The mesh in context, without its devices; axes are `Manual` under `shard_map`."""
    found = current_mesh()
    return AbstractMesh((), ()) if found is None else found.abstract_mesh


def make_single_device_sharding(device: Any, *, memory_kind: str | None = None) -> Any:
    """Return the sharding that puts the whole array on one device.

    Args:
      device: the device.
      memory_kind: the kind of its memory; by default the device's default one.
    """
    return SingleDeviceSharding(device, memory_kind=memory_kind)


def _each(
    x: Any, shardings: Any, option: str, apply: Callable[[Any, Sharding], Any], function: str
) -> Any:
    leaves, tree = tree_flatten(x)
    try:
        asked = broadcast_prefix(shardings, x, is_leaf=lambda s: s is None)
    except ValueError as error:
        raise ValueError(f"{function}: {option} must be a tree prefix of x: {error}") from None
    return tree_unflatten(
        tree,
        [
            v if s is None else apply(v, resolve(s, function, option))
            for v, s in zip(leaves, asked, strict=True)
        ],
    )


@filtered
def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """The arrays of a tree, cut up among devices as told: now, or where a program computes them.

    Args:
      x: arrays.
      shardings: shardings, or specs over the mesh in context, in a prefix of the tree of `x`;
        an entry `PartitionSpec.UNCONSTRAINED` leaves an axis to XLA. None leaves an array alone.

    >>> import effax, effax.numpy as jnp
    >>> mesh = effax.make_mesh((1,), ("x",))
    >>> spread = effax.NamedSharding(mesh, effax.P("x"))
    >>> effax.jit(lambda x: with_sharding_constraint(2 * x, spread))(jnp.ones(2)).sharding.mesh.size
    1
    """
    return _each(x, shardings, "shardings", _constrained, "with_sharding_constraint")


def _constrained(x: Any, sharding: Sharding) -> Any:
    if isinstance(sharding, NamedSharding) and sharding.mesh.empty:
        return x
    sharding.shard_shape(np.shape(x))
    if isinstance(sharding, NamedSharding):
        context = current_mesh()
        manual = (
            [] if context is None else [n for n in sharding.spec.used if n in context.manual_axes]
        )
        if manual:
            raise ValueError(
                f"with_sharding_constraint: {sharding.spec} refers to the mesh axes {manual}, "
                "which a shard_map around is over: a value there is one piece along them"
            )
        if isinstance(x, Carrier) or sharding.is_constraint or innermost() is not bottom:
            return effects.with_sharding_constraint(x, sharding=sharding)
    elif isinstance(x, Carrier):
        raise NotImplementedError(
            f"with_sharding_constraint to {sharding} inside a program: a program runs on the "
            "devices of a mesh; give a NamedSharding, or device_put the result"
        )
    return arrays.device_put(x, sharding)


@filtered
def reshard(xs: Any, out_shardings: Any) -> Any:
    """Move the arrays of a tree between devices, to the shardings given.

    Args:
      xs: a pytree of arrays.
      out_shardings: shardings, or specs over the mesh in context, in a prefix of the tree of `xs`;
        None leaves an array alone.

    >>> import effax, effax.numpy as jnp
    >>> mesh = effax.make_mesh((1,), ("x",))
    >>> reshard(jnp.ones(2), effax.NamedSharding(mesh, effax.P("x"))).sharding.spec
    P('x',)
    """
    return _each(xs, out_shardings, "out_shardings", _constrained, "reshard")


def auto_axes(
    f: Callable[..., Any] | None = None,
    /,
    *,
    axes: str | tuple[str, ...] | None = None,
    out_sharding: Any = None,
) -> Any:
    """Return a function in which XLA decides how values are sharded.

    XLA decides everywhere here, so only `out_sharding` has an effect.

    Args:
      f: the function; without it, the result is a decorator.
      axes: accepted for JAX's sake; XLA decides along all axes.
      out_sharding: the sharding of the results, as for `reshard`; None leaves them alone.
    """
    if f is None:
        return lambda g: auto_axes(g, axes=axes, out_sharding=out_sharding)

    @wraps(f)
    def resharded(*args: Any, **keywords: Any) -> Any:
        result = f(*args, **keywords)
        return result if out_sharding is None else reshard(result, out_sharding)

    return resharded


def explicit_axes(
    f: Callable[..., Any] | None = None,
    /,
    *,
    axes: str | tuple[str, ...] | None = None,
    in_sharding: Any = None,
) -> Any:
    """Return a function whose arguments are resharded first.

    Types do not speak of devices here, inside the function or outside.

    Args:
      f: the function; without it, the result is a decorator.
      axes: accepted for JAX's sake.
      in_sharding: the sharding of the arguments, or a tuple with one for each; None leaves them
        alone.
    """
    if f is None:
        return lambda g: explicit_axes(g, axes=axes, in_sharding=in_sharding)

    @wraps(f)
    def resharded(*args: Any, **keywords: Any) -> Any:
        if in_sharding is not None:
            given = in_sharding
            prefix = given if isinstance(given, tuple) and len(given) == len(args) else (given,)
            args = reshard(args, prefix if len(prefix) == len(args) else (given,) * len(args))
        return f(*args, **keywords)

    return resharded
