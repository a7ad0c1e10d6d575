"""Padding: borders around an array, in each of NumPy's modes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from effax.eager.whole import opening, whole
from effax.effects.rows import elementwise, reduction, sorting
from effax.effects.rows import shape as effects
from effax.effects.types import inexact_dtype, is_inexact, is_integer, typeof
from effax.effects.value import (
    Array,
    ArrayLike,
    is_symbolic,
    is_symbolic_length,
    length,
    smallest,
    surely,
)
from effax.operands.arguments import (
    broadcast,
    cast,
    check_arrays,
    combine,
    is_static,
    number_of_elements,
    shape_of,
)

Pairs = tuple[tuple[int, int], ...]

_OPTIONS = {
    "constant": {"constant_values"},
    "edge": set(),
    "linear_ramp": {"end_values"},
    "maximum": {"stat_length"},
    "mean": {"stat_length"},
    "median": {"stat_length"},
    "minimum": {"stat_length"},
    "reflect": {"reflect_type"},
    "symmetric": {"reflect_type"},
    "wrap": set(),
    "empty": set(),
}


@opening
def pad(
    array: ArrayLike, pad_width: Any, mode: str | Callable[..., Any] = "constant", **kwargs: Any
) -> Array:
    """Return the array with a border.

    Args:
      array: array_like.
      pad_width: (before, after) for each axis, one pair or one number for all, or a dictionary of
        axes; known while tracing.
      mode: "constant", "edge", "linear_ramp", "maximum", "mean", "median", "minimum", "reflect",
        "symmetric", "wrap", "empty", or a function of (vector, (before, after), axis, options) that
        returns the padded vector.
      **kwargs: `constant_values` for "constant" (0 by default); `end_values` for "linear_ramp" (0
        by default); `stat_length` for "maximum", "mean", "median" and "minimum"; `reflect_type`,
        "even" (the default) or "odd", for "reflect" and "symmetric"; the options of a function.

    >>> pad(np.arange(3), 1, "edge").tolist()
    [0, 0, 1, 2, 2]
    """
    check_arrays("pad", array)
    lengths = shape_of(array)
    width = _pairs(pad_width, len(lengths), "pad_width")
    if any(w < 0 for pair in width for w in pair):
        raise ValueError("index can't contain negative values")
    if callable(mode):
        return _pad_by_function(array, width, mode, kwargs)
    if mode not in _OPTIONS:
        raise NotImplementedError(
            f"Unimplemented padding mode '{mode}' for np.pad; the modes are {', '.join(_OPTIONS)}"
        )
    unknown = set(kwargs) - _OPTIONS[mode]
    if unknown:
        raise ValueError(f"unsupported keyword arguments for mode '{mode}': {unknown}")
    if mode in ("constant", "empty"):
        value = kwargs.get("constant_values", 0)
        if isinstance(value, list | tuple) and is_static(value):
            value = np.asarray(value)
        return _pad_constant(array, value, width)
    if mode == "linear_ramp":
        return _pad_ramp(array, np.asarray(kwargs.get("end_values", 0)), width)
    odd = kwargs.get("reflect_type", "even") == "odd"
    if kwargs.get("reflect_type", "even") not in ("even", "odd"):
        raise ValueError(f"reflect_type must be 'even' or 'odd', got {kwargs['reflect_type']!r}")
    stat = kwargs.get("stat_length")
    pairs = None if stat is None else _pairs(stat, len(lengths), "stat_length")
    if any(n == 0 and (a or b) for n, (a, b) in zip(lengths, width, strict=True)):
        raise ValueError(f"can't extend an empty axis using modes other than 'constant': {mode}")
    return _pad_edges(array, width, mode, odd, pairs)


def _pairs(given: Any, ndim: int, name: str) -> Pairs:
    """(before, after) for each axis, from one number, one pair, a pair each, or a dictionary."""
    if isinstance(given, dict):
        full = [(0, 0)] * ndim
        for axis, pair in given.items():
            full[axis] = pair
        given = full
    if not is_static(given):
        raise TypeError(
            f"pad: {name} must be known while tracing, as the shape of the result depends on it"
        )
    numbers = np.asarray(given)
    symbolic = numbers.dtype == object and any(map(is_symbolic_length, numbers.flat))
    if numbers.dtype.kind not in "iu" and not symbolic:
        raise TypeError(f"`{name}` must be of integral type, not {numbers.dtype}.")
    try:
        pairs = np.broadcast_to(numbers, (ndim, 2))
    except ValueError:
        raise ValueError(
            f"jnp.pad: {name} with nd={numbers.ndim} has unsupported shape {numbers.shape}. Valid "
            f"shapes are ({ndim}, 2), (1, 2), (2,), (1,), or ()."
        ) from None
    first, last = ([length(x) for x in side] for side in pairs.T)
    return tuple(zip(first, last, strict=True))


@whole("width")
def _pad_constant(array: Any, values: Any, width: Pairs) -> Any:
    ndim = len(width)
    type = typeof(array)
    if shape_of(values) == ():
        config = tuple((a, b, 0) for a, b in width)
        return effects.pad(array, cast(values, type.dtype, type.weak_type), config=config)
    table = broadcast(cast(values, type.dtype, type.weak_type), (ndim, 2))
    for axis, pair in enumerate(width):
        for side, count in enumerate(pair):
            value = effects.slice(table, start=(axis, side), limit=(axis + 1, side + 1))
            here = (count, 0, 0) if side == 0 else (0, count, 0)
            border = tuple(here if i == axis else (0, 0, 0) for i in range(ndim))
            array = effects.pad(array, effects.reshape(value, shape=()), config=border)
    return array


@whole("width")
def _pad_ramp(array: Any, ends: Any, width: Pairs) -> Any:
    """From the edge in equal steps to the end value, which the outermost element has."""
    dtype, weak = typeof(array).dtype, typeof(array).weak_type
    table = broadcast(cast(ends, dtype), (len(width), 2))
    for axis, (before, after) in enumerate(width):
        parts = [array]
        n = shape_of(array)[axis]
        for side, count in enumerate((before, after)):
            if count == 0:
                continue
            end = effects.reshape(
                effects.slice(table, start=(axis, side), limit=(axis + 1, side + 1)), shape=()
            )
            at = 0 if side == 0 else n - 1
            edge = effects.slice_axis(array, axis, at, at + 1)
            ramp = cast(_ramp(end, edge, count, axis, dtype), dtype, weak)
            if side == 0:
                parts.insert(0, ramp)
            else:
                parts.append(effects.rev(ramp, dims=(axis,)))
        array = effects.concatenate(*parts, axis=axis) if len(parts) > 1 else array
    return array


def _ramp(end: Any, edge: Any, count: int, axis: int, dtype: Any) -> Any:
    """`count` numbers from `end`, in steps that would reach `edge` next."""
    from effax.effects.types import default_float

    working = dtype if is_inexact(dtype) else default_float()
    first, last = cast(end, working), cast(edge, working)
    steps = effects.iota(dtype=working, shape=(count,), dimension=0)
    parts = combine(elementwise.div, steps, cast(count, working))
    lengths = tuple(count if i == axis else 1 for i in range(len(shape_of(edge))))
    ladder = effects.reshape(parts, shape=lengths)
    one = combine(elementwise.mul, first, elementwise.sub(1.0, ladder))
    result = combine(elementwise.add, one, combine(elementwise.mul, last, ladder))
    return elementwise.floor(result) if is_integer(dtype) else result


@whole("width", "mode", "odd", "stat_length")
def _pad_edges(array: Any, width: Pairs, mode: str, odd: bool, stat_length: Pairs | None) -> Any:
    for axis, (before, after) in enumerate(width):
        if mode in ("reflect", "symmetric"):
            array = _reflected(array, axis, before, after, mode == "reflect", odd)
        elif mode == "wrap":
            array = _wrapped(array, axis, before, after)
        else:
            pair = None if stat_length is None else stat_length[axis]
            array = _with_borders(array, axis, before, after, mode, pair)
    return array


def _with_borders(
    array: Any, axis: int, before: int, after: int, mode: str, stat: tuple[int, int] | None
) -> Any:
    """A statistic of the elements near each end, or the end itself, repeated."""
    n = shape_of(array)[axis]
    parts = [array]
    for side, count in enumerate((before, after)):
        if count == 0:
            continue
        reach = 1 if mode == "edge" else n if stat is None else smallest(stat[side], n)
        if reach == 0:
            raise ValueError("stat_length of 0 yields no value for padding")
        start = 0 if side == 0 else n - reach
        near = effects.slice_axis(array, axis, start, start + reach)
        value = near if mode == "edge" else _statistic(near, axis, mode)
        lengths = tuple(count if i == axis else m for i, m in enumerate(shape_of(array)))
        border = broadcast(value, lengths)
        parts.insert(0, border) if side == 0 else parts.append(border)
    return effects.concatenate(*parts, axis=axis) if len(parts) > 1 else array


def _statistic(near: Any, axis: int, mode: str) -> Any:
    dtype, weak = typeof(near).dtype, typeof(near).weak_type
    n = shape_of(near)[axis]
    if mode == "maximum":
        result = reduction.reduce_max(near, axes=(axis,))
    elif mode == "minimum":
        result = reduction.reduce_min(near, axes=(axis,))
    else:
        wide = cast(near, inexact_dtype(dtype))
        if mode == "mean":
            total = reduction.reduce_sum(wide, axes=(axis,))
            result = combine(elementwise.div, total, number_of_elements(n, typeof(total).dtype))
        else:
            (ordered,) = sorting.sort(wide, dimension=axis, is_stable=True, num_keys=1)
            low = effects.slice_axis(ordered, axis, (n - 1) // 2, (n - 1) // 2 + 1)
            high = effects.slice_axis(ordered, axis, n // 2, n // 2 + 1)
            result = effects.squeeze(elementwise.mul(elementwise.add(low, high), 0.5), (axis,))
        if is_integer(dtype):
            result = elementwise.round(result, rounding_method=1)
        result = cast(result, dtype, weak)
    return effects.expand_dims(result, (axis,))


def _wrapped(array: Any, axis: int, before: int, after: int) -> Any:
    """The array repeated as often as needed, and cut."""
    n = shape_of(array)[axis]
    if before == 0 and after == 0:
        return array
    left, right = -(-before // n), -(-after // n)
    many = effects.concatenate(*[array] * (left + 1 + right), axis=axis)
    start = left * n - before
    return effects.slice_axis(many, axis, start, start + before + n + after)


def _reflected(
    array: Any, axis: int, before: int, after: int, without_edge: bool, odd: bool
) -> Any:
    """Mirror images put on until the border is full; odd ones are mirrored in the edge's value."""
    for side in (0, 1):
        missing = (before, after)[side]
        while missing != 0:
            n = shape_of(array)[axis]
            offset = 1 if without_edge else 0
            if is_symbolic((missing, n)):
                _check_one_reflection(n, missing, offset, side, axis)
            if without_edge and n == 1:
                array = _with_borders(
                    array, axis, missing * (side == 0), missing * (side == 1), "edge", None
                )
                break
            count = smallest(missing, n - offset)
            if side == 0:
                piece = effects.slice_axis(array, axis, offset, offset + count)
                edge = effects.slice_axis(array, axis, 0, 1)
            else:
                piece = effects.slice_axis(array, axis, n - offset - count, n - offset)
                edge = effects.slice_axis(array, axis, n - 1, n)
            piece = effects.rev(piece, dims=(axis,))
            if odd:
                piece = combine(elementwise.sub, elementwise.mul(edge, 2), piece)
            pair = (piece, array) if side == 0 else (array, piece)
            array = effects.concatenate(*pair, axis=axis)
            missing -= count
    return array


