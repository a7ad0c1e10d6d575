"""Differences, gradients, integrals, interpolation and convolution of samples."""

from __future__ import annotations

from math import pi
from typing import Any, overload

import numpy as np

from effax.eager.whole import opening, whole
from effax.effects.promotion import result_type
from effax.effects.rows import (
    comparison,
    cumulative,
    elementwise,
    logical,
    reduction,
    selection,
    shape,
)
from effax.effects.rows.conversion import convert_element_type
from effax.effects.types import (
    as_dtype,
    bool_,
    float32,
    is_bool,
    is_complex,
    is_integer,
    typeof,
)
from effax.effects.value import Array, ArrayLike, greatest, is_symbolic_length, smallest
from effax.numpy.joining import concatenate
from effax.numpy.manipulation import moveaxis, ravel
from effax.numpy.reductions import accumulator
from effax.numpy.sorting import order_of, searchsorted
from effax.operands.arguments import (
    broadcast,
    canonical_axes,
    canonical_axis,
    cast,
    check_arrays,
    combine,
    concrete_int,
    pick,
    shape_of,
    strong,
)
from effax.operands.promoting import array, asarray, promote_dtypes, promote_dtypes_inexact


def steps(x: Any, axis: int) -> Any:
    """Each element less the one before it."""
    n = shape_of(x)[axis]
    later = shape.slice_axis(x, axis, smallest(1, n), n)
    earlier = shape.slice_axis(x, axis, 0, greatest(n - 1, 0))
    if is_bool(typeof(x).dtype):
        return comparison.ne(later, earlier)
    return elementwise.sub(later, earlier)


@whole("n", "axis")
def diff(
    a: ArrayLike,
    n: int = 1,
    axis: int = -1,
    prepend: ArrayLike | None = None,
    append: ArrayLike | None = None,
) -> Array:
    """Return the differences of neighbours along an axis.

    Args:
      a: array_like, of at least one axis.
      n: the number of times to take differences; each shortens the axis by 1.
      axis: the axis to take them along; negative ones count from the end.
      prepend: values to put before `a` along the axis first; a number is broadcast.
      append: values to put after `a` along the axis first; a number is broadcast.

    >>> diff(np.array([1, 4, 9])).tolist()
    [3, 5]
    """
    check_arrays("diff", a)
    times = concrete_int(n, "the order n of diff")
    if times == 0:
        return array(a)
    if times < 0:
        raise ValueError(f"order must be non-negative but got {times}")
    lengths = shape_of(a)
    if not lengths:
        raise ValueError(f"diff requires input that is at least one dimensional; got {a}")
    axis = canonical_axis(axis, len(lengths))
    parts = [a]
    for i, border in enumerate((prepend, append)):
        if border is None:
            continue
        check_arrays("diff", border)
        if not shape_of(border):
            border = broadcast(border, tuple(1 if j == axis else m for j, m in enumerate(lengths)))
        parts.insert(0, border) if i == 0 else parts.append(border)
    differences = concatenate(parts, axis) if len(parts) > 1 else array(a)
    for _ in range(times):
        differences = steps(differences, axis)
    return differences


@whole()
def ediff1d(
    ary: ArrayLike, to_end: ArrayLike | None = None, to_begin: ArrayLike | None = None
) -> Array:
    """Return the differences of neighbours in the flattened array.

    Args:
      ary: array_like; not Booleans.
      to_end: values to put after the differences, flattened and cast to the dtype of `ary`.
      to_begin: values to put before the differences, flattened and cast to the dtype of `ary`.

    >>> ediff1d(np.array([1, 4, 9]), to_end=0).tolist()
    [3, 5, 0]
    """
    check_arrays("ediff1d", ary)
    kind = typeof(ary).dtype
    if is_bool(kind):
        raise TypeError("ediff1d does not accept dtype bool: differences of truths are not defined")
    parts = [steps(ravel(ary), 0)]
    if to_begin is not None:
        check_arrays("ediff1d", ary, to_begin)
        parts.insert(0, cast(ravel(to_begin), kind))
    if to_end is not None:
        check_arrays("ediff1d", ary, to_end)
        parts.append(cast(ravel(to_end), kind))
    return concatenate(parts) if len(parts) > 1 else parts[0]


