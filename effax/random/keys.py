"""Keys: the state of the generator as a value, and how new keys are made from a key.

A key is two words of 32 bits. In its old form it is an array `uint32[2]`; in the new one a
`KeyArray`, which has the shape of the keys and hides their words.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from effax import lax
from effax import numpy as jnp
from effax.effects import key_use
from effax.effects.config import read, trace_key
from effax.effects.random import threefry2x32, use_key
from effax.effects.tree import register_pytree_node_class
from effax.effects.types import (
    ExtendedDType,
    canonical_dtype,
    canonical_shape,
    int64,
    is_integer,
    prng_key,
    typeof,
    uint32,
)
from effax.whole import whole

DEFAULT: Final = "threefry2x32"


class KeyType(ExtendedDType):
    """The dtype of key arrays: what generator the keys are for."""

    __slots__ = ("implementation",)

    type = prng_key

    def __init__(self, implementation: str = DEFAULT) -> None:
        self.implementation = implementation

    @property
    def name(self) -> str:  # type: ignore[override]
        """The dtype's name, as JAX writes it."""
        return "key<fry>"

    @property
    def itemsize(self) -> int:
        """Bytes in a key."""
        return 8

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KeyType) and other.implementation == self.implementation

    def __hash__(self) -> int:
        return hash((KeyType, self.implementation))

    def __repr__(self) -> str:
        return self.name


@register_pytree_node_class
class KeyArray:
    """An array of keys over an array of their words, which has one more axis, of length 2.

    It is a node of pytrees, so that every transformation takes it as it takes its words. There is
    no arithmetic on keys; `key_data` gives the words.
    """

    __slots__ = ("place", "words")

    words: Any
    place: tuple[Any, Any] | None
    """The words of the keys that this one was taken from, and where: for `debug_key_reuse`."""

    def __init__(self, words: Any, place: tuple[Any, Any] | None = None) -> None:
        self.words = words
        self.place = place

    def tree_flatten(self) -> tuple[tuple[Any], None]:
        """The words are the one leaf."""
        return (self.words,), None

    @classmethod
    def tree_unflatten(cls, _: None, leaves: Sequence[Any]) -> KeyArray:
        """The keys made of these words."""
        return cls(*leaves)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array of keys."""
        return tuple(self.words.shape[:-1])

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of keys."""
        return int(np.prod(self.shape, dtype=int))

    @property
    def dtype(self) -> KeyType:
        """The type of the keys."""
        return _KEY_TYPE

    @property
    def itemsize(self) -> int:
        """Bytes in a key."""
        return _KEY_TYPE.itemsize

    def reshape(self, *shape: Any) -> KeyArray:
        """The keys in another shape; one length may be -1."""
        lengths = shape[0] if len(shape) == 1 and not hasattr(shape[0], "__index__") else shape
        return KeyArray(self.words.reshape(*lengths, 2))

    def ravel(self) -> KeyArray:
        """The keys along one axis."""
        return self.reshape(-1)

    flatten = ravel

    def squeeze(self, axis: Any = None) -> KeyArray:
        """The keys without axes of length 1."""
        if axis is None:
            axis = tuple(i for i, n in enumerate(self.shape) if n == 1)
        axes = axis if isinstance(axis, tuple) else (axis,)
        return KeyArray(self.words.squeeze(tuple(a % self.ndim for a in axes)))

    def transpose(self, *axes: Any) -> KeyArray:
        """The keys with their axes permuted; reversed by default."""
        order = axes[0] if len(axes) == 1 and isinstance(axes[0], Sequence) else axes
        order = tuple(a % self.ndim for a in order) or tuple(reversed(range(self.ndim)))
        return KeyArray(self.words.transpose(*order, self.ndim))

    @property
    def T(self) -> KeyArray:  # noqa: N802
        """The keys with their axes reversed."""
        return self.transpose()

    def block_until_ready(self) -> KeyArray:
        """Wait until the keys are computed."""
        self.words.block_until_ready()
        return self

    def copy(self) -> KeyArray:
        """The same keys: arrays never change."""
        return KeyArray(self.words)

    def __getitem__(self, index: Any) -> KeyArray:
        where = index if isinstance(index, tuple) else (index,)
        if Ellipsis not in [i for i in where if i is Ellipsis]:
            where = (*where, Ellipsis)
        place = None
        if trace_key().debug_key_reuse and all(type(i) is int for i in where[:-1]):
            place = self.words, where
        return KeyArray(self.words[(*where, slice(None))], place)

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of unsized object: a single key has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[KeyArray]:
        if not self.ndim:
            raise TypeError("iteration over a single key; `split` makes several of it")
        return iter([self[i] for i in range(len(self))])

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, KeyArray):
            return NotImplemented
        return (self.words == other.words).all(-1)

    def __ne__(self, other: object) -> Any:
        if not isinstance(other, KeyArray):
            return NotImplemented
        return (self.words != other.words).any(-1)

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise TypeError("key array cannot be converted to boolean.")

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError(
            "an array of keys cannot be converted to a NumPy array; random.key_data(keys) gives "
            "the words they are made of"
        )

    def __repr__(self) -> str:
        return f"Array({self.shape}, dtype={self.dtype.name}) overlaying:\n{self.words}"


