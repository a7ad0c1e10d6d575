"""Random bits in NumPy: Threefry-2x32 and Philox-4x32 as their authors state them."""

from __future__ import annotations

from typing import Any

import numpy as np

from effax.backends.reference.table import rule
from effax.effects.rows import random

Words = np.ndarray[Any, np.dtype[np.uint32]]


def _rotate_left(x: Words, bits: int) -> Words:
    return (x << np.uint32(bits)) | (x >> np.uint32(32 - bits))


@rule(random.threefry2x32)
def threefry2x32_reference(k1: Words, k2: Words, x1: Words, x2: Words) -> list[Words]:
    keys = (k1, k2, k1 ^ k2 ^ np.uint32(random.PARITY))
    with np.errstate(over="ignore"):  # sums wrap modulo 2³²
        x1, x2 = x1 + keys[0], x2 + keys[1]
        for group in range(5):
            for bits in random.ROTATIONS[group % 2]:
                x1 = x1 + x2
                x2 = x1 ^ _rotate_left(x2, bits)
            x1 = x1 + keys[(group + 1) % 3]
            x2 = x2 + keys[(group + 2) % 3] + np.uint32(group + 1)
    return [x1, x2]


@rule(random.use_key)
def use_key_reference(words: Words, *, use: str) -> Words:
    return words


_MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_WEYL = (np.uint32(0x9E3779B9), np.uint32(0xBB67AE85))


def _philox4x32(counter: list[Words], key: list[Words]) -> list[Words]:
    with np.errstate(over="ignore"):  # sums and products wrap modulo 2³² and 2⁶⁴
        for _ in range(10):
            products = [
                x.astype(np.uint64) * m
                for x, m in zip((counter[0], counter[2]), _MULTIPLIERS, strict=True)
            ]
            low = [p.astype(np.uint32) for p in products]
            high = [(p >> np.uint64(32)).astype(np.uint32) for p in products]
            counter = [high[1] ^ counter[1] ^ key[0], low[1], high[0] ^ counter[3] ^ key[1], low[0]]
            key = [k + w for k, w in zip(key, _WEYL, strict=True)]
    return counter


def _words(x: Any) -> list[Words]:
    """The low and the high 32 bits."""
    return [x.astype(np.uint32), (x >> np.uint64(32)).astype(np.uint32)]


@rule(random.rng_bit_generator)
def rng_bit_generator_reference(
    state: Any, *, shape: tuple[int, ...], dtype: Any, algorithm: random.RandomAlgorithm
) -> list[Any]:
    if algorithm == random.RandomAlgorithm.RNG_THREE_FRY:
        raise NotImplementedError(
            "the reference has Philox (RNG_DEFAULT, RNG_PHILOX) and not XLA's order of Threefry; "
            "evaluate on a device, or use keys of random.key(seed), whose Threefry it has"
        )
    wide = np.ascontiguousarray(state).view(np.uint64)
    drawn = int(np.prod(shape, dtype=object))
    blocks = -(-drawn * (2 if dtype.itemsize == 8 else 1) // 4)
    with np.errstate(over="ignore"):
        count = wide[1] + np.arange(blocks, dtype=np.uint64)
        after = wide.copy()
        after[1] += np.uint64(blocks)
    # In a state of 128 bits the key is the upper half of the counter too, as in XLA.
    top = wide[-1 if len(wide) == 3 else 0] + (count < wide[1])
    if len(wide) == 3:
        after[2] += after[1] < wide[1]
    key = [np.broadcast_to(k, count.shape) for k in _words(wide[0])]
    bits = np.stack(_philox4x32(_words(count) + _words(top), key), axis=-1).reshape(-1)
    if dtype.itemsize == 8:
        bits = bits.view(np.uint64)
    return [after.view(state.dtype), bits[:drawn].astype(dtype).reshape(shape)]


@rule(random.rng_uniform)
def rng_uniform_reference(low: Any, high: Any, *, shape: tuple[int, ...]) -> Any:
    generator = np.random.default_rng()
    if low.dtype.kind in "iu":
        return generator.integers(int(low), int(high), shape, dtype=low.dtype)
    return generator.random(shape) * (float(high) - float(low)) + float(low)
