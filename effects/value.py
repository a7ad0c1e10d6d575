"""The base class of array-like values: a type, and operators that the top layer installs."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from types import EllipsisType
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    Protocol,
    SupportsIndex,
    TypeAlias,
    Union,
    runtime_checkable,
)

import numpy as np

from effax.effects.errors import InconclusiveDimensionOperation

if TYPE_CHECKING:
    from effax.backends.xla.device import Device
    from effax.backends.xla.placement import Sharding
    from effax.effects.declared import Declared
    from effax.effects.mesh import PartitionSpec
    from effax.effects.types import ShapedArray
    from effax.lax.contraction import PrecisionLike as PrecisionLike
    from effax.numpy.slices import Slice

    NumPyArray: TypeAlias = np.ndarray[Any, Any]
    OutSharding: TypeAlias = Sharding | PartitionSpec | None
    DeviceLike: TypeAlias = Device | Sharding | str | None
    NumPyScalar: TypeAlias = np.generic
else:
    # Tools evaluate annotations at times when these classes need not have been imported.
    Declared = object
    NumPyArray = np.ndarray
    NumPyScalar = np.bool_ | np.number  # for `isinstance(x, ArrayLike)`: no text, no dates
    DeviceLike = OutSharding = PrecisionLike = Any


@runtime_checkable
class SupportsDType(Protocol):
    """An object with a dtype: an array, a `ShapeDtypeStruct`, a scalar type such as `jnp.int8`."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype."""


# `typing.Union`, as in JAX: `ArrayLike | "Later"` is no error in a program's own alias.
DTypeLike: TypeAlias = Union[str, type[Any], np.dtype[Any], SupportsDType]  # noqa: UP007
"""Whatever can stand where a dtype is asked for."""

Shape: TypeAlias = Sequence[SupportsIndex]
"""The lengths of axes."""

Axis: TypeAlias = int | Sequence[int] | None
"""One axis or several; None stands for all."""


shown_modules: Final[dict[str, str]] = {}
"""The modules that the library's classes of values say they are from, where effax is jax."""


class Value(Declared):
    """The base of the device `Array` and of every carrier.

    A subclass gives `type`; the rest is read from it. Operators and methods (`+`, `.sum()`,
    `.at[...]`) are written in the object language and installed here by `effax.numpy`, so that
    they exist once and work for arrays and for carriers alike, a user's carriers included. Type
    checkers find them in `Declared`.
    """

    __slots__ = ()

    type: ShapedArray

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.__module__ = shown_modules.get(cls.__module__, cls.__module__)

    @property
    def aval(self) -> ShapedArray:
        """The value's type, under the name JAX gives it."""
        return self.type

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        return self.type.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the elements."""
        return self.type.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.type.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.type.size

    @property
    def itemsize(self) -> int:
        """The bytes of an element."""
        return int(self.type.dtype.itemsize)

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return self.type.size * int(self.type.dtype.itemsize)

    @property
    def weak_type(self) -> bool:
        """Whether the dtype yields to that of any array it meets, as a Python number's does."""
        return self.type.weak_type


class _OfArrays:
    """An attribute that arrays have and carriers need not: it can be looked up on the class."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, value: Value | None, owner: type[Value]) -> Any:
        if value is None:
            return self
        raise AttributeError(f"{owner.__name__!r} object has no attribute {self.name!r}")

    def __call__(self, value: Value, *arguments: Any) -> Any:
        return getattr(value, self.name)(*arguments)


# Programs that wrap or document the class name `jax.Array.item` and its kin.
for _name in (
    *("addressable_data", "addressable_shards", "committed", "copy_to_host_async", "device"),
    *("global_shards", "is_fully_addressable", "is_fully_replicated", "item", "sharding"),
):
    setattr(Value, _name, _OfArrays(_name))

Array: TypeAlias = Value
"""An array, or what stands for one while a function is traced, batched or differentiated."""

ArrayLike: TypeAlias = Union[  # noqa: UP007
    Value, NumPyArray, NumPyScalar, bool, int, float, complex
]
"""Whatever can stand where an array is asked for; no list."""

if TYPE_CHECKING:
    IndexPart: TypeAlias = SupportsIndex | slice | EllipsisType | NumPyArray | Slice | Value | None
    Index: TypeAlias = IndexPart | tuple[IndexPart, ...]
else:
    Index = Any


def require_one_element(x: Value) -> None:
    """Raise `ValueError` where a value is asked for its truth that has not one element."""
    if x.size == 1:
        return
    if x.size == 0:
        raise ValueError(
            "The truth value of an empty array is ambiguous. "
            "Use `array.size > 0` to check that an array is not empty."
        )
    raise ValueError(
        "The truth value of an array with more than one element is ambiguous. "
        "Use a.any() or a.all()"
    )


def is_symbolic_length(n: Any) -> bool:
    """Whether a length is an expression of unknowns (`effax.export.symbolic_shape`).

    >>> is_symbolic_length(3)
    False
    """
    return type(n) is not int and bool(getattr(type(n), "symbolic_dimension", False))


def is_symbolic(shape: Iterable[Any]) -> bool:
    """Whether one of some lengths is symbolic.

    >>> is_symbolic((2, 3))
    False
    """
    return any([is_symbolic_length(n) for n in shape])


def greatest(one: Any, other: Any) -> Any:
    """Return the greater of two lengths; of symbolic ones, where neither always is, an expression.

    >>> greatest(0, 3)
    3
    """
    return _picked("max", max, one, other)


def smallest(one: Any, other: Any) -> Any:
    """Return the lesser of two lengths; of symbolic ones, where neither always is, an expression.

    >>> smallest(0, 3)
    0
    """
    return _picked("min", min, one, other)


def _picked(name: str, pick: Any, one: Any, other: Any) -> Any:
    for n in (one, other):
        if is_symbolic_length(n):
            return n.operation(name, one, other)
    return pick(one, other)


def surely(holds: Callable[[], Any]) -> bool:
    """Return whether a condition on lengths holds, whatever the unknowns of symbolic ones are.

    >>> surely(lambda: 0 <= 2 < 3)
    True
    """
    try:
        return bool(holds())
    except InconclusiveDimensionOperation:
        return False


def length(n: Any) -> Any:
    """Return a length as an int; a symbolic one stands for itself.

    Raises `TypeError` for what is no integer.

    >>> length(True), length(3)
    (1, 3)
    """
    return n if is_symbolic_length(n) else int(operator.index(n))
