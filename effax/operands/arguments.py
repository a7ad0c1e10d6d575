"""Arguments of NumPy's functions: arrays, axes, dtypes, and what is refused."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np

from effax.backends.xla.array import Array, asarray
from effax.effects.effect import LITERALS, Effect
from effax.effects.errors import ConcretizationTypeError
from effax.effects.handler import Carrier, bottom, current
from effax.effects.mesh import AbstractMesh, MeshShape, PartitionSpec, placing_mesh
from effax.effects.rows import conversion, elementwise, shape
from effax.effects.rows.indexing import GatherDimensionNumbers, GatherScatterMode, gather
from effax.effects.types import ShapedArray, bit_width, int32, is_inexact, typeof, user_dtype
from effax.effects.value import Value, is_symbolic_length, length


def check_arrays(name: str, *xs: Any) -> None:
    """Raise `TypeError` for what is neither an array nor a number: lists, None, strings.

    Lists are refused, as in JAX: each element would be transferred, or traced, by itself.
    """
    for i, x in enumerate(xs):
        if isinstance(x, Value):
            continue
        if isinstance(x, list | tuple | str | bytes | dict | set) or x is None:
            raise TypeError(
                f"{name} requires ndarray or scalar arguments, got {type(x)} at position {i}."
                + (" Convert it with jnp.asarray first." if isinstance(x, list | tuple) else "")
            )
        try:
            typeof(x)
        except TypeError:
            raise TypeError(
                f"{name} requires ndarray or scalar arguments, got {type(x)} at position {i}."
            ) from None


def known_number(name: str, argument: str, x: Any) -> Any:
    """A number known now: a carrier that knows its elements gives them.

    Raises `ConcretizationTypeError` for a carrier that does not.
    """
    if isinstance(x, Carrier):
        known = x.concrete()
        if known is None:
            raise ConcretizationTypeError(x, needs=f"the value in {name} argument `{argument}`")
        x = known
    return np.asarray(x)[()] if isinstance(x, Value) else x


def known_index(name: str, argument: str, x: Any) -> int:
    """An integer known now, as `known_number`, or a symbolic length.

    Raises `TypeError` for what is no integer.
    """
    known = known_number(name, argument, x)
    try:
        found: int = length(known)
    except TypeError as error:
        raise TypeError(f"{error}: {name} argument `{argument}` is {known!r}") from None
    return found


def refuse_out(name: str, out: Any) -> None:
    """Raise `NotImplementedError` where a result is asked to be written into an array."""
    if out is not None:
        raise NotImplementedError(f"The 'out' argument to jnp.{name} is not supported.")


def concrete_int(x: Any, what: str) -> int:
    """A Python int from what stands for one; a symbolic length stands for itself.

    Raises `TypeError` for anything else; `ConcretizationTypeError` for a carrier without elements.
    """
    try:
        return length(x)
    except TypeError:
        if isinstance(x, Carrier):
            raise ConcretizationTypeError(x, needs=what) from None
        raise TypeError(f"{what} must be an integer, not {x!r}") from None


def canonical_axis(axis: Any, ndim: int) -> int:
    """An axis counted from the front.

    Raises NumPy's `AxisError` (a `ValueError` and an `IndexError`) where there is no such axis,
    `TypeError` for what is not an integer.
    """
    number = concrete_int(axis, "the axis")
    if not -ndim <= number < ndim:
        raise np.exceptions.AxisError(number, ndim)
    return number % ndim if ndim else number


def listed(x: Any) -> tuple[Any, ...]:
    """Return several axes or lengths as a tuple: of one, a tuple of one.

    Several may be any iterable, as in JAX: also an iterator, which can be walked once only.

    >>> listed(2), listed([0, 1]), listed(i for i in (0, 1))
    ((2,), (0, 1), (0, 1))
    """
    if isinstance(x, Value | np.ndarray):
        return tuple(x) if np.ndim(x) else (x,)
    # Not by `hasattr`: the class of an IntEnum's members can be iterated, and its members can't.
    return tuple(x) if isinstance(x, Iterable) and not isinstance(x, str | bytes) else (x,)


def canonical_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """Axes counted from the front: all for None, one for an int.

    Raises `ValueError` where one is given twice.
    """
    if axis is None:
        return tuple(range(ndim))
    given = listed(axis)
    axes = tuple(canonical_axis(a, ndim) for a in given)
    if len(set(axes)) != len(axes):
        raise ValueError(f"duplicate value in 'axis': {given}")
    return axes


def asked_dtype(name: str, dtype: Any) -> Any:
    """The dtype a user asked for, canonical; None for None."""
    return None if dtype is None else user_dtype(dtype, name)


class BroadcastError(TypeError, ValueError):
    """Shapes that can't be brought to one: a `TypeError` as in lax, a `ValueError` as in NumPy."""


