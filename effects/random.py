"""Random: the counter-based generator that every sampler is made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from effax.effects.effect import Effect
from effax.effects.types import ShapedArray, uint32

ROTATIONS: Final = ((13, 15, 26, 6), (17, 29, 16, 24))
"""By how many bits each round rotates; groups of four rounds take turns (Salmon et al. 2011)."""
PARITY: Final = 0x1BD11BDA
"""What the two words of the key are mixed with to give the third."""


def _threefry2x32_type(
    k1: ShapedArray, k2: ShapedArray, x1: ShapedArray, x2: ShapedArray
) -> Sequence[ShapedArray]:
    for t in (k1, k2, x1, x2):
        if t.dtype != uint32:
            raise TypeError(f"threefry2x32 takes arrays of uint32, not {t.str_short()}")
        if t.shape != k1.shape:
            raise TypeError(
                f"threefry2x32 takes four arrays of one shape, but was given {k1.str_short()} and "
                f"{t.str_short()}"
            )
    return k1.strong(), k1.strong()


threefry2x32 = Effect("threefry2x32", family="random", typing=_threefry2x32_type, multiple=True)
"""`threefry2x32(k1, k2, x1, x2)`: the two words of the counter x, enciphered with the key k.

Twenty rounds of Threefry-2x32 for every element. Four uint32 arrays of one shape; the results are
two more. Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011).
"""


def _use_key_type(words: ShapedArray, *, use: str) -> ShapedArray:
    return words


use_key = Effect("use_key", family="random", typing=_use_key_type)
"""`use_key(words, use)`: the words of keys themselves, about to be used, or just made.

`use` is "bits" or "split" where the key is used up, "fold_in" where it is not, and "new" for the
result of what makes keys. It says to interpreters what a key is; nothing is computed.
"""
