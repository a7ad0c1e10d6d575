"""`jax.experimental.colocated_python`: Python beside devices elsewhere, which Pathways has.

There is no Pathways here, so that is refused; the CPU devices beside those of a CPU are known.
"""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["colocated_cpu_devices", "colocated_python", "colocated_python_class"]
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
    NotImplementedError: colocated_python: running Python beside remote devices...
    """
    _refuse("colocated_python")


def colocated_python_class(cls: type) -> type:
    """Return a class of the same name whose objects cannot be made.

    Args:
      cls: a class; modules of Orbax wrap some of theirs when they are imported.

    Raises:
      NotImplementedError: where the returned class is called.

    >>> colocated_python_class(list)()
    Traceback (most recent call last):
    NotImplementedError: colocated_python_class: running Python beside remote devices...
    """

    def refuse(kind: type, *args: Any, **keywords: Any) -> Any:
        _refuse("colocated_python_class")

    return type(cls.__name__, (), {"__new__": refuse, "__doc__": cls.__doc__})


def colocated_cpu_devices(devices_or_mesh: Any) -> Any:
    """Return the CPU devices beside devices: those of a CPU are themselves.

    Args:
      devices_or_mesh: a sequence of devices, or a mesh.

    Returns:
      A list of devices, or the mesh.

    Raises:
      NotImplementedError: for devices of another platform.

    >>> import effax
    >>> colocated_cpu_devices(effax.devices("cpu")[:1]) == effax.devices("cpu")[:1]
    True
    """
    mesh = hasattr(devices_or_mesh, "devices")
    devices = list(devices_or_mesh.devices.flat if mesh else devices_or_mesh)
    if any(device.platform != "cpu" for device in devices):
        _refuse("colocated_cpu_devices")
    return devices_or_mesh if mesh else devices
