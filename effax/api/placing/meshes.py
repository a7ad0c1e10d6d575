"""Meshes, made and put in context: `make_mesh`, `set_mesh` and kin."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from effax.backends.xla.device import devices as all_devices
from effax.backends.xla.layout import over_devices
from effax.backends.xla.mesh import EMPTY, Mesh
from effax.backends.xla.placement import SingleDeviceSharding
from effax.effects.handler import bottom, innermost
from effax.effects.mesh import (
    AbstractMesh,
    AxisType,
    MeshShape,
    current_mesh,
    placing_mesh,
    under_mesh,
)


def make_mesh(
    axis_shapes: Sequence[int],
    axis_names: str | Sequence[Any],
    axis_types: tuple[AxisType, ...] | None = None,
    *,
    devices: Sequence[Any] | None = None,
) -> Mesh:
    """Return a mesh of so many devices along each axis.

    Args:
      axis_shapes: the number of devices along each axis.
      axis_names: the names of the axes; a string is the name of a single one.
      axis_types: the types of the axes; by default all are `Explicit`, as in JAX 0.10: types of
        arrays say how they are cut along them.
      devices: the devices, as many as the mesh has; by default the first ones there are.

    Raises:
      ValueError: where there are too few devices, or more are given than the mesh has, and for
        lengths that are not integers.

    >>> make_mesh((1,), ("x",)).shape["x"]
    1
    """
    if not all(isinstance(n, (int, np.integer)) for n in axis_shapes):
        raise ValueError(
            "`axis_shapes` passed to `make_mesh` should be a sequence of ints. Got "
            f"axis_shapes={axis_shapes}: give the number of devices along each axis"
        )
    shape = tuple(map(int, axis_shapes))
    names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
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
        if mesh is not None and mesh.manual_axes:
            raise ValueError(
                f"mesh {mesh!s} contains manual axes which is not allowed when using `set_mesh`: "
                "an axis is manual inside of a function under `shard_map`"
            )
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
    """A context manager under which specs without a mesh are over this one, without devices.

    Under `set_mesh` it is over the devices there, by other names, sizes or types of the axes.

    Raises:
      ValueError: where the mesh of `set_mesh` has another number of devices.
    """

    def __init__(self, mesh: AbstractMesh) -> None:
        if not isinstance(mesh, MeshShape):
            raise ValueError(f"Expected an AbstractMesh, got {type(mesh)}")
        self._mesh = mesh

    def __enter__(self) -> MeshShape:
        context = placing_mesh()
        mesh: MeshShape = self._mesh
        if isinstance(context, Mesh) and not context.empty and not mesh.empty:
            if mesh.size != context.size:
                raise ValueError(
                    f"use_abstract_mesh cannot change the size of the mesh in context: {mesh} is "
                    f"over {mesh.size} devices, and {context!s} over {context.size}"
                )
            mesh = over_devices(mesh, context)
        self._scope = under_mesh(mesh)
        self._scope.__enter__()
        return self._mesh

    def __exit__(self, *exception: object) -> None:
        self._scope.__exit__()


def get_mesh() -> Mesh:
    """Return the mesh that `set_mesh` put in context, else one without axes.

    >>> get_mesh().empty
    True
    """
    found = current_mesh()
    return found if isinstance(found, Mesh) else EMPTY


def get_abstract_mesh() -> AbstractMesh:
    """Return the mesh in context, without its devices; axes are `Manual` under `shard_map`."""
    found = current_mesh()
    return AbstractMesh((), ()) if found is None else found.abstract_mesh


def make_single_device_sharding(device: Any, *, memory_kind: str | None = None) -> Any:
    """Return the sharding that puts the whole array on one device.

    Args:
      device: the device.
      memory_kind: the kind of its memory; by default the device's default one.
    """
    return SingleDeviceSharding(device, memory_kind=memory_kind)
