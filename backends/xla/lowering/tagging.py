"""Metadata for XLA on lines of StableHLO, as the attribute `mhlo.frontend_attributes`."""

from __future__ import annotations

from typing import Any, Final

from effax.backends.xla.lowering.locations import quoted
from effax.effects.provenance import Tags

_NAME: Final = "mhlo.frontend_attributes"
_OPERATIONS: Final = ("stablehlo.", "chlo.", '"stablehlo.', '"chlo.', "func.call ")
_CONSTANT: Final = "stablehlo.constant "  # shared by all equations of a function


def tag_lines(lines: list[str], start: int, tags: Tags) -> None:
    """Put metadata on the operations written from `start` on, but for those in their regions.

    Lines of an equation in a region were tagged when they were written. A constant has none, as
    other equations use it too.
    """
    for i in range(start, len(lines)):
        lines[i] = tag_line(lines[i], tags)


def tag_line(line: str, tags: Tags) -> str:
    """A line of an operation with more metadata; for a key that it has already, nothing changes."""
    operation = line.partition(" = ")[2] if line.startswith("%") else line
    if not operation.startswith(_OPERATIONS) or operation.startswith(_CONSTANT):
        return line
    # The types come last, after the operands, the regions and the attributes.
    at = line.rindex(" : ")
    head, types = line[:at], line[at:]
    known, inside, opened = head.rpartition(f"{_NAME} = {{")
    if inside and opened.endswith("}}"):
        present = f", {opened[:-2]}"
        new = [(k, v) for k, v in tags if f", {_key(k)} = " not in present]
        return f"{known}{inside}{_joined(_entries(new), opened[:-2])}}}}}{types}" if new else line
    attribute = as_attribute(tags)
    if head.endswith("}"):  # there are attributes, and these are one more
        body = head[:-1]
        between = "" if body.endswith("{") else ", "
        return f"{body}{between}{attribute}}}{types}"
    return f"{head} {{{attribute}}}{types}"


def as_attribute(tags: Tags) -> str:
    """Return metadata as the attribute of an operation."""
    return f"{_NAME} = {{{_entries(tags)}}}"


def _entries(tags: Any) -> str:
    return ", ".join(f"{_key(k)} = {quoted(_text(v))}" for k, v in tags)


def _joined(*parts: str) -> str:
    return ", ".join(filter(None, parts))


def _key(name: str) -> str:
    return name if name.isidentifier() and name.isascii() else quoted(name)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
