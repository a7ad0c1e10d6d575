"""Topologies: the devices that programs are compiled for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from effax.backends.xla.device import Device, devices
from effax.backends.xla.mesh import Mesh

__all__ = ["TopologyDescription", "get_attached_topology", "get_topology_desc", "make_mesh"]
__dir__ = __all__.copy


class TopologyDescription:
    """Devices that belong together."""

    def __init__(self, devices: Sequence[Device]) -> None:
        self.devices = list(devices)


def get_attached_topology(platform: str | None = None) -> TopologyDescription:
    """Return the topology of the devices that this process has.

    >>> import effax
    >>> get_attached_topology().devices == effax.devices()
    True
    """
    return TopologyDescription(devices(platform))


def get_topology_desc(
    topology_name: str = "", platform: str | None = None, **options: Any
) -> NoReturn:
    """Raise `NotImplementedError`: effax compiles for devices that the process has."""
    raise NotImplementedError(
        f"get_topology_desc({topology_name!r}, {platform!r}): effax compiles for attached devices "
        "alone (get_attached_topology)"
    )


def make_mesh(
    topo: TopologyDescription,
    mesh_shape: Sequence[int],
    axis_names: tuple[str, ...],
    *,
    contiguous_submeshes: bool = False,
) -> Mesh:
    """Return a mesh over the devices of a topology.

    >>> make_mesh(get_attached_topology(), (1,), ("x",)).axis_names
    ('x',)
    """
    from effax.experimental.mesh_utils import create_device_mesh

    found = create_device_mesh(mesh_shape, topo.devices, contiguous_submeshes=contiguous_submeshes)
    return Mesh(found, axis_names)
