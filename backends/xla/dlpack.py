"""Arrays over the memory of other libraries, by DLPack."""

from __future__ import annotations

from typing import Any

import numpy as np

from effax.backends.xla import buffer as memory
from effax.backends.xla.array import Array, asarray, device_put
from effax.backends.xla.client import XlaRuntimeError
from effax.backends.xla.device import Device, devices
from effax.backends.xla.placement import Spec, single
from effax.effects.types import ShapedArray, as_dtype, canonical_dtype


def from_dlpack(x: Any, device: Device | None = None, *, copy: bool | None = None) -> Array:
    """An array over the memory of another library's, by DLPack; copied where `copy` or need be.

    `x` has `__dlpack__` and `__dlpack_device__`. Raises `ValueError` if `copy` is False and a copy
    can't be avoided, `TypeError` for dtypes that arrays can't have.
    """
    kind, index = map(int, x.__dlpack_device__())
    names = [name for name, number in memory.DLPACK_DEVICES.items() if number == kind]
    if not names:
        raise TypeError(f"there is no back-end for DLPack's device type {kind}")
    own = devices(names[0])
    home = next((d for d in own if d.local_hardware_id == index), own[0]) if kind != 1 else own[0]
    placement = single(home)
    reason = "it was asked for"
    if not copy:
        try:
            capsule = x.__dlpack__()
            type = memory.capsule_type(capsule)
            if canonical_dtype(type.dtype) is type.dtype:
                buffer = memory.from_capsule(capsule, type, placement, None)
                result = Array(buffer, Spec(type, placement, True))
                return result if device is None else device_put(result, device)
            reason = f"{type.dtype} becomes {canonical_dtype(type.dtype)} here"
        except (XlaRuntimeError, BufferError) as error:
            # Memory that is not aligned, not writable, or in another order than row-major.
            reason = str(error)
        if copy is False:
            raise ValueError(f"from_dlpack needs a copy, but copy=False forbids it: {reason}")
    host = x if isinstance(x, np.ndarray) else np.from_dlpack(x)
    type = ShapedArray(host.shape, canonical_dtype(as_dtype(host.dtype)))
    return asarray(host, type, placement if device is None else single(device))
