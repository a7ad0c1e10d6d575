"""Memory: between the host, devices, and other libraries that speak DLPack."""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import ml_dtypes
import numpy as np

from effax.backends.xla.client import VERSION, refuse_fork
from effax.backends.xla.placement import Placement, result_handler
from effax.effects.runtime import _jax
from effax.effects.types import ShapedArray

R = TypeVar("R")

_COPY: Final = _jax.HostBufferSemantics.IMMUTABLE_ONLY_DURING_CALL
_KEEP: Final = _jax.HostBufferSemantics.ZERO_COPY


# ------------------------------------------------------------------ keeping jax out of the process


class _NoJax:
    """An import hook that hides jax from the threads that are inside `without_jax`."""

    def __init__(self) -> None:
        self.threads: set[int] = set()
        self.lock = threading.Lock()

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        """Raise `ModuleNotFoundError` for jax in a hidden thread; else leave it to others."""
        if name.partition(".")[0] == "jax" and threading.get_ident() in self.threads:
            raise ModuleNotFoundError(f"{name} is not wanted here", name=name)


_no_jax: Final = _NoJax()


def without_jax(function: Callable[[], R]) -> R:
    """Call a function of jaxlib that would import jax if it could, and does without if it can't.

    Where jax is loaded already nothing is done: then the import costs nothing and harms nobody.
    """
    if "jax" in sys.modules:
        return function()
    thread = threading.get_ident()
    with _no_jax.lock:
        # Inserted once and never removed: removing the hook would make another thread that is
        # iterating over `sys.meta_path` skip an entry.
        if _no_jax not in sys.meta_path:
            sys.meta_path.insert(0, _no_jax)
    _no_jax.threads.add(thread)
    try:
        return function()
    finally:
        _no_jax.threads.discard(thread)


# ------------------------------------------------------------------------------ host to device


def _refuse_absent(placement: Placement) -> None:
    if placement.device.backend.absent:
        raise RuntimeError(
            f"{placement.device!r} is not attached: programs can be compiled for it "
            "(jit(f).lower(ShapeDtypeStruct(shape, dtype, sharding=...)).compile()), but nothing "
            "can be put on it or run"
        )


def put(x: Any, type: ShapedArray, placement: Placement, copy: bool = True) -> Any:
    """A buffer of a type from NumPy data of its shape and dtype.

    With `copy` later writes to `x` are not seen; without it the CPU may use the memory of `x`,
    which must then never change. Raises `ValueError` where the placement can't cut the shape.
    """
    refuse_fork()
    _refuse_absent(placement)
    semantics = _COPY if copy else _KEEP
    if placement.is_single and placement.device.is_addressable:
        shards, devices = [x], [placement.devices[0].raw]
    else:
        x = np.asarray(x)
        shards, devices = [], []
        # If only some pieces share memory, the runtime fails with "bad_function_call". So each
        # piece gets memory of its own, which nobody else can write to.
        partial = placement.copies > 1 and bool(placement.split)
        if partial:
            semantics = _KEEP
        for device, index in zip(placement.devices, placement.indices(type.shape), strict=True):
            if device.is_addressable:
                piece = x[index] if index else x
                shards.append(piece.copy() if partial else piece)
                devices.append(device.raw)
    return _jax.batched_device_put(
        type,
        placement.runtime(len(type.shape)),
        shards,
        devices,
        True,
        False,
        semantics,
        enable_x64=True,
    )


def putting(type: ShapedArray, placement: Placement) -> Callable[[Any], Any]:
    """`put` for a type and a placement, where nothing else need be asked."""
    if not placement.is_single:
        return lambda x: put(x, type, placement)
    refuse_fork()
    _refuse_absent(placement)
    into, sharding = _jax.batched_device_put, placement.runtime(len(type.shape))
    devices = [placement.devices[0].raw]
    return lambda x: into(type, sharding, [x], devices, True, False, _COPY, True)


def assemble(shards: Sequence[Any], type: ShapedArray, placement: Placement) -> Any:
    """One buffer of a type from the pieces of this process, in the order of its devices.

    A piece on another device than its own is copied there.
    """
    refuse_fork()
    _refuse_absent(placement)
    devices = [device.raw for device in placement.devices if device.is_addressable]
    sharding = placement.runtime(len(type.shape))
    return _jax.batched_device_put(type, sharding, list(shards), devices, True, enable_x64=True)


