"""Arrays from nothing: of one value, of a shape like another's, and of even spacing."""

from __future__ import annotations

from math import ceil
from typing import Any, Literal, SupportsIndex, overload

import numpy as np

from effax.api.placing.output_sharding import placed
from effax.backends.xla.array import Array
from effax.backends.xla.array import asarray as device_array
from effax.backends.xla.buffer import put
from effax.eager.whole import opened, opening, remembered, whole
from effax.effects import config, elementwise, shape, transcendental
from effax.effects.handler import bottom, current
from effax.effects.interning import keep
from effax.effects.mesh import placing_mesh
from effax.effects.promotion import result_type
from effax.effects.types import (
    canonical_shape,
    default_float,
    float0,
    inexact_dtype,
    is_bool,
    is_complex,
    is_inexact,
    is_integer,
    real_dtype,
    typeof,
    user_dtype,
)
from effax.effects.value import ArrayLike, DeviceLike, DTypeLike, OutSharding, Shape, Value
from effax.keys.decorators import fills_keys
from effax.numpy.conversion import number_of
from effax.operands.arguments import (
    asked_dtype,
    beside,
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
from effax.operands.promoting import array as array_of

_SMALL = 1 << 16  # elements; smaller arrays come from the host rather than from an executable
_KEPT, _REMEMBERED = 4096, 256  # elements of an array, and arrays, that are kept on the host


def constant(host: np.ndarray[Any, Any], device: Any = None) -> Array:
    """An array whose contents are known now."""
    array = device_array(host)
    return on_device(array, device)


def filled(lengths: tuple[int, ...], value: Any, dtype: Any, device: Any = None) -> Any:
    """An array of one Python number everywhere."""
    small = np.prod(lengths, dtype=object) <= _SMALL
    if small and current.get() is bottom and placing_mesh() is None:
        return constant(np.full(lengths, value, dtype), device)
    result = shape.full(lengths, value, dtype)
    return on_device(result, device)


_hosts: dict[Any, Any] = remembered()


def _everywhere(name: str, value: int, lengths: Any, dtype: Any, device: Any) -> Any:
    """An array of one number everywhere; how small ones are made is remembered."""
    if dtype is float0:  # tangents of integers: they have no elements, and no number
        return np.zeros(_shape(name, lengths), float0)
    if device is not None or current.get() is not bottom or config.guarded:
        return filled(_shape(name, lengths, dtype), value, _dtype(name, dtype), device)
    kinds = tuple(map(type, lengths)) if type(lengths) is tuple else type(lengths)
    key: Any = None
    try:  # the classes, since 2 == 2.0 == True
        key = config.trace_key(), value, lengths, kinds, dtype
        found = _hosts.get(key)
    except TypeError:
        key = found = None
    if found is None:
        made = filled(_shape(name, lengths, dtype), value, _dtype(name, dtype))
        # A dtype that becomes another is told each time.
        if key is not None and made.size <= _KEPT and _is(dtype, made.dtype):
            kept = np.full(made.shape, value, made.dtype), made.spec
            keep(_hosts, key, kept, _REMEMBERED)
        return made
    host, spec = found
    return Array(put(host, spec.type, spec.placement), spec)


def _is(asked: Any, dtype: Any) -> bool:
    try:
        return asked is None or bool(np.dtype(asked) == dtype)
    except TypeError:
        return False


def _dtype(name: str, dtype: Any) -> Any:
    return default_float() if dtype is None else user_dtype(dtype, name)


def _shape(name: str, lengths: Any, dtype: Any = None) -> tuple[int, ...]:
    if isinstance(dtype, int) and not isinstance(dtype, bool):
        raise TypeError(
            f"Cannot interpret '{dtype}' as a data type: the second argument of jnp.{name} is the "
            f"dtype. A shape of several lengths is one tuple, jnp.{name}(({lengths}, {dtype}))"
        )
    return canonical_shape(lengths)


@fills_keys
@placed
def zeros(
    shape: SupportsIndex | Shape,
    dtype: DTypeLike | None = None,
    *,
    device: DeviceLike = None,
    out_sharding: OutSharding = None,
) -> Value:
    """An array of zeros.

    >>> zeros((2, 3)).shape
    (2, 3)
    """
    return _everywhere("zeros", 0, shape, dtype, device)


@fills_keys
@placed
def ones(
    shape: SupportsIndex | Shape,
    dtype: DTypeLike | None = None,
    *,
    device: DeviceLike = None,
    out_sharding: OutSharding = None,
) -> Value:
    """An array of ones.

    >>> ones(3, dtype="int32").tolist()
    [1, 1, 1]
    """
    return _everywhere("ones", 1, shape, dtype, device)


@fills_keys
@placed
def empty(
    shape: SupportsIndex | Shape,
    dtype: DTypeLike | None = None,
    *,
    device: DeviceLike = None,
    out_sharding: OutSharding = None,
) -> Value:
    """An array of zeros: XLA has no arrays without contents.

    >>> empty(2).tolist()
    [0.0, 0.0]
    """
    return _everywhere("empty", 0, shape, dtype, device)


def _check_fits(name: str, value: Any, dtype: Any) -> None:
    """Raises `TypeError` for a complex number that is to be a real one, but not a Boolean."""
    if isinstance(value, complex) and not is_complex(dtype) and not is_bool(dtype):
        raise TypeError(f"{name}: {value} is not a real number, as {dtype} has to hold")


@fills_keys
@placed
def full(
    shape: SupportsIndex | Shape,
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    *,
    device: DeviceLike = None,
    out_sharding: OutSharding = None,
) -> Value:
    """An array of a value everywhere; an array is broadcast.

    >>> full((2, 2), 7).tolist()
    [[7, 7], [7, 7]]
    """
    wanted = None if dtype is None else user_dtype(dtype, "full")
    fill_value = number_of(fill_value, wanted)
    check_arrays("full", fill_value)
    lengths = _shape("full", shape)
    given = typeof(fill_value)
    if wanted is not None:
        _check_fits("full", fill_value, wanted)
    if given.ndim > len(lengths) or common_shape(given.shape, lengths) != lengths:
        raise ValueError(f"Incompatible shapes for broadcasting: {given.shape} and {lengths}")
    result = _spread(fill_value, lengths, wanted, False)
    return on_device(result, device)


@whole("lengths", "dtype", "weak")
def _spread(value: Any, lengths: tuple[int, ...], dtype: Any, weak: bool) -> Any:
    value = array_of(value)
    return broadcast(value if dtype is None else cast(value, dtype, weak), lengths)


def _like(name: str, a: Any, dtype: Any, lengths: Any) -> tuple[tuple[int, ...], Any, bool]:
    """Shape, dtype and weakness of what is like another array, or like anything with those."""
    if isinstance(a, Value | np.ndarray | np.generic) or not (
        hasattr(a, "shape") and hasattr(a, "dtype")
    ):
        a = opened(a)
        check_arrays(name, a)
        type = typeof(a)
        given, own, weak = type.shape, type.dtype, type.weak_type
    else:
        given, own, weak = tuple(a.shape), a.dtype, False
    if lengths is not None:
        given = canonical_shape(lengths)
    return given, own if dtype is None else user_dtype(dtype, name), weak and dtype is None


def _filled_like(name: str, a: Any, value: Any, dtype: Any, lengths: Any, device: Any) -> Any:
    wanted, kind, weak = _like(name, a, dtype, lengths)
    if kind == float0:
        return np.zeros(wanted, float0)
    result = filled(wanted, value, kind, device)
    result = cast(result, kind, True) if weak else result
    return beside(result, a) if device is None else result


@fills_keys
@placed
def zeros_like(
    a: ArrayLike,
    dtype: DTypeLike | None = None,
    shape: SupportsIndex | Shape | None = None,
    *,
    device: DeviceLike = None,
    out_sharding: OutSharding = None,
) -> Value:
    """Zeros in the shape and dtype of an array, or of anything that has those.

    >>> zeros_like(ones((2, 2))).tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """
    return _filled_like("zeros_like", a, 0, dtype, shape, device)


@fills_keys
@placed
def ones_like(
    a: ArrayLike,
    dtype: DTypeLike | None = None,
    shape: SupportsIndex | Shape | None = None,
    *,
    device: DeviceLike = None,
    out_sharding: OutSharding = None,
) -> Value:
    """Ones in the shape and dtype of an array, or of anything that has those.

    >>> ones_like(zeros(2), dtype=int).tolist()
    [1, 1]
    """
    return _filled_like("ones_like", a, 1, dtype, shape, device)


@fills_keys
def empty_like(
    prototype: ArrayLike,
    dtype: DTypeLike | None = None,
    shape: SupportsIndex | Shape | None = None,
    *,
    device: DeviceLike = None,
) -> Value:
    """Zeros in the shape and dtype of an array, or of anything that has those.

    >>> empty_like(ones(2)).shape
    (2,)
    """
    return _filled_like("empty_like", prototype, 0, dtype, shape, device)


@fills_keys
@placed
def full_like(
    a: ArrayLike,
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    shape: SupportsIndex | Shape | None = None,
    *,
    device: DeviceLike = None,
    out_sharding: OutSharding = None,
) -> Value:
    """A value everywhere, in the shape and dtype of an array, or of anything that has those.

    >>> full_like(zeros(2, "int32"), 3).tolist()
    [3, 3]
    """
    wanted, kind, weak = _like("full_like", a, dtype, shape)
    fill_value = number_of(opened(fill_value), kind)
    check_arrays("full_like", 0, fill_value)
    _check_fits("full_like", fill_value, kind)
    result = _spread(fill_value, wanted, kind, weak)
    if device is None and not typeof(fill_value).ndim:
        return beside(result, a)
    return on_device(result, device)


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
    """Evenly spaced numbers from `start` (0 when one number is given) up to before `stop`.

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
    if by == 0:
        raise ZeroDivisionError("arange: a step of zero reaches no end")
    if not is_integer(kind) or isinstance(first + last + by, float | complex | np.inexact):
        return constant(_host_arange(first, last, by, kind), device)
    count = max(0, ceil((int(last) - int(first)) / int(by)))
    if current.get() is bottom and count <= _SMALL:
        return constant(np.arange(first, last, by).astype(kind), device)
    result = shape.iota(dtype=kind, shape=(count,), dimension=0)
    if by != 1:
        result = elementwise.mul(result, int(by))
    if first != 0:
        result = elementwise.add(result, int(first))
    return on_device(result, device)


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
    delta = shape.full(lengths, np.nan, kind)
    if num > 1:
        delta = combine(elementwise.div, elementwise.sub(last, first), float(steps))
        part = elementwise.div(
            shape.iota(dtype=real_dtype(kind), shape=(steps,), dimension=0), float(steps)
        )
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
@opening
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
    """`num` evenly spaced numbers from `start` to `stop`, the last included if `endpoint`.

    With `retstep` the distance between them is returned too.

    >>> linspace(0, 1, 5).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    count = concrete_int(num, "argument 'num' of linspace")
    if count < 0:
        raise ValueError(f"Number of samples, {count}, must be non-negative.")
    check_arrays("linspace", start, stop)
    kind = asked_dtype("linspace", dtype)
    result = _linspace(start, stop, count, bool(endpoint), bool(retstep), kind, axis)
    return on_device(result, device)


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
    """`num` numbers from `base ** start` to `base ** stop`, evenly spaced on a logarithmic scale.

    >>> logspace(0, 2, 3).tolist()
    [1.0, 10.0, 100.0]
    """
    check_arrays("logspace", start, stop)
    kind = asked_dtype("logspace", dtype)
    working = kind if kind is not None and is_inexact(kind) else None
    if working is None:
        working = inexact_dtype(result_type(start, stop))
    if concrete_int(num, "num argument of logspace") < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
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
    """`num` numbers from `start` to `stop`, each a constant multiple of the one before.

    >>> [round(x, 3) for x in geomspace(1, 1000, 4).tolist()]
    [1.0, 10.0, 100.0, 1000.0]
    """
    check_arrays("geomspace", start, stop)
    kind = asked_dtype("geomspace", dtype)
    working = inexact_dtype(result_type(start, stop) if kind is None else kind)
    lengths = common_shape(shape_of(start), shape_of(stop))
    first, last = (broadcast(cast(x, working), lengths) for x in (start, stop))
    # The direction of the start is divided out, so that negative numbers have logarithms.
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


__all__ = [
    "arange",
    "empty",
    "empty_like",
    "full",
    "full_like",
    "geomspace",
    "linspace",
    "logspace",
    "ones",
    "ones_like",
    "zeros",
    "zeros_like",
]
