"""Numbers in even spacing, or in even ratios."""

from __future__ import annotations

from math import ceil
from typing import Any, Literal, overload

import numpy as np

from effax.api.placing.output_sharding import placed
from effax.eager.whole import opening, whole
from effax.effects.dtypes import finfo
from effax.effects.errors import InconclusiveDimensionOperation
from effax.effects.frames import filtered
from effax.effects.handler import bottom, current
from effax.effects.promotion import result_type
from effax.effects.rows import elementwise, shape, transcendental
from effax.effects.types import (
    inexact_dtype,
    is_bool,
    is_inexact,
    is_integer,
    real_dtype,
    user_dtype,
)
from effax.effects.value import (
    ArrayLike,
    DeviceLike,
    DTypeLike,
    OutSharding,
    Value,
    greatest,
    is_symbolic,
    is_symbolic_length,
)
from effax.numpy.creation import SMALL, constant
from effax.operands.arguments import (
    asked_dtype,
    broadcast,
    canonical_axis,
    cast,
    check_arrays,
    combine,
    common_shape,
    concrete_int,
    known_number,
    on_device,
    shape_of,
)


@placed
@opening
def arange(
    start: ArrayLike,
    stop: ArrayLike | None = None,
    step: ArrayLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    device: DeviceLike = None,
    out_sharding: OutSharding = None,
) -> Value:
    """Return evenly spaced numbers from `start` up to before `stop`.

    All three numbers must be known: they decide the length of the result.

    Args:
      start: the first number; 0 where one number alone is given, which is `stop` then.
      stop: the end, not included.
      step: the distance between numbers; 1 by default.
      dtype: the dtype of the result; by default that in which the numbers given meet.
      device: where to put the result; by default the default device.
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    >>> arange(3).tolist(), arange(1, 2, 0.25).tolist()
    ([0, 1, 2], [1.0, 1.25, 1.5, 1.75])
    """
    names = ("stop" if stop is None else "start", "stop", "step")
    given = [known_number("arange", n, x) for n, x in zip(names, (start, stop, step), strict=True)]
    check_arrays("arange", *(x for x in given if x is not None))
    if any(isinstance(x, complex | np.complexfloating) for x in given):
        raise ValueError(
            "Passing complex start/stop/step to jnp.arange is no longer supported: complex numbers "
            "have no order"
        )
    for x in given:
        if x is not None and np.ndim(x) != 0:
            raise TypeError(f"arange: arguments must be scalars, but one has shape {np.shape(x)}")
    kind = user_dtype(dtype, "arange") if dtype is not None else None
    if kind is None:
        kind = result_type(*(x for x in (start, stop, step) if x is not None))
    if given[1] is None:
        given = [0, given[0], given[2]]
    first, last, by = given[0], given[1], 1 if given[2] is None else given[2]
    if is_symbolic((first, last, by)):
        return on_device(_symbolic_arange(first, last, by, kind), device)
    if by == 0:
        raise ZeroDivisionError("arange: step must not be zero")
    if not _counted(first, last, by, kind):
        return constant(_host_arange(first, last, by, kind), device)
    first, by = int(first), int(by)
    count = max(0, ceil(((int(last) if is_integer(kind) else last) - first) / by))
    if current.get() is bottom and count <= SMALL:
        return constant(np.arange(first, last, by).astype(kind), device)
    if is_integer(kind):  # in the dtype's range, modulo which the numbers are
        first, by = (int(np.asarray(x).astype(kind)) for x in (first, by))
    result = shape.iota(dtype=kind, shape=(count,), dimension=0)
    if by != 1:
        result = elementwise.mul(result, by)
    if first != 0:
        result = elementwise.add(result, first)
    return on_device(result, device)


def _counted(first: Any, last: Any, by: Any, dtype: Any) -> bool:
    """Whether each number is, without rounding, one whole number and a multiple of another."""
    if is_integer(dtype):
        return not isinstance(first + last + by, float | complex | np.inexact)
    if not is_inexact(dtype) or is_symbolic((first, last, by)):
        return False
    whole = float(first).is_integer() and float(by).is_integer()
    exact = 2 ** (finfo(real_dtype(dtype)).nmant + 1)
    return whole and max(abs(first), abs(last), abs(by)) <= exact