@overload
def gradient(
    f: ArrayLike, *varargs: ArrayLike, axis: int, edge_order: int | None = ...
) -> Array: ...
@overload
def gradient(
    f: ArrayLike,
    *varargs: ArrayLike,
    axis: int | tuple[int, ...] | None = ...,
    edge_order: int | None = ...,
) -> Array | list[Array]: ...
@whole("axis", "edge_order")
def gradient(
    f: ArrayLike,
    *varargs: ArrayLike,
    axis: int | tuple[int, ...] | None = None,
    edge_order: int | None = None,
) -> Array | list[Array]:
    """Return the slopes along axes: central differences inside, one-sided ones at the ends.

    Args:
      f: array_like samples, at least two along each of the axes.
      *varargs: the spacings: one number for all axes, or for each axis a number or a vector of
        coordinates. 1 by default.
      axis: the axis or axes to differentiate along; None for all.
      edge_order: must be None: other orders are not supported.

    Returns:
      An array in the shape of `f`, or a list of them where there are several axes.

    >>> gradient(np.array([0.0, 1.0, 4.0])).tolist()
    [1.0, 2.0, 3.0]
    """
    check_arrays("gradient", f, *varargs)
    if edge_order is not None:
        raise NotImplementedError("The 'edge_order' argument to jnp.gradient is not supported.")
    f, *spacings = promote_dtypes_inexact(f, *varargs)
    lengths = shape_of(f)
    axes = canonical_axes(axis, len(lengths))
    if any(lengths[i] < 2 for i in axes):
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, at least 2 elements are "
            "required."
        )
    if not spacings:
        spacings = [1.0] * len(axes)
    elif len(spacings) == 1:
        spacings = spacings * len(axes)
    if len(spacings) != len(axes):
        raise TypeError(f"Invalid number of spacing arguments {len(varargs)} for axis={axis}")
    results = [_slope(f, i, h) for i, h in zip(axes, spacings, strict=True)]
    return results[0] if len(results) == 1 else results


def _slope(f: Any, axis: int, h: Any) -> Any:
    n = shape_of(f)[axis]
    if isinstance(h, float):
        h = cast(h, typeof(f).dtype, typeof(f).weak_type)
    gaps = shape_of(h)
    if len(gaps) > 1:
        raise ValueError("Spacing arguments must be scalars or vectors")
    if not gaps:
        return _even_slope(f, axis, h)
    if gaps[0] != n:
        raise ValueError(
            "Spacing arguments must be scalars or 1D arrays that match the length of the axis"
        )
    rise = steps(f, axis)
    width = shape.broadcast_in_dim(steps(h, 0), shape=shape_of(rise), dims=(axis,))
    each = elementwise.div(rise, width)
    first, last = shape.slice_axis(each, axis, 0, 1), shape.slice_axis(each, axis, n - 2, n - 1)
    if n == 2:
        return shape.concatenate(first, last, axis=axis)
    before, after = shape.slice_axis(each, axis, 0, n - 2), shape.slice_axis(each, axis, 1, n - 1)
    # The slopes to both sides, weighted so that the nearer point counts more.
    left, right = shape.slice_axis(width, axis, 0, n - 2), shape.slice_axis(width, axis, 1, n - 1)
    inside = elementwise.div(
        elementwise.add(elementwise.mul(before, right), elementwise.mul(after, left)),
        elementwise.add(left, right),
    )
    return shape.concatenate(first, inside, last, axis=axis)


def _even_slope(f: Any, axis: int, h: Any) -> Any:
    n = shape_of(f)[axis]
    rises = [steps(shape.slice_axis(f, axis, 0, 2), axis)]
    if n > 2:
        across = elementwise.sub(
            shape.slice_axis(f, axis, 2, n), shape.slice_axis(f, axis, 0, n - 2)
        )
        rises.append(elementwise.mul(across, 0.5))
    rises.append(steps(shape.slice_axis(f, axis, n - 2, n), axis))
    return elementwise.div(shape.concatenate(*rises, axis=axis), broadcast(h, shape_of(f)))