# ------------------------------------------------------------------------------ device to host


def get(buffer: Any, type: ShapedArray, placement: Placement) -> np.ndarray[Any, Any]:
    """The buffer's contents as a NumPy array that must not be written to; waits for them.

    On the CPU it is a view of the buffer's own memory where the dtype allows it, and keeps that
    memory alive. Raises `XlaRuntimeError` if the computation failed.
    """
    if placement.is_single and placement.device.is_addressable:
        if placement.on_cpu and type.dtype.isbuiltin == 1:
            found = np.asarray(buffer)
            if found.dtype == object:  # NumPy hides the error and wraps the buffer itself
                buffer.block_until_ready()
            return found
        return _get_one(buffer)
    if VERSION >= (0, 11) and placement.is_fully_addressable:
        whole: np.ndarray[Any, Any] = buffer._to_np_array_did_copy()[0]
        return whole
    if not placement.is_whole_here:
        raise RuntimeError(
            "Fetching value for `effax.Array` that spans non-addressable (non process local) "
            f"devices is not possible. It is of type {type.str_short()}: gather it first "
            "(multihost_utils.process_allgather(x, tiled=True)), or read `addressable_shards`, the "
            "pieces that this process has"
        )
    pieces = shards(buffer, type, placement)
    mine = [
        (part, index)
        for part, index in zip(placement.parts(), placement.indices(type.shape), strict=True)
        if part.device.is_addressable
    ]
    if not placement.split:
        return get(pieces[0], type, mine[0][0])
    piece_type = type.update(shape=placement.shard_shape(type.shape))
    result = np.empty(type.shape, type.dtype)
    for piece, (part, index) in zip(pieces, mine, strict=True):
        result[index] = get(piece, piece_type, part)
    result.flags.writeable = False
    return result


def _get_one(buffer: Any) -> np.ndarray[Any, Any]:
    if VERSION >= (0, 11):
        array: np.ndarray[Any, Any] = buffer._to_np_array_did_copy()[0]
    else:
        array = without_jax(buffer._single_device_array_to_np_array_did_copy)[0]
    if array.flags.writeable:
        # A copy that only the runtime holds.
        array.flags.writeable = False
    return array


def shards(buffer: Any, type: ShapedArray, placement: Placement) -> list[Any]:
    """The pieces of a buffer on this process's devices, each a buffer on its one device."""
    if placement.is_single:
        return [buffer] if placement.device.is_addressable else []
    piece = type.update(shape=placement.shard_shape(type.shape))
    parts = [part for part in placement.parts() if part.device.is_addressable]
    raw = without_jax(lambda: buffer._arrays)
    # Without jax the runtime's pieces have no Python type, with it they have jax's: wrap them anew.
    return [result_handler(piece, part)(array) for array, part in zip(raw, parts, strict=True)]


def start_copy_to_host(buffer: Any, placement: Placement) -> None:
    """Begin to bring a buffer to the host, so that `get` need not wait for the transfer."""
    if placement.is_single and not placement.on_cpu:
        without_jax(buffer._copy_single_device_array_to_host_async)


def address(buffer: Any) -> int:
    """The address of a single device's buffer in its device's memory."""
    return int(without_jax(buffer.unsafe_buffer_pointer))


# ---------------------------------------------------------------------------- device to device


def move(buffer: Any, type: ShapedArray, source: Placement, target: Placement, copy: bool) -> Any:
    """The buffer under another placement; with `copy` in memory of its own in any case."""
    if source is target and not copy:
        return buffer
    if source.devices != target.devices and not (
        source.is_fully_addressable and target.is_fully_addressable
    ):
        return _move_here(buffer, type, source, target)
    same_client = source.device.backend is target.device.backend
    same_cut = (source.split, source.copies, source.order) == (
        target.split,
        target.copies,
        target.order,
    )
    if same_client and same_cut:
        semantics = _jax.ArrayCopySemantics
        moved = _jax.batched_copy_array_to_devices_with_sharding(
            [buffer],
            [target.device_list],
            [target.runtime(len(type.shape))],
            [semantics.ALWAYS_COPY if copy else semantics.REUSE_INPUT],
        )[0]
        return result_handler(type, target)(moved)
    if same_client and source.is_single and target.is_replicated:
        return assemble([buffer] * len(target.devices), type, target)
    if same_client and target.is_single and source.is_replicated:
        piece = shards(buffer, type, source)[0]
        return move(piece, type, source.parts()[0], target, copy)
    return put(get(buffer, type, source), type, target)


