"""Shape: effects that move elements about and compute nothing."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from effax.effects.config import enable_x64
from effax.effects.dtypes import canonical_dtype
from effax.effects.effect import Effect
from effax.effects.facts import LINEAR, SOUND, SPREADING, STILL
from effax.effects.types import ShapedArray, typeof
from effax.effects.value import is_symbolic_length, smallest

Config = tuple[tuple[int, int, int], ...]


def _broadcast_in_dim_type(
    x: ShapedArray, *, shape: tuple[int, ...], dims: tuple[int, ...]
) -> ShapedArray:
    if len(dims) != len(x.shape) or list(dims) != sorted(set(dims)):
        raise TypeError(
            f"broadcast_in_dim: dims must name, in order, where each axis of {x.str_short()} goes, "
            f"but they are {dims}"
        )
    for n, d in zip(x.shape, dims, strict=True):
        if not 0 <= d < len(shape) or n not in (1, shape[d]):
            raise TypeError(
                f"broadcast_in_dim: {x.str_short()} does not fit into shape {shape} along axes "
                f"{dims}"
            )
    return x.update(shape=shape)


broadcast_in_dim = Effect(
    "broadcast_in_dim",
    family="shape",
    typing=_broadcast_in_dim_type,
    facts=LINEAR | SOUND | SPREADING,
)
"""`broadcast_in_dim(x, shape, dims)`: axis i of x lies along axis dims[i] of the result."""


def _transpose_type(x: ShapedArray, *, permutation: tuple[int, ...]) -> ShapedArray:
    if sorted(permutation) != list(range(len(x.shape))):
        raise TypeError(
            f"transpose: permutation {permutation} does not name each axis of {x.str_short()} once"
        )
    return x.update(shape=tuple(x.shape[i] for i in permutation))


transpose = Effect(
    "transpose", family="shape", typing=_transpose_type, facts=LINEAR | SOUND | SPREADING
)
"""`transpose(x, permutation)`: axis i of the result is axis permutation[i] of x."""


def _reshape_type(x: ShapedArray, *, shape: tuple[int, ...]) -> ShapedArray:
    result = x.update(shape=shape)
    if result.size != x.size:
        raise TypeError(
            f"reshape: {x.str_short()} has {x.size} elements, but shape {shape} holds {result.size}"
        )
    return result


reshape = Effect("reshape", family="shape", typing=_reshape_type, facts=LINEAR | SOUND | SPREADING)
"""`reshape(x, shape)`: the same elements, read in row-major order, in another shape."""


def _concatenate_type(*xs: ShapedArray, axis: int) -> ShapedArray:
    if not xs:
        raise TypeError("concatenate: at least one array is needed, but none is given")
    first = xs[0]
    if not 0 <= axis < first.ndim:
        raise TypeError(f"concatenate: axis {axis} is not one of the axes of {first.str_short()}")
    for x in xs:
        if x.ndim != first.ndim:
            raise TypeError(
                "Cannot concatenate arrays with different numbers of dimensions: got "
                f"{first.str_short()} and {x.str_short()}"
            )
        if x.shape[:axis] + x.shape[axis + 1 :] != first.shape[:axis] + first.shape[axis + 1 :]:
            raise TypeError(
                "Cannot concatenate arrays with shapes that differ in dimensions "
                f"other than the one being concatenated: along axis {axis}, got "
                f"{first.str_short()} and {x.str_short()}"
            )
        if x.dtype != first.dtype:
            raise TypeError(
                "concatenate: the arrays must have the same dtype, got "
                f"{first.str_short()} and {x.str_short()}"
            )
    shape = (*first.shape[:axis], sum(x.shape[axis] for x in xs), *first.shape[axis + 1 :])
    return first.update(shape=shape, weak_type=all(x.weak_type for x in xs))


concatenate = Effect(
    "concatenate", family="shape", typing=_concatenate_type, facts=LINEAR | SOUND | SPREADING
)
"""`concatenate(*xs, axis)`: the arrays one after the other along an axis they have."""


def _pad_type(x: ShapedArray, value: ShapedArray, *, config: Config) -> ShapedArray:
    if value.shape or value.dtype != x.dtype:
        refusal = ValueError if value.shape else TypeError
        raise refusal(
            f"pad: padding_value must be a scalar of dtype {x.dtype.name}, not {value.str_short()}"
        )
    if len(config) != x.ndim:
        raise ValueError(
            f"pad: padding_config must have a triple (low, high, interior) for each axis of "
            f"{x.str_short()}, got {len(config)} of them"
        )
    if any(c[2] < 0 for c in config):
        raise ValueError(
            f"pad: interior padding in padding_config must be nonnegative, got {config}"
        )
    shape = tuple(padded_length(n, c) for n, c in zip(x.shape, config, strict=True))
    if any(n < 0 for n in shape):
        raise ValueError(
            f"pad: Dimension size after padding is not at least 0: {config} takes more elements "
            f"than {x.str_short()} has"
        )
    return x.update(shape=shape, weak_type=x.weak_type and value.weak_type)


def padded_length(length: int, config: tuple[int, int, int]) -> int:
    """The length of an axis after padding by (low, high, interior)."""
    low, high, interior = config
    between = max(length - 1, 0) * interior if interior else 0
    return low + high + length + between


pad = Effect("pad", family="shape", typing=_pad_type, facts=LINEAR | SOUND)
"""`pad(x, value, config)`: a scalar put before, after and between the elements of each axis.