def cast(x: Any, dtype: Any, weak_type: bool = False) -> Any:
    """The value with another dtype; a weak one becomes strong unless `weak_type`."""
    given = typeof(x)
    if given.dtype == dtype and given.weak_type == weak_type:
        return x
    return conversion.convert_element_type(x, dtype=dtype, weak_type=weak_type)


def zeros_as(x: Any, lengths: tuple[int, ...]) -> Any:
    """An array of zeros, of x's dtype and weak type."""
    type = typeof(x)
    return cast(shape.full(lengths, 0, type.dtype), type.dtype, type.weak_type)


def on_device(x: Any, device: Any) -> Any:
    """The array on a device, or cut up by a sharding, and committed to it; as it is without one.

    Under a handler XLA places what is computed, and a sharding is a constraint. Here, unlike in
    `device_put`, a spec may have more entries than the array has axes if these are None.
    """
    if device is None:
        return x
    from effax.api.placing.devices import device_put

    spec, ndim = getattr(device, "spec", None), typeof(x).ndim
    if spec is not None and len(spec) > ndim and not any(spec[ndim:]):
        device = device.update(spec=PartitionSpec(*spec[:ndim]))
    return device_put(x, device)


def device_array(x: Any, type: ShapedArray | None = None) -> Array:
    """An array of what the host has, on the default device, or on all of the mesh in context."""
    array = asarray(x, type)
    mesh = placing_mesh()
    if mesh is None or mesh.empty or current.get() is not bottom:
        return array
    from effax.backends.xla.mesh import Mesh, NamedSharding

    if not isinstance(mesh, Mesh):
        return array
    return on_device(array, NamedSharding(mesh, PartitionSpec()))


def converted_on_device(x: Any, device: Any, function: str) -> Any:
    """The converted array on a device, as `on_device`; it does not move between devices.

    Raises `ValueError` for an array that was put on other devices: conversion runs where its
    operand is, and `device_put` moves it.
    """
    if device is not None and isinstance(x, Array) and x.committed:
        from effax.api.placing.shardings import resolve
        from effax.backends.xla.layout import layout_of
        from effax.memory import Space

        if isinstance(device, Space):
            return on_device(x, device)
        layout_of([x.spec], outs=(resolve(device, function, "device"),), what=function)
    return on_device(x, device)


def beside(result: Any, a: Any) -> Any:
    """The result placed like the array that it is like, if that is committed, or cut in its type.

    A `ShapeDtypeStruct` with a sharding counts as committed. One of another shape follows to a
    single device only.
    """
    if isinstance(a, Carrier) and typeof(a).cut is not None and result.shape == a.shape:
        return on_device(result, typeof(a).sharding)
    where = _put_on(a) if current.get() is bottom else None
    if where is None:
        return result
    follows = result.shape == a.shape or where.num_devices == 1
    return on_device(result, where) if follows else result


def _put_on(a: Any) -> Any:
    """The sharding that an array was put on, or that its type promises; else None."""
    if isinstance(a, Array):
        return a.sharding if a.committed else None
    where: Any = a.sharding if getattr(type(a), "has_value", True) is False else None
    if isinstance(getattr(where, "mesh", None), MeshShape):
        where = where.in_context()
        if isinstance(where.mesh, AbstractMesh):
            return None
    return where