def _move_here(buffer: Any, type: ShapedArray, source: Placement, target: Placement) -> Any:
    """The part that this process has of a placement over processes, from what it has already.

    All processes do so, each with its own copy: nothing is sent. Raises `ValueError` where it
    would have to be.
    """
    pieces = [] if source.split else shards(buffer, type, source)
    if not pieces:
        raise not_sent(type, source, target)
    if target.split or source.device.backend is not target.device.backend:
        here = next(part for part in source.parts() if part.device.is_addressable)
        return put(get(pieces[0], type, here), type, target)
    count = sum(device.is_addressable for device in target.devices)
    return assemble([pieces[0]] * count, type, target)


def not_sent(type: ShapedArray, source: Placement, target: Placement) -> ValueError:
    """The error for a value that would have to be sent to devices of another process."""
    return ValueError(
        f"device_put: its first argument, of type {type.str_short()} on {source}, must be a fully "
        "addressable array or one over the devices that it is put on: the input and target "
        f"sharding should have the same set of devices, and the target is {target}. "
        f"{source.device.backend.platform} does not support cross-host device transfers outside "
        "of programs; gather it first (multihost_utils.process_allgather(x, tiled=True))"
    )


# -------------------------------------------------------------------------------------- DLPack

_DLPACK_DTYPES: Final = {
    **{(0, n): np.dtype(f"int{n}") for n in (8, 16, 32, 64)},
    **{(1, n): np.dtype(f"uint{n}") for n in (8, 16, 32, 64)},
    **{(2, n): np.dtype(f"float{n}") for n in (16, 32, 64)},
    (4, 16): np.dtype(ml_dtypes.bfloat16),
    (5, 64): np.dtype("complex64"),
    (5, 128): np.dtype("complex128"),
    (6, 8): np.dtype("bool"),
    (7, 8): np.dtype(ml_dtypes.float8_e3m4),
    (8, 8): np.dtype(ml_dtypes.float8_e4m3),
    (9, 8): np.dtype(ml_dtypes.float8_e4m3b11fnuz),
    (10, 8): np.dtype(ml_dtypes.float8_e4m3fn),
    (11, 8): np.dtype(ml_dtypes.float8_e4m3fnuz),
    (12, 8): np.dtype(ml_dtypes.float8_e5m2),
    (13, 8): np.dtype(ml_dtypes.float8_e5m2fnuz),
    (14, 8): np.dtype(ml_dtypes.float8_e8m0fnu),
}
DLPACK_DEVICES: Final = {"cpu": 1, "cuda": 2, "rocm": 10}
"""DLPack's number of a back-end."""


class _Tensor(ctypes.Structure):
    """The head of DLPack's `DLManagedTensor`."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("offset", ctypes.c_uint64),
    )


_capsule_pointer: Final = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def capsule_type(capsule: Any) -> ShapedArray:
    """The type of the array in a capsule named "dltensor".

    Raises `TypeError` for a dtype that arrays can't have, `ValueError` for a used-up capsule.
    """
    tensor = _Tensor.from_address(_capsule_pointer(capsule, b"dltensor"))
    dtype = _DLPACK_DTYPES.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None
    if dtype is None:
        raise TypeError(
            f"DLPack's dtype with code {tensor.code}, {tensor.bits} bits and {tensor.lanes} lanes "
            "has no counterpart here"
        )
    return ShapedArray(tuple(tensor.shape[i] for i in range(tensor.ndim)), dtype)


def from_capsule(capsule: Any, type: ShapedArray, placement: Placement, stream: Any) -> Any:
    """A buffer over the memory in a capsule; raises `XlaRuntimeError` if it can't be used as is."""
    raw = placement.device.raw
    buffer = without_jax(lambda: _jax.dlpack_managed_tensor_to_buffer(capsule, raw, stream))
    return result_handler(type, placement)(buffer)


def to_capsule(buffer: Any, stream: Any) -> Any:
    """A DLPack capsule over a single device's buffer; `XlaRuntimeError` for a dtype without one."""
    return _jax.buffer_to_dlpack_managed_tensor(buffer, stream=stream)
