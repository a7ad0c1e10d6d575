"""Operands of elementwise functions: brought to one dtype and one shape, as JAX does.

Python numbers among arrays stay what they are: an elementwise effect gives them the dtype and
the shape of the others.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from effax.backends.xla.array import asarray as device_array
from effax.eager.whole import opened
from effax.effects.config import enable_x64, read
from effax.effects.dtypes import integer_range
from effax.effects.effect import LITERALS
from effax.effects.interning import keep
from effax.effects.promotion import NoPromotionError, lattice_result
from effax.effects.rows import comparison, elementwise
from effax.effects.rows.conversion import convert_element_type
from effax.effects.types import (
    DType,
    ShapedArray,
    bool_,
    default_position_dtype,
    inexact_dtype,
    int32,
    int64,
    is_bool,
    is_inexact,
    is_integer,
    position_dtype,
    typeof,
)
from effax.effects.value import Array, Value, is_symbolic_length
from effax.operands.arguments import BroadcastError, broadcast, cast, check_arrays, common_shape

Kind = Callable[[DType], DType]


def as_they_are(dtype: DType) -> DType:
    """The dtype itself."""
    return dtype


def numeric_dtype(dtype: DType) -> DType:
    """The dtype itself, int32 for Booleans, whether 64 bits are on or not."""
    return int32 if dtype == bool_ else dtype


def asarray(x: Any, name: str = "asarray") -> Any:
    """A value or NumPy array for an array-like: nested lists of numbers or values are stacked.

    Python numbers become arrays of rank 0 with a weak type. Raises `TypeError` for the rest.
    """
    if isinstance(x, Value | np.ndarray | np.generic):
        return x
    if type(x) in LITERALS or is_symbolic_length(x):
        return weak(x)
    if isinstance(x, list | tuple):
        from effax.operands.nested import stacked

        return stacked(x, name)
    if hasattr(x, "__jax_array__"):
        return x.__jax_array__()
    check_arrays(name, x)
    return np.asarray(x)


def positions_array(positions: np.ndarray[Any, Any], length: int) -> Any:
    """NumPy's positions along an axis of this length as an array of the dtype that they need.

    Where that is int64, they would be cut to 32 bits without x64.
    """
    dtype = default_position_dtype(length)
    with enable_x64(dtype == int64):
        return device_array(positions.astype(dtype))


def held(indices: np.ndarray[Any, Any], length: int) -> Any:
    """NumPy's indices, as `positions_array` where 32 bits may not hold them."""
    long = position_dtype(length) == int64
    return positions_array(indices, length) if long and is_integer(indices.dtype) else indices


def weak(x: Any) -> Any:
    """A Python number as an array of rank 0 whose dtype yields to others."""
    type = typeof(x)
    return convert_element_type(x, dtype=type.dtype, weak_type=type.weak_type)


def arraylike(name: str, *xs: Any) -> list[Any]:
    """The operands, objects with `__jax_array__` opened.

    Raises `TypeError` for what is neither an array nor a number.
    """
    inside = [*map(opened, xs)]
    check_arrays(name, *inside)
    return inside


def promote(
    *xs: Any,
    name: str = "function",
    to: Kind = as_they_are,
    arrays: bool = False,
    any_rank: bool = False,
) -> tuple[Any, ...]:
    """Operands of one dtype and one shape; Python numbers stay, if there is an array among them.

    `to` says in which dtype to compute, given the one in which the operands meet. With `arrays`,
    Python numbers become arrays too; with `any_rank`, operands of several ranks are no matter of
    the setting `numpy_rank_promotion`. Raises
    `TypeError` for what is no array, `BroadcastError` for shapes that don't fit, and
    `TypePromotionError` for dtypes that don't meet.
    """
    try:
        types = [typeof(x) for x in xs]
    except TypeError:
        xs = tuple(arraylike(name, *xs))
        types = [typeof(x) for x in xs]
    try:
        met, is_weak = lattice_result(types)
    except NoPromotionError as error:
        dtypes = ", ".join(t.dtype.name for t in types)
        raise NoPromotionError(f"{name} does not accept dtypes {dtypes}: {error}") from None
    dtype = to(met)
    result = list(xs)
    literals = [type(x) in LITERALS and not arrays for x in xs]
    if all(literals):
        literals[0] = False  # one of them becomes an array, to give the others their type
    for i, literal in enumerate(literals):
        if literal:
            result[i] = literal_of(xs[i], dtype)
        elif types[i].dtype != dtype or type(xs[i]) in LITERALS:
            result[i] = convert_element_type(xs[i], dtype=dtype, weak_type=is_weak)
    shapes = [t.shape for t, literal in zip(types, literals, strict=True) if not literal]
    if shapes.count(shapes[0]) == len(shapes):
        return tuple(result)
    common = broadcast_shapes(name, shapes, any_rank)
    return tuple(
        x if literal else broadcast(x, common) for x, literal in zip(result, literals, strict=True)
    )