_KEY_TYPE: Final = KeyType()
_KEEPING: Final = frozenset({"clone", "fold_in", "key_data", "key_impl", "wrap_key_data"})
"""Functions that leave a key as good as unused, as in JAX."""


def _implementation(impl: Any, dtype: Any, function: str) -> None:
    """Check which generator is asked for."""
    if impl is not None and dtype is not None:
        raise ValueError(f"Cannot specify both `impl` and `dtype` arguments to random.{function}")
    asked = dtype if impl is None else impl
    if asked is None:
        asked = read("default_prng_impl")
    if isinstance(asked, KeyType):
        asked = asked.implementation
    if not isinstance(asked, str):
        raise TypeError(f"unrecognized type {type(asked)} for specifying PRNG implementation.")
    if asked != DEFAULT:
        raise ValueError(
            f'unrecognized PRNG implementation "{asked}". The one there is: "{DEFAULT}"'
        )


def words_of(function: str, key: Any, batched: bool = False) -> Any:
    """The words of a key in either form.

    Raises `TypeError` for what is no key, and `ValueError` for several where one is expected.
    """
    words = key.words if type(key) is KeyArray else key
    if not all(hasattr(words, a) for a in ("ndim", "shape", "dtype")):
        raise TypeError(
            f"random.{function}: unexpected PRNG key type {type(key)}; a key comes from "
            f"random.key, random.PRNGKey or random.split, but {key!r} was given"
        )
    if words.dtype != uint32 or not words.ndim or words.shape[-1] != 2:
        raise TypeError(
            f"random.{function}: invalid PRNG key data: the words of a key are a uint32 array "
            f"whose last axis has length 2, but {typeof(words).str_short()} was given"
        )
    if words.ndim > 1 and not batched:
        raise ValueError(
            f"{function} accepts a single key, but was given a key array of shape "
            f"{tuple(words.shape[:-1])} != (). Use vmap for batching."
        )
    if type(key) is KeyArray and trace_key().debug_key_reuse and function not in _KEEPING:
        if key.place is not None:
            key_use.use(*key.place, f"random.{function}")
        key_use.use(words, None, f"random.{function}")
    return words


def like(key: Any, words: Any) -> Any:
    """New keys in the form of a given one."""
    return KeyArray(words) if type(key) is KeyArray else words


@whole()
def _seed(seed: Any) -> Any:
    low = lax.convert_element_type(seed, uint32)
    wide = seed.dtype.itemsize == 8
    high = lax.convert_element_type(lax.shift_right_logical(seed, 32), uint32) if wide else None
    if high is None:
        high = lax.full_like(low, 0)
    words = lax.concatenate([lax.expand_dims(high, (0,)), lax.expand_dims(low, (0,))], 0)
    return use_key(words, use="new")


def _key_words(function: str, seed: Any) -> Any:
    if isinstance(seed, KeyArray):
        raise TypeError(f"{function} accepts a scalar seed, but was given a PRNG key.")
    if isinstance(seed, int):
        # Python's ints are taken modulo the width of the default integer, as hashes are larger.
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
    return _seed(seed + np.asarray(offset, type.dtype)[()] if offset else seed)


def key(seed: Any, *, impl: Any = None, dtype: Any = None) -> KeyArray:
    """A key made from an integer seed.

    >>> key(0).shape
    ()
    """
    _implementation(impl, dtype, "key")
    return KeyArray(_key_words("key", seed))


def PRNGKey(seed: Any, *, impl: Any = None) -> Any:  # noqa: N802
    """A key made from an integer seed, as an array of two words, `uint32[2]`.

    The seed is an int, or an integer scalar that may be traced. Without x64, only its lower 32 bits
    count. Raises `TypeError` for seeds that are no integers or not scalar, and `OverflowError`
    for Python ints beyond 64 bits.

    >>> PRNGKey(42).tolist()
    [0, 42]
    """
    _implementation(impl, None, "PRNGKey")
    words = _key_words("PRNGKey", seed)
    return KeyArray(words) if read("enable_custom_prng") else words