@whole("axis")
def trapezoid(
    y: ArrayLike, x: ArrayLike | None = None, dx: ArrayLike = 1.0, axis: int = -1
) -> Array:
    """Return the integral of samples along an axis, by the trapezoidal rule.

    Args:
      y: array_like, the samples.
      x: the places of the samples: a vector, or an array broadcast against `y`; None for even ones.
      dx: the distance between samples, array_like, where `x` is None.
      axis: the axis to integrate along; negative ones count from the end.

    >>> trapezoid(np.array([0.0, 1.0, 2.0])).tolist()
    2.0
    """
    check_arrays("trapezoid", y)
    if x is None:
        (y,) = map(strong, promote_dtypes_inexact(y))
        y, width = promote_dtypes(y, asarray(dx))
    else:
        check_arrays("trapezoid", y, x)
        y, x = promote_dtypes_inexact(y, x)
        along = 0 if len(shape_of(x)) == 1 else canonical_axis(axis, len(shape_of(x)))
        width = steps(x, along)
        # Broadcasting aligns the other axes of x and y from the last one.
        if 1 < len(shape_of(x)) != len(shape_of(y)):
            width, y, axis = moveaxis(width, along, -1), moveaxis(y, axis, -1), -1
    axis = canonical_axis(axis, len(shape_of(y)))
    n = shape_of(y)[axis]
    if len(shape_of(width)) == 0 and not is_symbolic_length(n) and n >= 2:
        # One sum of the array in place is several times faster than a sum of pairs of neighbours.
        ends = [shape.squeeze(shape.slice_axis(y, axis, i, i + 1), (axis,)) for i in (0, n - 1)]
        inside = _sum(shape.slice_axis(y, axis, 1, n - 1), axis)
        total = elementwise.add(inside, elementwise.mul(elementwise.add(*ends), 0.5))
        return strong(combine(elementwise.mul, total, width))
    sums = elementwise.add(
        shape.slice_axis(y, axis, smallest(1, n), n),
        shape.slice_axis(y, axis, 0, greatest(n - 1, 0)),
    )
    if len(shape_of(width)) == 1:
        width = shape.expand_dims(width, [i for i in range(len(shape_of(y))) if i != axis])
    areas = combine(elementwise.mul, sums, width)
    axis += len(shape_of(areas)) - len(shape_of(sums))
    twice = _sum(areas, axis)
    return strong(elementwise.mul(twice, 0.5))


def _sum(x: Any, axis: int) -> Any:
    """The sum along an axis, of narrow floats added up in float32."""
    type = typeof(x)
    total = reduction.reduce_sum(cast(x, accumulator(type.dtype)), axes=(axis,))
    return cast(total, type.dtype, type.weak_type)


@whole("axis")
def unwrap(
    p: ArrayLike, discont: ArrayLike | None = None, axis: int = -1, period: ArrayLike = 2 * pi
) -> Array:
    """Return angles made continuous: large jumps are changed by multiples of the period.

    Args:
      p: array_like of angles, real.
      discont: the least jump that is changed; by default, and at least, half a period.
      axis: the axis to go along; negative ones count from the end.
      period: the period of the angles.

    >>> [round(x, 2) for x in unwrap(np.array([0.0, 6.0])).tolist()]
    [0.0, -0.28]
    """
    check_arrays("unwrap", p)
    axis = canonical_axis(axis, len(shape_of(p)))
    if is_complex(typeof(p).dtype):
        raise ValueError("jnp.unwrap does not support complex inputs.")
    if shape_of(p)[axis] == 0:
        return promote_dtypes(p, period)[0]
    kind = result_type(p, period)
    p, period = cast(p, kind), cast(period, kind)
    jump = steps(p, axis)
    whole_period = broadcast(period, shape_of(jump))
    if is_integer(kind):
        half, rest = elementwise.div(whole_period, 2), elementwise.rem(whole_period, 2)
        exact = comparison.eq(rest, 0)
    else:
        half = elementwise.mul(whole_period, 0.5)
        exact = shape.full(shape_of(jump), True, bool_)
    turned = elementwise.rem(elementwise.add(jump, half), whole_period)
    below = comparison.lt(turned, shape.full(shape_of(turned), 0, kind))
    turned = selection.select_n(below, turned, elementwise.add(turned, whole_period))
    small = elementwise.sub(turned, half)
    at_edge = logical.and_(
        logical.and_(
            comparison.eq(small, elementwise.neg(half)),
            comparison.gt(jump, shape.full(shape_of(jump), 0, kind)),
        ),
        exact,
    )
    small = selection.select_n(at_edge, small, half)
    correction = elementwise.sub(small, jump)
    limit = half if discont is None else broadcast(cast(discont, kind), shape_of(jump))
    correction = selection.select_n(
        comparison.lt(elementwise.abs(jump), limit), correction, shape.full(shape_of(jump), 0, kind)
    )
    total = cumulative.cumsum(correction, axis=axis, reverse=False)
    first = shape.slice_axis(p, axis, 0, 1)
    rest_of = elementwise.add(shape.slice_axis(p, axis, 1, shape_of(p)[axis]), total)
    return shape.concatenate(first, rest_of, axis=axis)


