"""Devices: the processors that arrays live on, and the questions asked about all of them."""

from __future__ import annotations

import threading
from typing import Any, Final, NoReturn

from effax.backends.xla.client import Backend, backend


class Device:
    """One processor: a core or chip of a GPU or TPU, or (a part of) the CPU. One object each."""

    __slots__ = (
        "backend",
        "id",
        "is_addressable",
        "local_hardware_id",
        "platform",
        "process_index",
        "raw",
    )

    is_addressable: bool
    """Whether the device belongs to this process, so that its memory can be read."""

    def __init__(self, raw: Any, backend: Backend) -> None:
        self.raw = raw
        self.backend = backend
        self.id: int = raw.id
        self.platform: str = backend.platform
        self.process_index: int = raw.process_index
        self.local_hardware_id: int | None = raw.local_hardware_id
        here = self.process_index == int(backend.client.process_index())
        self.is_addressable = here and not backend.absent

    @property
    def device_kind(self) -> str:
        """The vendor's name of the model, such as "NVIDIA H200"; "cpu" for the CPU."""
        return str(self.raw.device_kind)

    @property
    def host_id(self) -> int:
        """The index of the process that owns the device, under its old name."""
        return self.process_index

    @property
    def client(self) -> Any:
        """The client of PJRT that the device belongs to."""
        return self.backend.client

    def memory_stats(self) -> dict[str, int] | None:
        """Bytes in use, their peak and limit, ...; None where the platform does not count."""
        stats: dict[str, int] | None = self.raw.memory_stats()
        return stats

    def __getattr__(self, name: str) -> Any:
        # Attributes of some platforms only: `coords` and `core_on_chip` of a TPU, `slice_index`,
        # ...
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.raw, name)

    def __repr__(self) -> str:
        return repr(self.raw)

    def __str__(self) -> str:
        return str(self.raw)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a device belongs to its process and can't be pickled; send its id")


_lock: Final = threading.Lock()
_devices: Final[dict[str, tuple[Device, ...]]] = {}


def _all(of: Backend) -> tuple[Device, ...]:
    found = _devices.get(of.name)
    if found is None:
        with _lock:
            found = _devices.get(of.name)
            if found is None:
                raw = sorted(of.client.devices(), key=lambda device: device.id)
                found = _devices[of.name] = tuple(Device(device, of) for device in raw)
    return found


def _of_platform(platform: str | None) -> list[Device]:
    return list(_all(backend(platform)))


def devices(backend: str | None = None) -> list[Device]:
    """Return all devices of a platform, those of other processes included, by id.

    Args:
      backend: the platform whose devices are meant; by default the default one.

    Raises `RuntimeError` for an unknown platform.
    """
    return _of_platform(backend)


def local_devices(
    process_index: int | None = None, backend: str | None = None, host_id: int | None = None
) -> list[Device]:
    """Return the devices of one process, by default this one.

    Args:
      process_index: the index of the process; by default that of this one.
      backend: the platform whose devices are meant; by default the default one.
      host_id: an older name of `process_index`.

    Raises:
      ValueError: for an index that no process has.
    """
    wanted = host_id if process_index is None else process_index
    if wanted is None:
        wanted = _process_index(backend)
    elif not 0 <= wanted < process_count(backend):
        raise ValueError(f"Unknown process_index {wanted}; there are {process_count(backend)}")
    return [device for device in devices(backend) if device.process_index == wanted]


def default_device() -> Device:
    """The first device of this process, which a new array goes to if nobody says otherwise."""
    of = backend()
    first = _all(of)[0]
    return first if first.is_addressable else local_devices(backend=of.name)[0]


def device_count(backend: str | None = None) -> int:
    """Return the number of devices, those of other processes included.

    Args:
      backend: the platform whose devices are meant; by default the default one.
    """
    return len(devices(backend))


def local_device_count(backend: str | None = None) -> int:
    """Return the number of devices of this process.

    Args:
      backend: the platform whose devices are meant; by default the default one.
    """
    return len(local_devices(backend=backend))


def _process_index(platform: str | None) -> int:
    return int(backend(platform).client.process_index())


def process_index(backend: str | None = None) -> int:
    """Return the index of this process among those that joined; 0 if it is alone.

    Args:
      backend: the platform whose devices are meant; by default the default one.
    """
    return _process_index(backend)


def process_count(backend: str | None = None) -> int:
    """Return the number of processes that joined; 1 if this one is alone.

    Args:
      backend: the platform whose devices are meant; by default the default one.
    """
    return 1 + max(device.process_index for device in devices(backend))


def process_indices(backend: str | None = None) -> list[int]:
    """Return the indices of all processes that own devices.

    Args:
      backend: the platform whose devices are meant; by default the default one.
    """
    return sorted({device.process_index for device in devices(backend)})


def default_backend() -> str:
    """Return the platform of the default devices: "cpu", "gpu" or "tpu"."""
    return backend().platform


host_id, host_count, host_ids = process_index, process_count, process_indices
