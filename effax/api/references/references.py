"""References: arrays that can be written in place, as users see them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NoReturn

from effax.api.calling.differentiable import as_value, typeof_like
from effax.api.custom.jvp import stop_gradient
from effax.api.references.indices import index_of, structure_of
from effax.effects.errors import ConcretizationTypeError, RefError
from effax.effects.frames import filtered
from effax.effects.handler import bottom
from effax.effects.rows.conversion import convert_element_type
from effax.effects.rows.shape import full
from effax.effects.rows.state import AbstractRef, OwnedRef, ref_get, ref_set
from effax.effects.rows.state import Ref as Ref
from effax.effects.rows.state import new_ref as _new_ref
from effax.effects.tree import registry, tree_leaves
from effax.effects.types import (
    ShapedArray,
    is_bool,
    is_complex,
    is_float,
    is_integer,
    typeof,
)
from effax.effects.value import Value

Index = Any
_KINDS: Final = (is_bool, is_integer, is_float, is_complex)


@filtered
def new_ref(init_val: Any, *, memory_space: Any = None, kind: str | None = None) -> Ref:
    """Return a reference to a new mutable array that begins as `init_val`.

    It is read by `ref[...]` and `ref[i]`, written by `ref[i] = x`, under every transformation:
    inside the function where it was made nothing of it can be seen from outside.

    Args:
      init_val: an array, or a number; it is not changed by what is written to the reference.
      memory_space: must be None.
      kind: None, or 'no_grad_no_remat': derivatives take what is written for a constant, so that
        a differentiated function may write to a reference made outside of it. (No reference is
        written again where `checkpoint` computes something again.)

    Raises:
      TypeError: where `init_val` is no array.
      NotImplementedError: for a memory space.

    >>> import effax, effax.numpy as jnp
    >>> @effax.jit
    ... def sums(x):
    ...     total = effax.new_ref(0.0)
    ...     def add(i, _):
    ...         total[...] += x[i]
    ...     effax.lax.fori_loop(0, 3, add, None)
    ...     return total[...]
    >>> sums(jnp.arange(3.0))
    Array(3., dtype=float32, weak_type=True)
    """
    if memory_space is not None:
        raise NotImplementedError(
            f"new_ref: memory_space={memory_space!r} is not supported; references live where "
            "arrays do"
        )
    if kind not in (None, "no_grad_no_remat"):
        raise ValueError(f"new_ref: kind must be None or 'no_grad_no_remat', got {kind!r}")
    if kind is not None and not isinstance(init_val, Ref):
        init_val = stop_gradient(init_val)
    ref = _new_ref(init_val if isinstance(init_val, Ref) else _as_array(init_val))
    if kind is not None:
        ref.type = AbstractRef(ref.type.inner_aval, constant=True)
    return ref


@filtered
def empty_ref(ty: Any, memory_space: Any = None) -> Ref:
    """Return a reference to an array of the shape and dtype of `ty`, to be written first.

    Its contents until then are not specified (they are zeros).

    Args:
      ty: anything with a shape and a dtype.
      memory_space: must be None.

    >>> import effax
    >>> effax.empty_ref(effax.ShapeDtypeStruct((2,), "float32")).shape
    (2,)
    """
    type = typeof_like(ty)
    return new_ref(full(type.shape, 0, type.dtype), memory_space=memory_space)


@filtered
def freeze(ref: Ref) -> Any:
    """Return the last value of a reference, which is not to be used after it.

    Args:
      ref: the reference.

    >>> import effax, effax.numpy as jnp
    >>> ref = effax.new_ref(jnp.arange(3))
    >>> ref[1] = 100
    >>> effax.ref.freeze(ref)
    Array([  0, 100,   2], dtype=int32)
    """
    return ref_get(ref)


@filtered
def free_ref(ref: Ref) -> None:
    """Free the contents of a reference; a use of it after this raises `RefError`.

    Args:
      ref: the reference.

    Raises:
      RefError: for a reference that was not made in the function that frees it.

    >>> import effax
    >>> ref = effax.new_ref(0.0)
    >>> effax.free_ref(ref)
    >>> ref[...]
    Traceback (most recent call last):
    effax.effects.errors.RefError: a reference of type Ref{f32[]~weak} was used after free_ref ...
    """
    ref_get(ref)
    if not isinstance(ref, OwnedRef):
        raise RefError(f"free_ref: {ref!r} was passed to this function; free it where it was made")
    ref.contents = None


@filtered
def get(ref: Ref | TransformedRef, idx: Index = None) -> Any:
    """Return a part of a reference's contents, `ref[idx]`; all of it for None or `...`.

    >>> import effax, effax.numpy as jnp
    >>> effax.ref.get(effax.new_ref(jnp.arange(5)), slice(1, 3))
    Array([1, 2], dtype=int32)
    """
    return _part(ref, idx, "ref_get").read()[-1]


@filtered
def set(ref: Ref | TransformedRef, idx: Index, value: Any) -> None:
    """Write a part of a reference's contents: `ref[idx] = value`.

    Raises:
      ValueError: where the value has not the shape and dtype of the part (Python numbers take the
        dtype, if they are of its kind), or a Python index lies outside.

    >>> import effax, effax.numpy as jnp
    >>> ref = effax.new_ref(jnp.zeros(2))
    >>> effax.ref.set(ref, 1, 10.0)
    >>> ref
    Ref([ 0., 10.], dtype=float32)
    """
    part = _part(ref, idx, "ref_set")
    if part.indices:
        part.write(value, "swap")
    else:  # all of it: nothing needs to be read
        whole = part.ref.type.inner_aval
        _store(part.ref, _fitting(value, whole, whole, "swap"))


@filtered
def swap(ref: Ref | TransformedRef, idx: Index, value: Any) -> Any:
    """Write a part of a reference's contents, `ref[idx] = value`, and return what was there before.

    >>> import effax, effax.numpy as jnp
    >>> effax.ref.swap(effax.new_ref(jnp.arange(5)), 3, 10)
    Array(3, dtype=int32)
    """
    return _part(ref, idx, "ref_swap").write(value, "swap")


@filtered
def addupdate(ref: Ref | TransformedRef, idx: Index, x: Any) -> None:
    """Add to a part of a reference, `ref[idx] += x`; an element named twice is added to twice.

    >>> import effax, effax.numpy as jnp
    >>> ref = effax.new_ref(jnp.arange(3))
    >>> effax.ref.addupdate(ref, jnp.array([1, 1]), jnp.array([10, 20]))
    >>> ref
    Ref([ 0, 31,  2], dtype=int32)
    """
    _part(ref, idx, "ref_addupdate").write(x, "addupdate")


class TransformedRef:
    """A part of a reference's contents, `ref.at[i]`: read and written as a reference is.

    In a tree it is a node: the reference and the traced values in its indices are leaves, the rest
    of the indices is structure. So a transformed function gets a part of its own reference.
    """

    __slots__ = ("indices", "ref")

    def __init__(self, ref: Ref, indices: tuple[Index, ...]) -> None:
        self.ref = ref
        self.indices = indices

    def read(self) -> list[Any]:
        """The contents of the reference, the part that the first index names, its part, ..."""
        found = [ref_get(self.ref)]
        for index in self.indices:
            _check_bounds(index, typeof(found[-1]).shape)
            found.append(found[-1][index])
        return found

    def write(self, value: Any, what: str) -> Any:
        """Replace the part, or add to it; what was there before."""
        found = self.read()
        before = found[-1]
        value = _fitting(value, typeof(before), typeof(found[0]), what)
        adds = what == "addupdate"
        if adds and not self.indices:
            value = before + value
        for index in reversed(self.indices):
            found.pop()
            value = _written(found[-1], index, value, adds)
            adds = False
        _store(self.ref, value)
        return before

    @property
    def type(self) -> ShapedArray:
        """The type of the part."""
        return typeof(self.read()[-1])

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the part's axes."""
        return self.type.shape

    @property
    def dtype(self) -> Any:
        """The type of the elements."""
        return self.ref.type.dtype

    @property
    def ndim(self) -> int:
        """The number of the part's axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of the part's elements."""
        return self.type.size

    @property
    def at(self) -> RefAt:
        """`ref.at[i].at[j]` is a part of a part."""
        return RefAt(self)

    def get(self, idx: Index = ()) -> Any:
        """The part of the part that an index names."""
        return get(self, idx)

    def set(self, value: Any, idx: Index = ()) -> None:
        """Write it."""
        set(self, idx, value)

    def swap(self, value: Any, idx: Index = ()) -> Any:
        """Write it, and give what was there before."""
        return swap(self, idx, value)

    def addupdate(self, x: Any, idx: Index = ()) -> None:
        """Add to it."""
        addupdate(self, idx, x)

    def __getitem__(self, idx: Index) -> Any:
        return get(self, idx)

    def __setitem__(self, idx: Index, value: Any) -> None:
        set(self, idx, value)

    def __array__(self, *args: Any, **keywords: Any) -> NoReturn:
        _refuse_conversion(self.ref)

    def __iter__(self) -> NoReturn:
        _refuse_iteration(self.ref)

    def __repr__(self) -> str:
        return f"TransformedRef({self.ref!r}, {', '.join(map(repr, self.indices))})"


