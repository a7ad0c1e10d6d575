"""Generators of random numbers, by the names of `jax.extend.random`."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from effax.api.mapping.vmap import vmap
from effax.effects.types import canonical_shape, typeof
from effax.effects.value import Array, Shape
from effax.random.generators import Generator, define, marked
from effax.random.keys import key

__all__ = [
    "define_prng_impl",
    "random_seed",
    "rbg_prng_impl",
    "seed_with_impl",
    "threefry_prng_impl",
    "unsafe_rbg_prng_impl",
]
__dir__ = __all__.copy

threefry_prng_impl: Final = "threefry2x32"
rbg_prng_impl: Final = "rbg"
unsafe_rbg_prng_impl: Final = "unsafe_rbg"


def seed_with_impl(impl: str, seed: Any) -> Any:
    """Return the key of a seed for one of the generators above.

    >>> seed_with_impl(rbg_prng_impl, 0).dtype
    key<rbg>
    """
    return key(seed, impl=impl)


def random_seed(seeds: Any, impl: str) -> Any:
    """Return the keys of seeds for one of the generators above.

    Args:
      seeds: an integer, or an array of integers.
      impl: the generator.

    Returns:
      An array of keys of the shape of `seeds`.

    >>> random_seed([3, 4], threefry_prng_impl).shape
    (2,)
    """
    if isinstance(seeds, list | tuple):
        seeds = np.asarray(seeds)
    keys: Callable[[Any], Any] = partial(key, impl=impl)
    for _ in typeof(seeds).shape:
        keys = vmap(keys)
    return keys(seeds)


def define_prng_impl(
    *,
    key_shape: Shape,
    seed: Callable[[Array], Array],
    split: Callable[[Array, tuple[int, ...]], Array],
    random_bits: Callable[[Array, int, tuple[int, ...]], Array],
    fold_in: Callable[[Array, Array], Array],
    name: str = "<unnamed>",
    tag: str = "?",
) -> str:
    """Define a generator; all samplers draw from its keys.

    The functions are compiled, and must be such that `vmap` can batch them.

    Args:
      key_shape: the shape of a key's words.
      seed: the words of the key of an integer scalar, uint32 of this shape.
      split: the words of new keys, of a shape and then `key_shape`, of a key's words and the shape.
      random_bits: unsigned integers of a key's words, a width of 8, 16, 32 or 64 bits, a shape.
      fold_in: the words of a new key, of a key's words and a number, a uint32 scalar.
      name: the generator's name; one that is taken is numbered.
      tag: its short name, in the dtype of its keys.

    Returns:
      What `random.key` takes as `impl`.

    >>> import math
    >>> from effax import lax, random
    >>> def bits(words, width, shape):
    ...     counter = lax.iota(f"uint{width}", math.prod(shape)).reshape(shape)
    ...     return counter + words[0].astype(counter.dtype)
    >>> counting = define_prng_impl(
    ...     key_shape=(1,),
    ...     seed=lambda seed: seed.astype("uint32")[None],
    ...     split=lambda words, shape: bits(words, 32, shape)[..., None],
    ...     random_bits=bits,
    ...     fold_in=lambda words, data: words + data,
    ...     name="counting",
    ...     tag="count",
    ... )
    >>> random.bits(random.key(5, impl=counting), (3,)).tolist()
    [5, 6, 7]
    """
    axes = canonical_shape(key_shape)

    def key_of(words: Any) -> Any:
        return words.reshape(axes)

    def words_of(keys: Any, batch: tuple[int, ...] = ()) -> Any:
        return keys.reshape(*batch, math.prod(axes))

    generator = Generator(
        lambda number: words_of(seed(number)),
        lambda words, shape: words_of(split(key_of(words), shape), shape),
        lambda words, data: words_of(fold_in(key_of(words), data)),
        lambda words, shape, dtype: random_bits(key_of(words), 8 * dtype.itemsize, shape),
    )
    return define(marked(generator), axes, name, tag)
