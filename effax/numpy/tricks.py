"""Objects that are indexed to make arrays: `r_`, `c_`, `s_`; and bits packed into bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from effax.eager.whole import whole
from effax.effects.rows import comparison, elementwise, logical, reduction, shape
from effax.effects.types import is_bool, is_integer, typeof, uint8
from effax.effects.value import Array, ArrayLike
from effax.numpy.even_spacing import arange, linspace
from effax.numpy.joining import concatenate
from effax.numpy.manipulation import expand_dims, moveaxis, ravel
from effax.operands.arguments import canonical_axis, cast, check_arrays, combine, shape_of
from effax.operands.promoting import asarray


class _Concatenation:
    """`r_[a, 0:3, 5]`: arrays, ranges and numbers, joined along an axis."""

    settings: tuple[int, int, int]
    """The axis to join along, the least rank, and where the axes of a part of less rank begin."""

    def __getitem__(self, key: Any) -> Any:
        parts = key if isinstance(key, tuple) else (key,)
        axis, ndmin, trans1d = self.settings
        matrix = ""
        if parts and isinstance(parts[0], str):
            directive, parts = parts[0], parts[1:]
            numbers = directive.split(",")
            try:
                given = [] if directive in ("r", "c") else [int(n) for n in numbers]
            except ValueError:
                raise ValueError(f"could not understand directive {directive!r}") from None
            matrix = "" if given else directive
            axis, ndmin, trans1d = (*given, *self.settings[len(given) :])[:3]
        arrays = [self._part(p, ndmin, trans1d) for p in parts]
        if not arrays:
            raise ValueError("need at least one array to join")
        joined = concatenate(arrays, axis)
        if matrix and len(shape_of(joined)) == 1:
            return expand_dims(joined, 0 if matrix == "r" else 1)
        return joined

    def __len__(self) -> int:
        return 0

    def _part(self, part: Any, ndmin: int, trans1d: int) -> Any:
        if isinstance(part, str):
            raise ValueError("string directive must be placed at the beginning")
        if isinstance(part, slice):
            start = 0 if part.start is None else part.start
            if isinstance(part.step, complex):
                array = linspace(start, part.stop, int(abs(part.step)))
            else:
                array = arange(start, part.stop, 1 if part.step is None else part.step)
        else:
            array = asarray(part)
        given = len(shape_of(array))
        missing = ndmin - given
        if missing > 0:
            # The array's own axes start at axis `trans1d` of the result.
            array = expand_dims(array, tuple(range(given, ndmin)))
            place = trans1d if trans1d >= 0 else trans1d + missing + 1
            array = moveaxis(array, tuple(range(given)), tuple(range(place, place + given)))
        return array if ndmin or given else ravel(array)


class RClass(_Concatenation):
    """The class of `r_`."""

    settings = 0, 1, -1


class CClass(_Concatenation):
    """The class of `c_`."""

    settings = -1, 2, 0


r_ = RClass()
"""Arrays, ranges and numbers one after the other.

>>> r_[1, 3:5].tolist()
[1, 3, 4]
"""

c_ = CClass()
"""Arrays, ranges and numbers as columns.

>>> c_[np.array([1, 2]), np.array([3, 4])].tolist()
[[1, 3], [2, 4]]
"""

s_ = np.s_
"""`s_[1:3, ...]`: an index as a value.

>>> s_[1:3]
slice(1, 3, None)
"""

index_exp = np.index_exp
"""`index_exp[1:3]`: an index as a value, always a tuple.

>>> index_exp[1:3]
(slice(1, 3, None),)
"""


def _check_bitorder(bitorder: str) -> None:
    if bitorder not in ("little", "big"):
        raise ValueError("'order' must be either 'little' or 'big'")


def _weights(bitorder: str) -> Any:
    """The value of each of eight bits."""
    places = shape.iota(dtype=uint8, shape=(8,), dimension=0)
    places = shape.rev(places, dims=(0,)) if bitorder == "big" else places
    return logical.shift_left(shape.full((8,), 1, uint8), places)


@whole("axis", "bitorder")
def packbits(a: ArrayLike, axis: int | None = None, bitorder: str = "big") -> Array:
    """Pack each eight elements, true or false, as the bits of one byte; the last is filled with 0.

    Args:
      a: array_like of integers or Booleans.
      axis: the axis; None for the flattened array. Negative ones count from the end.
      bitorder: "big" if the first element is the highest bit of its byte, "little" if the lowest.

    >>> packbits(np.array([1, 0, 0, 0, 0, 0, 0, 1])).tolist()
    [129]
    """
    check_arrays("packbits", a)
    _check_bitorder(bitorder)
    dtype = typeof(a).dtype
    if not is_integer(dtype) and not is_bool(dtype):
        raise TypeError("Expected an input array of integer or boolean data type")
    if axis is None:
        a, axis = ravel(a), 0
    axis = canonical_axis(axis, len(shape_of(a)))
    a = moveaxis(a, axis, -1)
    bits = cast(comparison.ne(a, shape.full(shape_of(a), 0, dtype)), uint8)
    *rest, n = shape_of(bits)
    count = -(-n // 8)
    bits = shape.pad_axis(bits, len(rest), 0, 8 * count - n)
    bits = shape.reshape(bits, shape=(*rest, count, 8))
    weighted = combine(elementwise.mul, bits, _weights(bitorder))
    return moveaxis(reduction.reduce_sum(weighted, axes=(len(rest) + 1,)), -1, axis)


@whole("axis", "count", "bitorder")
def unpackbits(
    a: ArrayLike, axis: int | None = None, count: int | None = None, bitorder: str = "big"
) -> Array:
    """Return the bits of bytes.

    Args:
      a: array_like of uint8.
      axis: the axis; None for the flattened array. Negative ones count from the end.
      count: the number of bits, or all but so many if it is negative; None for all.
      bitorder: "big" if the highest bit of each byte comes first, "little" if the lowest.

    >>> unpackbits(np.array([129], np.uint8)).tolist()
    [1, 0, 0, 0, 0, 0, 0, 1]
    """
    check_arrays("unpackbits", a)
    _check_bitorder(bitorder)
    if typeof(a).dtype != uint8:
        raise TypeError("Expected an input array of unsigned byte data type")
    if axis is None:
        a, axis = ravel(a), 0
    axis = canonical_axis(axis, len(shape_of(a)))
    a = moveaxis(a, axis, -1)
    *rest, n = shape_of(a)
    found = combine(logical.and_, shape.expand_dims(a, (len(rest) + 1,)), _weights(bitorder))
    bits = cast(comparison.ne(found, shape.full(shape_of(found), 0, uint8)), uint8)
    bits = shape.reshape(bits, shape=(*rest, n * 8))
    if count is not None:
        wanted = count if count >= 0 else max(0, 8 * n + count)
        bits = shape.slice_axis(bits, len(rest), 0, min(wanted, 8 * n))
        bits = shape.pad_axis(bits, len(rest), 0, max(wanted - 8 * n, 0))
    return moveaxis(bits, -1, axis)
