"""`ShapeDtypeStruct`: what stands for an array where only its type matters."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar, NoReturn

import numpy as np

from effax.backends.xla.analysis import Format
from effax.backends.xla.mesh import NamedSharding
from effax.effects.mesh import PartitionSpec, current_mesh
from effax.effects.types import ShapedArray, canonical_dtype, register_type, typeof
from effax.effects.value import length
from effax.keys.arrays import KeyArray, KeyType


class ShapeDtypeStruct:
    """A shape and a dtype, standing for an array where only the type matters.

    >>> import effax
    >>> effax.ShapeDtypeStruct((2, 3), "float32")
    ShapeDtypeStruct(shape=(2, 3), dtype=float32)

    One with a dtype of keys stands for their words: it is an array of keys without elements.

    Args:
      shape, dtype: of the array.
      weak_type: whether the type gives way to others.
      sharding: the sharding of the array, a spec over the mesh in context at the time when it is
        asked for, or a `Format`.
      manual_axis_type: the mesh axes along which it varies, inside of `shard_map`.
    """

    __slots__ = ("_placed", "dtype", "manual_axis_type", "shape", "weak_type")
    # Not an `attrs` class: other libraries of trees would take it for a node with fields.

    has_value: ClassVar[bool] = False

    shape: tuple[int, ...]
    dtype: Any
    weak_type: bool
    manual_axis_type: Any
    _placed: Any

    def __new__(cls, shape: Any = (), dtype: Any = None, **_: Any) -> Any:
        """One that stands for an array of keys is one of keys over what stands for their words."""
        if isinstance(dtype, KeyType):
            return dtype.around(cls(*dtype.inside(shape)))
        return super().__new__(cls)

    def __init__(
        self,
        shape: Sequence[int],
        dtype: Any,
        *,
        weak_type: bool = False,
        sharding: Any = None,
        manual_axis_type: Any = None,
    ) -> None:
        if dtype is None:
            raise ValueError("ShapeDtypeStruct: dtype must be specified.")
        give = partial(object.__setattr__, self)
        give("shape", tuple(shape))
        give("dtype", np.dtype(dtype))
        give("weak_type", weak_type)
        give("_placed", sharding)
        give("manual_axis_type", manual_axis_type)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(
            f"a ShapeDtypeStruct is immutable: use .update({name}=...), which returns a new one"
        )

    @property
    def sharding(self) -> Any:
        """The sharding of the array, or None.

        Raises `TypeError` where it is a spec and no mesh is in context.
        """
        where = self._placed
        if isinstance(where, Format):
            return where.sharding
        if not isinstance(where, PartitionSpec):
            return where
        mesh = current_mesh()
        if mesh is None or mesh.empty:
            raise TypeError(
                "When specifying PartitionSpec to `ShapeDtypeStruct`, the context mesh cannot be "
                f"empty: {where} was given; ask for it under `with effax.set_mesh(mesh):`, or give "
                "a NamedSharding"
            )
        return NamedSharding(mesh, where)

    @property
    def format(self) -> Any:
        """The order in memory of the array and its sharding; without order if none was given."""
        where = self._placed
        return where if isinstance(where, Format) else Format(None, self.sharding)

    def _parts(self) -> dict[str, Any]:
        names = ("dtype", "manual_axis_type", "shape", "weak_type")
        return {**{name: getattr(self, name) for name in names}, "sharding": self._placed}

    def __reduce__(self) -> Any:
        return partial(ShapeDtypeStruct, **self._parts()), ()

    def __eq__(self, other: object) -> bool:
        return type(other) is ShapeDtypeStruct and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(tuple(self._parts().values()))

    @classmethod
    def of(cls, type: ShapedArray) -> ShapeDtypeStruct:
        """The same for a type."""
        along = type.manual_axis_type if type.varying else None
        where = None if type.cut is None else type.sharding
        return cls(
            type.shape,
            type.dtype,
            weak_type=type.weak_type,
            sharding=where,
            manual_axis_type=along,
        )

    @classmethod
    def like(cls, x: Any) -> Any:
        """The shape, dtype and weak type of an array (or of a number), and where it was put.

        An array that nobody put anywhere, by a device or a sharding, has no `sharding` here.

        >>> import effax, numpy as np
        >>> effax.ShapeDtypeStruct.like(np.zeros((2, 3), np.float32))
        ShapeDtypeStruct(shape=(2, 3), dtype=float32)
        """
        if isinstance(x, KeyArray):
            return cls(x.shape, x.dtype)
        given = typeof(x)
        typed = None if given.cut is None else given.sharding
        put = x.sharding if getattr(x, "committed", False) else typed
        return cls.of(given).update(sharding=put)

    @property
    def type(self) -> ShapedArray:
        """The type."""
        found = ShapedArray(
            tuple(map(length, self.shape)), canonical_dtype(self.dtype), self.weak_type
        )
        along = self.manual_axis_type
        typed = getattr(self.sharding, "typed", None)
        found = found if typed is None else typed(found)
        return found if along is None else found.vary(along.varying)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.type.size

    def update(self, **parts: Any) -> Any:
        """The same with some parts replaced.

        Raises `ValueError` for a new sharding without a layout where there is a layout.
        """
        held, where = self._placed, parts.get("sharding")
        unordered = where is not None and not isinstance(where, Format)
        if unordered and isinstance(held, Format) and held.layout is not None:
            raise ValueError(
                "You are updating ShapeDtypeStruct with a sharding, but it has a layout, which "
                f"may not fit it: pass a Format instead, Format(layout, {where})"
            )
        return ShapeDtypeStruct(**{**self._parts(), **parts})

    def __len__(self) -> int:
        """The length of the first axis."""
        return len(self.type)

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={self.dtype.name}{weak})"


register_type(ShapeDtypeStruct, lambda x: x.type)


def type_of_float0(x: Any) -> Any:
    """The type of an array of float0, which a program returns as it is; anything else unchanged."""
    return ShapeDtypeStruct(x.shape, x.dtype) if isinstance(x, np.ndarray) else x
