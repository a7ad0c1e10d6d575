"""Devices that are not there: chips that programs can be compiled for, and can't run on.

The compilers for TPU and GPU are in their plugins and need no device: PJRT describes a slice, or a
machine with GPUs of a model, as a topology, whose client compiles and does nothing else.
"""

from __future__ import annotations

import os
from importlib import metadata
from typing import Any, Final

import attrs
import numpy as np

from effax.backends.xla import plugins
from effax.backends.xla.client import Backend, XlaRuntimeError
from effax.backends.xla.device import Device
from effax.backends.xla.gpu_models import MODELS, target_config
from effax.backends.xla.mesh import Mesh
from effax.effects.mesh import AbstractDevice, AbstractMesh
from effax.effects.runtime import jaxlib_version, xla_client

LIBTPU: Final = {"0.10.2": "0.0.42", "0.12.0.1": "0.0.50"}
"""The version of libtpu that belongs to each jaxlib."""

_ALONE: Final = {
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_ACCELERATOR_TYPE": "v5litepod-4",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "TPU_LOG_DIR": "disabled",
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
}
"""Settings of libtpu where there are no chips: else it asks the cloud, and lets in one process."""


class AbsentBackend(Backend):
    """A client that compiles for a topology."""

    __slots__ = ()

    absent = True

    def __init__(self, name: str, client: Any, platform: str) -> None:
        super().__init__(name, client)
        self.platform = platform


@attrs.frozen
class _Unplaced:
    """A device of a mesh that is known by its axes only."""

    id: int
    device_kind: str
    process_index: int = 0
    local_hardware_id: int | None = None


@attrs.frozen
class _UnplacedClient:
    """The client of such devices."""

    platform: str

    def process_index(self) -> int:
        """The index of the only process there is."""
        return 0


_UNPLACED: Final = AbstractDevice("unplaced", None, "unplaced")


def without_devices(mesh: Mesh | AbstractMesh) -> AbstractMesh:
    """Return the axes of a mesh, and the kind of its devices if it has some."""
    found = mesh.abstract_mesh
    if found.abstract_device != _UNPLACED:
        return found
    return AbstractMesh(found.axis_sizes, found.axis_names, found.axis_types)


def over_no_devices(mesh: AbstractMesh) -> Mesh:
    """Return a mesh with the axes of an abstract one: a program over it can be lowered only."""
    kind = mesh.abstract_device or _UNPLACED
    backend = AbsentBackend(kind.platform, _UnplacedClient(kind.platform), kind.platform)
    devices = [Device(_Unplaced(i, kind.device_kind), backend) for i in range(mesh.size)]
    grid = np.array(devices, dtype=object).reshape(mesh.axis_sizes)
    return Mesh(grid, mesh.axis_names, mesh.axis_types)


def tpu(topology: str, **options: Any) -> list[Device]:
    """Return the chips of a slice, such as "v5e:4x4", as libtpu knows it.

    Raises `RuntimeError` where libtpu of jaxlib's version is not installed, `ValueError` for a
    topology that it doesn't know.
    """
    if plugins.tpu_library() is None:
        raise RuntimeError(
            f"to compile for the TPU topology {topology!r} effax needs libtpu, which is not "
            f"installed: pip install {_libtpu()}"
        )
    check_libtpu()
    if not plugins.has_tpu():
        for name, value in _ALONE.items():
            os.environ.setdefault(name, value)
    plugins.load_tpu()
    make = xla_client.make_tfrt_tpu_c_api_device_topology
    return _devices("tpu", "tpu", lambda: make(topology, **options), f"TPU topology {topology!r}")


def cuda(model: str, topology: str = "1x1x1", config: str | None = None) -> list[Device]:
    """Return the GPUs of machines that are alike.

    Args:
      model: a key of `gpu_models.MODELS`; without meaning where `config` is given.
      topology: how many partitions, machines in each, and GPUs in each machine: "1x1x8".
      config: the text of a `GpuTargetConfigProto`, for other models.

    Raises:
      RuntimeError: where CUDA's plugin is not installed.
      ValueError: for a model or a topology that is not known.
    """
    if config is None:
        if model not in MODELS:
            raise ValueError(
                f"there is no GPU model {model!r}: name one of {sorted(MODELS)}, or give "
                "target_config, the text of a GpuTargetConfigProto"
            )
        config = target_config(model)
    if plugins.cuda_package() is None:
        raise RuntimeError(
            f"to compile for the GPU {model!r} effax needs CUDA's plugin, which is not installed: "
            f"pip install jax-cuda13-pjrt=={jaxlib_version} jax-cuda13-plugin=={jaxlib_version}"
        )
    api = plugins.load_cuda()
    if api is None:
        raise RuntimeError(
            "jax has loaded CUDA's plugin in this process, and it can be loaded only once: "
            f"compile for the GPU {model!r} in a process without jax"
        )
    make = xla_client.make_c_api_device_topology
    return _devices(
        "cuda",
        "gpu",
        lambda: make(api, "", target_config=config, topology=topology),
        f"GPU {model!r} in the topology {topology!r}",
    )


def _devices(name: str, platform: str, make: Any, what: str) -> list[Device]:
    try:
        raw = make()._make_compile_only_devices()
    except XlaRuntimeError as error:
        raise ValueError(f"there is no {what}: {error}") from error
    backend = AbsentBackend(name, raw[0].client, platform)
    return [Device(device, backend) for device in raw]


def _libtpu() -> str:
    version = LIBTPU.get(jaxlib_version)
    return f"'libtpu=={version}.*'" if version else "libtpu"


def check_libtpu() -> None:
    """Raise `RuntimeError` where the installed libtpu belongs to another jaxlib."""
    wanted = LIBTPU.get(jaxlib_version)
    try:
        found = metadata.version("libtpu")
    except metadata.PackageNotFoundError:  # libtpu is then a file that TPU_LIBRARY_PATH names
        return
    if wanted is not None and not (found + ".").startswith(wanted + "."):
        raise RuntimeError(
            f"libtpu {found} is installed, but jaxlib {jaxlib_version} needs libtpu {wanted}: pip "
            f"install {_libtpu()}"
        )
