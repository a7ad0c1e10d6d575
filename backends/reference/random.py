"""Random bits in NumPy: Threefry-2x32 as its authors state it."""

from __future__ import annotations

from typing import Any

import numpy as np

from effax.backends.reference.table import rule
from effax.effects import random

Words = np.ndarray[Any, np.dtype[np.uint32]]


def _rotate_left(x: Words, bits: int) -> Words:
    return (x << np.uint32(bits)) | (x >> np.uint32(32 - bits))


@rule(random.threefry2x32)
def threefry2x32_reference(k1: Words, k2: Words, x1: Words, x2: Words) -> list[Words]:
    keys = (k1, k2, k1 ^ k2 ^ np.uint32(random.PARITY))
    with np.errstate(over="ignore"):  # sums are modulo 2³²
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
