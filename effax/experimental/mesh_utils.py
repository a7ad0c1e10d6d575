"""Devices in an array, for meshes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from effax.backends.xla.device import devices as all_devices

__all__ = ["create_device_mesh", "create_hybrid_device_mesh"]


def create_device_mesh(
    mesh_shape: Sequence[int],
    devices: Sequence[Any] | None = None,
    *,
    contiguous_submeshes: bool = False,
    allow_split_physical_axes: bool = False,
) -> np.ndarray[Any, Any]:
    """Devices in an array of a shape, in the order of their numbers.

    Args:
      mesh_shape: how many devices along each axis.
      devices: which; by default all.
      contiguous_submeshes, allow_split_physical_axes: about the wires between TPUs, of which there
        are none here.

    Raises:
      ValueError: where the shape is for more or fewer devices.

    >>> create_device_mesh((1, 1)).shape
    (1, 1)
    """
    found = list(all_devices() if devices is None else devices)
    shape = tuple(int(n) for n in mesh_shape)
    if prod(shape) != len(found):
        raise ValueError(
            f"Number of devices {len(found)} must equal the product of mesh_shape {shape}"
        )
    made = np.empty(len(found), object)
    made[:] = found
    return made.reshape(shape)


def create_hybrid_device_mesh(
    mesh_shape: Sequence[int],
    dcn_mesh_shape: Sequence[int],
    devices: Sequence[Any] | None = None,
    *,
    process_is_granule: bool = False,
    should_sort_granules_by_key: bool = True,
    allow_split_physical_axes: bool = False,
) -> np.ndarray[Any, Any]:
    """Devices in an array: a fast network within each process, a slow one between them.

    There is one process, so `dcn_mesh_shape` is of ones. Raises `ValueError` for another.

    >>> create_hybrid_device_mesh((1, 1), (1, 1)).shape
    (1, 1)
    """
    outer = tuple(int(n) for n in dcn_mesh_shape)
    if len(outer) != len(tuple(mesh_shape)):
        raise ValueError(
            "mesh_shape and dcn_mesh_shape must have the same number of axes, got "
            f"{tuple(mesh_shape)} and {outer}"
        )
    if prod(outer) != 1:
        raise ValueError(
            f"Number of slices 1 must equal the product of dcn_mesh_shape {outer}: all devices "
            "belong to one process, with no slow network between them; use create_device_mesh"
        )
    return create_device_mesh(mesh_shape, devices)
