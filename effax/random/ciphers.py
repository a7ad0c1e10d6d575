"""Generators that encipher counters by blocks: Philox, and Threefry of four words.

Of Salmon, Moraes, Dror & Shaw, "Parallel random numbers: as easy as 1, 2, 3" (2011), as in their
library Random123; keys and counters are laid out as JAX lays them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, Final, NamedTuple

import numpy as np

from effax import lax
from effax.effects.rows.random import use_key
from effax.effects.types import DType, uint32, uint64
from effax.random.threefry import apart, counts, halves, joined, made

Words = Sequence[Any]

_WEYL: Final = (0x9E3779B9, 0xBB67AE85)  # of the golden ratio, and of the root of 3
_ROUNDS_OF_PHILOX: Final = 10
_ROUNDS_OF_THREEFRY: Final = 20
_PARITY: Final = 0x1BD11BDA
_ROTATIONS: Final = ((10, 26), (11, 21), (13, 27), (23, 5), (6, 20), (17, 11), (25, 10), (18, 20))


def _number(n: int) -> Any:
    return np.uint32(n % (1 << 32))


def _product(x: Any, n: int) -> tuple[Any, Any]:
    """The high and the low word of a product of 64 bits."""
    factor = lax.full_like(x, n)
    return lax.mulhi(factor, x), lax.mul(factor, x)


def _philox2x32(key: Words, counter: Words) -> Words:
    x, y = counter
    for i in range(_ROUNDS_OF_PHILOX):
        high, low = _product(x, 0xD256D193)
        x, y = high ^ y ^ (key[0] + _number(i * _WEYL[0])), low
    return x, y


def _philox4x32(key: Words, counter: Words) -> Words:
    x, y, z, w = counter
    for i in range(_ROUNDS_OF_PHILOX):
        one, other = (k + _number(i * step) for k, step in zip(key, _WEYL, strict=True))
        (high, low), (high_other, low_other) = _product(x, 0xD2511F53), _product(z, 0xCD9E8D57)
        x, y, z, w = high_other ^ y ^ one, low_other, high ^ w ^ other, low
    return x, y, z, w


def _threefry4x32(key: Words, counter: Words) -> Words:
    keys = [*key, reduce(lax.bitwise_xor, key) ^ _number(_PARITY)]
    x = [c + k for c, k in zip(counter, keys, strict=False)]
    for i in range(_ROUNDS_OF_THREEFRY):
        others = (1, 3) if i % 2 == 0 else (3, 1)
        for at, other, by in zip((0, 2), others, _ROTATIONS[i % 8], strict=True):
            x[at] = x[at] + x[other]
            turned = (x[other] << _number(by)) | (x[other] >> _number(32 - by))
            x[other] = x[at] ^ turned
        if i % 4 == 3:
            turn = i // 4 + 1
            x = [c + keys[(turn + place) % 5] for place, c in enumerate(x)]
            x[3] = x[3] + _number(turn)
    return x


class Cipher(NamedTuple):
    """A cipher of blocks, by which keys and bits are made of a key.

    `width` is the number of words of a key, `block` that of a counter. A seed is a counter under
    the key 0, or with `seeds_key` the key of the counter 0. `wide` are the words of a block that
    are mixed to the two halves of 64 bits.
    """

    encipher: Callable[[Words, Words], Words]
    width: int
    block: int
    seeds_key: bool
    wide: tuple[tuple[int, ...], tuple[int, ...]]

    def _key(self, words: Any, use: str) -> list[Any]:
        return apart(use_key(words, use=use), self.width)

    def _made(self, block: Words, axis: int) -> Any:
        return made(block[: self.width], axis)

    def _blocks(self, key: Words, number: Words, shape: tuple[int, ...], last: bool) -> Words:
        """The blocks of a number of two words, which are the first words of a counter, or last."""
        zeros = [lax.full(shape, 0, uint32)] * (self.block - 2)
        spread = [lax.broadcast(k, shape) for k in key]
        return self.encipher(spread, [*zeros, *number] if last else [*number, *zeros])

    def seed(self, seed: Any) -> Any:
        """The words of the key that an integer seeds."""
        pair, zero = halves(seed), lax.full((), 0, uint32)
        if self.seeds_key:
            key = [*pair, *[zero] * (self.width - 2)]
            return self._made(self.encipher(key, [zero] * self.block), 0)
        return self._made(self._blocks([zero] * self.width, pair, (), last=False), 0)

    def split(self, words: Any, shape: tuple[int, ...]) -> Any:
        """The words of as many new keys as the shape has places, along a new last axis."""
        key = self._key(words, "split")
        return self._made(self._blocks(key, counts(shape), shape, last=True), len(shape))

    def fold(self, words: Any, data: Any) -> Any:
        """The words of the key made of a key and a number of 32 bits."""
        number = lax.full((), 0, uint32), lax.convert_element_type(data, uint32)
        return self._made(self._blocks(self._key(words, "fold_in"), number, (), last=True), 0)

    def bits(self, words: Any, shape: tuple[int, ...], dtype: DType) -> Any:
        """Random unsigned integers from the words of one key, which is used up."""
        block = self._blocks(self._key(words, "bits"), counts(shape), shape, last=False)
        if dtype != uint64:
            return lax.convert_element_type(reduce(lax.bitwise_xor, block), dtype)
        return joined(*(reduce(lax.bitwise_xor, [block[i] for i in half]) for half in self.wide))


CIPHERS: Final = {
    "threefry4x32": Cipher(_threefry4x32, 4, 4, True, ((0, 2), (1, 3))),
    "philox2x32": Cipher(_philox2x32, 1, 2, False, ((0,), (1,))),
    "philox4x32": Cipher(_philox4x32, 2, 4, False, ((0,), (1,))),
}
"""Ciphers by the names of their generators."""