def _symbolic_arange(first: Any, last: Any, by: Any, dtype: Any) -> Any:
    """`arange` of symbolic lengths; the number of elements is one too."""
    told = f"arange(start={first}, stop={last}, step={by})"
    if not all(is_symbolic_length(x) or isinstance(x, int | np.integer) for x in (first, last, by)):
        raise ValueError(
            f"{told}: the arguments must be either dimension expressions or integers, as one of "
            "them is a symbolic length; multiply an arange of integers instead"
        )
    try:
        if not (by > 0 or by < 0):
            raise ValueError(f"{told} has step == 0")
    except InconclusiveDimensionOperation as error:
        raise InconclusiveDimensionOperation(
            f"{told}: the step must be resolved statically if it is > 0 or < 0; add a constraint "
            f"that says which: symbolic_shape(..., constraints=[...]). {error}"
        ) from error
    count = greatest(0, -((first - last) // by))
    result = shape.iota(dtype=dtype, shape=(count,), dimension=0)
    if is_symbolic_length(by) or by != 1:
        result = combine(elementwise.mul, result, cast(by, dtype))
    if is_symbolic_length(first) or first != 0:
        result = combine(elementwise.add, result, cast(first, dtype))
    return result


def _host_arange(first: Any, last: Any, by: Any, dtype: Any) -> np.ndarray[Any, Any]:
    if is_bool(dtype):
        return np.arange(first, last, by).astype(dtype)
    return np.arange(first, last, by, dtype=dtype)


@whole("num", "endpoint", "retstep", "dtype", "axis")
def _linspace(
    start: Any, stop: Any, num: int, endpoint: bool, retstep: bool, dtype: Any, axis: int
) -> Any:
    kind = inexact_dtype(result_type(start, stop) if dtype is None else dtype)
    lengths = common_shape(shape_of(start), shape_of(stop))
    first, last = (broadcast(cast(x, kind), lengths) for x in (start, stop))
    axis = axis + len(lengths) + 1 if axis < 0 else axis
    axis = canonical_axis(axis, len(lengths) + 1)
    first_row, last_row = (shape.expand_dims(x, (axis,)) for x in (first, last))
    steps = num - 1 if endpoint else num
    delta = shape.full((), np.nan, kind)
    if num > 1:
        delta = combine(elementwise.div, elementwise.sub(last, first), cast(steps, kind))
        places = shape.iota(dtype=real_dtype(kind), shape=(steps,), dimension=0)
        part = combine(elementwise.div, places, cast(steps, real_dtype(kind)))
        ladder = shape.reshape(
            cast(part, kind),
            shape=tuple(steps if i == axis else 1 for i in range(len(lengths) + 1)),
        )
        rest = elementwise.sub(1.0, ladder)
        result = elementwise.add(
            combine(elementwise.mul, first_row, rest), combine(elementwise.mul, last_row, ladder)
        )
        if endpoint:
            result = shape.concatenate(result, last_row, axis=axis)
    elif num == 1:
        delta = delta if endpoint else elementwise.sub(last, first)
        result = first_row
    else:
        result = shape.slice_axis(first_row, axis, 0, 0)
    if dtype is not None:
        if is_integer(dtype):
            result = elementwise.floor(result)
        result = cast(result, dtype)
    return (result, delta) if retstep else result


def _count(name: str, num: Any) -> int:
    """The number of samples."""
    count = concrete_int(num, f"the argument 'num' of {name}")
    if count < 0:
        raise ValueError(f"Number of samples, {count}, must be non-negative.")
    return count


@overload
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = ...,
    endpoint: bool = ...,
    retstep: Literal[False] = ...,
    dtype: DTypeLike | None = ...,
    axis: int = ...,
    *,
    device: DeviceLike = ...,
) -> Value: ...


@overload
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = ...,
    endpoint: bool = ...,
    *,
    retstep: Literal[True],
    dtype: DTypeLike | None = ...,
    axis: int = ...,
    device: DeviceLike = ...,
) -> tuple[Value, Value]: ...


@overload
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = ...,
    endpoint: bool = ...,
    retstep: bool = ...,
    dtype: DTypeLike | None = ...,
    axis: int = ...,
    *,
    device: DeviceLike = ...,
) -> Value | tuple[Value, Value]: ...