def counts(shape: tuple[int, ...]) -> tuple[Any, Any]:
    """The numbers 0, 1, 2, ... in the given shape, as the high and the low words of 64 bits.

    Written as a sum of iotas, one an axis, so that it can be partitioned along any of them.
    """
    size = int(np.prod(shape, dtype=object))
    wide = size > 1 << 32
    dtype = np.dtype(np.uint64) if wide else uint32
    total, stride = lax.full(shape, 0, dtype), 1
    for axis in reversed(range(len(shape))):
        iota = lax.broadcasted_iota(dtype, shape, axis)
        term = iota if stride == 1 else lax.mul(iota, lax.full(shape, stride, dtype))
        total = term if stride == 1 else lax.add(total, term)
        stride *= max(1, shape[axis])
    if not wide:
        return lax.full(shape, 0, uint32), total
    shift = lax.full(shape, 32, dtype)
    high = lax.convert_element_type(lax.shift_right_logical(total, shift), uint32)
    return high, lax.convert_element_type(total, uint32)


def encipher(words: Any, shape: tuple[int, ...], use: str) -> tuple[Any, Any]:
    """Two random words for every place of an array, from the words of one key, which is used up."""
    if not trace_key().threefry_partitionable:
        raise NotImplementedError(
            "random bits in the order of threefry_partitionable=False, JAX's default before 0.5, "
            "are not made; leave the setting at True"
        )
    words = use_key(words, use=use)
    k1, k2 = (
        lax.broadcast(lax.index_in_dim(words, i, axis=0, keepdims=False), shape) for i in (0, 1)
    )
    high, low = counts(shape)
    one, other = threefry2x32(k1, k2, high, low)
    return one, other


@whole("shape")
def split_words(words: Any, shape: tuple[int, ...]) -> Any:
    """The words of as many new keys as the shape has places, along a new last axis."""
    pair = [lax.expand_dims(x, (len(shape),)) for x in encipher(words, shape, "split")]
    return use_key(lax.concatenate(pair, len(shape)), use="new")


def split(key: Any, num: int | tuple[int, ...] = 2) -> Any:
    """As many new keys as asked, along a new first axis (several axes for a tuple).

    >>> split(PRNGKey(0), 3).shape
    (3, 2)
    """
    shape = tuple(num) if isinstance(num, Sequence) else (operator.index(num),)
    return like(key, split_words(words_of("split", key), shape=canonical_shape(shape)))


@whole()
def _fold_in(words: Any, data: Any) -> Any:
    low = lax.convert_element_type(data, uint32)
    words = use_key(words, use="fold_in")
    k1, k2 = (lax.index_in_dim(words, i, axis=0, keepdims=False) for i in (0, 1))
    pair = threefry2x32(k1, k2, lax.full((), 0, uint32), low)
    made = lax.concatenate([lax.expand_dims(x, (0,)) for x in pair], 0)
    return use_key(made, use="new")


def fold_in(key: Any, data: Any) -> Any:
    """A new key made of a key and a number, such as the index of a step.

    `data` is a scalar that fits 32 bits without a sign. Raises `OverflowError` where a Python int
    does not, and `TypeError` for arrays.

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
    if isinstance(data, int):
        if not 0 <= data < 1 << 32:
            raise OverflowError(f"Python integer {data} out of bounds for uint32")
        data = np.uint32(data)
    return like(key, _fold_in(words, data))


def key_data(keys: Any) -> Any:
    """The words that keys are made of: a uint32 array with a last axis of length 2."""
    return words_of("key_data", keys, batched=True)


def wrap_key_data(key_bits_array: Any, *, impl: Any = None, dtype: Any = None) -> KeyArray:
    """Keys made of their words; the way back from `key_data`."""
    _implementation(impl, dtype, "wrap_key_data")
    words = words_of("wrap_key_data", key_bits_array, batched=True)
    if isinstance(words, np.ndarray):
        words = jnp.asarray(words)
    return KeyArray(words)


def key_impl(keys: Any) -> str:
    """The name of the generator that the keys are for."""
    words_of("key_impl", keys, batched=True)
    return DEFAULT


def key_dtype(impl_spec: Any = None) -> KeyType:
    """The dtype of the keys of a generator."""
    _implementation(impl_spec, None, "key_dtype")
    return _KEY_TYPE


def clone(key: Any) -> Any:
    """The same key, said to be used again on purpose."""
    return like(key, twin(words_of("clone", key, batched=True)))


@whole()
def twin(words: Any) -> Any:
    """The words of the same key again, where only one of two uses counts, or both are meant."""
    return use_key(words, use="new")
