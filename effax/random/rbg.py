"""Keys of the device's own generator, `rbg` and `unsafe_rbg`: four words, a state of XLA's.

Keys of `rbg` are made of others by Threefry, on each half of them; those of `unsafe_rbg` by drawing
from the generator, which is faster, and of which nothing is proved.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from effax import lax
from effax.effects.rows.random import RandomAlgorithm, rng_bit_generator, use_key
from effax.effects.types import DType, uint32
from effax.random import threefry

_APART: Final = 10
"""Of the rows drawn for new keys, one in so many is used (as in JAX)."""


def _halves(words: Any) -> tuple[Any, Any]:
    return words[:2], words[2:]


def _drawn(words: Any, shape: tuple[int, ...], dtype: DType) -> Any:
    """Bits of the generator, the state after it forgotten: a key is used once."""
    _, bits = rng_bit_generator(
        words, shape=shape, dtype=dtype, algorithm=RandomAlgorithm.RNG_DEFAULT
    )
    return bits


def draw(words: Any, shape: tuple[int, ...], dtype: DType) -> Any:
    """Random unsigned integers from the words of one key, which is used up."""
    return _drawn(use_key(words, use="bits"), shape, dtype)


def seed_words(seed: Any) -> Any:
    """The words of the key that an integer seeds: Threefry's, twice."""
    half = threefry.seed_words(seed)
    return use_key(lax.concatenate([half, half], 0), use="new")


def split_words(words: Any, shape: tuple[int, ...]) -> Any:
    """The words of new keys: each half of them made by Threefry of that half."""
    words = use_key(words, use="split")
    parts = [threefry.split_words(half, shape) for half in _halves(words)]
    return use_key(lax.concatenate(parts, len(shape)), use="new")


def fold_words(words: Any, data: Any) -> Any:
    """The words of the key made of a key and a number: each half by Threefry of that half."""
    words = use_key(words, use="fold_in")
    parts = [threefry.fold_words(half, data) for half in _halves(words)]
    return use_key(lax.concatenate(parts, 0), use="new")


def split_words_unsafely(words: Any, shape: tuple[int, ...]) -> Any:
    """The words of new keys, drawn."""
    words = use_key(words, use="split")
    count = int(np.prod(shape, dtype=object))
    rows = _drawn(words, (_APART * count, 4), uint32)
    return use_key(rows[::_APART].reshape(*shape, 4), use="new")


def fold_words_unsafely(words: Any, data: Any) -> Any:
    """The words of a key mixed with what a generator of the number's own draws."""
    words = use_key(words, use="fold_in")
    state = seed_words(lax.convert_element_type(data, uint32))
    row = _drawn(state, (_APART, 4), uint32)[_APART - 1]
    return use_key(lax.bitwise_xor(words, row), use="new")
