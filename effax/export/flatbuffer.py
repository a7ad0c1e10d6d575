"""Flatbuffers read and written by a table of fields: nested dicts, for schemas that are small.

A schema is a dict: for the name of each table its fields in order, each a name and a kind. A kind
is "string", "bytes" (a vector of bytes), a scalar ("int8", "uint16", ...), the name of a table, or
a list of one kind, which is a vector. Everything is little-endian. An offset is from where it is
stored, and counts forwards, except for that of a table to its vtable.

The buffer may come from anywhere: each position is checked before it is read, and a buffer whose
offsets share parts, so that it would unfold into more tables than it has room for, is refused.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any, Final

Kind = Any
Schema = Mapping[str, Sequence[tuple[str, Kind]]]

_SCALARS: Final = {
    "int8": "b",
    "uint8": "B",
    "bool": "B",
    "int16": "h",
    "uint16": "H",
    "uint32": "I",
}
_OFFSET: Final = 4
"""The size of an offset, and of the length before a string or a vector."""


class MalformedBufferError(ValueError):
    """A buffer is not a flatbuffer of its schema."""


def read(buffer: bytes, schema: Schema, root: str) -> dict[str, Any]:
    """Return the root table of a buffer; fields that it lacks are None, or [] for vectors.

    Args:
      buffer: its bytes.
      schema: the fields of each table.
      root: the name of the root's table.

    Raises:
      MalformedBufferError: for a buffer that is cut short, or has offsets that lead outside.

    >>> schema = {"Point": [("x", "int16"), ("names", ["string"])]}
    >>> read(bytes(write({"x": 3, "names": ["a", "bc"]}, schema, "Point")), schema, "Point")
    {'x': 3, 'names': ['a', 'bc']}
    """
    reader = _Reader(buffer, schema)
    return reader.table(reader.target(0), root)


def write(values: Mapping[str, Any], schema: Schema, root: str) -> bytearray:
    """Return a buffer with a root table; fields that are None are left out.

    Args:
      values: the fields of the root by name.
      schema: the fields of each table.
      root: the name of the root's table.
    """
    writer = _Writer(schema)
    writer.refer(writer.reserve(_OFFSET), root, values)
    return writer.buffer


class _Reader:
    def __init__(self, buffer: bytes, schema: Schema) -> None:
        self.buffer = buffer
        self.schema = schema
        self.left = len(buffer) // _OFFSET  # each table and each entry of a vector takes so much

    def scalar(self, code: str, at: int) -> int:
        if not 0 <= at <= len(self.buffer) - struct.calcsize(code):
            raise MalformedBufferError(f"it has {len(self.buffer)} bytes, and none at {at}")
        return int(struct.unpack_from("<" + code, self.buffer, at)[0])

    def target(self, at: int) -> int:
        return at + self.scalar("I", at)

    def table(self, at: int, name: str) -> dict[str, Any]:
        self.spend(1)
        vtable = at - self.scalar("i", at)
        size = self.scalar("H", vtable)
        found: dict[str, Any] = {}
        for i, (field, kind) in enumerate(self.schema[name]):
            slot = 4 + 2 * i
            offset = self.scalar("H", vtable + slot) if slot + 2 <= size else 0
            if offset:
                found[field] = self.value(at + offset, kind)
            else:
                found[field] = [] if isinstance(kind, list) else None
        return found

    def value(self, at: int, kind: Kind) -> Any:
        if not isinstance(kind, list) and kind in _SCALARS:
            return self.scalar(_SCALARS[kind], at)
        at = self.target(at)
        if not isinstance(kind, list) and kind in self.schema:
            return self.table(at, kind)
        length = self.scalar("I", at)
        start = at + _OFFSET
        if isinstance(kind, list):
            size = struct.calcsize(_SCALARS[kind[0]]) if kind[0] in _SCALARS else _OFFSET
            self.spend(length * size // _OFFSET)
            return [self.value(start + i * size, kind[0]) for i in range(length)]
        if start + length > len(self.buffer):
            raise MalformedBufferError(f"{length} bytes at {start} are not there")
        self.spend(length // _OFFSET)
        data = self.buffer[start : start + length]
        return data if kind == "bytes" else data.decode()

    def spend(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise MalformedBufferError("its parts take more room than it has")


class _Writer:
    def __init__(self, schema: Schema) -> None:
        self.buffer = bytearray()
        self.schema = schema

    def align(self, size: int) -> None:
        self.buffer += bytes(-len(self.buffer) % size)

    def reserve(self, count: int) -> int:
        at = len(self.buffer)
        self.buffer += bytes(count)
        return at

    def refer(self, at: int, kind: Kind, value: Any) -> None:
        """Write a value behind all others, and its offset at a place that was left for it."""
        self.align(_OFFSET)
        if not isinstance(kind, list) and kind in self.schema:
            self.table(at, kind, value)
            return
        struct.pack_into("<I", self.buffer, at, len(self.buffer) - at)
        data = value.encode() if kind == "string" else value
        self.buffer += struct.pack("<I", len(data))
        if not isinstance(kind, list):
            self.buffer += data
            self.buffer.append(0)
        elif kind[0] in _SCALARS:
            self.buffer += struct.pack(f"<{len(data)}{_SCALARS[kind[0]]}", *data)
        else:
            start = self.reserve(_OFFSET * len(data))
            for i, entry in enumerate(data):
                self.refer(start + _OFFSET * i, kind[0], entry)

    def table(self, at: int, name: str, values: Mapping[str, Any]) -> None:
        fields = self.schema[name]
        places = [0] * len(fields)
        size = _OFFSET  # of the offset to the vtable
        for i, (field, kind) in enumerate(fields):
            if values.get(field) is None:
                continue
            width = _OFFSET
            if not isinstance(kind, list) and kind in _SCALARS:
                width = struct.calcsize(_SCALARS[kind])
            places[i] = size = size + -size % width
            size += width
        vtable = len(self.buffer)
        self.buffer += struct.pack(f"<{2 + len(places)}H", 4 + 2 * len(places), size, *places)
        self.align(_OFFSET)
        own = self.reserve(size)
        struct.pack_into("<I", self.buffer, at, own - at)
        struct.pack_into("<i", self.buffer, own, own - vtable)
        for place, (field, kind) in zip(places, fields, strict=True):
            if not place:
                continue
            if not isinstance(kind, list) and kind in _SCALARS:
                struct.pack_into("<" + _SCALARS[kind], self.buffer, own + place, values[field])
            else:
                self.refer(own + place, kind, values[field])
