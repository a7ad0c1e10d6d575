"""Exported functions made again of their bytes."""

from __future__ import annotations

from effax.export.exported import DisabledSafetyCheck, Exported
from effax.export.files import content


def deserialize(blob: bytes | bytearray) -> Exported:
    """Return the exported function that `Exported.serialize` wrote.

    Args:
      blob: its bytes. As with any program, read only files of whom you trust.

    Raises:
      ExportError: a `ValueError`, for bytes that are anything else: cut short, damaged, of another
        program, or of a later version.

    >>> deserialize(b"no such thing")
    Traceback (most recent call last):
    effax.effects.errors.ExportError: these 13 bytes are not an exported function of effax...
    """
    read = content(blob)
    fields = dict(read.fields)
    checks = tuple(map(DisabledSafetyCheck, fields.pop("disabled_safety_checks")))
    vjp = deserialize(read.derivative) if read.derivative else None
    return Exported(
        **fields,
        disabled_safety_checks=checks,
        vjp=None if vjp is None else lambda: vjp,
    )
