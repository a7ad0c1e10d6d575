"""Cumulative sums and products."""

from __future__ import annotations

from typing import Any

from effax.eager.whole import whole
from effax.effects.cuts import check_whole
from effax.effects.effect import Effect
from effax.effects.rows import cumulative, selection, shape
from effax.effects.types import default_int, is_bool, is_inexact, typeof
from effax.effects.value import Array, ArrayLike, DTypeLike
from effax.numpy.manipulation import ravel
from effax.numpy.reductions import accumulator, wide_integer
from effax.operands.arguments import (
    asked_dtype,
    canonical_axis,
    cast,
    check_arrays,
    refuse_out,
    shape_of,
)


def _accumulated(
    name: str,
    effect: Effect,
    a: Any,
    axis: int | None,
    dtype: Any,
    out: Any,
    nan_as: int | None = None,
    promote_integers: bool = False,
) -> Any:
    refuse_out(name, out)
    check_arrays(name, a)
    if axis is None or shape_of(a) == ():
        told = f"The input should be fully replicated when axis is not specified to {name}"
        check_whole(typeof(a), None, told)
        a, axis = ravel(a), 0 if axis is None else axis
    axis = canonical_axis(axis, len(shape_of(a)))
    kind = asked_dtype(name, dtype)
    given = typeof(a).dtype
    if nan_as is not None and is_inexact(given):
        from effax.numpy.nans import is_nan

        a = selection.select_n(is_nan(a), a, shape.full(shape_of(a), nan_as, given))
    if kind is None:
        kind = default_int() if is_bool(given) else given
        kind = wide_integer(kind) if promote_integers else kind
    if is_bool(kind):
        # Whether an element up to here (for products: each) is nonzero.
        a = cast(cast(a, kind), default_int())
        return cast(effect(a, axis=axis, reverse=False), kind)
    # Narrow floats are added up in float32. Sums of 8192 positive numbers in bfloat16 are wrong by
    # at most 4e-3 then, not 4e-2, and take a quarter of the time.
    wide = accumulator(kind) if effect is cumulative.cumsum else kind
    return cast(effect(cast(cast(a, kind), wide), axis=axis, reverse=False), kind)


@whole("axis", "dtype")
def cumsum(
    a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None
) -> Array:
    """Return the sums of each element and all before it.

    Args:
      a: array_like.
      axis: the axis to sum along; None for the flattened array.
      dtype: the dtype of the result; by default that of `a`, and of Booleans the default integer's.
      out: must be None: arrays can't be written to.

    >>> import numpy as np
    >>> cumsum(np.arange(4)).tolist()
    [0, 1, 3, 6]
    """
    return _accumulated("cumsum", cumulative.cumsum, a, axis, dtype, out)


@whole("axis", "dtype")
def cumprod(
    a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None
) -> Array:
    """Return the products of each element and all before it.

    Args:
      a: array_like.
      axis: the axis to multiply along; None for the flattened array.
      dtype: the dtype of the result; by default that of `a`, and of Booleans the default integer's.
      out: must be None: arrays can't be written to.

    >>> import numpy as np
    >>> cumprod(np.arange(1, 5)).tolist()
    [1, 2, 6, 24]
    """
    return _accumulated("cumprod", cumulative.cumprod, a, axis, dtype, out)


@whole("axis", "dtype")
def nancumsum(
    a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None
) -> Array:
    """Return `cumsum`, with NaN counted as 0.

    Args:
      a: array_like.
      axis: the axis to sum along; None for the flattened array.
      dtype: the dtype of the result; by default that of `a`, and of Booleans the default integer's.
      out: must be None: arrays can't be written to.

    >>> import numpy as np
    >>> nancumsum(np.array([1.0, np.nan, 2.0])).tolist()
    [1.0, 1.0, 3.0]
    """
    return _accumulated("nancumsum", cumulative.cumsum, a, axis, dtype, out, 0)


@whole("axis", "dtype")
def nancumprod(
    a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None
) -> Array:
    """Return `cumprod`, with NaN counted as 1.

    Args:
      a: array_like.
      axis: the axis to multiply along; None for the flattened array.
      dtype: the dtype of the result; by default that of `a`, and of Booleans the default integer's.
      out: must be None: arrays can't be written to.

    >>> import numpy as np
    >>> nancumprod(np.array([1.0, np.nan, 2.0])).tolist()
    [1.0, 1.0, 2.0]
    """
    return _accumulated("nancumprod", cumulative.cumprod, a, axis, dtype, out, 1)


def _standard(
    name: str, effect: Effect, x: Any, axis: int | None, dtype: Any, first: int | None
) -> Any:
    """The array API's functions: the empty prefix may come first."""
    check_arrays(name, x)
    lengths = shape_of(x)
    if not lengths:
        raise ValueError("The input must be non-scalar to take a cumulative sum or product.")
    if axis is None:
        if len(lengths) > 1:
            raise ValueError(
                f"The input array has rank {len(lengths)}, however no axis was given; give one "
                "(only arrays of rank 1 need none)"
            )
        axis = 0
    axis = canonical_axis(axis, len(lengths))
    # Products keep their dtype, as in JAX; the standard would widen them too.
    widen = effect is cumulative.cumsum
    result = _accumulated(name, effect, x, axis, dtype, None, None, widen)
    return result if first is None else shape.pad_axis(result, axis, 1, 0, value=first)


@whole("axis", "dtype", "include_initial")
def cumulative_sum(
    x: ArrayLike,
    /,
    *,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
) -> Array:
    """Return the sums of each element and all before it.

    Args:
      x: array_like, of at least one axis.
      axis: the axis to sum along; it may be None for a vector only.
      dtype: the dtype of the result; by default that of `x`, with narrow integers and Booleans
        widened to the default integer.
      include_initial: whether 0 comes first, which makes the axis longer by 1.

    Raises:
      ValueError: for a number, and for several axes without `axis`.

    >>> import numpy as np
    >>> cumulative_sum(np.arange(3), include_initial=True).tolist()
    [0, 0, 1, 3]
    """
    first = 0 if include_initial else None
    return _standard("cumulative_sum", cumulative.cumsum, x, axis, dtype, first)


@whole("axis", "dtype", "include_initial")
def cumulative_prod(
    x: ArrayLike,
    /,
    *,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
) -> Array:
    """Return the products of each element and all before it.

    Args:
      x: array_like, of at least one axis.
      axis: the axis to multiply along; it may be None for a vector only.
      dtype: the dtype of the result; by default that of `x`, and of Booleans the default integer's.
      include_initial: whether 1 comes first, which makes the axis longer by 1.

    Raises:
      ValueError: for a number, and for several axes without `axis`.

    >>> import numpy as np
    >>> cumulative_prod(np.arange(1, 4), include_initial=True).tolist()
    [1, 1, 2, 6]
    """
    first = 1 if include_initial else None
    return _standard("cumulative_prod", cumulative.cumprod, x, axis, dtype, first)
