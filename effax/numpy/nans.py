"""Reductions that leave out NaN."""

from __future__ import annotations

from typing import Any

import numpy as np

from effax.eager.whole import whole
from effax.effects.rows import comparison, elementwise, logical, reduction, selection, shape
from effax.effects.types import default_int, is_complex, is_float, is_inexact, typeof
from effax.effects.value import Array, ArrayLike, DTypeLike
from effax.numpy import reductions
from effax.numpy.reductions import STATICS, Axis, accumulator, check_mask
from effax.numpy.statistics import mean, std, var
from effax.operands.arguments import asked_dtype, cast, check_arrays, combine, refuse_out, shape_of
from effax.operands.promoting import array


def is_nan(a: Any) -> Any:
    """Return whether each element is NaN."""
    a = array(a)
    return comparison.ne(a, a)


def _replaced(a: Any, value: Any) -> Any:
    """The array with a number in the place of NaN."""
    a, type = array(a), typeof(a)
    return selection.select_n(is_nan(a), a, shape.full(type.shape, value, type.dtype))


def _nan_where_all_are(result: Any, a: Any, axis: Axis, keepdims: bool, where: Any) -> Any:
    """NaN in the place of what was made of NaN only."""
    gone = reductions.all(is_nan(a), axis, keepdims=keepdims, where=where)
    type = typeof(result)
    return selection.select_n(gone, result, shape.full(type.shape, np.nan, type.dtype))


