"""Files of tensors in the format of safetensors: a header in JSON, then the bytes of each tensor.

The header has a checksum of each tensor, in the part of it that is free for such things. Dtypes
that the format has no name for are written as bytes, and named there too.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from effax.effects.dtypes import as_dtype
from effax.effects.errors import CheckpointError

NAMES: Final = {
    "bool": "BOOL",
    "uint8": "U8",
    "int8": "I8",
    "uint16": "U16",
    "int16": "I16",
    "uint32": "U32",
    "int32": "I32",
    "uint64": "U64",
    "int64": "I64",
    "float16": "F16",
    "bfloat16": "BF16",
    "float32": "F32",
    "float64": "F64",
    "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2",
    "float8_e8m0fnu": "F8_E8M0",
    "complex64": "C64",
}
"""The format's names of dtypes."""
_DTYPES: Final = {name: dtype for dtype, name in NAMES.items()}
_LENGTH: Final = struct.Struct("<Q")
_LONGEST: Final = 100_000_000
"""Longer headers are not read, by the format's definition."""


def write(path: Path, tensors: Mapping[str, np.ndarray[Any, Any]], about: Any) -> dict[str, int]:
    """Write a file of tensors, to the disk itself; its size and the checksum of its header.

    `about` is kept with them, as JSON.
    """
    header: dict[str, Any] = {}
    sums: dict[str, int] = {}
    dtypes: dict[str, str] = {}
    start = 0
    flat = {name: _bytes(x) for name, x in tensors.items()}
    for name, x in tensors.items():
        data = flat[name]
        sums[name] = zlib.crc32(data.data)
        known = NAMES.get(x.dtype.name)
        shape = list(x.shape) if known else [data.size]
        if known is None:
            dtypes[name] = x.dtype.name
        header[name] = {
            "dtype": known or "U8",
            "shape": shape,
            "data_offsets": [start, start + data.size],
        }
        start += data.size
    told = {"crc32": sums, "dtypes": dtypes, "about": about}
    header["__metadata__"] = {key: json.dumps(value) for key, value in told.items()}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(_LENGTH.pack(len(text)) + text)
        for data in flat.values():
            file.write(data.data)
        file.flush()
        os.fsync(file.fileno())
        size = file.tell()
    return {"bytes": size, "header": zlib.crc32(text)}


def _bytes(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.ascontiguousarray(x).reshape(-1).view(np.uint8)


class TensorFile:
    """A file of tensors, whose contents are read when they are asked for.

    `expected` are the size and the checksum that `write` returned. Raises `CheckpointError` where
    the file is another.
    """

    def __init__(self, path: Path, expected: Mapping[str, int]) -> None:
        self.path = path
        try:
            size = path.stat().st_size
            if size != expected["bytes"]:
                raise CheckpointError(
                    f"{path} has {size} bytes, but was written with {expected['bytes']}"
                )
            with path.open("rb") as file:
                (length,) = _LENGTH.unpack(file.read(_LENGTH.size))
                text = file.read(min(length, _LONGEST))
        except OSError as error:
            raise CheckpointError(f"{path} can't be read: {error}") from error
        if zlib.crc32(text) != expected["header"]:
            raise CheckpointError(f"the header of {path} is damaged: its checksum does not match")
        self._header: dict[str, Any] = json.loads(text)
        about = self._header.pop("__metadata__")
        self._sums: dict[str, int] = json.loads(about["crc32"])
        self._dtypes: dict[str, str] = json.loads(about["dtypes"])
        self.about: Any = json.loads(about["about"])
        self._begin = _LENGTH.size + length
        self._checked: dict[str, np.ndarray[Any, Any]] = {}

    def read(self, name: str, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
        """Return a tensor, mapped from the file.

        Raises `CheckpointError` where its checksum is another.
        """
        found = self._checked.get(name)
        if found is None:
            start, end = self._header[name]["data_offsets"]
            data = (
                np.memmap(self.path, np.uint8, "r", self._begin + start, (end - start,))
                if (end > start)
                else np.zeros(0, np.uint8)
            )  # an empty part of a file can't be mapped
            if zlib.crc32(data.data) != self._sums[name]:
                raise CheckpointError(
                    f"{name} in {self.path} is damaged: its checksum does not match"
                )
            found = self._checked[name] = data
        return found.view(self.dtype(name)).reshape(shape)

    def dtype(self, name: str) -> np.dtype[Any]:
        """Return the dtype of a tensor."""
        if name in self._dtypes:
            return as_dtype(self._dtypes[name])
        return as_dtype(_DTYPES[self._header[name]["dtype"]])
