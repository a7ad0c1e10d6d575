"""Reductions: sums, products, extrema and truths along axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from effax.eager.whole import whole
from effax.effects.effect import Effect
from effax.effects.rows import comparison, elementwise, logical, reduction, selection, shape
from effax.effects.rows import complex as complex_parts
from effax.effects.types import (
    bool_,
    default_int,
    default_position_dtype,
    default_uint,
    float32,
    is_bool,
    is_complex,
    is_float,
    is_integer,
    is_unsigned,
    typeof,
)
from effax.effects.value import Array, ArrayLike, DTypeLike
from effax.numpy.manipulation import ravel
from effax.operands.arguments import (
    asked_dtype,
    broadcast,
    canonical_axes,
    canonical_axis,
    cast,
    check_arrays,
    common_shape,
    refuse_out,
    shape_of,
)
from effax.operands.promoting import numeric_dtype

STATICS = ("axis", "dtype", "keepdims")
Axis = int | tuple[int, ...] | None


def accumulator(dtype: Any) -> Any:
    """The dtype in which floats are added up: at least 32 bits."""
    return float32 if is_float(dtype) and dtype.itemsize < 4 else dtype


def widened(x: Any) -> Any:
    """The array in the dtype in which its elements are added up."""
    type = typeof(x)
    return cast(x, accumulator(type.dtype), type.weak_type)


def rounded(result: Any, x: Any) -> Any:
    """A result of `widened(x)`, in the dtype of x."""
    type = typeof(x)
    return cast(result, type.dtype, type.weak_type)


def wide_integer(dtype: Any) -> Any:
    """The dtype of a sum of integers: at least as wide as the default one."""
    if is_bool(dtype):
        return default_int()
    if is_integer(dtype):
        wide = default_uint() if is_unsigned(dtype) else default_int()
        return (
            wide if dtype.itemsize < wide.itemsize or "int" not in str(np.dtype(dtype)) else dtype
        )
    return dtype


def check_mask(name: str, where: Any) -> None:
    """Raise `TypeError` for a mask that is no array, `ValueError` for one that is not Boolean."""
    if where is None:
        return
    check_arrays(name, where)
    if not is_bool(typeof(where).dtype):
        said = name if "." in name else f"jnp.{name}"
        raise ValueError(
            f"{said}: where must be None or a boolean array; got one of type {typeof(where)}"
        )


def masked(name: str, where: Any, a: Any, value: Any) -> Any:
    """`a` where the mask is true, else a number of its dtype; broadcast to one shape.

    A mask with more axes than `a` is refused, as NumPy does: which axes are meant is not defined.
    """
    check_mask(name, where)
    if len(shape_of(where)) > len(shape_of(a)):
        raise ValueError(
            f"jnp.{name}: where argument must not have more axes than the array, got shapes "
            f"{shape_of(where)} and {shape_of(a)}; broadcast the array first"
        )
    lengths = common_shape(shape_of(a), shape_of(where))
    return selection.select_n(
        broadcast(where, lengths),
        shape.full(lengths, value, typeof(a).dtype),
        broadcast(a, lengths),
    )


def kept(result: Any, lengths: tuple[int, ...], axes: tuple[int, ...], keepdims: bool) -> Any:
    """The result of a reduction, with axes of length 1 where some went if `keepdims`."""
    if not keepdims:
        return result
    return shape.reshape(result, shape=tuple(1 if i in axes else n for i, n in enumerate(lengths)))


def _fold(
    name: str,
    effect: Effect,
    pair: Effect,
    identity: Callable[[Any], Any],
    a: Any,
    axis: Axis,
    result_dtype: Any,
    keepdims: bool,
    initial: Any,
    where: Any,
    has_identity: bool = True,
) -> Any:
    """The reduction of an array of the dtype it is computed in; converted at the end."""
    if initial is None and not has_identity and where is not None:
        raise ValueError(
            f"reduction operation {name} does not have an identity, so to use a where mask one "
            "has to specify 'initial'"
        )
    if where is not None:
        a = masked(name, where, a, identity(typeof(a).dtype))
    lengths = shape_of(a)
    axes = canonical_axes(axis, len(lengths))
    if initial is None and not has_identity and any_zero(lengths, axes):
        raise ValueError(f"zero-size array to reduction operation {name} which has no identity")
    result = effect(a, axes=axes)
    if initial is not None:
        check_arrays(name, initial)
        if shape_of(initial) != ():
            raise ValueError(
                f"initial value must be a scalar. Got array of shape {shape_of(initial)}"
            )
        first = cast(initial, typeof(result).dtype)
        result = pair(broadcast(first, shape_of(result)), result)
    return cast(kept(result, lengths, axes, keepdims), result_dtype)


def any_zero(lengths: tuple[int, ...], axes: tuple[int, ...]) -> bool:
    """Whether one of the axes has no elements."""
    return 0 in [lengths[i] for i in axes]


def _numeric(a: Any) -> Any:
    return cast(a, default_int()) if is_bool(typeof(a).dtype) else a


def _totalled(
    name: str,
    effect: Effect,
    pair: Effect,
    identity: Any,
    a: Any,
    axis: Axis,
    dtype: Any,
    out: Any,
    keepdims: bool,
    initial: Any,
    where: Any,
    promote_integers: bool,
) -> Any:
    """A sum or product."""
    refuse_out(name, out)
    check_arrays(name, a)
    asked = asked_dtype(name, dtype)
    given = numeric_dtype(typeof(a).dtype)
    a = _numeric(a)
    kind = asked or typeof(a).dtype
    if asked is None:
        kind = wide_integer(kind) if promote_integers else given
    working = accumulator(kind) if asked is None else kind
    if is_bool(working):
        effect, pair = (
            (reduction.reduce_or, logical.or_)
            if identity == 0
            else (reduction.reduce_and, logical.and_)
        )
    return _fold(
        name,
        effect,
        pair,
        lambda _: identity,
        cast(a, working),
        axis,
        kind,
        keepdims,
        initial,
        where,
    )


@whole(*STATICS, "promote_integers")
def sum(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
    promote_integers: bool = True,
) -> Array:
    """Return the sum of the elements along some axes, of those where a mask is true.

    Half-precision floats are added up in single precision, unless a dtype is given.

    Args:
      a: array_like.
      axis: the axis or axes; None for all. Negative ones count from the end.
      dtype: the dtype of the result; by default that of `a`, see `promote_integers`.
      out: must be None: arrays can't be written to.
      keepdims: whether the reduced axes stay, with length 1.
      initial: a number to start from.
      where: Boolean mask of the elements that take part.
      promote_integers: whether narrow integers give integers of the default width; Booleans give
        integers anyway.

    >>> sum(np.arange(6).reshape(2, 3), axis=0).tolist()
    [3, 5, 7]
    """
    return _totalled(
        "sum",
        reduction.reduce_sum,
        elementwise.add,
        0,
        a,
        axis,
        dtype,
        out,
        keepdims,
        initial,
        where,
        promote_integers,
    )


@whole(*STATICS, "promote_integers")
def prod(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
    promote_integers: bool = True,
) -> Array:
    """Return the product of the elements along some axes, of those where a mask is true.

    Args:
      a: array_like.
      axis: the axis or axes; None for all. Negative ones count from the end.
      dtype: the dtype of the result; by default that of `a`, see `promote_integers`.
      out: must be None: arrays can't be written to.
      keepdims: whether the reduced axes stay, with length 1.
      initial: a number to start from.
      where: Boolean mask of the elements that take part.
      promote_integers: whether narrow integers give integers of the default width; Booleans give
        integers anyway.

    >>> prod(np.arange(1, 5)).tolist()
    24
    """
    return _totalled(
        "prod",
        reduction.reduce_prod,
        elementwise.mul,
        1,
        a,
        axis,
        dtype,
        out,
        keepdims,
        initial,
        where,
        promote_integers,
    )


def _extremum(
    name: str,
    effect: Effect,
    pair: Effect,
    identity: Callable[[Any], Any],
    a: Any,
    axis: Axis,
    out: Any,
    keepdims: bool,
    initial: Any,
    where: Any,
) -> Any:
    refuse_out(name, out)
    check_arrays(name, a)
    kind = typeof(a).dtype
    return _fold(
        name, effect, pair, identity, a, axis, kind, keepdims, initial, where, has_identity=False
    )


@whole("axis", "keepdims")
def max(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Return the largest element along some axes; NaN where there is one.

    Args:
      a: array_like.
      axis: the axis or axes; None for all. Negative ones count from the end.
      out: must be None: arrays can't be written to.
      keepdims: whether the reduced axes stay, with length 1.
      initial: a number to start from; without it, axes of length 0 raise `ValueError`.
      where: Boolean mask of the elements that take part; needs `initial`.

    >>> max(np.arange(6).reshape(2, 3), axis=1).tolist()
    [2, 5]
    """
    return _extremum(
        "max",
        reduction.reduce_max,
        elementwise.max,
        reduction.lowest,
        a,
        axis,
        out,
        keepdims,
        initial,
        where,
    )


