"""Keys: the state of the generator as a value, and how new keys are made from a key.

A key is two words of 32 bits (other generators have 1 to 4). In its old form it is an
array `uint32[2]`; in the new one a `KeyArray`, which has the shape of the keys and hides words.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from math import prod
from typing import Any, Final, cast

import numpy as np

from effax import numpy as jnp
from effax.eager.whole import whole
from effax.effects import key_use
from effax.effects.config import read, trace_key
from effax.effects.rows.random import use_key
from effax.effects.tree import tree_map
from effax.effects.types import (
    canonical_dtype,
    canonical_shape,
    int64,
    is_integer,
    typeof,
    uint32,
)
from effax.effects.value import Array, ArrayLike, DTypeLike, is_symbolic_length
from effax.keys.arrays import DEFAULT, IMPLEMENTATIONS, KeyArray, KeyType
from effax.operands.arguments import known_index
from effax.random import threefry
from effax.random.generators import GENERATORS

_KEEPING: Final = frozenset({"clone", "fold_in", "key_data", "key_impl", "wrap_key_data"})
"""Functions that leave a key as good as unused, as in JAX."""


def _implementation(impl: Any, dtype: Any, function: str) -> str:
    """Return the generator that is asked for."""
    if impl is not None and dtype is not None:
        raise ValueError(f"Cannot specify both `impl` and `dtype` arguments to random.{function}")
    asked = dtype if impl is None else impl
    if asked is None:
        asked = read("default_prng_impl")
    if isinstance(asked, KeyType):
        asked = asked.implementation
    if not isinstance(asked, str):
        raise TypeError(f"unrecognized type {type(asked)} for specifying PRNG implementation.")
    if asked not in IMPLEMENTATIONS:
        listed = ", ".join(f'"{name}"' for name in IMPLEMENTATIONS)
        raise ValueError(
            f'unrecognized PRNG implementation "{asked}". The implementations are: {listed}'
        )
    return asked


def words_of(function: str, key: Any, batched: bool = False) -> Any:
    """Return the words of a key, in either form, for a sampler. Keys of generators other than
    Threefry stay a `KeyArray`, because words do not name their generator.

    Raises `TypeError` for what is no key, and `ValueError` for several where one is expected.
    """
    typed = type(key) is KeyArray
    implementation = key.implementation if typed else read("default_prng_impl")
    words = key.words if typed else key
    _check_words(function, words, implementation)
    if not typed and read("legacy_prng_key") != "allow":
        _legacy_key(function)
    if words.ndim > 1 and not batched:
        raise ValueError(
            f"{function} accepts a single key, but was given a key array of shape "
            f"{tuple(words.shape[:-1])} != (). Use vmap for batching."
        )
    if typed and trace_key().debug_key_reuse and function not in _KEEPING:
        if key.place is not None:
            taken_from, index = key.place
            key_use.use(taken_from, index, f"random.{function}")
        key_use.use(words, None, f"random.{function}")
    return words if implementation == DEFAULT else KeyArray(words, None, implementation)


def _legacy_key(function: str) -> None:
    told = (
        f"Legacy uint32 key array passed as key to random.{function}. Please create keys using "
        "random.key(). If use of a raw key array was intended, set legacy_prng_key='allow'."
    )
    if read("legacy_prng_key") == "error":
        raise ValueError(told)
    warnings.warn(told, UserWarning, stacklevel=4)


def _check_words(function: str, words: Any, implementation: str) -> None:
    """Raise `TypeError` for what can't be the words of keys of this generator."""
    if not all(hasattr(words, a) for a in ("ndim", "shape", "dtype")):
        raise TypeError(
            f"random.{function}: unexpected PRNG key type {type(words)}; a key comes from "
            f"random.key, random.PRNGKey or random.split, but {words!r} was given"
        )
    width = IMPLEMENTATIONS[implementation].width
    if words.dtype != uint32 or not words.ndim or words.shape[-1] != width:
        raise TypeError(
            f"random.{function}: invalid PRNG key data: the words of a key of {implementation} are "
            f"a uint32 array whose last axis has length {width}, but "
            f"{typeof(words).str_short()} was given"
        )


def raw(words: Any) -> Any:
    """The words, whatever `words_of` made of them."""
    return words.words if type(words) is KeyArray else words


