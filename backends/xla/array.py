"""Arrays: immutable, asynchronous values in the memory of devices."""

from __future__ import annotations

import operator
from typing import Any, Final, NamedTuple, NoReturn

import numpy as np

from effax.backends.xla import buffer as memory
from effax.backends.xla import execution_errors, guard
from effax.backends.xla.array_text import array_text
from effax.backends.xla.client import XlaRuntimeError
from effax.backends.xla.device import Device
from effax.backends.xla.executable import deleted
from effax.backends.xla.placement import Placement, Sharding, Spec, default, place
from effax.backends.xla.reshard import recut
from effax.effects import config
from effax.effects.dtypes import NO_OPERATIONS
from effax.effects.errors import UnexpectedTracerError
from effax.effects.frames import filtered
from effax.effects.handler import Carrier
from effax.effects.rows.state import Ref
from effax.effects.types import ShapedArray, canonical_dtype, float0, typeof
from effax.effects.value import Value, require_one_element


class Array(Value):
    """An array on one device or several: a buffer of the runtime, and the spec that describes it.

    It may still be being computed; whatever looks at its contents waits for them. `_host` keeps
    the contents once they were fetched. Users may set attributes of their own.
    """

    __slots__ = ("__dict__", "__weakref__", "_host", "buffer", "spec")

    # A high priority makes NumPy's operators defer to these.
    __array_priority__ = 100

    def __init__(self, buffer: Any, spec: Spec) -> None:
        self.buffer = buffer
        self.spec = spec
        self._host: np.ndarray[Any, Any] | None = None

    @property
    def type(self) -> ShapedArray:  # type: ignore[override]
        """Shape, dtype and weakness of the dtype."""
        return self.spec.type

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        return self.spec.type.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the elements."""
        return self.spec.type.dtype

    # -- contents

    def host(self) -> np.ndarray[Any, Any]:
        """The contents as a NumPy array that can't be written to; waits for them.

        On the CPU it is the array's own memory where the dtype is one of NumPy's. Raises
        `RuntimeError` for a deleted array, and what went wrong where the computation failed.
        """
        found = self._host
        buffer = self.buffer
        if buffer.is_deleted():
            raise deleted(self.spec.type)
        if found is None:
            spec = self.spec
            if config.guarded and not spec.placement.on_cpu:
                guard.look("device_to_host", spec.type, "the host")
            if spec.type.dtype == float0:
                found = np.zeros(spec.type.shape, float0)
            else:
                try:
                    found = memory.get(buffer, spec.type, spec.placement)
                except XlaRuntimeError as error:
                    execution_errors.explain(error)
                    raise
            self._host = found
        return found

    @filtered
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        """The contents as a NumPy array; without a copy one that can't be written to."""
        found = self.host()
        if dtype is not None and dtype != found.dtype:
            if copy is False:
                raise ValueError(
                    f"converting {found.dtype} to {dtype} needs a copy, but copy=False forbids it"
                )
            return found.astype(dtype)
        return found.copy() if copy else found

    @filtered
    def item(self, *index: Any) -> Any:
        """One element as a Python number: the only one, or that at an index."""
        return self.host().item(*index)

    @filtered
    def tolist(self) -> Any:
        """The contents as nested lists of Python numbers."""
        return self.host().tolist()

    @filtered
    def tobytes(self, order: Any = "C") -> bytes:
        """The contents as bytes, in row-major order."""
        return self.host().tobytes(order)

    def _scalar(self) -> np.ndarray[Any, Any]:
        if self.spec.type.shape:
            raise TypeError(
                "Only scalar arrays can be converted to Python scalars; "
                f"got arr.ndim={len(self.spec.type.shape)}"
            )
        return self.host()

    @filtered
    def __bool__(self) -> bool:
        require_one_element(self)
        return bool(self.host())

    @filtered
    def __int__(self) -> int:
        return int(self._scalar())

    @filtered
    def __float__(self) -> float:
        return float(self._scalar())

    @filtered
    def __complex__(self) -> complex:
        return complex(self._scalar())

    @filtered
    def __index__(self) -> int:
        type = self.spec.type
        if type.shape or (type.dtype.kind not in "iu" and "int" not in type.dtype.name):
            raise TypeError("Only integer scalar arrays can be converted to a scalar index.")
        return operator.index(self.host().item())

    @filtered
    def __len__(self) -> int:
        shape = self.spec.type.shape
        if not shape:
            raise TypeError("len() of unsized object")
        return shape[0]

    __hash__ = None  # type: ignore[assignment]

    @filtered
    def __setitem__(self, index: Any, value: Any) -> NoReturn:
        raise TypeError(
            "effax arrays are immutable: x[idx] = y can't change one. Write x = x.at[idx].set(y), "
            "which gives a new array; .at[idx] has add, multiply, min, max and others too"
        )

    # -- text

    @filtered
    def __repr__(self) -> str:
        type = self.spec.type
        if self.buffer.is_deleted():
            raise deleted(type)
        if not self.spec.placement.is_whole_here:
            return f"Array(shape={type.shape}, dtype={type.dtype.name})"
        return array_text(self.host(), type)

    def __str__(self) -> str:
        if self.buffer.is_deleted() or not self.spec.placement.is_whole_here:
            return repr(self)
        return str(self.host())

    @filtered
    def __format__(self, spec: str) -> str:
        if not spec and not self.spec.placement.is_whole_here:
            return repr(self)
        host = self.host()
        # NumPy formats scalars, but not arrays of rank 0.
        return format(host if host.ndim else host[()], spec)

    # -- the buffer

    @filtered
    def block_until_ready(self) -> Array:
        """Wait until the contents are computed; raises what went wrong if that failed."""
        if self.buffer.is_deleted():
            raise deleted(self.spec.type)
        try:
            self.buffer.block_until_ready()
        except XlaRuntimeError as error:
            execution_errors.explain(error)
            raise
        return self

    def is_ready(self) -> bool:
        """Whether the contents are computed."""
        if self.buffer.is_deleted():
            raise deleted(self.spec.type)
        return bool(self.buffer.is_ready())

    def is_deleted(self) -> bool:
        """Whether the memory was given away or deleted."""
        return bool(self.buffer.is_deleted())

    def delete(self) -> None:
        """Give the memory back now; the array and those that share it can't be used any more."""
        self._host = None
        if not self.buffer.is_deleted():
            self.buffer.delete()

    def copy_to_host_async(self) -> None:
        """Begin to bring the contents to the host."""
        if self._host is None and not self.buffer.is_deleted():
            memory.start_copy_to_host(self.buffer, self.spec.placement)

    def on_device_size_in_bytes(self) -> int:
        """The memory taken on the devices, padding included."""
        return int(self.buffer.on_device_size_in_bytes())

    def unsafe_buffer_pointer(self) -> int:
        """The address of the memory on the array's one device."""
        return memory.address(self.buffer)

    # -- where it lies

    @property
    def sharding(self) -> Sharding:
        """The sharding of the array over its devices."""
        return self.spec.sharding

    @property
    def format(self) -> Any:
        """The order of the axes in memory, and how the array lies on its devices."""
        from effax.backends.xla.analysis import format_of

        return format_of(self.buffer, self.sharding)

    @property
    def traceback(self) -> Any:
        """The traceback that jaxlib noted where the array was made; None if it noted none."""
        return self.buffer.traceback

    @property
    def device(self) -> Device | Sharding:
        """The device the array is on; the sharding if there are several."""
        placement = self.spec.placement
        return placement.devices[0] if placement.is_single else self.spec.sharding

    def devices(self) -> set[Device]:
        """The devices the array is on."""
        return set(self.spec.placement.devices)

    @property
    def committed(self) -> bool:
        """Whether the user chose the devices; what is computed from the array then stays there."""
        return self.spec.committed

    _committed = committed

    @property
    def is_fully_addressable(self) -> bool:
        """Whether all of the array is on devices of this process."""
        return self.spec.placement.is_fully_addressable

    @property
    def is_fully_replicated(self) -> bool:
        """Whether each of its devices has all of the array."""
        return self.spec.placement.is_replicated

    @property
    def addressable_shards(self) -> list[Shard]:
        """The pieces on this process's devices, in the order of the devices."""
        spec = self.spec
        if self.buffer.is_deleted():
            raise deleted(spec.type)
        return [shard for shard in self._shards() if shard.data is not None]

    def _shards(self) -> list[Shard]:
        spec = self.spec
        where = spec.placement
        piece = spec.type.update(shape=where.shard_shape(spec.type.shape))
        buffers = iter(memory.shards(self.buffer, spec.type, where))
        found = []
        for part, index, replica in zip(
            where.parts(), where.indices(spec.type.shape), where.replicas, strict=True
        ):
            data: Any = None
            if part.device.is_addressable:
                buffer = next(buffers)
                data = self if part is where else Array(buffer, Spec(piece, part, True))
            found.append(Shard(part.device, index, replica, data))
        return found

    @property
    def global_shards(self) -> list[Shard]:
        """The pieces on all devices; `data` is None where a device is another process's."""
        if self.buffer.is_deleted():
            raise deleted(self.spec.type)
        return self._shards()

    def addressable_data(self, index: int) -> Array:
        """The piece on the device at this position among this process's devices."""
        return self.addressable_shards[index].data

    # -- other libraries

    @property
    def __cuda_array_interface__(self) -> Any:
        raise AttributeError(
            "__cuda_array_interface__ is only defined for NVIDIA GPU buffers; __dlpack__ for all"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, (np.array(self.host()), self.spec.type.weak_type)

    def __copy__(self) -> Array:
        return Array(self.buffer, self.spec)

    def __deepcopy__(self, memo: Any) -> Array:
        if self.buffer.is_deleted():
            raise deleted(self.spec.type)
        spec = self.spec
        moved = memory.move(self.buffer, spec.type, spec.placement, spec.placement, copy=True)
        return Array(moved, spec)

    def __dlpack__(
        self,
        *,
        stream: int | Any | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A DLPack capsule over the array's memory, which must not be written to.

        Raises `BufferError` where there is no such capsule: arrays on several devices, dtypes
        without a number in DLPack, another device than the array's.
        """
        if self.buffer.is_deleted():
            raise deleted(self.spec.type)
        own = self.__dlpack_device__()
        if dl_device is not None and tuple(map(int, dl_device)) != own:
            raise BufferError(f"the array is on {own} and can't be exported to {dl_device}")
        array = self.__deepcopy__({}) if copy else self
        try:
            return memory.to_capsule(array.buffer, stream)
        except XlaRuntimeError as error:
            raise BufferError(
                f"{self.spec.type} can't be represented in DLPack: {error}"
            ) from error

    def __dlpack_device__(self) -> tuple[int, int]:
        """DLPack's number of the platform, and the device's index on it."""
        placement = self.spec.placement
        if not placement.is_single:
            raise BufferError("DLPack supports arrays on one device; this one is on several")
        device = placement.device
        kind = memory.DLPACK_DEVICES.get(device.backend.name)
        if kind is None:
            raise BufferError(f"DLPack is not supported on {device.backend.name}")
        return kind, device.local_hardware_id or 0 if kind != 1 else 0


spec_of: Final = operator.attrgetter("spec")
buffer_of: Final = operator.attrgetter("buffer")


class Shard(NamedTuple):
    """The piece of an array on one device, and which part of the array it is."""

    device: Device
    index: tuple[slice, ...]  # type: ignore[assignment]  # hides the method of tuples
    replica_id: int
    data: Array


def _unpickle(host: np.ndarray[Any, Any], weak_type: bool) -> Array:
    return asarray(host, ShapedArray(host.shape, canonical_dtype(host.dtype), weak_type))


# -------------------------------------------------------------------------------- construction


def asarray(x: Any, type: ShapedArray | None = None, placement: Placement | None = None) -> Array:
    """An array with the contents of a NumPy array or scalar, or of a Python number.

    `type`, where given, has the shape of `x` and says dtype and weakness; else they are as
    `typeof` says, so that 64 bits become 32 unless x64 is on. The memory of `x` is copied. With a
    placement the array is committed to it. Raises `TypeError` for what is no such value, and
    `OverflowError` for a Python int that its dtype can't hold.
    """
    if x.__class__ is np.ndarray and type is None and placement is None:
        found = entered(x)
        if found is not None:
            return Array(found[1], found[0])
    if isinstance(x, Array):
        if type is not None and type is not x.spec.type:
            if type.shape != x.shape or type.dtype != x.dtype:
                raise TypeError(f"expected an array of type {type}, got {x.type}")
            spec = x.spec.update(type=type)
            x = Array(spec.handler(x.buffer), spec)
        return x if placement is None else device_put(x, placement)
    if x.__class__ is np.ndarray and type is None and placement is None:
        note_host(x)
    if type is None:
        type = _type_of(x)
    committed = placement is not None
    if placement is None:
        placement = default()
    if config.guarded:
        guard.look("host_to_device", type, placement)
    data, spec = _data(x, type), Spec(type, placement, committed)
    return Array(memory.put(data, type, placement), spec)


def entered(x: Any) -> tuple[Spec, Any] | None:
    """Spec and buffer of an array, or of one of NumPy's of a type met before; None for others."""
    kind = x.__class__
    if kind is Array:
        return x.spec, x.buffer
    if kind is np.ndarray and not config.guarded:
        found = hosts.get((config.trace_key(), x.dtype, x.shape))
        if found is not None:
            spec, put = found
            return spec, put(x)
    return None


def note_host(x: np.ndarray[Any, Any]) -> bool:
    """Note in `hosts` how arrays like one of NumPy's are put; False where they are converted.

    Raises `TypeError` where there are no such arrays.
    """
    key = config.trace_key(), x.dtype, x.shape
    if key not in hosts:
        type, placement = _type_of(x), default()
        if type.dtype == float0:
            raise TypeError(NO_OPERATIONS)
        if x.dtype != type.dtype or len(hosts) >= _LIMIT:
            return False
        hosts[key] = Spec(type, placement), memory.putting(type, placement)
    return True


def _type_of(x: Any) -> ShapedArray:
    if isinstance(x, Ref):
        raise TypeError(f"an array is required here, got a reference, {x.type}; read it: ref[...]")
    try:
        return typeof(x)
    except TypeError:
        if isinstance(x, np.ndarray | np.generic):
            raise TypeError(
                f"Value {str(x)!r} with dtype {x.dtype} is not a valid effax array "
                "type: arrays hold numbers and Booleans"
            ) from None
        raise


def _data(x: Any, type: ShapedArray) -> np.ndarray[Any, Any] | np.generic:
    """NumPy data of a type: `x`, converted if need be."""
    dtype = type.dtype
    if isinstance(x, np.ndarray | np.generic):
        if x.shape != type.shape:
            raise TypeError(f"expected a value of type {type}, got shape {x.shape}")
        if dtype == float0:
            raise TypeError(NO_OPERATIONS)
        return x if x.dtype == dtype else x.astype(dtype)
    if x.__class__ is int:
        try:
            return np.asarray(x, dtype)
        except OverflowError:
            raise OverflowError(f"Python int {x} too large to convert to {dtype}") from None
    if getattr(x.__class__, "has_value", True) is False:
        raise TypeError(
            "A ShapeDtypeStruct does not have a value and cannot be used as a constant in a "
            f"jitted function: expected data of type {type}, got {x!r}; pass an array"
        )
    if type.shape:
        raise TypeError(f"expected data of type {type}, got {x.__class__.__name__}")
    if isinstance(x, Carrier):
        raise UnexpectedTracerError.escaped(x)
    return np.asarray(x, dtype)


_LIMIT: Final = 4096
hosts: Final[dict[Any, tuple[Spec, Any]]] = {}
"""The spec and the converter of a NumPy array, by settings, dtype and shape."""


def device_put(x: Any, where: Any = None, *, may_alias: bool = True, donate: bool = False) -> Array:
    """The array on a device (or platform, or placement), committed to it.

    Without `where` an array stays where it is and other values go to the default device. Without
    `may_alias` the result has memory of its own. An array to `donate` is deleted where it goes to
    the same devices in another order. Raises `ValueError` for an unknown place.
    """
    named = where if isinstance(where, Sharding) and where.placement() is not where else None
    if not isinstance(x, Array):
        target = None if where is None else place(where)
        if target is not None and not target.is_single:
            where.shard_shape(np.shape(x))
        return _renamed(asarray(x, None, target), named)
    if x.buffer.is_deleted():
        raise deleted(x.type)
    source = x.spec.placement
    target = source if where is None else place(where)
    if target is source and may_alias:
        if where is None or (x.spec.committed and x.spec.named == named):
            return x
        return Array(x.buffer, Spec(x.type, target, True, named))
    if target.split:
        (target if named is None else named).shard_shape(x.spec.type.shape)
    same = set(source.devices) == set(target.devices)
    reordered = same and target.devices != source.devices
    if config.guarded and target is not source and not reordered:  # as JAX counts transfers
        guard.look("device_to_device", x.spec.type, target)
    local = source.is_fully_addressable
    if (
        not target.is_fully_addressable
        and x.spec.committed
        and local
        and not target.has_addressable_devices
    ):
        raise memory.not_sent(x.spec.type, source, target)
    if not target.is_single and target is not source and same:
        donate = donate and reordered
        moved = recut(x.buffer, x.spec.type, source, target, may_alias and not donate)
        if donate:
            x.buffer.delete()
    else:
        moved = memory.move(x.buffer, x.spec.type, source, target, copy=not may_alias)
    if where is None:
        return Array(moved, x.spec)
    return Array(moved, Spec(x.spec.type, target, True, named))


def _renamed(x: Array, named: Sharding | None) -> Array:
    return x if named is None else Array(x.buffer, Spec(x.type, x.spec.placement, True, named))


def from_shards(
    shards: list[Array], type: ShapedArray, where: Sharding, committed: bool = True
) -> Array:
    """One array from this process's pieces, in the order of its devices in the placement."""
    placement = where.placement()
    piece = where.shard_shape(type.shape)
    for shard in shards:
        if shard.shape != piece or shard.dtype != type.dtype:
            raise ValueError(
                f"Expected shard shape {piece} doesn't match the single device array shape "
                f"{shard.shape} of a piece of {type}"
            )
    buffers = [shard.buffer for shard in shards]
    named = None if where is placement else where
    spec = Spec(type, placement, committed, named)
    return Array(memory.assemble(buffers, type, placement), spec)
