"""Names of what is sent to devices elsewhere: lists of devices."""

from __future__ import annotations

__all__ = ["DeviceList"]
__dir__ = __all__.copy


class DeviceList:
    """A list of devices elsewhere, of which there are none."""
