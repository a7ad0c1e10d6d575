"""All generators of random numbers: the functions that make keys, and bits of a key."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, Final, NamedTuple

from effax.effects.rows.random import use_key
from effax.effects.types import DType
from effax.keys.arrays import DEFAULT, IMPLEMENTATIONS, Implementation
from effax.random import rbg, threefry
from effax.random.ciphers import CIPHERS

Shape = tuple[int, ...]


class Generator(NamedTuple):
    """The functions of a generator, of the words of keys; `bits` draws from one."""

    seed: Callable[[Any], Any]
    split: Callable[[Any, Shape], Any]
    fold: Callable[[Any, Any], Any]
    bits: Callable[[Any, Shape, DType], Any]


GENERATORS: Final[dict[str, Generator]] = {
    DEFAULT: Generator(
        threefry.seed_words, threefry.split_words, threefry.fold_words, threefry.draw
    ),
    "rbg": Generator(rbg.seed_words, rbg.split_words, rbg.fold_words, rbg.draw),
    "unsafe_rbg": Generator(
        rbg.seed_words, rbg.split_words_unsafely, rbg.fold_words_unsafely, rbg.draw
    ),
    **{name: Generator(c.seed, c.split, c.fold, c.bits) for name, c in CIPHERS.items()},
}
"""The generators by name, those that users define among them."""


def define(generator: Generator, axes: Shape, name: str, tag: str) -> str:
    """Add a generator of a user's; return the name by which keys are asked for.

    Its functions take and give words along one axis, which users see in the shape of `axes`.

    A name that is taken gets a number, as keys of two generators must not be taken for each other.
    """
    taken = sum(known.partition(" #")[0] == name for known in IMPLEMENTATIONS)
    given = f"{name} #{taken + 1}" if taken else name
    IMPLEMENTATIONS[given] = Implementation(tag, prod(axes), axes if len(axes) != 1 else None)
    GENERATORS[given] = generator
    return given


def marked(generator: Generator) -> Generator:
    """A generator whose keys are marked as used and new, for those who look for used ones."""

    def made(make: Callable[..., Any], use: str) -> Callable[..., Any]:
        return lambda words, given: use_key(make(use_key(words, use=use), given), use="new")

    return Generator(
        lambda seed: use_key(generator.seed(seed), use="new"),
        made(generator.split, "split"),
        made(generator.fold, "fold_in"),
        lambda words, shape, dtype: generator.bits(use_key(words, use="bits"), shape, dtype),
    )
