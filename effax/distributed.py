"""Programs of several processes: there is one here, which is initialised without saying so."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["initialize", "is_initialized", "shutdown"]
__dir__ = __all__.copy

_started: list[int] = []


def initialize(
    coordinator_address: str | None = None,
    num_processes: int | None = None,
    process_id: int | None = None,
    local_device_ids: int | Sequence[int] | None = None,
    cluster_detection_method: str | None = None,
    initialization_timeout: int = 300,
    heartbeat_timeout_seconds: int = 100,
    shutdown_timeout_seconds: int = 300,
    coordinator_bind_address: str | None = None,
    slice_index: int | None = None,
    partition_index: int | None = None,
) -> None:
    """Take note that a program of one process runs.

    Args:
      num_processes: 1.
      process_id: 0.
      coordinator_address, local_device_ids, cluster_detection_method, initialization_timeout,
        heartbeat_timeout_seconds, shutdown_timeout_seconds, coordinator_bind_address, slice_index,
        partition_index: accepted; one process has nobody to meet.

    Raises:
      NotImplementedError: for more processes, or where their number is not given.
      RuntimeError: where it was called before.

    >>> initialize(num_processes=1, process_id=0)
    >>> is_initialized()
    True
    >>> shutdown()
    """
    if num_processes != 1 or process_id not in (None, 0):
        raise NotImplementedError(
            f"distributed.initialize: num_processes={num_processes}, process_id={process_id}; "
            "effax runs programs of one process: give num_processes=1, or leave the call out"
        )
    if _started:
        raise RuntimeError("distributed.initialize should only be called once.")
    _started.append(1)


def is_initialized() -> bool:
    """Whether `initialize` was called, and `shutdown` was not since.

    >>> is_initialized()
    False
    """
    return bool(_started)


def shutdown() -> None:
    """Forget that `initialize` was called.

    >>> shutdown()
    """
    _started.clear()
