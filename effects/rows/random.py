"""Random: the generators that samplers are made of, and what says that a value is a key."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Final

from effax.effects.effect import Effect
from effax.effects.facts import POINTWISE, SOUND, STILL
from effax.effects.types import (
    DType,
    ShapedArray,
    bfloat16,
    float16,
    float32,
    float64,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)

ROTATIONS: Final = ((13, 15, 26, 6), (17, 29, 16, 24))
"""By how many bits each round rotates; groups of four rounds take turns (Salmon et al. 2011)."""
PARITY: Final = 0x1BD11BDA
"""The constant that is mixed with the two words of a key to give the third."""


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


threefry2x32 = Effect(
    "threefry2x32", family="random", typing=_threefry2x32_type, multiple=True, facts=STILL | SOUND
)
"""`threefry2x32(k1, k2, x1, x2)`: the two words of the counter x, enciphered with the key k.

Twenty rounds of Threefry-2x32 for every element. Four uint32 arrays of one shape; the results are
two more. Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011).
"""


def _use_key_type(words: ShapedArray, *, use: str) -> ShapedArray:
    return words


use_key = Effect("use_key", family="random", typing=_use_key_type, facts=POINTWISE | STILL | SOUND)
"""`use_key(words, use)`: the words of keys themselves, about to be used, or just made.

`use` is "bits" or "split" where the key is used up, "fold_in" where it is not, and "new" for the
result of what makes keys. It says to interpreters what a key is; nothing is computed.
"""


class RandomAlgorithm(IntEnum):
    """The algorithm of `rng_bit_generator`: the device's own choice, or one by name."""

    RNG_DEFAULT = 0
    RNG_THREE_FRY = 1
    RNG_PHILOX = 2

    def __str__(self) -> str:
        return self.name


STATES: Final = {(uint32, (4,)), (uint64, (2,)), (uint64, (3,))}
"""The states that XLA's generators take: 128 bits, or 192."""


def _rng_bit_generator_type(
    state: ShapedArray, *, shape: tuple[int, ...], dtype: DType, algorithm: RandomAlgorithm
) -> Sequence[ShapedArray]:
    if (state.dtype, state.shape) not in STATES:
        raise TypeError(
            "rng_bit_generator: the state of a generator is u32[4], u64[2] or u64[3], not "
            f"{state.str_short()}"
        )
    if state.shape == (3,) and algorithm == RandomAlgorithm.RNG_THREE_FRY:
        raise TypeError("rng_bit_generator: Threefry's state is u32[4] or u64[2], not u64[3]")
    if dtype not in (uint8, uint16, uint32, uint64):
        raise TypeError(f"rng_bit_generator: unsupported dtype {dtype}")
    return state.strong(), ShapedArray(shape, dtype)


rng_bit_generator = Effect(
    "rng_bit_generator",
    family="random",
    typing=_rng_bit_generator_type,
    multiple=True,
    facts=STILL | SOUND,
)
"""`rng_bit_generator(state, shape, dtype, algorithm)`: the state after this, and random bits.

XLA's generators: Philox-4x32 and Threefry-2x32 (Salmon et al. 2011) in the orders of its
RngBitGenerator, which the devices may choose. In a batch of states, the first makes the bits of
all (as JAX has it), so that lanes are independent but are not what they would be alone.
"""


def _rng_uniform_type(
    low: ShapedArray, high: ShapedArray, *, shape: tuple[int, ...]
) -> ShapedArray:
    if low.dtype != high.dtype:
        raise ValueError(
            "Arguments to rng_uniform must have identical dtypes, got "
            f"{low.dtype} and {high.dtype}."
        )
    if low.shape or high.shape:
        raise ValueError(
            f"Arguments to rng_uniform must be scalars; got shapes {low.shape} and {high.shape}."
        )
    if low.dtype not in (bfloat16, float16, float32, float64, int32, uint32, int64, uint64):
        raise TypeError(f"rng_uniform makes floats and integers of 32 or 64 bits, not {low.dtype}")
    return ShapedArray(shape, low.dtype, weak_type=low.weak_type and high.weak_type)


rng_uniform = Effect("rng_uniform", family="random", typing=_rng_uniform_type, facts=SOUND)
"""`rng_uniform(low, high, shape)`: numbers in [low, high) from the device's own generator.

No key says which: a run may give others than the last.
"""
