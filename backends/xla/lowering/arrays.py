"""Arrays written into a program as constants."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from effax.backends.xla.lowering.writer import Name, Writer, tensor
from effax.effects.types import ShapedArray

_NARROW: Final = frozenset({"int2", "int4", "uint2", "uint4", "float4_e2m1fn"})


def array_constant(w: Writer, value: np.ndarray[Any, Any]) -> Name:
    """An array written out, as the bytes of its elements where each takes whole ones."""
    type = ShapedArray(value.shape, value.dtype)
    if value.size == 0:
        return w.op(f"stablehlo.constant dense<> : {tensor(type)}", type)
    if value.dtype.kind == "b" or value.dtype.name in _NARROW:
        bytes_ = array_constant(w, value.astype(np.int8))
        return w.op(f"stablehlo.convert {bytes_} : ({bytes_.text}) -> {tensor(type)}", type)
    text = np.ascontiguousarray(value).tobytes().hex().upper()
    return w.op(f'stablehlo.constant dense<"0x{text}"> : {tensor(type)}', type)


def resized(w: Writer, x: Name, axis: int, length: int) -> Name:
    """The array cut, or filled up with zeros, to a length along an axis."""
    from effax.effects.rows import shape

    if x.shape[axis] == length:
        return x
    return w.performed(lambda a: shape.resize_axis(a, axis, length), x)