def _written(x: Any, index: Index, value: Any, adds: bool) -> Any:
    """The array with a part written, or added to; indices are clipped."""
    place = as_value(x).at[index]
    return place.add(value, mode="clip") if adds else place.set(value, mode="clip")


def _flatten(part: TransformedRef) -> tuple[list[Any], Any]:
    values: list[Any] = []
    structure = tuple([structure_of(index, values) for index in part.indices])
    return [part.ref, *values], structure


def _unflatten(structure: Any, children: Any) -> TransformedRef:
    ref, *values = children
    rest = iter(values)
    return TransformedRef(ref, tuple([index_of(s, rest) for s in structure]))


registry.register_node(TransformedRef, _flatten, _unflatten)


def refuse_parts(tree: Any, name: str) -> None:
    """Raise `TypeError` for a part of a reference in a tree whose arrays are mapped over.

    Its leaf is the whole reference, whose axes are not those of the part.
    """
    for x in tree_leaves(tree, is_leaf=lambda x: type(x) is TransformedRef):
        if type(x) is TransformedRef:
            raise TypeError(
                f"{name}: TransformedRefs are not allowed among the arguments, got {x!r}; pass "
                "the reference and take its part inside, or close over the part"
            )


class RefAt:
    """The result of `ref.at`: `ref.at[i]` names a part of the reference's contents."""

    __slots__ = ("whole",)

    def __init__(self, whole: Ref | TransformedRef) -> None:
        self.whole = whole

    def __getitem__(self, idx: Index) -> TransformedRef:
        return _part(self.whole, idx, "at")

    def __repr__(self) -> str:
        return f"At({self.whole!r})"


