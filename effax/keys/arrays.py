"""Arrays of random keys: their dtypes and their class.

A `KeyArray` is a node of the kernel's trees over an array of words, so that every transformation
and every control flow takes it as it takes the words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple, NoReturn

import numpy as np

from effax.effects.config import trace_key
from effax.effects.frames import filtered
from effax.effects.rows.shape import move_axis
from effax.effects.tree import (
    register_pytree_node_class,
    tree_map,
)
from effax.effects.types import (
    ExtendedDType,
    ShapedArray,
    float0,
    prng_key,
    typeof,
)
from effax.effects.value import Value


class Implementation(NamedTuple):
    """A kind of generator: its tag in the names of dtypes, and how many words its keys have.

    They lie along one axis; where users see them they have the shape `axes`, if that is another.
    """

    tag: str
    width: int
    axes: tuple[int, ...] | None = None

    def shown(self, words: Any) -> Any:
        """The words as users see them."""
        return words if self.axes is None else words.reshape(*words.shape[:-1], *self.axes)


DEFAULT: Final = "threefry2x32"
IMPLEMENTATIONS: Final[dict[str, Implementation]] = {
    DEFAULT: Implementation("fry", 2),
    "rbg": Implementation("rbg", 4),
    "unsafe_rbg": Implementation("urbg", 4),
    "threefry4x32": Implementation("fry4", 4),
    "philox2x32": Implementation("phx2", 1),
    "philox4x32": Implementation("phx4", 2),
}
"""Generators by name; those that users define are added."""


class KeyType(ExtendedDType):
    """The dtype of key arrays: what generator the keys are for."""

    __slots__ = ("implementation",)

    type = prng_key

    def __init__(self, implementation: str = DEFAULT) -> None:
        self.implementation = implementation

    @property
    def name(self) -> str:  # type: ignore[override]
        """The dtype's name, as JAX writes it."""
        return f"key<{IMPLEMENTATIONS[self.implementation].tag}>"

    @property
    def _impl(self) -> str:
        """The generator, by the private name that Orbax asks JAX's dtypes of keys for."""
        return self.implementation

    @property
    def width(self) -> int:
        """The number of words in a key."""
        return IMPLEMENTATIONS[self.implementation].width

    @property
    def itemsize(self) -> int:
        """Bytes in a key."""
        return 4 * self.width

    def inside(self, shape: Sequence[int]) -> tuple[tuple[int, ...], Any]:
        """The shape and dtype of the words of keys."""
        return (*shape, self.width), np.dtype(np.uint32)

    def around(self, inner: Any) -> Any:
        """The keys of these words, which pass for an `Array`."""
        return KeyArray(inner, implementation=self.implementation)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KeyType) and other.implementation == self.implementation

    def __hash__(self) -> int:
        return hash((KeyType, self.implementation))

    def __repr__(self) -> str:
        return self.name


class RuleLeaf:
    """A leaf that a custom derivative rule is given in the place of an array.

    Where it stands for the words of keys, unflattening makes of it one that stands for the keys.
    """

    __slots__ = ()

    def of_keys(self, implementation: str) -> Any:
        """The same for the keys of this generator that are made of the words it stands for."""
        raise NotImplementedError(f"{type(self).__name__} must define `of_keys`")