@whole("axis", "keepdims")
def nanmin(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Return the smallest element along some axes that is not NaN; NaN where all are.

    Args:
      a: array_like.
      axis: the axis or axes to reduce over; None for all.
      out: must be None: arrays can't be written to.
      keepdims: whether the reduced axes stay, with length 1.
      initial: a number to start from; the result where all are NaN.
      where: Boolean mask of the elements that take part.

    >>> nanmin(np.array([np.nan, 2.0, 1.0])).tolist()
    1.0
    """
    refuse_out("nanmin", out)
    check_arrays("nanmin", a)
    check_mask("nanmin", where)
    if not is_inexact(typeof(a).dtype):
        return reductions.min(a, axis, None, keepdims, initial, where)
    filled = _replaced(a, reduction.highest(typeof(a).dtype))
    result = reductions.min(filled, axis, None, keepdims, initial, where)
    return result if initial is not None else _nan_where_all_are(result, a, axis, keepdims, where)


@whole("axis", "keepdims")
def nanmax(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Return the largest element along some axes that is not NaN; NaN where all are.

    Args:
      a: array_like.
      axis: the axis or axes to reduce over; None for all.
      out: must be None: arrays can't be written to.
      keepdims: whether the reduced axes stay, with length 1.
      initial: a number to start from; the result where all are NaN.
      where: Boolean mask of the elements that take part.

    >>> nanmax(np.array([np.nan, 2.0, 1.0])).tolist()
    2.0
    """
    refuse_out("nanmax", out)
    check_arrays("nanmax", a)
    check_mask("nanmax", where)
    if not is_inexact(typeof(a).dtype):
        return reductions.max(a, axis, None, keepdims, initial, where)
    filled = _replaced(a, reduction.lowest(typeof(a).dtype))
    result = reductions.max(filled, axis, None, keepdims, initial, where)
    return result if initial is not None else _nan_where_all_are(result, a, axis, keepdims, where)


@whole(*STATICS)
def nansum(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Return the sum along some axes, NaN counting as 0.

    Args:
      a: array_like.
      axis: the axis or axes to reduce over; None for all.
      dtype: the dtype of the result; by default that of `a`, with narrow integers widened.
      out: must be None: arrays can't be written to.
      keepdims: whether the reduced axes stay, with length 1.
      initial: a number to start from.
      where: Boolean mask of the elements that take part.

    >>> nansum(np.array([np.nan, 2.0, 1.0])).tolist()
    3.0
    """
    refuse_out("nansum", out)
    check_arrays("nansum", a)
    check_mask("nansum", where)
    if is_inexact(typeof(a).dtype):
        a = _replaced(a, 0)
    return reductions.sum(a, axis, dtype, None, keepdims, initial, where)


@whole(*STATICS)
def nanprod(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Return the product along some axes, NaN counting as 1.

    Args:
      a: array_like.
      axis: the axis or axes to reduce over; None for all.
      dtype: the dtype of the result; by default that of `a`, with narrow integers widened.
      out: must be None: arrays can't be written to.
      keepdims: whether the reduced axes stay, with length 1.
      initial: a number to start from.
      where: Boolean mask of the elements that take part.

    >>> nanprod(np.array([np.nan, 2.0, 3.0])).tolist()
    6.0
    """
    refuse_out("nanprod", out)
    check_arrays("nanprod", a)
    check_mask("nanprod", where)
    if is_inexact(typeof(a).dtype):
        a = _replaced(a, 1)
    return reductions.prod(a, axis, dtype, None, keepdims, initial, where)


def _numbers(a: Any, where: Any) -> Any:
    """Return whether each element counts: it is not NaN, and the mask holds."""
    there = logical.not_(is_nan(a))
    return there if where is None else combine(logical.and_, there, where)


@whole(*STATICS)
def nanmean(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    where: ArrayLike | None = None,
) -> Array:
    """Return the mean along some axes of the elements that are not NaN.

    Args:
      a: array_like.
      axis: the axis or axes to reduce over; None for all.
      dtype: the dtype of the result; by default that of `a`, or the default float for integers.
      out: must be None: arrays can't be written to.
      keepdims: whether the reduced axes stay, with length 1.
      where: Boolean mask of the elements that take part.

    >>> nanmean(np.array([np.nan, 2.0, 1.0])).tolist()
    1.5
    """
    refuse_out("nanmean", out)
    check_arrays("nanmean", a)
    check_mask("nanmean", where)
    kind = typeof(a).dtype
    if not is_inexact(kind):
        return mean(a, axis, dtype, None, keepdims, where=where)
    kind = asked_dtype("nanmean", dtype) or kind
    number = reductions.sum(_numbers(a, where), axis, default_int(), keepdims=keepdims)
    wide = accumulator(kind)  # neither the sum nor the count has to fit into a narrow float
    total = nansum(a, axis, wide, None, keepdims, None, where)
    return cast(elementwise.div(total, cast(number, wide)), kind)


@whole(*STATICS, "ddof")
def nanvar(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
) -> Array:
    """Return the variance along some axes of the elements that are not NaN.

    Args:
      a: array_like.
      axis: the axis or axes to reduce over; None for all.
      dtype: the dtype of the result; by default the real one of `a`, or the default float for
        integers.
      out: must be None: arrays can't be written to.
      ddof: the number to subtract from the count of elements, in the divisor.
      keepdims: whether the reduced axes stay, with length 1.
      where: Boolean mask of the elements that take part.
      mean: the mean of the elements, where it is known, with the reduced axes kept.

    >>> nanvar(np.array([np.nan, 1.0, 3.0])).tolist()
    1.0
    """
    refuse_out("nanvar", out)
    check_arrays("nanvar", a)
    check_mask("nanvar", where)
    there = _numbers(a, where) if is_inexact(typeof(a).dtype) else where
    result = var(a, axis, dtype, None, ddof, keepdims, where=there, mean=mean)
    return result if dtype is None else cast(result, asked_dtype("nanvar", dtype))


@whole(*STATICS, "ddof")
def nanstd(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
) -> Array:
    """Return the standard deviation along some axes of the elements that are not NaN.

    Args:
      a: array_like.
      axis: the axis or axes to reduce over; None for all.
      dtype: the dtype of the result; by default the real one of `a`, or the default float for
        integers.
      out: must be None: arrays can't be written to.
      ddof: the number to subtract from the count of elements, in the divisor.
      keepdims: whether the reduced axes stay, with length 1.
      where: Boolean mask of the elements that take part.
      mean: the mean of the elements, where it is known, with the reduced axes kept.

    >>> nanstd(np.array([np.nan, 1.0, 3.0])).tolist()
    1.0
    """
    refuse_out("nanstd", out)
    check_arrays("nanstd", a)
    check_mask("nanstd", where)
    if dtype is None and is_inexact(typeof(a).dtype):
        return std(a, axis, None, None, ddof, keepdims, where=_numbers(a, where), mean=mean)
    return elementwise.sqrt(nanvar(a, axis, dtype, None, ddof, keepdims, where, mean))


def _nan_position(name: str, find: Any, last: Any, a: Any, axis: Any, keepdims: Any) -> Any:
    check_arrays(name, a)
    dtype = typeof(a).dtype
    if not is_float(dtype) and not is_complex(dtype):
        return find(a, axis, keepdims=keepdims)
    result = find(_replaced(a, last(dtype)), axis, keepdims=keepdims)
    gone = reductions.all(is_nan(a), axis, keepdims=bool(keepdims))
    return selection.select_n(gone, result, shape.full(shape_of(result), -1, typeof(result).dtype))


@whole("axis", "keepdims")
def nanargmax(
    a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Array:
    """Return the index of the largest element that is not NaN; -1 where all are.

    Args:
      a: array_like.
      axis: the axis to search; None for the flattened array.
      out: must be None: arrays can't be written to.
      keepdims: whether the searched axis stays, with length 1.

    >>> nanargmax(np.array([np.nan, 2.0, 1.0])).tolist()
    1
    """
    refuse_out("nanargmax", out)
    return _nan_position("nanargmax", reductions.argmax, reduction.lowest, a, axis, keepdims)


@whole("axis", "keepdims")
def nanargmin(
    a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Array:
    """Return the index of the smallest element that is not NaN; -1 where all are.

    Args:
      a: array_like.
      axis: the axis to search; None for the flattened array.
      out: must be None: arrays can't be written to.
      keepdims: whether the searched axis stays, with length 1.

    >>> nanargmin(np.array([np.nan, 2.0, 1.0])).tolist()
    2
    """
    refuse_out("nanargmin", out)
    return _nan_position("nanargmin", reductions.argmin, reduction.highest, a, axis, keepdims)
