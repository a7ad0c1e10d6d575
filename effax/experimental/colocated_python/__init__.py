"""`jax.experimental.colocated_python`: Python beside devices elsewhere, which Pathways has.

There is no Pathways here, so each use is refused; the names are there for those who import them.
"""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["colocated_cpu_devices", "colocated_python"]
__dir__ = __all__.copy


def _refuse(what: str) -> NoReturn:
    raise NotImplementedError(
        f"{what}: running Python beside remote devices needs Pathways, for which effax has no "
        "backend; pure_callback and io_callback run Python on this machine"
    )


def colocated_python(fun: Any) -> NoReturn:
    """Raise `NotImplementedError`.

    Args:
      fun: a function; unused.

    >>> colocated_python(print)
    Traceback (most recent call last):
    NotImplementedError: colocated_python: Python runs beside devices elsewhere under Pathways...
    """
    _refuse("colocated_python")


def colocated_cpu_devices(devices_or_mesh: Any) -> NoReturn:
    """Raise `NotImplementedError`.

    Args:
      devices_or_mesh: devices, or a mesh; unused.

    >>> colocated_cpu_devices([])
    Traceback (most recent call last):
    NotImplementedError: colocated_cpu_devices: Python runs beside devices elsewhere under...
    """
    _refuse("colocated_cpu_devices")
