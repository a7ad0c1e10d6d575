"""The bits of an array read as another dtype: `Array.view`."""

from __future__ import annotations

from typing import Any

import numpy as np

from effax.eager.whole import whole
from effax.effects.rows import complex as parts
from effax.effects.rows import shape
from effax.effects.rows.conversion import bitcast_convert_type, convert_element_type
from effax.effects.types import (
    bit_width,
    is_bool,
    is_complex,
    real_dtype,
    typeof,
    uint8,
    user_dtype,
)
from effax.operands.arguments import strong


@whole("dtype")
def viewed(x: Any, dtype: Any) -> Any:
    """The same bits, the last axis so much shorter or longer as elements are wider or narrower.

    Booleans are bytes, of which all but 0 are true; complex numbers are pairs.

    Raises `ValueError` where the last axis can't be parted so, or there is none.

    >>> import effax.numpy as jnp
    >>> viewed(jnp.arange(4, dtype="int8"), "int16")
    Array([256, 770], dtype=int16)
    """
    target, source = user_dtype(dtype, "view"), typeof(x).dtype
    if target == source:
        return x
    if is_bool(source):
        return viewed(convert_element_type(x, dtype=uint8), target)
    if is_bool(target):
        return convert_element_type(viewed(x, uint8), dtype=target)
    if is_complex(source):
        return viewed(_merged(_pairs(strong(x))), target) if _has_axis(x) else _refuse()
    if is_complex(target):
        halves = _parted(viewed(strong(x), real_dtype(target)), 2)
        real, imaginary = (shape.slice_axis(halves, halves.ndim - 1, i, i + 1) for i in (0, 1))
        return shape.squeeze(parts.complex(real, imaginary), (halves.ndim - 1,))
    return _reread(x, target, bit_width(source), bit_width(target))


def _reread(x: Any, target: np.dtype[Any], wide: int, narrow: int) -> Any:
    if wide == narrow:
        return bitcast_convert_type(x, dtype=target)
    if wide > narrow:
        return _merged(bitcast_convert_type(x, dtype=target)) if _has_axis(x) else _refuse()
    return bitcast_convert_type(_parted(x, narrow // wide), dtype=target)


def _pairs(x: Any) -> Any:
    last = (typeof(x).ndim,)
    both = (shape.expand_dims(part(x), last) for part in (parts.real, parts.imag))
    return shape.concatenate(*both, axis=last[0])


def _has_axis(x: Any) -> bool:
    return bool(typeof(x).shape)


def _refuse() -> Any:
    raise ValueError("view() of a 0d array is only supported if the itemsize is unchanged.")


def _merged(x: Any) -> Any:
    """The last two axes as one."""
    *first, n, k = typeof(x).shape
    return shape.reshape(x, shape=(*first, n * k))


def _parted(x: Any, count: int) -> Any:
    """The last axis as two, the second of so many elements."""
    if not _has_axis(x):
        _refuse()
    *first, n = typeof(x).shape
    if n % count:
        raise ValueError(
            f"view: the length of the last axis must be a multiple of {count}, as {count} "
            f"elements make one of the larger dtype, got {n}"
        )
    return shape.reshape(x, shape=(*first, n // count, count))