def _store(ref: Ref, value: Any) -> None:
    ref_set(ref, stop_gradient(value) if ref.type.constant else value)


def _part(ref: Any, idx: Index, what: str) -> TransformedRef:
    if isinstance(ref, Ref):
        ref = TransformedRef(ref, ())
    elif type(ref) is not TransformedRef:
        raise RefError(f"Can only call `{what}` on a `Ref`: {ref!r}. new_ref makes one of an array")
    parts = idx if isinstance(idx, tuple) else (idx,)
    if idx is None or all(part is Ellipsis for part in parts):
        return ref
    return TransformedRef(ref.ref, (*ref.indices, idx))


def _check_bounds(index: Index, lengths: tuple[int, ...]) -> None:
    """Raise `ValueError` for a Python integer outside; indices known only when the program runs
    are moved inside, as everywhere."""
    index = index if isinstance(index, tuple) else (index,)
    if any(hasattr(i, "dtype") and i.dtype == bool for i in index):
        return
    consumed = sum(i is not None and i is not Ellipsis for i in index)
    if consumed > len(lengths):
        raise RefError(
            f"`indices` must not be longer than `shape`: indices={index}, shape={lengths}"
        )
    axis = 0
    for i in index:
        if i is Ellipsis:
            axis += len(lengths) - consumed
            continue
        if (
            isinstance(i, int)
            and not isinstance(i, bool)
            and not -lengths[axis] <= i < lengths[axis]
        ):
            raise RefError(f"Out of bound indexer: idx={i}, dim={lengths[axis]}.")
        axis += i is not None