def _check_one_reflection(n: Any, missing: Any, offset: int, side: int, axis: int) -> None:
    """Raise `ValueError` where it is not sure that an axis is mirrored once, and no more."""
    if not surely(lambda: n > 1 and n - offset >= missing):
        raise ValueError(
            "Shape polymorphism is supported for jnp.pad with 'reflect' or 'symmetric' padding "
            "mode only when it is possible to determine at lowering time that the axis size "
            f"(= {n}) is larger than 1 and larger or equal than the padding length (= {missing}), "
            f"here of the {('left', 'right')[side]} padding of axis {axis}; add a constraint: "
            "symbolic_shape(..., constraints=[...])"
        )


def _pad_by_function(array: Any, width: Pairs, function: Any, options: dict[str, Any]) -> Any:
    """Zeros all round; then, axis by axis, the function is given each vector, and gives it back."""
    from effax.api.mapping.vmap import vmap
    from effax.numpy.manipulation import moveaxis

    padded = _pad_constant(array, 0, width)
    for axis, pair in enumerate(width):

        def along(vector: Any, axis: int = axis, pair: tuple[int, int] = pair) -> Any:
            return function(vector, pair, axis, options)

        mapped = along
        for _ in range(len(width) - 1):
            mapped = vmap(mapped)
        padded = moveaxis(mapped(moveaxis(padded, axis, -1)), -1, axis)
    return padded