def like(key: Any, words: Any) -> Any:
    """New keys in the form of a given one."""
    if type(key) is not KeyArray:
        return raw(words)
    return words if type(words) is KeyArray else KeyArray(words)


@whole("implementation")
def _seeded(seed: Any, implementation: str) -> Any:
    return GENERATORS[implementation].seed(seed)


def _key_words(function: str, seed: Any, implementation: str) -> Any:
    if isinstance(seed, KeyArray):
        raise TypeError(f"{function} accepts a scalar seed, but was given a PRNG key.")
    if isinstance(seed, int):
        # Python integers are reduced modulo the width of the default integer, as hashes may be
        # larger.
        seed = np.int64(seed).astype(canonical_dtype(int64))
    elif isinstance(seed, list | tuple):
        seed = np.asarray(seed)
    type = typeof(seed)
    if type.shape:
        raise TypeError(
            f"{function} accepts a scalar seed, but was given an array of shape {type.shape} != "
            "(). Use vmap for batching"
        )
    if not is_integer(type.dtype):
        raise TypeError(f"PRNG key seed must be an integer; got {type.str_short()}")
    offset = read("random_seed_offset")
    if offset:
        seed = seed + np.asarray(offset, type.dtype)[()]
    return _seeded(seed, implementation=implementation)


def key(seed: ArrayLike, *, impl: Any = None, dtype: DTypeLike | None = None) -> KeyArray:
    """Make a key from an integer seed.

    Args:
      seed: an integer scalar.
      impl: the generator: "threefry2x32" (the default), "threefry4x32", "philox2x32" or
        "philox4x32" (the same numbers everywhere), "rbg" or "unsafe_rbg" (the device's own, faster
        on some; batches are not what their lanes would be alone, see `lax.rng_bit_generator`), or
        what `extend.random.define_prng_impl` returns.
      dtype: the dtype of the key, see `key_dtype`; an alternative to `impl`.

    Raises:
      ValueError: for other generators, and where both `impl` and `dtype` are given.

    >>> key(0).shape
    ()
    >>> key(0, impl="rbg").dtype
    key<rbg>
    """
    asked = _implementation(impl, dtype, "key")
    return KeyArray(_key_words("key", seed, asked), implementation=asked)


def PRNGKey(seed: ArrayLike, *, impl: Any = None) -> Array:  # noqa: N802
    """Make a key from an integer seed, as an array of two words, `uint32[2]`.

    Args:
      seed: an int, or an integer scalar that may be traced. Without x64, only its lower 32 bits
        count.
      impl: the generator, as for `key`.

    Raises:
      TypeError: for seeds that are not integers or not scalar.
      OverflowError: for Python ints beyond 64 bits.

    >>> PRNGKey(42).tolist()
    [0, 42]
    """
    asked = _implementation(impl, None, "PRNGKey")
    words = _key_words("PRNGKey", seed, asked)
    if read("enable_custom_prng"):
        return KeyArray(words, None, asked)
    return cast("Array", IMPLEMENTATIONS[asked].shown(words))


@whole("shape")
def split_words(words: Any, shape: tuple[int, ...]) -> Any:
    """The words of as many new keys as the shape has places, along a new last axis."""
    if type(words) is KeyArray:
        return words.like(GENERATORS[words.implementation].split(words.words, shape))
    return threefry.split_words(words, shape)


def split(key: ArrayLike, num: int | tuple[int, ...] = 2) -> Array:
    """Make new keys from a key, along a new first axis.

    Args:
      key: a random key (or its words).
      num: the number of new keys; a tuple is the shape of several new axes.

    >>> split(PRNGKey(0), 3).shape
    (3, 2)
    """
    several = isinstance(num, Sequence)
    lengths = num if several or is_symbolic_length(num) else known_index("split", "num", num)
    shape = canonical_shape(lengths)
    return like(key, split_words(words_of("split", key), shape=shape))


@whole()
def _fold_in(words: Any, data: Any) -> Any:
    if type(words) is KeyArray:
        return words.like(GENERATORS[words.implementation].fold(words.words, data))
    return threefry.fold_words(words, data)


