"""Types of arrays: `ShapedArray`, the type of a value, shapes; and all of `effects.dtypes`."""

from __future__ import annotations

import operator
from collections.abc import Callable
from math import prod
from typing import Any, Final, NoReturn, TypeAlias

import numpy as np

from effax.effects.config import trace_key
from effax.effects.cuts import Cut, cut_of, lengths_text
from effax.effects.dtypes import *  # noqa: F403  (one module of types for everybody else)
from effax.effects.dtypes import (
    ELEMENTS,
    SHORT,
    TO_32,
    DType,
    as_dtype,
    bool_,
    canonical_dtype,
    complex128,
    float0,
    float64,
    int64,
    scalar_dtype,
    tangent_dtype,
)
from effax.effects.handler import bottom
from effax.effects.interning import Interned
from effax.effects.mesh import ManualAxisType
from effax.effects.value import Value, is_symbolic_length, length

Shape: TypeAlias = tuple[int, ...]


class ShapedArray:
    """The type of an array: shape, dtype, and whether the dtype is weak.

    Under `shard_map`, also along which axes of the mesh it may differ: `varying`; and on a mesh
    with `Explicit` axes, along which of them its axes are cut: `cut`, None where along none. Typing
    rules see neither (`Effect.infer` adds them to what they say). Interned: the same arguments give
    the same object, so that types compare and hash by identity.

    >>> ShapedArray((2, 3), "float32")
    f32[2,3]
    >>> ShapedArray((2, 3), "float32") is ShapedArray((2, 3), np.float32)
    True
    >>> ShapedArray((), "int32", weak_type=True).update(shape=(4,))
    i32[4]~weak
    """

    __slots__ = (
        "__weakref__",
        "_row",
        "cut",
        "dtype",
        "ndim",
        "shape",
        "size",
        "varying",
        "weak_type",
    )

    shape: Shape
    dtype: DType
    weak_type: bool
    ndim: int
    size: int
    varying: frozenset[Any]
    cut: Cut | None
    _row: ShapedArray

    def __new__(
        cls, shape: Any, dtype: Any, weak_type: bool = False, *, sharding: Any = None
    ) -> ShapedArray:
        """The type with these parts; shape and dtype are brought into canonical form.

        Of `sharding` the type keeps what it says of `Explicit` axes of its mesh. Raises
        `ValueError` where it can't cut an array of that shape into equal pieces.
        """
        try:
            found = _recent[shape, dtype, weak_type]
        except (KeyError, TypeError):
            found = _new_type(shape, dtype, weak_type)
        if sharding is None:
            return found
        sharding.shard_shape(found.shape)
        typed: ShapedArray = sharding.typed(found)
        return typed

    @property
    def sharding(self) -> Any:
        """The sharding along the `Explicit` axes of the mesh; others are the compiler's to say."""
        return bottom.sharding_of(self)

    @property
    def vma(self) -> frozenset[Any]:
        """`varying`, by its name in JAX."""
        return self.varying

    def update(
        self,
        shape: Any = None,
        dtype: Any = None,
        weak_type: bool | None = None,
        sharding: Any = None,
    ) -> ShapedArray:
        """The type with some parts replaced; one of another shape is not cut, unless it is said."""
        found = ShapedArray(
            self.shape if shape is None else shape,
            self.dtype if dtype is None else dtype,
            self.weak_type if weak_type is None else weak_type,
        )
        if sharding is not None:
            found = sharding.typed(found)
        elif self.cut is not None and found.shape == self.shape:
            found = found.cut_by(self.cut)
        return found.vary(self.varying) if self.varying else found

    def vary(self, axes: frozenset[Any]) -> ShapedArray:
        """The type of a value that may differ along these axes of a mesh, and no others.

        >>> ShapedArray((2,), "float32").vary(frozenset({"x"}))
        f32[2]{V:x}
        """
        if axes == self.varying:
            return self
        return _type_on_mesh(self, axes, self.cut)

    def cut_by(self, cut: Cut | None) -> ShapedArray:
        """The type of an array that is cut in this way.

        >>> from effax.effects.cuts import cut_of
        >>> from effax.effects.mesh import AbstractMesh, AxisType
        >>> mesh = AbstractMesh((2,), ("x",), (AxisType.Explicit,))
        >>> ShapedArray((4, 3), "float32").cut_by(cut_of(mesh, ("x", None)))
        f32[4@x,3]
        """
        return self if cut is self.cut else _type_on_mesh(self, self.varying, cut)

    def row(self) -> ShapedArray:
        """The type of one row: without the first axis.

        >>> ShapedArray((2, 3), "float32").row()
        f32[3]
        """
        try:  # kept in the type, as each effect under `vmap` asks for it
            return self._row
        except AttributeError:
            found = self.update(shape=self.shape[1:])
            found = found if self.cut is None else found.cut_by(self.cut.without_first())
            object.__setattr__(self, "_row", found)
            return found

    def stacked(self, length: Any, entry: Any = None, mesh: Any = None) -> ShapedArray:
        """The type of so many of these, one after the other along a new first axis.

        Args:
          length: the length of the new axis.
          entry: the axes of the mesh that cut the new axis.
          mesh: the mesh, if there is an entry.

        >>> ShapedArray((3,), "float32").stacked(2)
        f32[2,3]
        """
        found = self.update(shape=(length, *self.shape))
        if self.cut is None and entry is None:
            return found
        entries = (None,) * self.ndim if self.cut is None else self.cut.entries
        return found.cut_by(cut_of(self.cut.mesh if self.cut else mesh, (entry, *entries)))

    @property
    def manual_axis_type(self) -> ManualAxisType:
        """Along which axes of a mesh values may differ, as JAX's object."""
        return ManualAxisType(varying=self.varying)

    mat = manual_axis_type

    def to_tangent_aval(self) -> ShapedArray:
        """The type of the tangents of its values, by JAX's name."""
        return tangent_type(self)

    at_least_vspace = to_tangent_aval  # an older name, which programs still use (distrax)

    def strip_weak_type(self) -> ShapedArray:
        """`strong`, by JAX's name."""
        return self.strong()

    def strong(self) -> ShapedArray:
        """The type without weakness."""
        return self.update(weak_type=False) if self.weak_type else self

    def str_short(self) -> str:
        """The usual abbreviation, as in `f32[2,3]`."""
        name = SHORT.get(self.dtype) or self.dtype.name
        axes = f"{{V:{','.join(sorted(map(str, self.varying)))}}}" if self.varying else ""
        return f"{name}[{lengths_text(self.shape, self.cut)}]{axes}"

    def __repr__(self) -> str:
        return self.str_short() + ("~weak" if self.weak_type else "")

    def __str__(self) -> str:
        axes = f"{{V:{','.join(sorted(map(str, self.varying)))}}}" if self.varying else ""
        return f"{'~' if self.weak_type else ''}{str_long(self)}{axes}"

    def __len__(self) -> int:
        """The length of the first axis."""
        if not self.shape:
            raise TypeError("len() of unsized object: a type of rank 0 has no length")
        return self.shape[0]

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"types are immutable; use update({name}=...)")

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.shape, self.dtype, self.weak_type, self.cut)


