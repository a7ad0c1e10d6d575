"""Compiled functions as bytes: what the compiler made, for the same jaxlib and hardware."""

from __future__ import annotations

import hashlib
import json
import struct
from typing import Any, Final

import numpy as np

from effax.api.calling.in_place import asks_the_host
from effax.api.compiling.stages import Compiled, StagedCall
from effax.backends.xla.array import asarray, device_put
from effax.backends.xla.client import XlaRuntimeError, jaxlib_version
from effax.backends.xla.compile import reloaded
from effax.backends.xla.device import devices
from effax.backends.xla.executable import Executable
from effax.backends.xla.launch import Executor
from effax.backends.xla.layout import ProgramLayout
from effax.backends.xla.placement import Spec, default, single
from effax.effects.dtypes import ELEMENTS
from effax.effects.errors import ExportError
from effax.effects.program import Program, Variable
from effax.effects.types import ShapedArray

MAGIC: Final = b"\x93EFFAXRUN\n"
_SIZE: Final = struct.Struct("<Q")
_DTYPES: Final = {dtype.name: dtype for dtype in ELEMENTS}


def serialize(compiled: Compiled) -> tuple[bytes, Any, Any]:
    """Return a compiled function as bytes, and the trees of its arguments and results.

    Raises `ValueError` for one that runs on several devices, or that calls back to Python.

    >>> import effax
    >>> compiled = effax.jit(lambda x: x + 1).lower(1.0).compile()
    >>> data, in_tree, out_tree = serialize(compiled)
    >>> deserialize_and_load(data, in_tree, out_tree)(2.0)
    Array(3., dtype=float32, weak_type=True)
    """
    if not isinstance(compiled, Compiled):
        raise TypeError(
            "serialize: expected a compiled function, jit(f).lower(...).compile(), got "
            f"{compiled!r}"
        )
    call, executor = compiled._call, compiled.executor
    if asks_the_host(call.program):
        raise ExportError(
            f"serialize: {call.fun_name} calls Python functions of this process, which another "
            "process does not have: leave the callbacks out"
        )
    if not call.layout.is_single:
        raise ExportError(
            f"serialize: {call.fun_name} runs on several devices, and only executables for one "
            "device can be serialized: compile it for one device, or use effax.export"
        )
    captured = [np.ascontiguousarray(np.asarray(x)) for x in call.captured]
    header = {
        "jaxlib": jaxlib_version,
        "fun_name": call.fun_name,
        "names": call.names,
        "donated": call.donated,
        "captured": len(captured),
        "in_types": [_of_type(t) for t in call.program.in_types],
        "out_types": [_of_type(t) for t in call.program.out_types],
        "committed": [bool(spec.committed) for spec in executor.specs],
    }
    # A loaded executable is written from the bytes it was read from: jaxlib 0.10 would drop its
    # kernels when serializing it again.
    payload = call.program.memo.get("serialized") or executor.executable.serialize()
    parts = [json.dumps(header).encode(), *(x.tobytes() for x in captured), payload]
    body = MAGIC + b"".join(_SIZE.pack(len(part)) + part for part in parts)
    return body + hashlib.sha256(body).digest(), call.in_tree, call.out_tree


def deserialize_and_load(
    serialized: bytes,
    in_tree: Any,
    out_tree: Any,
    backend: str | None = None,
    execution_devices: Any = None,
) -> Compiled:
    """Return the compiled function that was serialized, ready to be called.

    Args:
      serialized, in_tree, out_tree: what `serialize` gave.
      backend: the platform to run on, by default the default one.
      execution_devices: the one device to run on, in a sequence.

    Raises:
      ValueError: for bytes that are damaged or something else, or that this jaxlib can't load.

    Loading an executable may run what is in it: read only those of whom you trust.

    >>> import effax
    >>> compiled = effax.jit(lambda x: 2 * x).lower(1.5).compile()
    >>> deserialize_and_load(*serialize(compiled))(4.0)
    Array(8., dtype=float32, weak_type=True)
    """
    header, parts = _parts(bytes(serialized))
    where = default() if backend is None else single(devices(backend)[0])
    if execution_devices is not None:
        (device,) = execution_devices
        where = single(device)
    try:
        raw = reloaded(parts[-1], where)
    except XlaRuntimeError as error:
        raise ExportError(
            f"deserialize_and_load: the executable was compiled by jaxlib {header['jaxlib']} and "
            f"can't be loaded by jaxlib {jaxlib_version}: {error}"
        ) from error
    in_types, out_types = (list(map(_as_type, header[k])) for k in ("in_types", "out_types"))
    count = header["captured"]
    captured = [
        device_put(asarray(np.frombuffer(data, t.dtype).reshape(t.shape)), where)
        for data, t in zip(parts[:count], in_types, strict=False)
    ]
    if in_tree.num_leaves != len(in_types) - count or out_tree.num_leaves != len(out_types):
        raise ExportError(
            f"deserialize_and_load: in_tree and out_tree do not belong to {header['fun_name']}, "
            f"which takes {len(in_types) - count} arrays and returns {len(out_types)}"
        )
    specs = [Spec(t, where, c) for t, c in zip(out_types, header["committed"], strict=True)]
    program = Program(
        [Variable(None, t) for t in in_types],
        [],
        [Variable(None, t) for t in out_types],
        header["fun_name"],
    )
    program.memo["serialized"] = parts[-1]
    call = StagedCall(
        header["fun_name"],
        program,
        tuple(captured),
        in_tree,
        out_tree,
        tuple(header["donated"]),
        tuple(header["names"]),
        ProgramLayout(where, (where,) * len(in_types)),
        (),
        None,
    )
    return Compiled(call, Executor(Executable(raw, where, specs, False, False), specs, captured))


def _parts(blob: bytes) -> tuple[dict[str, Any], list[bytes]]:
    body, digest = blob[:-32], blob[-32:]
    if not body.startswith(MAGIC) or hashlib.sha256(body).digest() != digest:
        raise ExportError(
            f"deserialize_and_load: these {len(blob)} bytes are not an executable serialized by "
            "effax, or are damaged"
        )
    at, parts = len(MAGIC), []
    while at < len(body):
        (size,) = _SIZE.unpack_from(body, at)
        at += _SIZE.size
        parts.append(body[at : at + size])
        at += size
    return json.loads(parts[0]), parts[1:]


def _of_type(type: ShapedArray) -> list[Any]:
    return [type.dtype.name, list(type.shape), type.weak_type]


def _as_type(text: list[Any]) -> ShapedArray:
    name, shape, weak = text
    return ShapedArray(tuple(shape), _DTYPES[name], weak)
