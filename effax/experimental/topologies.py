"""Topologies: the devices that programs are compiled for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from effax.backends.xla import absent
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
) -> TopologyDescription:
    """Return a topology whose devices need not be there: programs are compiled for them.

    Args:
      topology_name: of TPUs, a slice as libtpu names it: "v5e:4x4", "v5p:2x2x1". Of GPUs, a model,
        "h200" or "a100".
      platform: "tpu", by default, or "cuda" (or "gpu").
      options: of GPUs, `topology`, how many partitions, machines in each, and GPUs in each machine
        ("1x1x8", by default one GPU), and `target_config`, the text of XLA's
        `GpuTargetConfigProto`, for other models. Of TPUs, those of libtpu.

    Raises:
      RuntimeError: where the platform's compiler (libtpu, or CUDA's plugin) is not installed.
      ValueError: for a topology that the compiler doesn't know.

    A type says where: `jit(f).lower(ShapeDtypeStruct(shape, dtype, sharding=...)).compile()`.
    """
    if platform in (None, "tpu"):
        return TopologyDescription(absent.tpu(topology_name, **options))
    if platform in ("cuda", "gpu"):
        config = options.pop("target_config", None)
        return TopologyDescription(absent.cuda(topology_name, config=config, **options))
    raise ValueError(
        f"get_topology_desc: platform must be 'tpu' or 'cuda', got {platform!r}; "
        "get_attached_topology(platform) describes attached devices"
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