@whole("axis", "keepdims")
def min(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Return the smallest element along some axes; NaN where there is one.

    Args:
      a: array_like.
      axis: the axis or axes; None for all. Negative ones count from the end.
      out: must be None: arrays can't be written to.
      keepdims: whether the reduced axes stay, with length 1.
      initial: a number to start from; without it, axes of length 0 raise `ValueError`.
      where: Boolean mask of the elements that take part; needs `initial`.

    >>> min(np.arange(6).reshape(2, 3), axis=1).tolist()
    [0, 3]
    """
    return _extremum(
        "min",
        reduction.reduce_min,
        elementwise.min,
        reduction.highest,
        a,
        axis,
        out,
        keepdims,
        initial,
        where,
    )


amax, amin = max, min


def truth(a: Any) -> Any:
    """Whether each element is other than zero."""
    dtype = typeof(a).dtype
    if is_complex(dtype):
        a = complex_parts.real(a)
    return cast(a, bool_)


@whole("axis", "keepdims")
def any(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Array:
    """Return whether any element along some axes is true.

    Args:
      a: array_like; real numbers other than 0 are true, of complex ones the real part counts.
      axis: the axis or axes; None for all. Negative ones count from the end.
      out: must be None: arrays can't be written to.
      keepdims: whether the reduced axes stay, with length 1.
      where: Boolean mask of the elements that take part.

    >>> any(np.array([[False, True], [False, False]]), axis=1).tolist()
    [True, False]
    """
    refuse_out("any", out)
    check_arrays("any", a)
    return _fold(
        "any",
        reduction.reduce_or,
        logical.or_,
        lambda _: False,
        truth(a),
        axis,
        bool_,
        keepdims,
        None,
        where,
    )


@whole("axis", "keepdims")
def all(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Array:
    """Return whether all elements along some axes are true.

    Args:
      a: array_like; real numbers other than 0 are true, of complex ones the real part counts.
      axis: the axis or axes; None for all. Negative ones count from the end.
      out: must be None: arrays can't be written to.
      keepdims: whether the reduced axes stay, with length 1.
      where: Boolean mask of the elements that take part.

    >>> all(np.array([[True, True], [False, True]]), axis=1).tolist()
    [True, False]
    """
    refuse_out("all", out)
    check_arrays("all", a)
    return _fold(
        "all",
        reduction.reduce_and,
        logical.and_,
        lambda _: True,
        truth(a),
        axis,
        bool_,
        keepdims,
        None,
        where,
    )


@whole("axis", "keepdims")
def count_nonzero(a: ArrayLike, axis: Axis = None, keepdims: bool = False) -> Array:
    """Count the elements along some axes that are not zero.

    Args:
      a: array_like.
      axis: the axis or axes; None for all. Negative ones count from the end.
      keepdims: whether the reduced axes stay, with length 1.

    >>> count_nonzero(np.array([0, 2, 3])).tolist()
    2
    """
    check_arrays("count_nonzero", a)
    if is_bool(typeof(a).dtype):
        found = a
    else:
        found = comparison.ne(a, shape.full(shape_of(a), 0, typeof(a).dtype))
    if default_position_dtype(typeof(a).size) == default_int():
        return sum(found, axis, default_int(), keepdims=keepdims)
    lengths = shape_of(a)
    gone = canonical_axes(axis, len(lengths))
    count = reduction.reduce_sum(cast(found, default_position_dtype(typeof(a).size)), axes=gone)
    return kept(count, lengths, gone, keepdims)


@whole("axis", "keepdims")
def ptp(a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool = False) -> Array:
    """Return the largest element less the smallest, along some axes.

    Args:
      a: array_like.
      axis: the axis or axes; None for all. Negative ones count from the end.
      out: must be None: arrays can't be written to.
      keepdims: whether the reduced axes stay, with length 1.

    >>> ptp(np.array([3, 1, 7])).tolist()
    6
    """
    refuse_out("ptp", out)
    check_arrays("ptp", a)
    axis = canonical_axes(axis, len(shape_of(a)))
    return elementwise.sub(max(a, axis, keepdims=keepdims), min(a, axis, keepdims=keepdims))


def _position(
    name: str, effect: Effect, a: Any, axis: int | None, out: Any, keepdims: bool | None
) -> Any:
    refuse_out(name, out)
    check_arrays(name, a)
    lengths = shape_of(a)
    if axis is None:
        flat, along, gone = ravel(a), 0, tuple(range(len(lengths)))
    else:
        along = canonical_axis(axis, len(lengths))
        flat, gone = a, (along,)
    if shape_of(flat)[along] == 0:
        raise ValueError(f"attempt to get {name} of an empty sequence")
    if is_complex(typeof(flat).dtype):
        raise TypeError(f"{name} is not defined for complex numbers")
    dtype = default_position_dtype(shape_of(flat)[along])
    result = effect(flat, axis=along, index_dtype=dtype)
    return kept(result, lengths, gone, bool(keepdims))


@whole("axis", "keepdims")
def argmax(
    a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Array:
    """Return the index of the largest element along an axis: the first of equals, NaN before all.

    Args:
      a: array_like, real.
      axis: the axis; None for the flattened array. Negative ones count from the end.
      out: must be None: arrays can't be written to.
      keepdims: whether the reduced axes stay, with length 1.

    >>> argmax(np.array([1, 3, 3])).tolist()
    1
    """
    return _position("argmax", reduction.argmax, a, axis, out, keepdims)


@whole("axis", "keepdims")
def argmin(
    a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Array:
    """Return the index of the smallest element along an axis: the first of equals, NaN before all.

    Args:
      a: array_like, real.
      axis: the axis; None for the flattened array. Negative ones count from the end.
      out: must be None: arrays can't be written to.
      keepdims: whether the reduced axes stay, with length 1.

    >>> argmin(np.array([3, 1, 1])).tolist()
    1
    """
    return _position("argmin", reduction.argmin, a, axis, out, keepdims)
