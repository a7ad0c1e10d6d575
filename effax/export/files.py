"""Exported functions as bytes.

A file is a magic word, the version of the format and the length of what follows; a header in JSON;
the module in StableHLO's portable form; the same for the derivative, if it is kept; and a digest
of all of it. What is not whole is refused before MLIR sees it.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Sequence
from typing import Any, Final

import attrs

from effax.backends.xla.mesh import NamedSharding
from effax.effects.cuts import entry_of
from effax.effects.dtypes import ELEMENTS
from effax.effects.errors import ExportError
from effax.effects.mesh import AbstractMesh, AxisType, PartitionSpec
from effax.effects.types import ShapedArray
from effax.export.trees import described, structure

MAGIC: Final = b"\x93EFFAX\r\n"
VERSION: Final = 2
"""The latest version: since 2 the header may have shardings, and those of one device are of 1."""
_HEAD: Final = struct.Struct("<8sHQQQ")  # magic, version, sizes of header, module, derivative
_DIGEST: Final = hashlib.sha256
_DTYPES: Final = {dtype.name: dtype for dtype in ELEMENTS}


@attrs.frozen
class Content:
    """The content of a file: the fields of an `Exported`, by their names there."""

    fields: dict[str, Any]
    derivative: bytes
    """The file of the derivative; empty if it is not kept."""


def written(exported: Any, derivative: bytes | bytearray) -> bytearray:
    """Return an `Exported` as bytes, with the bytes of its derivative, if that is kept."""
    header = {
        "fun_name": exported.fun_name,
        "in_tree": described(exported.in_tree),
        "in_avals": [_of_type(t) for t in exported.in_avals],
        "out_tree": described(exported.out_tree),
        "out_avals": [_of_type(t) for t in exported.out_avals],
        "platforms": exported.platforms,
        "disabled_checks": list(map(str, exported.disabled_safety_checks)),
        "calling_convention_version": exported.calling_convention_version,
        "nr_devices": exported.nr_devices,
    }
    if exported.nr_devices > 1:
        header["in_shardings"] = list(map(_of_sharding, exported._in_named_shardings))
        header["out_shardings"] = list(map(_of_sharding, exported._out_named_shardings))
    parts = [json.dumps(header).encode(), exported.mlir_module_serialized, bytes(derivative)]
    version = VERSION if exported.nr_devices > 1 else 1
    body = bytearray(_HEAD.pack(MAGIC, version, *map(len, parts)))
    for part in parts:
        body += part
    return body + _DIGEST(body).digest()


def content(blob: bytes | bytearray) -> Content:
    """Return what `written` wrote. Raises `ExportError` for bytes that are anything else."""
    if not isinstance(blob, bytes | bytearray | memoryview):
        raise TypeError(f"deserialize: expected bytes, got {type(blob)}")
    header, module, derivative = _parts(bytes(blob))
    try:
        return Content(_fields(json.loads(header), module), derivative)
    except ExportError:
        raise
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise ExportError(
            f"the header of an exported function is not as effax writes it: {error!r}"
        ) from error


def _parts(blob: bytes) -> tuple[bytes, bytes, bytes]:
    if len(blob) < _HEAD.size or not blob.startswith(MAGIC):
        raise ExportError(
            f"these {len(blob)} bytes are not an exported function of effax: they lack the header "
            "that Exported.serialize writes. (JAX's files have another format; both hold the "
            "module, Exported.mlir_module_serialized)"
        )
    _, version, *sizes = _HEAD.unpack_from(blob)
    if not 1 <= version <= VERSION:
        raise ExportError(
            f"the exported function is written in version {version} of the format, but this "
            f"version of effax reads those up to {VERSION}"
        )
    end = _HEAD.size + sum(sizes)
    if len(blob) != end + _DIGEST().digest_size:
        raise ExportError(
            f"the exported function should take {end + _DIGEST().digest_size} bytes, but has "
            f"{len(blob)}: the file was cut short, or something was added"
        )
    if _DIGEST(blob[:end]).digest() != blob[end:]:
        raise ExportError("the exported function is damaged: its bytes are not those written")
    at = _HEAD.size
    parts = []
    for size in sizes:
        parts.append(blob[at : at + size])
        at += size
    return parts[0], parts[1], parts[2]


def _fields(header: dict[str, Any], module: bytes) -> dict[str, Any]:
    in_tree, out_tree = structure(header["in_tree"]), structure(header["out_tree"])
    in_avals = tuple(map(_as_type, header["in_avals"]))
    out_avals = tuple(map(_as_type, header["out_avals"]))
    if in_tree.num_leaves != len(in_avals) or out_tree.num_leaves != len(out_avals):
        raise ExportError("the exported function is damaged: its trees do not match its types")
    nr_devices = int(header["nr_devices"])
    ins = _shardings(header.get("in_shardings"), in_avals, nr_devices)
    outs = _shardings(header.get("out_shardings"), out_avals, nr_devices)
    return {
        "in_named_shardings": ins,
        "out_named_shardings": outs,
        "fun_name": str(header["fun_name"]),
        "in_tree": in_tree,
        "in_avals": _typed(in_avals, ins),
        "out_tree": out_tree,
        "out_avals": _typed(out_avals, outs),
        "platforms": tuple(map(str, header["platforms"])),
        "disabled_safety_checks": tuple(map(str, header["disabled_checks"])),
        "mlir_module_serialized": module,
        "calling_convention_version": int(header["calling_convention_version"]),
        "nr_devices": nr_devices,
    }


Shardings = tuple[NamedSharding | None, ...] | None


def _shardings(told: Any, types: Sequence[ShapedArray], nr_devices: int) -> Shardings:
    """Read the shardings of an exported function; None for one device."""
    if nr_devices == 1:
        return None
    found = tuple(map(_as_sharding, told))
    if len(found) != len(types):
        raise ExportError("the exported function is damaged: its shardings do not match its types")
    return found


def _typed(types: Sequence[ShapedArray], shardings: Shardings) -> tuple[ShapedArray, ...]:
    """The types, cut as the shardings say along explicit axes."""
    where = shardings or (None,) * len(types)
    return tuple(t if s is None else s.typed(t) for t, s in zip(types, where, strict=True))


def _of_sharding(sharding: NamedSharding | None) -> list[Any] | None:
    if sharding is None:
        return None
    mesh = sharding.mesh
    kinds = [kind.name for kind in mesh.axis_types]
    if not all(isinstance(name, str) for name in mesh.axis_names):
        raise ExportError(
            f"an exported function over {mesh} can't be written: names of mesh axes must be strings"
        )
    entries = [list(sharding.spec.names(i)) for i in range(len(sharding.spec))]
    return [list(mesh.axis_sizes), list(mesh.axis_names), kinds, entries]


def _as_sharding(text: list[Any] | None) -> NamedSharding | None:
    if text is None:
        return None
    sizes, names, kinds, entries = text
    mesh = AbstractMesh(sizes, names, tuple(AxisType[kind] for kind in kinds))
    return NamedSharding(mesh, PartitionSpec(*map(entry_of, entries)))


def _of_type(type: ShapedArray) -> list[Any]:
    return [type.dtype.name, list(type.shape), type.weak_type]


def _as_type(text: list[Any]) -> ShapedArray:
    name, shape, weak = text
    return ShapedArray(tuple(shape), _DTYPES[name], weak)