def fold_in(key: ArrayLike, data: ArrayLike) -> Array:
    """Make a new key of a key and a number, such as the index of a step.

    Args:
      key: a random key (or its words).
      data: an integer scalar that fits 32 bits without a sign.

    Raises:
      OverflowError: where a Python number does not fit.
      TypeError: for arrays with axes and complex numbers.

    >>> fold_in(PRNGKey(0), 1).shape
    (2,)
    """
    words = words_of("fold_in", key)
    ndim = data.ndim if hasattr(data, "ndim") else np.ndim(data)
    if ndim:
        raise TypeError(
            "fold_in accepts a scalar, but was given an array of shape "
            f"{np.shape(data)} != (). Use vmap for batching."
        )
    if isinstance(data, complex):
        raise TypeError(f"fold_in: expected an integer, got the complex number {data}")
    if isinstance(data, int | float):
        number = int(data)
        if not 0 <= number < 1 << 32:
            raise OverflowError(f"Python integer {number} out of bounds for uint32")
        data = np.uint32(number)
    return like(key, _fold_in(words, data))


def key_data(keys: ArrayLike) -> Array:
    """Return the words that keys are made of: a uint32 array with a last axis of the key's length.

    Args:
      keys: an array of keys.

    >>> from effax import random
    >>> random.key_data(random.key(42)).tolist()
    [0, 42]
    """
    words = words_of("key_data", keys, batched=True)
    if type(words) is not KeyArray:
        return cast("Array", words)
    return cast("Array", IMPLEMENTATIONS[words.implementation].shown(words.words))


def _along_one_axis(words: Any, implementation: str) -> Any:
    """The words of keys, which have the shape that users see, as they lie in an array of keys."""
    axes = IMPLEMENTATIONS[implementation].axes
    if axes is None or not hasattr(words, "shape"):
        return words
    before = len(words.shape) - len(axes)
    if before < 0 or tuple(words.shape[before:]) != axes:
        raise TypeError(
            f"random.wrap_key_data: the words of a key of {implementation} are a uint32 array "
            f"whose shape ends in {axes}, but {typeof(words).str_short()} was given"
        )
    return words.reshape(*words.shape[:before], prod(axes))


def wrap_key_data(
    key_bits_array: ArrayLike, *, impl: Any = None, dtype: DTypeLike | None = None
) -> KeyArray:
    """Make keys of their words; the inverse of `key_data`.

    Args:
      key_bits_array: a uint32 array, (..., 2), or with as many words as the generator has.
      impl: the generator, as for `key`.
      dtype: the dtype of the keys, see `key_dtype`; an alternative to `impl`.

    >>> from effax import random
    >>> (random.wrap_key_data(random.key_data(random.key(1))) == random.key(1)).item()
    True
    """
    asked = _implementation(impl, dtype, "wrap_key_data")
    words = _along_one_axis(key_bits_array, asked)
    _check_words("wrap_key_data", words, asked)
    if isinstance(words, np.ndarray):
        words = jnp.asarray(words)
    return KeyArray(words, implementation=asked)


def key_impl(keys: ArrayLike) -> str:
    """Return the name of the generator that keys are for.

    Args:
      keys: an array of keys.

    >>> from effax import random
    >>> random.key_impl(random.key(0))
    'threefry2x32'
    """
    words = words_of("key_impl", keys, batched=True)
    return words.implementation if type(words) is KeyArray else DEFAULT


def key_dtype(impl_spec: Any = None) -> KeyType:
    """Return the dtype of the keys of a generator.

    Args:
      impl_spec: the generator, as `impl` of `key`; by default the one that the configuration sets.

    >>> from effax import random
    >>> random.key_dtype("rbg")
    key<rbg>
    """
    return KeyType(_implementation(impl_spec, None, "key_dtype"))


def clone(key: ArrayLike) -> Array:
    """Return the same key, marked as reused on purpose.

    Args:
      key: a random key (or its words), or several.

    >>> from effax import random
    >>> (random.clone(random.key(0)) == random.key(0)).item()
    True
    """
    return like(key, twin(words_of("clone", key, batched=True)))


def twin(words: Any) -> Any:
    """The words of the same key again, where only one of two uses counts, or both are meant."""
    return tree_map(_marked_new, words)


@whole()
def _marked_new(words: Any) -> Any:
    return use_key(words, use="new")