`config` has (low, high, interior) for each axis; negative low and high take elements away.
"""


def _rev_type(x: ShapedArray, *, dims: tuple[int, ...]) -> ShapedArray:
    if len(set(dims)) != len(dims) or not all(0 <= d < x.ndim for d in dims):
        raise TypeError(f"rev: dims must be different axes of {x.str_short()}, got {dims}")
    return x


rev = Effect("rev", family="shape", typing=_rev_type, facts=LINEAR | SOUND | SPREADING)
"""`rev(x, dims)`: the elements in opposite order along some axes."""


def _slice_type(
    x: ShapedArray,
    *,
    start: tuple[int, ...],
    limit: tuple[int, ...],
    strides: tuple[int, ...] | None = None,
) -> ShapedArray:
    steps = strides or (1,) * x.ndim
    if not len(start) == len(limit) == len(steps) == x.ndim:
        raise ValueError(
            f"slice: start {start}, limit {limit} and strides {strides} must have one number for "
            f"each axis of {x.str_short()}"
        )
    bounds = zip(x.shape, start, limit, steps, strict=True)
    if any(not 0 <= a <= b <= n or s < 1 for n, a, b, s in bounds):
        raise TypeError(
            f"slice: start {start}, limit {limit}, strides {strides} do not lie within "
            f"{x.str_short()}"
        )
    shape = tuple(-((a - b) // s) for a, b, s in zip(start, limit, steps, strict=True))
    return x.update(shape=shape)


slice = Effect("slice", family="shape", typing=_slice_type, facts=LINEAR | SOUND)
"""`slice(x, start, limit, strides)`: a box of x, every `strides`-th element of it."""


def _iota_type(*, dtype: Any, shape: tuple[int, ...], dimension: int) -> ShapedArray:
    if not 0 <= dimension < len(shape):
        raise TypeError(f"iota: dimension {dimension} is not one of the axes of shape {shape}")
    result = ShapedArray(shape, dtype)
    if result.dtype == np.bool_:
        raise TypeError("iota: counts need a number dtype, not bool")
    return result


iota = Effect("iota", family="shape", typing=_iota_type, facts=STILL | SOUND)
"""`iota(dtype, shape, dimension)`: each element is its own position along one axis."""


def _dimension_as_value_type(*, length: int, dtype: Any, weak_type: bool) -> ShapedArray:
    return ShapedArray((), dtype, weak_type)


dimension_as_value = Effect(
    "dimension_as_value", family="shape", typing=_dimension_as_value_type, facts=STILL | SOUND
)
"""`dimension_as_value(length, dtype, weak_type)`: a length, which may be symbolic, as a scalar."""


def scalar(value: Any, dtype: Any) -> Any:
    """A number of a given dtype, written into the program as a literal.

    What was computed under x64 may be differentiated outside of it, where a literal of 64 bits
    would be taken for one of 32.
    """
    if is_symbolic_length(value):
        return dimension_as_value(length=value, dtype=np.dtype(dtype), weak_type=False)
    number = np.dtype(dtype).type(value)
    if number.itemsize < 8 or canonical_dtype(number.dtype) == number.dtype:
        return number
    with enable_x64(True):
        return broadcast_in_dim(number, shape=(), dims=())


def scalar_of(value: Any, type: ShapedArray) -> Any:
    """A number of an array's dtype; a weak one for a weak array of a dtype of Python's numbers."""
    number = scalar(value, type.dtype)
    weak = type.weak_type and isinstance(number, np.generic)
    return number.item() if weak and typeof(number.item()).dtype == type.dtype else number


def full(shape: tuple[int, ...], value: Any, dtype: Any) -> Any:
    """An array of one value everywhere: a scalar, broadcast."""
    return broadcast_in_dim(scalar(value, dtype), shape=shape, dims=())


def repeat(x: Any, size: int) -> Any:
    """The array repeated along a new first axis."""
    lengths = typeof(x).shape
    return broadcast_in_dim(x, shape=(size, *lengths), dims=tuple(range(1, 1 + len(lengths))))


def squeeze(x: Any, axes: Sequence[int]) -> Any:
    """The array without some axes, each of length 1."""
    shape = typeof(x).shape
    return reshape(x, shape=tuple(n for i, n in enumerate(shape) if i not in axes))


def expand_dims(x: Any, axes: Sequence[int]) -> Any:
    """The array with new axes of length 1 at these positions of the result, in order."""
    shape = list(typeof(x).shape)
    for axis in sorted(axes):
        shape.insert(axis, 1)
    return reshape(x, shape=tuple(shape))


def slice_axis(x: Any, axis: int, start: int, limit: int, stride: int = 1) -> Any:
    """The box of all elements in the other axes, and of a range in one."""
    shape = typeof(x).shape
    n = len(shape)
    if (start, limit, stride) == (0, shape[axis], 1):
        return x
    return slice(
        x,
        start=tuple(start if i == axis else 0 for i in range(n)),
        limit=tuple(limit if i == axis else shape[i] for i in range(n)),
        strides=tuple(stride if i == axis else 1 for i in range(n)),
    )


def pad_axis(x: Any, axis: int, low: int, high: int, interior: int = 0, value: Any = 0) -> Any:
    """The array with a number put before, after and between its elements along one axis."""
    type = typeof(x)
    config = tuple((low, high, interior) if i == axis else (0, 0, 0) for i in range(type.ndim))
    return pad(x, scalar_of(value, type), config=config)


def resize_axis(x: Any, axis: int, length: Any) -> Any:
    """The array cut, or filled up with zeros, to a length along an axis."""
    kept = smallest(typeof(x).shape[axis], length)
    cut = slice_axis(x, axis, 0, kept)
    return cut if kept is length else pad_axis(cut, axis, 0, length - kept)


def cut_axis(x: Any, axis: int, pieces: int) -> Any:
    """An axis cut into equal pieces, which are counted by a new axis before it."""
    lengths = typeof(x).shape
    parts = (*lengths[:axis], pieces, lengths[axis] // pieces, *lengths[axis + 1 :])
    return reshape(x, shape=parts)


def move_axis(x: Any, start: int, end: int) -> Any:
    """The array with one axis moved from position `start` to position `end`."""
    if start == end:
        return x
    order = list(range(x.ndim))
    order.insert(end, order.pop(start))
    return transpose(x, permutation=tuple(order))


def move_axis_to_front(x: Any, axes: Sequence[int]) -> tuple[Any, tuple[int, ...]]:
    """The array with some axes flattened into one, which is the first; and the others' lengths."""
    shape = typeof(x).shape
    rest = [i for i in range(len(shape)) if i not in axes]
    order = (*axes, *rest)
    if order != tuple(range(len(shape))):
        x = transpose(x, permutation=order)
    lengths = tuple(shape[i] for i in rest)
    if len(axes) != 1:
        x = reshape(x, shape=(prod(shape[i] for i in axes), *lengths))
    return x, lengths
