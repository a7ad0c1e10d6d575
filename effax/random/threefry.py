"""Threefry keys: two words, made into others and into bits by enciphering counters."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from effax import lax
from effax.effects.config import enable_x64, trace_key
from effax.effects.rows.random import threefry2x32, use_key
from effax.effects.types import DType, uint32, uint64
from effax.effects.value import is_symbolic, is_symbolic_length


def counts(shape: tuple[int, ...]) -> tuple[Any, Any]:
    """The numbers 0, 1, 2, ... in the given shape, as the high and the low words of 64 bits.

    Written as a sum of iotas, one an axis, so that it can be partitioned along any of them.
    """
    if is_symbolic(shape) or prod(shape) > 1 << 32:
        with enable_x64(True):  # 64 bits are needed here, whatever the caller's setting
            return _counts(shape, wide=True)
    return _counts(shape, wide=False)


def _counts(shape: tuple[int, ...], wide: bool) -> tuple[Any, Any]:
    dtype = np.dtype(np.uint64) if wide else uint32
    total, stride = lax.full(shape, 0, dtype), 1
    for axis in reversed(range(len(shape))):
        iota = lax.broadcasted_iota(dtype, shape, axis)
        term = iota if stride == 1 else lax.mul(iota, _everywhere(stride, shape, dtype))
        total = term if stride == 1 else lax.add(total, term)
        stride *= shape[axis] if is_symbolic_length(shape[axis]) else max(1, shape[axis])
    if not wide:
        return lax.full(shape, 0, uint32), total
    shift = lax.full(shape, 32, dtype)
    high = lax.convert_element_type(lax.shift_right_logical(total, shift), uint32)
    return high, lax.convert_element_type(total, uint32)


def _everywhere(n: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """A length at every place of an array."""
    if not is_symbolic_length(n):
        return lax.full(shape, n, dtype)
    return lax.broadcast(lax.convert_element_type(n, dtype), shape)


def encipher(words: Any, shape: tuple[int, ...], use: str) -> tuple[Any, Any]:
    """Two random words for every place of an array, from the words of one key, which is used up."""
    one, other = threefry2x32(*_spread(use_key(words, use=use), shape), *counts(shape))
    return one, other


def _spread(words: Any, shape: tuple[int, ...]) -> list[Any]:
    """Each of the two words of a key at every place."""
    return [lax.broadcast(word, shape) for word in apart(words, 2)]


def apart(words: Any, width: int) -> list[Any]:
    """The words of one key, each for itself."""
    return [lax.index_in_dim(words, i, axis=0, keepdims=False) for i in range(width)]


def made(words: Sequence[Any], axis: int) -> Any:
    """New keys, whose words stand along a new axis."""
    parts = [lax.expand_dims(word, (axis,)) for word in words]
    return use_key(lax.concatenate(parts, axis), use="new")


def in_a_row() -> bool:
    """Whether words are made in a row: what `threefry_partitionable=False` asks for."""
    return not trace_key().threefry_partitionable


def encipher_row(words: Any, n: int, use: str) -> Any:
    """A vector of n random words, in the order that was JAX's before 0.5.

    The numbers below n are enciphered in pairs: one of the first half, one of the second.
    """
    symbolic = is_symbolic_length(n)
    if not symbolic and n >= 1 << 32:
        raise NotImplementedError(
            "with threefry_partitionable=False at most 2**32 random words can be drawn at once, "
            f"got {n}; draw parts with keys of their own, or leave the setting at True"
        )
    half = -(-n // 2)
    numbers = lax.iota(uint32, 2 * half)
    if symbolic or n % 2:  # of an even n, no number is selected
        numbers = lax.select(numbers == n, lax.full_like(numbers, 0), numbers)
    pair = (lax.slice_in_dim(numbers, i, i + half) for i in (0, half))
    drawn = threefry2x32(*_spread(use_key(words, use=use), (half,)), *pair)
    return lax.slice_in_dim(lax.concatenate(drawn, 0), 0, n)


def draw(words: Any, shape: tuple[int, ...], dtype: DType) -> Any:
    """Random unsigned integers from the words of one key, which is used up."""
    if in_a_row():
        return _drawn_in_a_row(words, shape, dtype)
    high, low = encipher(words, shape, "bits")
    if dtype == uint64:
        return joined(high, low)
    return lax.convert_element_type(lax.bitwise_xor(high, low), dtype)


def joined(high: Any, low: Any) -> Any:
    """Integers of 64 bits, of words."""
    high, low = (lax.convert_element_type(word, uint64) for word in (high, low))
    return lax.bitwise_or(lax.shift_left(high, lax.full_like(high, 32)), low)


def _drawn_in_a_row(words: Any, shape: tuple[int, ...], dtype: DType) -> Any:
    """Bits in the order of `threefry_partitionable=False`: every word of the row is used up."""
    size, width = prod(shape), 8 * dtype.itemsize
    row = encipher_row(words, -(-width * size // 32), "bits")
    if width == 64:
        row = joined(*(lax.slice_in_dim(row, i, i + size) for i in (0, size)))
    elif width < 32:
        table = lax.broadcast_in_dim(row, (*row.shape, 32 // width), (0,))
        place = lax.broadcasted_iota(uint32, table.shape, 1)
        table = lax.shift_right_logical(table, lax.mul(place, lax.full_like(place, width)))
        row = lax.convert_element_type(lax.reshape(table, (table.size,)), dtype)
    return lax.reshape(lax.slice_in_dim(row, 0, size), shape)


def halves(seed: Any) -> tuple[Any, Any]:
    """The high and the low word of an integer seed's 64 bits."""
    low = lax.convert_element_type(seed, uint32)
    if seed.dtype.itemsize != 8:
        return lax.full_like(low, 0), low
    return lax.convert_element_type(lax.shift_right_logical(seed, 32), uint32), low


def seed_words(seed: Any) -> Any:
    """The words of the key that an integer seeds: its 64 bits, the high word first."""
    return made(halves(seed), 0)


def split_words(words: Any, shape: tuple[int, ...]) -> Any:
    """The words of as many new keys as the shape has places, along a new last axis."""
    if in_a_row():
        row = encipher_row(words, 2 * prod(shape), "split")
        return use_key(lax.reshape(row, (*shape, 2)), use="new")
    return made(encipher(words, shape, "split"), len(shape))


def fold_words(words: Any, data: Any) -> Any:
    """The words of the key made of a key and a number of 32 bits."""
    low = lax.convert_element_type(data, uint32)
    key = apart(use_key(words, use="fold_in"), 2)
    return made(threefry2x32(*key, lax.full((), 0, uint32), low), 0)
