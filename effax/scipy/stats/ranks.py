"""Statistics of samples: the commonest value, ranks, the error of a mean."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import effax.numpy as jnp
from effax.eager.whole import whole
from effax.effects.rows import cumulative
from effax.effects.value import Array, ArrayLike, is_symbolic_length
from effax.numpy.decompositions import floats
from effax.operands.arguments import canonical_axis
from effax.operands.promoting import arraylike


class ModeResult(NamedTuple):
    """The commonest values, and how often they come."""

    mode: Array
    count: Array  # type: ignore[assignment]  # hides the method of tuples


def _check_policy(name: str, policy: str) -> None:
    if policy not in ("propagate", "omit", "raise"):
        raise ValueError(
            f"Illegal nan_policy value {policy!r}; expected one of {{'propagate', 'omit', 'raise'}}"
        )
    if policy != "propagate":
        raise NotImplementedError(
            f"{name}: nan_policy={policy!r} would need to know which values are NaN; only "
            "'propagate' is implemented: look for NaN, or replace it, before"
        )


def _runs(ordered: Array) -> tuple[Array, Array, Array]:
    """Along the last axis of sorted values: where runs of equal ones start, their first, last.

    All NaN are one run.
    """
    n = ordered.shape[-1]
    same = (ordered[..., 1:] == ordered[..., :-1]) | (
        jnp.isnan(ordered[..., 1:]) & jnp.isnan(ordered[..., :-1])
    )
    edge = jnp.ones_like(ordered[..., :1], dtype=bool)
    starts = jnp.concatenate([edge, ~same], axis=-1)
    ends = jnp.concatenate([~same, edge], axis=-1)
    places = jnp.broadcast_to(jnp.arange(n, dtype=jnp.int32), ordered.shape)
    axis = ordered.ndim - 1
    first = cumulative.cummax(jnp.where(starts, places, 0), axis=axis, reverse=False)
    last = cumulative.cummin(jnp.where(ends, places, n - 1), axis=axis, reverse=True)
    return starts, first, last


@whole("axis", "nan_policy", "keepdims")
def mode(
    a: ArrayLike, axis: int | None = 0, nan_policy: str = "propagate", keepdims: bool = False
) -> ModeResult:
    """Return the commonest value along an axis (the least of several), and how often it comes.

    Over all elements where axis is None. NaN is a value like others. Of no values, NaN.

    Raises `ValueError` for an unknown `nan_policy`, `NotImplementedError` for "omit" and "raise".

    Args:
      a: array_like.
      axis: the axis; None for the flattened array.
      nan_policy: must be "propagate".
      keepdims: whether the reduced axis stays, with length 1 (for None, every axis).

    >>> import effax.numpy as jnp
    >>> from effax.scipy import stats
    >>> stats.mode(jnp.array([3, 1, 3, 2, 1]))
    ModeResult(mode=Array(1, dtype=int32), count=Array(2, dtype=int32))
    """
    _check_policy("mode", nan_policy)
    x, position = _lanes("mode", a, axis)
    if x.shape[-1] == 0:
        found = jnp.full(x.shape[:-1], math.nan, float), jnp.zeros(x.shape[:-1])
    else:
        ordered = jnp.sort(x, axis=-1)
        starts, first, last = _runs(ordered)
        counts = jnp.where(starts, last - first + 1, 0).astype(int)
        place = jnp.argmax(counts, axis=-1, keepdims=True)
        value = jnp.take_along_axis(ordered, place, axis=-1)[..., 0]
        found = value, jnp.max(counts, axis=-1)
    if not keepdims:
        return ModeResult(*found)
    lengths = list(jnp.shape(a)) or [1]  # as SciPy has it
    lengths = [1] * len(lengths) if position is None else lengths
    if position is not None:
        lengths[position] = 1
    return ModeResult(*(jnp.reshape(y, lengths) for y in found))


def _lanes(name: str, a: ArrayLike, axis: int | None) -> tuple[Array, int | None]:
    """The values with the axis last, all of them where it is None; and the axis from the front."""
    (x,) = arraylike(name, a)
    x = jnp.asarray(x)
    if axis is None:
        return jnp.ravel(x), None
    x = jnp.atleast_1d(x)
    position = canonical_axis(axis, x.ndim)
    return jnp.moveaxis(x, position, -1), position


@whole("method", "axis", "nan_policy")
def rankdata(
    a: ArrayLike,
    method: str = "average",
    *,
    axis: int | None = None,
    nan_policy: str = "propagate",
) -> Array:
    """Return the ranks of values along an axis, from 1: of all elements, flat, where it is None.

    `method` says what equal values get: the "average" of their ranks, the "min", the "max", or
    "ordinal" the ranks in their order; "dense" counts different values only. All ranks are NaN
    where a value is.

    Raises `ValueError` for an unknown method or `nan_policy`, `NotImplementedError` for the
    policies "omit" and "raise".

    >>> import effax.numpy as jnp
    >>> from effax.scipy import stats
    >>> stats.rankdata(jnp.array([30, 10, 30, 20]))
    Array([3.5, 1. , 3.5, 2. ], dtype=float32)
    """
    _check_policy("rankdata", nan_policy)
    if method not in ("average", "min", "max", "dense", "ordinal"):
        raise ValueError(f"unknown method '{method}'")
    if axis is not None:
        canonical_axis(axis, jnp.ndim(a))  # a number has no axis, as in SciPy
    x, position = _lanes("rankdata", a, axis)
    if 0 in x.shape:
        return jnp.zeros(jnp.shape(a) if axis is not None else x.shape, dtype=float)
    order = jnp.argsort(x, axis=-1)
    starts, first, last = _runs(jnp.take_along_axis(x, order, axis=-1))
    ranked: dict[str, Callable[[], Array]] = {
        "average": lambda: 0.5 * (first + last).astype(float) + 1,
        "min": lambda: first + 1,
        "max": lambda: last + 1,
        "dense": lambda: jnp.cumsum(starts, axis=-1),
        "ordinal": lambda: jnp.broadcast_to(jnp.arange(1, x.shape[-1] + 1), x.shape),
    }
    ranks = ranked[method]().astype(float)
    placed = jnp.take_along_axis(ranks, jnp.argsort(order, axis=-1), axis=-1)
    placed = jnp.where(jnp.any(jnp.isnan(x), axis=-1, keepdims=True), math.nan, placed)
    return placed if position is None else jnp.moveaxis(placed, -1, position)


@whole("axis", "ddof", "nan_policy", "keepdims")
def sem(
    a: ArrayLike,
    axis: int | None = 0,
    ddof: int = 1,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Array:
    """Return the standard error of the mean: the standard deviation over the root of the number.

    `nan_policy` is "propagate" or "omit", which leaves NaN out. Raises `ValueError` for others.

    Args:
      a: array_like.
      axis: the axis; None for the flattened array.
      ddof: the number that is subtracted from the count of elements in the variance.
      nan_policy: "propagate", or "omit" to leave NaN out.
      keepdims: whether the reduced axes stay, with length 1.

    >>> import effax.numpy as jnp
    >>> from effax.scipy import stats
    >>> stats.sem(jnp.array([1.0, 2.0, 4.0, 5.0]))
    Array(0.9128709..., dtype=float32)
    """
    (x,) = floats("sem", a)
    if nan_policy == "propagate":
        x = jnp.ravel(x) if axis is None and not keepdims else x
        count = x.size if axis is None else x.shape[canonical_axis(axis, x.ndim)]
        spread = jnp.std(x, axis=axis, ddof=ddof, keepdims=keepdims) / (
            jnp.sqrt(count) if is_symbolic_length(count) else math.sqrt(count)
        )
        return spread.astype(x.dtype)
    if nan_policy == "omit":
        counts = jnp.sum(~jnp.isnan(x), axis=axis, keepdims=keepdims)
        spread = jnp.nanstd(x, axis=axis, ddof=ddof, keepdims=keepdims)
        return (spread / jnp.sqrt(counts.astype(spread.dtype))).astype(x.dtype)
    raise ValueError(f"{nan_policy} is not supported")