def literal_of(x: Any, dtype: DType) -> Any:
    """A Python number as an operand of a dtype: an integer that is out of range wraps around."""
    if type(x) is int and is_integer(dtype):
        low, high = integer_range(dtype)
        return (x - low) % (high - low + 1) + low
    return x


def may_be_beyond(number: Any, other: Any) -> bool:
    """Whether an operand is a weakly typed integer, beside strongly typed ones whose dtype may not
    hold it. Of what `promote` refuses it is not so.
    """
    try:
        type_, of = typeof(number), typeof(other)
    except TypeError:
        return False
    if not (type_.weak_type and is_integer(type_.dtype)):
        return False
    if of.weak_type or not is_integer(of.dtype):
        return False
    least, greatest = integer_range(of.dtype)
    lowest, highest = (number, number) if type(number) is int else integer_range(type_.dtype)
    return bool(lowest < least or greatest < highest)


def number_beside(number: Any, other: Any) -> tuple[Any, Any, Any] | None:
    """An integer as the nearest one that the other's dtype holds, whether it is above all of them,
    and whether below. None where it is none that may be.
    """
    if not may_be_beyond(number, other):
        return None
    dtype = typeof(other).dtype
    least, greatest = integer_range(dtype)
    if type(number) is int:
        return min(max(number, least), greatest), number > greatest, number < least
    lowest, highest = integer_range(typeof(number).dtype)
    above: Any = False
    below: Any = False
    cut = number
    if highest > greatest:
        above, cut = comparison.gt(number, greatest), elementwise.min(cut, greatest)
    if lowest < least:
        below, cut = comparison.lt(number, least), elementwise.max(cut, least)
    return convert_element_type(cut, dtype=dtype, weak_type=False), above, below


def nearest(number: Any, other: Any) -> Any:
    """A bound; a weakly typed integer as the nearest one that the other's dtype holds."""
    found = number_beside(number, other)
    return number if found is None else found[0]


def broadcast_shapes(
    name: str, shapes: Sequence[tuple[int, ...]], any_rank: bool = False
) -> tuple[int, ...]:
    """The shape to which all broadcast.

    Raises `BroadcastError` where there is none, or where the setting `numpy_rank_promotion` says
    that ranks must agree, unless they may be any.
    """
    try:
        common = common_shape(*shapes)
    except ValueError:
        shown = ", ".join(map(str, shapes))
        if name == "where" or len({len(s) for s in shapes if s}) > 1:  # JAX's words in each case
            raise BroadcastError(
                f"{name}: Incompatible shapes for broadcasting: shapes=[{shown}]"
            ) from None
        raise BroadcastError(f"{name} got incompatible shapes for broadcasting: {shown}.") from None
    ranks = {len(s) for s in shapes if s}
    if not any_rank and len(ranks) > 1 and read("numpy_rank_promotion") != "allow":
        shown = " ".join(map(str, shapes))
        if read("numpy_rank_promotion") == "raise":
            raise BroadcastError(
                f"Operands could not be broadcast together for {name} on shapes {shown} and with "
                "the config option numpy_rank_promotion='raise'. Reshape them to one rank."
            )
        warnings.warn(
            f"Following NumPy automatic rank promotion for {name} on shapes {shown}. Set the "
            "numpy_rank_promotion config option to 'allow' to disable this warning.",
            stacklevel=4,
        )
    return common