@opening
def interp(
    x: ArrayLike,
    xp: ArrayLike,
    fp: ArrayLike,
    left: ArrayLike | str | None = None,
    right: ArrayLike | str | None = None,
    period: ArrayLike | None = None,
) -> Array:
    """Interpolate linearly between samples.

    Args:
      x: array_like of places to evaluate at, real.
      xp: the places of the samples, (n,), ascending unless there is a period.
      fp: the samples, (n,).
      left: the value below `xp[0]`, by default `fp[0]`; or "extrapolate" for the first line.
      right: the value above `xp[-1]`, by default `fp[-1]`; or "extrapolate" for the last line.
      period: the period of the places; `left` and `right` have no effect with it.

    >>> interp(1.5, np.array([1.0, 2.0]), np.array([0.0, 4.0])).tolist()
    2.0
    """
    check_arrays("interp", x, xp, fp)
    for side in (left, right):
        if isinstance(side, str) and side != "extrapolate":
            raise ValueError(
                f"the only valid string value of left or right is 'extrapolate', but got: {side}"
            )
    ways = tuple(s if isinstance(s, str) else None for s in (left, right))
    values = tuple(None if isinstance(s, str) else s for s in (left, right))
    if shape_of(xp) != shape_of(fp) or len(shape_of(xp)) != 1:
        raise ValueError("xp and fp must be one-dimensional arrays of equal size")
    if period is not None and isinstance(period, int | float) and period == 0:
        raise ValueError(f"period must be a non-zero value; got {period}")
    return _interp(x, xp, fp, values, period, ways)


@whole("ways")
def _interp(x: Any, xp: Any, fp: Any, values: Any, period: Any, ways: tuple[Any, ...]) -> Any:
    x, xp = promote_dtypes_inexact(x, xp)
    (fp,) = promote_dtypes_inexact(fp)
    if is_complex(typeof(x).dtype):
        raise ValueError("jnp.interp: complex x values not supported.")
    if period is not None:
        x, xp, fp = _periodic(x, xp, fp, period)
    n = shape_of(xp)[0]
    lengths = shape_of(x)
    place = searchsorted(xp, x, side="right")
    place = elementwise.max(elementwise.min(place, n - 1), 1) if n > 1 else place
    at = pick(fp, elementwise.sub(place, 1), 0)
    rise = elementwise.sub(pick(fp, place, 0), at)
    start = pick(xp, elementwise.sub(place, 1), 0)
    run = elementwise.sub(pick(xp, place, 0), start)
    beyond = elementwise.sub(x, start)
    # Two samples at one place make a vertical step: the later sample counts.
    epsilon = shape.full(lengths, np.spacing(np.finfo(_real(run)).eps), typeof(run).dtype)
    upright = comparison.le(elementwise.abs(run), epsilon)
    share = elementwise.div(beyond, selection.select_n(upright, run, 1.0))
    share, at, rise, fp = promote_dtypes(share, at, rise, fp)
    line = elementwise.add(at, elementwise.mul(share, rise))
    result = selection.select_n(upright, line, at)
    if period is not None:
        return result
    ends = ((0, comparison.lt), (n - 1, comparison.gt))
    for (i, outside), value, way in zip(ends, values, ways, strict=True):
        if way is not None:
            continue
        other = shape.slice_axis(fp, 0, i, i + 1) if value is None else value
        result, other = promote_dtypes(result, other)
        edge = (
            broadcast(shape.slice_axis(xp, 0, i, i + 1), lengths)
            if lengths
            else (shape.reshape(shape.slice_axis(xp, 0, i, i + 1), shape=()))
        )
        filled = shape.broadcast_in_dim(shape.reshape(other, shape=()), shape=lengths, dims=())
        result = selection.select_n(outside(x, edge), result, filled)
    return result


def _real(x: Any) -> Any:
    kind = as_dtype(typeof(x).dtype)
    return kind if kind.itemsize >= 4 else float32


def _periodic(x: Any, xp: Any, fp: Any, period: Any) -> tuple[Any, Any, Any]:
    """Everything brought into one period, and a sample of the neighbouring periods at each end."""
    of = typeof(xp)
    length = elementwise.abs(
        convert_element_type(cast(period, of.dtype), dtype=of.dtype, weak_type=of.weak_type)
    )

    def within(v: Any) -> Any:
        whole_period = broadcast(length, shape_of(v))
        rest = elementwise.rem(v, whole_period)
        return selection.select_n(
            comparison.lt(rest, 0.0), rest, elementwise.add(rest, whole_period)
        )

    x, xp = within(x), within(xp)
    order = order_of(xp, 0)
    xp, fp = pick(xp, order, 0), pick(fp, order, 0)
    n = shape_of(xp)[0]
    last, first = shape.slice_axis(xp, 0, n - 1, n), shape.slice_axis(xp, 0, 0, 1)
    one = broadcast(length, (1,))
    xp = shape.concatenate(elementwise.sub(last, one), xp, elementwise.add(first, one), axis=0)
    fp = shape.concatenate(
        shape.slice_axis(fp, 0, n - 1, n), fp, shape.slice_axis(fp, 0, 0, 1), axis=0
    )
    return x, xp, fp