def _fitting(value: Any, part: ShapedArray, whole: ShapedArray, what: str) -> Any:
    """A value to be written, of the part's type.

    Raises `RefError`, a `ValueError`, where it is of another; nothing is promoted or broadcast.
    """
    if isinstance(value, (Ref, TransformedRef)):
        raise TypeError(f"`{what}` expected an array, got {value!r}; read it first: ref[...]")
    t = typeof(value)
    if t.dtype != part.dtype and not (
        t.weak_type and any(kind(t.dtype) and kind(part.dtype) for kind in _KINDS)
    ):
        raise RefError(
            f"Invalid dtype for `{what}`. Ref dtype: {whole.dtype.name}. Value dtype: "
            f"{t.dtype.name}. Convert the value with astype"
        )
    if t.shape != part.shape:
        raise RefError(
            f"Invalid shape for `{what}`. Ref shape: {whole.shape}. Expected shape: {part.shape}. "
            f"Value shape: {t.shape}. Values are not broadcast: use broadcast_to, or full"
        )
    return _as_array(value, part)


def _as_array(x: Any, type: ShapedArray | None = None) -> Any:
    """A value as an array or carrier, of that type; numbers and NumPy's arrays become arrays."""
    t = typeof(x)
    if type is None or t is type:
        x, type = as_value(x), t
        if isinstance(x, Value):
            return x
    return convert_element_type(x, dtype=type.dtype, weak_type=type.weak_type)


def _refuse_conversion(ref: Ref) -> NoReturn:
    raise TypeError(
        f"an array was expected, and {ref!r} is a reference to one; read it first: ref[...]"
    )


def _refuse_iteration(ref: Ref) -> NoReturn:
    raise TypeError(f"{ref!r} can't be iterated over; iterate over its contents, ref[...]")


def _text(ref: Ref) -> str:
    if ref.handler is bottom and isinstance(ref, OwnedRef) and ref.contents is not None:
        return "Ref" + repr(ref.contents).removeprefix("Array")
    return repr(ref.type)


def _length(ref: Ref) -> int:
    if not ref.type.shape:
        raise TypeError("len() of unsized object: the reference holds a scalar")
    return ref.type.shape[0]


def _reduced(ref: Ref) -> tuple[Any, ...]:
    if ref.handler is not bottom:
        raise ConcretizationTypeError(
            f"can't pickle {ref!r}: its elements are not known while it is traced"
        )
    return new_ref, (ref_get(ref),)


def _install() -> None:
    """Give `Ref` its methods: they are written in the object language, above the effects."""
    methods: dict[str, Callable[..., Any]] = {
        "__getitem__": get,
        "__setitem__": set,
        "__len__": _length,
        "__iter__": _refuse_iteration,
        "__bool__": lambda ref: True,
        "__array__": lambda ref, *args, **keywords: _refuse_conversion(ref),
        "__repr__": _text,
        "__reduce__": _reduced,
        "get": lambda ref, idx=None: get(ref, idx),
        "set": lambda ref, value, idx=None: set(ref, idx, value),
        "swap": lambda ref, value, idx=None: swap(ref, idx, value),
        "addupdate": lambda ref, x, idx=None: addupdate(ref, idx, x),
    }
    for name, method in methods.items():
        setattr(Ref, name, method)
    properties: dict[str, Callable[[Ref], Any]] = {
        "at": RefAt,
        "aval": lambda ref: ref.type,
        "shape": lambda ref: ref.type.shape,
        "dtype": lambda ref: ref.type.dtype,
        "ndim": lambda ref: ref.type.ndim,
        "size": lambda ref: ref.type.size,
        "weak_type": lambda ref: ref.type.weak_type,
        "sharding": lambda ref: ref_get(ref).sharding,
        "committed": lambda ref: ref_get(ref).committed,
    }
    for name, read in properties.items():
        setattr(Ref, name, property(read))


_install()