Parts: TypeAlias = tuple[Any, Any, Any, frozenset[Any], Cut | None]
_types: Final = Interned[tuple[Any, Any, Any], ShapedArray]()
_on_meshes: Final = Interned[Parts, ShapedArray]()
_recent: Final = _types.recent
_PARTS: Final = ("shape", "dtype", "weak_type", "varying", "cut", "ndim", "size")


def _type_on_mesh(type: ShapedArray, varying: frozenset[Any], cut: Cut | None) -> ShapedArray:
    if not varying and cut is None:
        return ShapedArray(type.shape, type.dtype, type.weak_type)
    parts = type.shape, type.dtype, type.weak_type, varying, cut
    return _on_meshes.find(parts, lambda: _make(parts))


def _restored(shape: Shape, dtype: DType, weak_type: bool, cut: Cut | None) -> ShapedArray:
    return ShapedArray(shape, dtype, weak_type).cut_by(cut)


def _make(parts: Parts) -> ShapedArray:
    made = object.__new__(ShapedArray)
    lengths = parts[0]
    for name, part in zip(_PARTS, (*parts, len(lengths), prod(lengths)), strict=True):
        object.__setattr__(made, name, part)
    return made


def _new_type(shape: Any, dtype: Any, weak_type: Any) -> ShapedArray:
    canonical = canonical_shape(shape), as_dtype(dtype), bool(weak_type)
    return _types.find(canonical, lambda: _make((*canonical, frozenset(), None)))


def canonical_shape(shape: Any) -> Shape:
    """A shape as a tuple of Python ints; an int is the shape of a vector.

    Raises `TypeError` where a length is negative or is not an integer.

    >>> canonical_shape(3), canonical_shape([2, np.int64(3)])
    ((3,), (2, 3))
    """
    if is_symbolic_length(shape):
        return (shape,)
    try:
        lengths = (
            (operator.index(shape),)
            if hasattr(shape, "__index__") and getattr(shape, "ndim", 0) == 0
            else tuple([n if type(n) is int else length(n) for n in shape])
        )
    except TypeError:
        given = shape if isinstance(shape, (tuple, list)) else (shape,)
        why = [x.why_unknown() for x in given if hasattr(x, "why_unknown")]
        hint = (
            "\nIf using `jit`, try using `static_argnums` or applying `jit` to smaller "
            f"subfunctions. {why[0]}"
            if why
            else ""
        )
        raise TypeError(
            f"Shapes must be 1D sequences of concrete values of integer type, got {shape!r}.{hint}"
        ) from None
    for n in lengths:
        if type(n) is int and n < 0:
            raise TypeError(f"shapes must not have negative lengths, got {lengths}")
    return lengths


def tangent_type(type: ShapedArray) -> ShapedArray:
    """The type of tangents to values of a type."""
    dtype = tangent_dtype(type.dtype)
    return type if dtype is type.dtype else ShapedArray(type.shape, dtype).cut_by(type.cut)


