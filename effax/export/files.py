"""Exported functions as bytes, in the format of effax; `jax_files` has the one of JAX.

A file is a magic word, the version of the format and the length of what follows; a header in JSON;
the module in StableHLO's portable form; the same for the derivative, if it is kept; and a digest
of all of it. What is not whole is refused before MLIR sees it.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, NoReturn

import attrs

from effax.backends.xla.mesh import NamedSharding
from effax.effects.cuts import entry_of
from effax.effects.dtypes import ELEMENTS
from effax.effects.errors import ExportError, SymbolicShapeError
from effax.effects.mesh import AbstractDevice, AbstractMesh, AxisType, PartitionSpec
from effax.effects.types import ShapedArray
from effax.effects.value import is_symbolic_length
from effax.export import jax_files
from effax.export.symbolic import SymbolicScope, symbolic_shape
from effax.export.trees import described, structure
from effax.export.unknowns import scope_of

MAGIC: Final = b"\x93EFFAX\r\n"
VERSION: Final = 4
"""The latest version: since 2 the header may have shardings, since 3 the operands that are kept,
since 4 symbolic lengths, as texts, with their constraints. A file has the first version that says
all of it."""
_HEAD: Final = struct.Struct("<8sHQQQ")  # magic, version, sizes of header, module, derivative
_DIGEST: Final = hashlib.sha256
_DTYPES: Final = {dtype.name: dtype for dtype in ELEMENTS}


@attrs.frozen
class Content:
    """The content of a file: the fields of an `Exported`, by their names there."""

    fields: dict[str, Any]
    derivative: Content | Callable[[], NoReturn] | None
    """Its derivative's content; None if it is not kept, or a function that says why it can't be."""


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
    version = 1 if exported.nr_devices == 1 else 2
    if exported._kept is not None:
        header["kept"] = exported._kept
        version = 3
    scope = scope_of((*exported.in_avals, *exported.out_avals))
    if scope is not None:
        header["constraints"] = scope.constraints
        version = 4
    parts = [json.dumps(header).encode(), exported.mlir_module_serialized, bytes(derivative)]
    body = bytearray(_HEAD.pack(MAGIC, version, *map(len, parts)))
    for part in parts:
        body += part
    return body + _DIGEST(body).digest()


def content(blob: bytes | bytearray) -> Content:
    """Return what `written` wrote. Raises `ExportError` for bytes that are anything else."""
    if not isinstance(blob, bytes | bytearray | memoryview):
        raise TypeError(f"deserialize: expected bytes, got {type(blob)}")
    blob = bytes(blob)
    if not blob.startswith(MAGIC):
        return _content_of_jax(blob)
    header, module, derivative = _parts(blob)
    try:
        fields = _fields(json.loads(header), module)
    except ExportError:
        raise
    except _UNREADABLE as error:
        raise ExportError(
            f"the header of an exported function is not as effax writes it: {error!r}"
        ) from error
    return Content(fields, content(derivative) if derivative else None)


def _content_of_jax(blob: bytes) -> Content:
    try:
        return _content_of_table(jax_files.tables_of(blob))
    except (ExportError, SymbolicShapeError):
        raise
    except _UNREADABLE as error:
        raise ExportError(
            f"these {len(blob)} bytes are not an exported function: they lack the header that "
            "effax's Exported.serialize writes, and are not a file of JAX: "
            f"{error or type(error).__name__}"
        ) from error


def _content_of_table(table: dict[str, Any]) -> Content:
    fields, vjp = jax_files.fields_of(table), table["vjp"]
    if vjp is None:
        return Content(fields, None)
    if jax_files.has_keys(table):
        return Content(fields, partial(_no_derivative, fields["fun_name"]))
    return Content(fields, _content_of_table(vjp))


def _no_derivative(name: str) -> NoReturn:
    raise ExportError(
        f"the derivative of {name}, which takes typed random keys, was written by JAX in a form "
        "that effax can't call; export a function of random.key_data instead"
    )


_UNREADABLE: Final = (
    AttributeError,
    LookupError,
    NotImplementedError,
    OverflowError,
    RecursionError,
    TypeError,
    ValueError,
)
"""The errors that reading a damaged file may raise."""


def _parts(blob: bytes) -> tuple[bytes, bytes, bytes]:
    if len(blob) < _HEAD.size:
        raise ExportError(f"the exported function has {len(blob)} bytes: it was cut short")
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
    scope = SymbolicScope(header["constraints"]) if "constraints" in header else None
    in_avals = tuple([_as_type(t, scope) for t in header["in_avals"]])
    out_avals = tuple([_as_type(t, scope) for t in header["out_avals"]])
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
        "in_avals": jax_files.typed(in_avals, ins),
        "out_tree": out_tree,
        "out_avals": jax_files.typed(out_avals, outs),
        "platforms": tuple(map(str, header["platforms"])),
        "disabled_safety_checks": tuple(map(str, header["disabled_checks"])),
        "mlir_module_serialized": module,
        "calling_convention_version": int(header["calling_convention_version"]),
        "nr_devices": nr_devices,
        "kept": jax_files.kept(header["kept"], len(in_avals)) if "kept" in header else None,
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
    device = mesh.abstract_mesh.abstract_device
    told = [] if device is None else [[device.device_kind, device.num_cores, device.platform]]
    return [list(mesh.axis_sizes), list(mesh.axis_names), kinds, entries, *told]


def _as_sharding(text: list[Any] | None) -> NamedSharding | None:
    if text is None:
        return None
    sizes, names, kinds, entries, *told = text  # earlier files say nothing of the devices
    device = AbstractDevice(*told[0]) if told else None
    types = tuple(AxisType[kind] for kind in kinds)
    mesh = AbstractMesh(sizes, names, types, abstract_device=device)
    return NamedSharding(mesh, PartitionSpec(*map(entry_of, entries)))


def _of_type(type: ShapedArray) -> list[Any]:
    shape = [str(n) if is_symbolic_length(n) else n for n in type.shape]
    return [type.dtype.name, shape, type.weak_type]


def _as_type(text: list[Any], scope: SymbolicScope | None) -> ShapedArray:
    name, shape, weak = text
    return ShapedArray(tuple([_as_length(n, scope) for n in shape]), _DTYPES[name], weak)


def _as_length(n: Any, scope: SymbolicScope | None) -> Any:
    if not isinstance(n, str):
        return n
    if scope is None:
        raise ExportError("the exported function is damaged: its symbolic lengths have no scope")
    (found,) = symbolic_shape(n, scope=scope)
    return found