@filtered
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike | None = None,
    axis: int = 0,
    *,
    device: DeviceLike = None,
) -> Value | tuple[Value, Value]:
    """Return `num` evenly spaced numbers from `start` to `stop`.

    Args:
      start, stop: array_like, broadcast against each other.
      num: how many numbers, a static integer.
      endpoint: whether `stop` is the last number.
      retstep: whether to return the distance between numbers too.
      dtype: the dtype of the result; by default the inexact one in which the ends meet. Numbers of
        an integer dtype are rounded down.
      axis: the axis of the result along which the numbers lie.
      device: where to put the result; by default the default device.

    >>> linspace(0, 1, 5).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    return on_device(_checked_linspace(start, stop, num, endpoint, retstep, dtype, axis), device)


@whole("num", "endpoint", "retstep", "dtype", "axis", reads=True)
def _checked_linspace(
    start: Any, stop: Any, num: Any, endpoint: Any, retstep: Any, dtype: Any, axis: int
) -> Any:
    count = _count("linspace", num)
    check_arrays("linspace", start, stop)
    kind = asked_dtype("linspace", dtype)
    return _linspace(start, stop, count, bool(endpoint), bool(retstep), kind, axis)


@whole("num", "endpoint", "dtype", "axis")
def logspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    base: ArrayLike = 10.0,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Value:
    """Return `num` numbers from `base ** start` to `base ** stop`, with evenly spaced exponents.

    Args:
      start, stop: array_like exponents, broadcast against each other.
      num: how many numbers, a static integer.
      endpoint: whether `base ** stop` is the last number.
      base: array_like, the base of the powers.
      dtype: the dtype of the result; by default the inexact one in which the ends meet.
      axis: the axis of the result along which the numbers lie.

    >>> logspace(0, 2, 3).tolist()
    [1.0, 10.0, 100.0]
    """
    check_arrays("logspace", start, stop)
    kind = asked_dtype("logspace", dtype)
    working = kind if kind is not None and is_inexact(kind) else None
    if working is None:
        working = inexact_dtype(result_type(start, stop))
    _count("logspace", num)
    ladder = _linspace(start, stop, num, endpoint, False, working, axis)
    result = combine(elementwise.pow, cast(base, working), ladder)
    return cast(result, kind) if kind is not None else result


@whole("num", "endpoint", "dtype", "axis")
def geomspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Value:
    """Return `num` numbers from `start` to `stop`, each a constant multiple of the one before.

    Args:
      start, stop: array_like, not zero, broadcast against each other.
      num: how many numbers, a static integer.
      endpoint: whether `stop` is the last number.
      dtype: the dtype of the result; by default the inexact one in which the ends meet.
      axis: the axis of the result along which the numbers lie.

    >>> [round(x, 3) for x in geomspace(1, 1000, 4).tolist()]
    [1.0, 10.0, 100.0, 1000.0]
    """
    check_arrays("geomspace", start, stop)
    num = _count("geomspace", num)
    kind = asked_dtype("geomspace", dtype)
    working = inexact_dtype(result_type(start, stop) if kind is None else kind)
    lengths = common_shape(shape_of(start), shape_of(stop))
    first, last = (broadcast(cast(x, working), lengths) for x in (start, stop))
    # Divide by the sign of the start, so that negative numbers have logarithms.
    turn = elementwise.sign(first)
    logs = [transcendental.log(elementwise.div(x, turn)) for x in (first, last)]
    axis = canonical_axis(axis, len(lengths) + 1)
    ladder = _linspace(logs[0], logs[1], num, endpoint, False, working, axis)
    result = combine(elementwise.mul, transcendental.exp(ladder), shape.expand_dims(turn, (axis,)))
    ends = [shape.expand_dims(x, (axis,)) for x in (first, last)]
    if num > 0:
        rest = shape.slice_axis(result, axis, 1, num)
        result = shape.concatenate(ends[0], rest, axis=axis)
    if endpoint and num > 1:
        rest = shape.slice_axis(result, axis, 0, num - 1)
        result = shape.concatenate(rest, ends[1], axis=axis)
    return result if kind is None else cast(result, kind)