def str_long(type: Any) -> str:
    """The type of an array, or of a reference to one, in full.

    >>> str_long(ShapedArray((2, 3), np.float32))
    'float32[2,3]'
    """
    return f"{type.dtype.name}[{lengths_text(type.shape, getattr(type, 'cut', None))}]"


def typeof(x: Any) -> ShapedArray:
    """Return the type of a value: an array or carrier, a NumPy array or scalar, a Python number.

    Values from NumPy have the canonical dtype; Python numbers have weak types.

    Args:
      x: the value.

    Raises:
      TypeError: for anything else.

    >>> typeof(1.5), typeof(np.zeros((2, 3))), typeof(np.int8(1))
    (f32[]~weak, f32[2,3], i8[])
    """
    if isinstance(x, Value):
        return x.type
    rule = _rules.get(type(x))
    if rule is not None:
        return rule(x)
    for base in type(x).__mro__[1:]:
        rule = _rules.get(base)
        if rule is not None:
            if base is np.ndarray and isinstance(x, np.ma.MaskedArray):
                raise ValueError(
                    "numpy masked arrays are not supported as direct inputs: the mask would be "
                    "lost. Use arr.filled() to make a plain array of it"
                )
            _rules[type(x)] = rule
            return rule(x)
    if type(x).__module__.startswith("jaxlib") and hasattr(x, "__array__"):
        raise TypeError(
            f"value {_shown(x)} is an array of JAX, not of effax: convert it with np.asarray, or "
            "let effax be the program's jax, by python -m effax.as_jax"
        )
    raise TypeError(
        f"value {_shown(x)} of type {type(x)} is not a valid effax type: it is not an array, a "
        f"NumPy array or scalar, or a Python number{_as_tree(x)}"
    )


def _as_tree(x: Any) -> str:
    """Advice for an object that may hold arrays."""
    if not hasattr(x, "__dict__") or callable(x):
        return ""
    return f"; a class of arrays is registered as a pytree, by {registration(x)}"


def registration(x: Any) -> str:
    """Name what registers an object's class: only a dataclass says itself what its parts are."""
    dataclass = hasattr(type(x), "__dataclass_fields__")
    return f"tree_util.register_{'dataclass' if dataclass else 'pytree_node'}"


def _shown(x: Any) -> str:
    text = repr(x)
    return text if len(text) <= 60 else f"{text[:57]}..."


def register_type(kind: type, rule: Callable[[Any], ShapedArray]) -> None:
    """Let `typeof` answer `rule(x)` for values of a class that doesn't derive from `Value`."""
    _rules[kind] = rule


def _type_of_array(x: Any) -> ShapedArray:
    dtype = x.dtype
    return ShapedArray(x.shape, dtype if TO_32.get(dtype) is dtype else canonical_dtype(dtype))


def _scalar_rule(wide: DType, weak: bool) -> Callable[[Any], ShapedArray]:
    """The rule for scalars of one class: always the same type, or one of two."""
    type_64 = ShapedArray((), wide, weak)
    type_32 = ShapedArray((), TO_32[wide], weak)
    if type_32 is type_64:
        return lambda x: type_32
    return lambda x: type_64 if trace_key().enable_x64 else type_32


def _type_of_int(x: Any) -> ShapedArray:
    if not -(1 << 31) <= x < (1 << 31):
        scalar_dtype(int(x))
    return _type_of_small_int(x)


_type_of_small_int: Final = _scalar_rule(int64, weak=True)
_rules: Final[dict[type, Callable[[Any], ShapedArray]]] = {
    np.ndarray: _type_of_array,
    np.generic: _type_of_array,
    bool: _scalar_rule(bool_, weak=False),
    int: _type_of_int,
    float: _scalar_rule(float64, weak=True),
    complex: _scalar_rule(complex128, weak=True),
    ShapedArray: lambda x: x,
    # Listed one by one: np.float64 is a subclass of Python's float, but must not be weak.
    **{d.type: _scalar_rule(d, weak=False) for d in ELEMENTS if d is not float0},
}


def is_scalar_constant(x: Any) -> bool:
    """Whether a value is a NumPy scalar: immutable, and small enough to be written in a program."""
    return isinstance(x, np.generic) and x.dtype in ELEMENTS and x.dtype is not float0


def _same(x: Any, y: Any) -> bool:
    return (x.shape, x.dtype) == (y.shape, y.dtype) and x.tobytes() == y.tobytes()


def snapshot(x: Any, taken: dict[int, tuple[Any, Any]]) -> Any:
    """A copy of a NumPy array that its owner may still write to; any other value is itself.

    For who keeps a value to use it later. `taken` has the copies made so far: while the elements
    stay what they were, one array has one copy.
    """
    if not isinstance(x, np.ndarray) or not (x.flags.writeable or x.base is not None):
        return x
    known = taken.get(id(x))
    if known is not None and _same(known[1], x):
        return known[1]
    copied = x.copy()
    copied.flags.writeable = False
    taken[id(x)] = x, copied
    return copied