class _Flattened:
    """A count of flattened key arrays, which tells whether a tree held one."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


flattened: Final = _Flattened()


@register_pytree_node_class
class KeyArray(Value):
    """An array of keys over an array of their words, which has one more axis, the last.

    To transformations it is a node of trees over its words; to users a leaf (`key_leaves`).

    There is no arithmetic on keys; `key_data` gives the words.
    """

    __slots__ = ("__weakref__", "implementation", "place", "words")

    words: Any
    place: tuple[Any, Any] | None
    """The words of the keys that this one was taken from, and where: for `debug_key_reuse`."""

    def __init__(
        self, words: Any, place: tuple[Any, Any] | None = None, implementation: str = DEFAULT
    ) -> None:
        self.words = words
        self.place = place
        self.implementation = implementation

    def tree_flatten(self) -> tuple[tuple[Any], str]:
        """The words are the one leaf; keys of different generators are different trees."""
        flattened.count += 1
        return (self.words,), self.implementation

    @classmethod
    def tree_unflatten(cls, implementation: str, leaves: Sequence[Any]) -> Any:
        """The keys made of these words; of tangents of the words, the tangents of the keys."""
        (words,) = leaves
        if isinstance(words, RuleLeaf):
            return words.of_keys(implementation)
        if isinstance(words, np.ndarray) and words.dtype == float0:
            return np.zeros(words.shape[:-1], float0)
        return cls(words, implementation=implementation)

    def like(self, words: Any) -> KeyArray:
        """Keys of these words for the same generator."""
        return KeyArray(words, implementation=self.implementation)

    @property
    def type(self) -> ShapedArray:  # type: ignore[override]
        """The type of the keys, whose dtype says which generator they are for."""
        return ShapedArray(self.words.shape[:-1], KeyType(self.implementation))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array of keys."""
        return tuple(self.words.shape[:-1])

    @property
    def sharding(self) -> Any:
        """The sharding of the keys over their devices: that of the words, which no axis cuts."""
        found = self.words.sharding
        spec: Any = getattr(found, "spec", ())
        return found.update(spec=type(spec)(*spec[: self.ndim])) if len(spec) > self.ndim else found

    @property
    def dtype(self) -> Any:
        """The type of the keys."""
        return KeyType(self.implementation)

    @property
    def weak_type(self) -> NoReturn:
        """Keys have no weak type, which is said as the lack of the attribute."""
        raise AttributeError("arrays of keys have no attribute 'weak_type'")

    @property
    def itemsize(self) -> int:
        """Bytes in a key."""
        return KeyType(self.implementation).itemsize

    @property
    def nbytes(self) -> int:
        """Bytes in all keys."""
        return self.size * self.itemsize

    @property
    def addressable_shards(self) -> list[Any]:
        """The pieces on this process's devices, in the order of the devices."""
        return [self._shard(s) for s in self.words.addressable_shards]

    @property
    def global_shards(self) -> list[Any]:
        """The pieces on all devices; `data` is None where a device is another process's."""
        return [self._shard(s) for s in self.words.global_shards]

    def _shard(self, words: Any) -> Any:
        data = None if words.data is None else self.like(words.data)
        return words._replace(data=data, index=words.index[:-1])

    def addressable_data(self, index: int) -> KeyArray:
        """The piece on the device at this position among this process's devices."""
        return self.like(self.words.addressable_data(index))

    @property
    def at(self) -> KeysAt:  # type: ignore[override]
        """`keys.at[index].set(others)` and `.get()`, as of any array."""
        return KeysAt(self)

    def reshape(self, *shape: Any, order: str = "C") -> KeyArray:  # type: ignore[override]
        """The keys in another shape; one length may be -1."""
        lengths = shape[0] if len(shape) == 1 and not hasattr(shape[0], "__index__") else shape
        if order != "C":
            return over_words(lambda w: w.reshape(*lengths, order=order), self)
        if -1 in lengths and 0 not in self.shape:
            known = 1
            for n in lengths:
                known *= n if n != -1 else 1
            lengths = [self.size // max(known, 1) if n == -1 else n for n in lengths]
        return self.like(self.words.reshape(*lengths, self.words.shape[-1]))

    def ravel(self) -> KeyArray:  # type: ignore[override]
        """The keys along one axis."""
        return self.reshape(self.size)

    flatten = ravel  # type: ignore[assignment]

    def squeeze(self, axis: Any = None) -> KeyArray:
        """The keys without axes of length 1."""
        if axis is None:
            axis = tuple(i for i, n in enumerate(self.shape) if n == 1)
        axes = axis if isinstance(axis, tuple) else (axis,)
        return self.like(self.words.squeeze(tuple(a % self.ndim for a in axes)))

    def transpose(self, *axes: Any) -> KeyArray:
        """The keys with their axes permuted; reversed by default."""
        order = axes[0] if len(axes) == 1 and isinstance(axes[0], Sequence) else axes
        order = tuple(a % self.ndim for a in order) or tuple(reversed(range(self.ndim)))
        return self.like(self.words.transpose(*order, self.ndim))

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
        return self.like(self.words)

    def __getitem__(self, index: Any) -> KeyArray:
        where = index if isinstance(index, tuple) else (index,)
        if Ellipsis not in [i for i in where if i is Ellipsis]:
            where = (*where, Ellipsis)
        place = None
        if trace_key().debug_key_reuse and all(type(i) is int for i in where[:-1]):
            place = self.words, where
        return KeyArray(self.words[(*where, slice(None))], place, self.implementation)

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of unsized object: a single key has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[KeyArray]:
        if not self.ndim:
            raise TypeError("iteration over a single key; `split` makes several of it")
        return iter([self[i] for i in range(len(self))])

    def __eq__(self, other: object) -> Any:
        if self.stands_for_keys:
            same = isinstance(other, KeyArray) and self.implementation == other.implementation
            return same and self.words == other.words  # type: ignore[attr-defined]
        if not _is_compared("==", other):
            return NotImplemented
        return _same_words("equal", self, other).all(-1)

    def __ne__(self, other: object) -> Any:
        if self.stands_for_keys:
            return not self == other
        if not _is_compared("!=", other):
            return NotImplemented
        return ~_same_words("not_equal", self, other).all(-1)

    def __hash__(self) -> int:
        if self.stands_for_keys:
            return hash((self.implementation, self.words))
        raise TypeError("unhashable type: an array of keys")

    @property
    def stands_for_keys(self) -> bool:
        """Whether there are no keys here: a `ShapeDtypeStruct` is in the place of their words."""
        return not isinstance(self.words, Value | np.ndarray)

    def __bool__(self) -> bool:
        raise TypeError("key array cannot be converted to boolean.")

    @filtered
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError(
            "an array of keys cannot be converted to a NumPy array; use random.key_data(keys) for "
            "the integers that they are made of"
        )

    def __repr__(self) -> str:
        if self.stands_for_keys:
            return f"ShapeDtypeStruct(shape={self.shape}, dtype={self.dtype.name})"
        words = IMPLEMENTATIONS[self.implementation].shown(self.words)
        return f"Array({self.shape}, dtype={self.dtype.name}) overlaying:\n{words}"


_CONTAINERS: Final = frozenset({list, tuple, set, dict})


def _is_compared(symbol: str, other: Any) -> bool:
    """Whether an operand is compared by its elements; by identity, where it can have none.

    Raises `TypeError` for containers, as arrays do.
    """
    if type(other) in _CONTAINERS:
        raise TypeError(
            f"unsupported operand type(s) for {symbol}: 'KeyArray' and {type(other).__name__!r}"
        )
    known = (KeyArray, Value, np.ndarray, np.generic, bool, int, float, complex)
    return isinstance(other, known) or hasattr(other, "__jax_array__")


def _same_words(name: str, keys: KeyArray, other: Any) -> Any:
    if type(other) is not KeyArray or other.implementation != keys.implementation:
        given = getattr(other, "dtype", type(other).__name__)
        raise TypeError(f"{name} does not accept dtypes {keys.dtype}, {given}.")
    return over_words(lambda a, b: a == b, keys, other, plain=True)


def _attribute_of_words(name: str, doc: str) -> property:
    return property(lambda self: getattr(self.words, name), doc=doc)


def _method_of_words(name: str, doc: str) -> Callable[[KeyArray], Any]:
    def method(self: KeyArray) -> Any:
        return getattr(self.words, name)()

    method.__name__, method.__doc__ = name, doc
    return method


for _name, _doc in {
    "committed": "Whether the user chose the devices; what is computed from the keys stays there.",
    "device": "The device that the keys are on; the sharding if there are several.",
    "is_fully_addressable": "Whether the keys are all on devices of this process.",
    "is_fully_replicated": "Whether each of its devices has all of the keys.",
}.items():
    setattr(KeyArray, _name, _attribute_of_words(_name, _doc))
for _name, _doc in {
    "copy_to_host_async": "Begin to bring the words to the host.",
    "delete": "Give the memory back now; the keys can't be used any more.",
    "devices": "The devices that the keys are on.",
    "is_deleted": "Whether the memory was given away or deleted.",
    "on_device_size_in_bytes": "The memory taken on the devices, padding included.",
    "unsafe_buffer_pointer": "The address of the memory on the one device of the keys.",
}.items():
    setattr(KeyArray, _name, _method_of_words(_name, _doc))


def _refused(name: str) -> Callable[..., Any]:
    @filtered
    def operator(self: Any, *others: Any) -> NoReturn:
        given = [typeof(x).dtype.name for x in (self, *others)]
        shown = f"dtypes {', '.join(given)}" if len({*given}) > 1 else f"dtype {given[0]}"
        raise TypeError(f"{name} does not accept {shown}: there is no arithmetic on random keys")

    return operator


for _name in (
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "divmod", "pow", "matmul"),
    *("and", "or", "xor", "lshift", "rshift"),
):
    setattr(KeyArray, f"__{_name}__", _refused(_name))
    setattr(KeyArray, f"__r{_name}__", _refused(_name))
