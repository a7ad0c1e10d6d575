"""Exported functions made again of their bytes."""

from __future__ import annotations

from collections.abc import Callable

from effax.export.exported import DisabledSafetyCheck, Exported
from effax.export.files import Content, content


def deserialize(blob: bytes | bytearray) -> Exported:
    """Return the exported function that `Exported.serialize` wrote, that of effax or of JAX.

    Args:
      blob: its bytes. As with any program, read only files of whom you trust.

    Raises:
      ExportError: a `ValueError`, for bytes that are anything else: cut short, damaged, of another
        program, or of a later version.

    >>> deserialize(b"no such thing")
    Traceback (most recent call last):
    effax.errors.ExportError: these 13 bytes are not an exported function: they lack ...
    """
    return _exported(content(blob))


def _exported(read: Content) -> Exported:
    fields = dict(read.fields)
    checks = tuple(map(DisabledSafetyCheck, fields.pop("disabled_safety_checks")))
    vjp: Callable[[], Exported] | None = None
    if isinstance(read.derivative, Content):
        derivative = _exported(read.derivative)

        def vjp() -> Exported:
            return derivative

    else:
        vjp = read.derivative
    return Exported(**fields, disabled_safety_checks=checks, vjp=vjp)
