"""`compute_on`: parts of a program that the host computes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from effax.backends.xla.device import default_backend

__all__ = ["compute_on"]


@contextmanager
def compute_on(compute_type: str) -> Iterator[None]:
    """Compute on another kind of device, in a `with` block or in the function decorated.

    Args:
      compute_type: "device", where everything is computed, or "device_host", the device's host:
        on the CPU that is the device.

    Raises:
      ValueError: for another word.
      NotImplementedError: for the host of an accelerator, and for parts of one.

    >>> import effax
    >>> @compute_on("device_host")
    ... def double(x):
    ...     return 2 * x
    >>> effax.jit(double)(3.0)
    Array(6., dtype=float32, weak_type=True)
    """
    known = compute_type in ("device", "device_host", "tpu_sparsecore")
    if not known and not compute_type.startswith("gpu_stream:"):
        raise ValueError(
            f"Invalid compute type {compute_type}. Current supported values are `device_host`, "
            "`device`, `tpu_sparsecore`, and `gpu_stream:#`."
        )
    here = compute_type == "device" or (compute_type == "device_host" and _on_host())
    if not here:
        raise NotImplementedError(
            f"compute_on({compute_type!r}) on {default_backend()}: a program runs on one kind of "
            "device as a whole; move the host's part to the CPU by device_put"
        )
    yield


def _on_host() -> bool:
    return default_backend() == "cpu"