for _name in ("lt", "le", "gt", "ge", "neg", "pos", "abs", "invert"):
    setattr(KeyArray, f"__{_name}__", _refused(_name))


class KeysAt:
    """The result of `keys.at`: `keys.at[index]` names some of the keys."""

    __slots__ = ("keys",)

    def __init__(self, keys: KeyArray) -> None:
        self.keys = keys

    def __getitem__(self, index: Any) -> KeysUpdate:
        return KeysUpdate(self.keys, index)


class KeysUpdate:
    """Some of the keys of an array: `get()`, or `set(others)`, which gives a new array."""

    __slots__ = ("index", "keys")

    def __init__(self, keys: KeyArray, index: Any) -> None:
        self.keys = keys
        self.index = index

    def get(self, **options: Any) -> KeyArray:
        """The keys there."""
        return over_words(lambda w: w.at[self.index].get(**options), self.keys)

    def set(self, values: Any, **options: Any) -> KeyArray:
        """The keys, others in the place of these. Raises `TypeError` for what is no key."""
        if type(values) is not KeyArray or values.implementation != self.keys.implementation:
            given = getattr(values, "dtype", type(values).__name__)
            raise TypeError(f"{self.keys.dtype} keys cannot be set to {given}; give keys")
        return over_words(lambda w, v: w.at[self.index].set(v, **options), self.keys, values)