def broadcast(x: Any, lengths: Sequence[int]) -> Any:
    """The value repeated to a shape; axes are aligned from the last, as in NumPy."""
    given = typeof(x).shape
    wanted = tuple(lengths)
    if given == wanted:
        return x
    first = len(wanted) - len(given)
    if first < 0 or any(m not in (1, n) for m, n in zip(given, wanted[first:], strict=True)):
        raise BroadcastError(
            f"Incompatible shapes for broadcasting: {given} and requested {wanted}"
        )
    return shape.broadcast_in_dim(x, shape=wanted, dims=tuple(range(first, len(wanted))))


def common_shape(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape to which all of these broadcast.

    Raises `BroadcastError` where two lengths differ and neither is 1.
    """
    ndim = max((len(s) for s in shapes), default=0)
    result = []
    for column in zip(*((1,) * (ndim - len(s)) + tuple(s) for s in shapes), strict=True):
        lengths = {n for n in column if n != 1}
        if len(lengths) > 1:
            shown = ", ".join(str(tuple(s)) for s in shapes)
            raise BroadcastError(f"Incompatible shapes for broadcasting: shapes=[{shown}]")
        result.append(lengths.pop() if lengths else 1)
    return tuple(result)


def combine(effect: Effect, *xs: Any) -> Any:
    """Perform an elementwise effect on values of one dtype, broadcast to one shape.

    Python numbers stay as they are, and take the dtype of the others.
    """
    lengths = common_shape(*(typeof(x).shape for x in xs if type(x) not in LITERALS))
    return effect(*(x if type(x) in LITERALS else broadcast(x, lengths) for x in xs))


FAR: Final = 2**30
"""A position beyond the ends of arrays, so small that int32 holds the sum of two."""


def bounded(x: Any, low: int = -FAR, high: int = FAR) -> Any:
    """Integers as int32, those beyond a range at its ends, before the upper bits are dropped.

    One of Python's stays so.
    """
    if isinstance(x, int):
        return min(max(x, low), high)
    dtype = typeof(x).dtype
    if bit_width(dtype) < 32:
        x, dtype = cast(x, int32), int32
    x = elementwise.min(x, high)
    return cast(x if dtype.kind == "u" else elementwise.max(x, low), int32)


def strong(x: Any) -> Any:
    """The value without weakness of its dtype."""
    return cast(x, typeof(x).dtype)


def strong_unless_scalar(x: Any) -> Any:
    """The value; more than one number without weakness, as JAX's constants of its shape make it."""
    return strong(x) if shape_of(x) else x


def number_of_elements(number: Any, dtype: Any) -> Any:
    """A number of elements as an operand of a dtype: a Python number, a scalar if symbolic."""
    if is_symbolic_length(number):
        return cast(number, dtype)
    return float(number) if is_inexact(dtype) else number


def shape_of(x: Any) -> tuple[int, ...]:
    """The shape of a value."""
    return typeof(x).shape


def is_static(x: Any) -> bool:
    """Whether a value can be looked at now: it is no carrier, and has no carriers in it."""
    if isinstance(x, list | tuple):
        return all(map(is_static, x))
    return not isinstance(x, Carrier)


def pick(x: Any, indices: Any, axis: int) -> Any:
    """The slices of x at these positions along an axis; positions are clipped to it.

    The axes of `indices` take the axis's place.
    """
    lengths, places = typeof(x).shape, typeof(indices).shape
    new = range(axis, axis + len(places))
    ndim = len(lengths) - 1 + len(places)
    return gather(
        x,
        shape.expand_dims(indices, (len(places),)),
        dimension_numbers=GatherDimensionNumbers(
            offset_dims=tuple(i for i in range(ndim) if i not in new),
            collapsed_slice_dims=(axis,),
            start_index_map=(axis,),
        ),
        slice_sizes=tuple(1 if i == axis else n for i, n in enumerate(lengths)),
        mode=GatherScatterMode.CLIP,
        fill_value=None,
        indices_are_sorted=False,
        unique_indices=False,
    )