def promote_numeric(*xs: Any, name: str = "function", arrays: bool = False) -> tuple[Any, ...]:
    """`promote`, with Booleans as integers."""
    return promote(*xs, name=name, to=numeric_dtype, arrays=arrays)


def promote_inexact(
    *xs: Any, name: str = "function", arrays: bool = False, any_rank: bool = False
) -> tuple[Any, ...]:
    """`promote`, with Booleans and integers as floats."""
    return promote(*xs, name=name, to=inexact_dtype, arrays=arrays, any_rank=any_rank)


def promote_dtypes(*xs: Any) -> tuple[Any, ...]:
    """Arrays of the dtype in which all meet, each in its own shape, Python numbers included."""
    types = [typeof(x) for x in xs]
    dtype, is_weak = lattice_result(types)
    return tuple(
        x
        if t.dtype == dtype and type(x) not in LITERALS
        else convert_element_type(x, dtype=dtype, weak_type=is_weak)
        for x, t in zip(xs, types, strict=True)
    )


def promote_dtypes_inexact(*xs: Any) -> tuple[Any, ...]:
    """`promote_dtypes`, with Booleans and integers as floats."""
    dtype, is_weak = lattice_result([typeof(x) for x in xs])
    return tuple(cast(x, inexact_dtype(dtype), is_weak) for x in xs)


def broadcast_to_common(*xs: Any, name: str = "function") -> tuple[Any, ...]:
    """The arrays in the shape to which all broadcast, each with its own dtype."""
    common = broadcast_shapes(name, [typeof(x).shape for x in xs])
    return tuple(broadcast(x, common) for x in xs)


def unary_inexact(name: str, x: Any) -> Any:
    """The operand of a function on floats, as an array: integers are converted."""
    try:
        type = typeof(x)
    except TypeError:
        (x,) = arraylike(name, x)
        type = typeof(x)
    if is_inexact(type.dtype) and not isinstance(x, (float, complex)):
        return x
    return convert_element_type(x, dtype=inexact_dtype(type.dtype), weak_type=type.weak_type)


def unary(name: str, x: Any, to: Kind = as_they_are) -> Any:
    """The operand of a function of one: checked, and converted where `to` says so."""
    try:
        type = typeof(x)
    except TypeError:
        (x,) = arraylike(name, x)
        type = typeof(x)
    dtype = to(type.dtype)
    if dtype == type.dtype:
        return x
    return convert_element_type(x, dtype=dtype, weak_type=type.weak_type)


def strong_unless_all_weak(result: Any, *given: Any) -> Any:
    """The result, weakly typed only if all of the operands given are."""
    if all(typeof(x).weak_type for x in given):
        return result
    return cast(result, typeof(result).dtype)


def array(x: Any) -> Array:
    """The value as an array: a Python number gets a weak type."""
    return weak(x) if type(x) in LITERALS else x


_numbers: Final[dict[ShapedArray, bool]] = {}
_floats: Final[dict[ShapedArray, bool]] = {}


def direct(x: Any, y: Any) -> bool:
    """Whether two operands can go to an arithmetic effect as they are. Quick; False when unsure.

    So it is for two values of one type, and for a value and a Python number of its kind. With a
    number, a weak type may not have the default width: it goes the other way.
    """
    one, other = getattr(x, "type", None), getattr(y, "type", None)
    if one is other:
        return one in _numbers
    if other is None:
        return _fits(y, one)
    if one is None:
        return _fits(x, other)
    return False


def _fits(number: Any, type_: Any) -> bool:
    """Whether a Python number is one that arrays of the type hold."""
    kind = type(number)
    if kind is float:
        return type_ in _floats
    return kind is int and 0 <= number < 128 and type_ in _numbers and not type_.weak_type


def learn(x: Any, y: Any) -> None:
    """Let `direct` know the types of two operands that went through `promote`."""
    for value in (x, y):
        if isinstance(value, Value):
            type = value.type
            if not is_bool(type.dtype):
                keep(_numbers, type, True)
            if is_inexact(type.dtype) and not type.weak_type:
                keep(_floats, type, True)