def _refused_update(name: str) -> Callable[..., Any]:
    @filtered
    def update(self: KeysUpdate, *args: Any, **options: Any) -> NoReturn:
        raise TypeError(
            f"at[...].{name} does not accept dtype {self.keys.dtype}: there is no arithmetic on "
            "random keys; `set` puts other keys there"
        )

    return update


for _name in (
    *("add", "subtract", "sub", "multiply", "mul", "divide", "power", "min", "max"),
    "apply",
):
    setattr(KeysUpdate, _name, _refused_update(_name))


def is_keys(x: Any) -> bool:
    """Whether this is an array of keys, and not of its words."""
    return type(x) is KeyArray


def axis_of_words(axis: Any, ndim: int, what: str) -> Any:
    """The axis of the words that an axis of keys is, among `ndim` of them.

    Raises `ValueError` where there is none, as the axis of the words must not be meant.
    """
    if not isinstance(axis, int):
        return axis
    if not -ndim <= axis < ndim:
        if not ndim:
            raise ValueError(
                f"{what}: a single random key has no axis to map over; make an array of keys, one "
                "for each lane, by keys = random.split(key, n), or give the key the axis None"
            )
        axes = "1 axis" if ndim == 1 else f"{ndim} axes"
        raise ValueError(f"{what}: an array of keys with {axes} has no axis {axis}")
    return axis % ndim


def over_words(function: Callable[..., Any], *keys: KeyArray, plain: bool = False) -> Any:
    """The function of arrays of words, one for each word of the keys; its results are keys.

    With `plain`, they are arrays with the words' axis last.
    """
    from effax.interpreters.batch.batched import Batch, Batched, repeat

    width = keys[0].words.shape[-1]
    handler = Batch(None, width)

    def each(keys: KeyArray) -> Batched:
        return Batched(handler, move_axis(keys.words, keys.ndim, 0))

    def all_words(x: Any) -> Any:
        many = x.many if handler.owns(x) else repeat(x, width)
        words = move_axis(many, 0, len(typeof(many).shape) - 1)
        return words if plain else keys[0].like(words)

    return tree_map(all_words, handler.run(function, *map(each, keys)))


def traced_part(value: Any) -> Any:
    """A value, or the words that an array of keys is over: keys are traced where these are."""
    return value.words if type(value) is KeyArray else value
