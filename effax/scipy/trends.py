"""Removal of trends from samples."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import effax.numpy as jnp
from effax.eager.whole import opening, own_promotion, whole
from effax.effects.value import Array, ArrayLike
from effax.numpy.decompositions import floats
from effax.operands.arguments import canonical_axis, cast, concrete_int
from effax.operands.promoting import asarray


def _levelled(x: Array) -> Array:
    """The last axis without its line of least squares."""
    n = x.shape[-1]
    wide = x.astype(jnp.promote_types(x.dtype, "float32"))
    mean = jnp.mean(wide, axis=-1, keepdims=True)
    if n == 1:
        return (wide - mean).astype(x.dtype)
    t = jnp.arange(n, dtype=wide.real.dtype) - (n - 1) / 2
    slope = jnp.sum(wide * t, axis=-1, keepdims=True) / (n * (n * n - 1) / 12)
    return (wide - mean - slope * t).astype(x.dtype)


@whole("axis", "type", "bp")
def _detrend(data: ArrayLike, axis: Any, type: str, bp: tuple[int, ...]) -> Array:
    (x,) = floats("detrend", data)
    if type == "constant":
        return x - jnp.mean(x, axis=axis, keepdims=True)
    axis = canonical_axis(axis, x.ndim)
    n = x.shape[axis]
    if any(not 0 <= b <= n for b in bp):
        raise ValueError(
            "Breakpoints must be non-negative and less than length of data along given axis, "
            f"{n}; got {bp}"
        )
    x = jnp.moveaxis(x, axis, -1)
    ends = sorted({0, n, *bp})
    parts = [_levelled(x[..., i:j]) for i, j in itertools.pairwise(ends)]
    levelled = jnp.moveaxis(jnp.concatenate(parts, axis=-1) if parts else x, -1, axis)
    return cast(levelled, x.dtype, x.weak_type)


@own_promotion
@opening
def detrend(
    data: ArrayLike,
    axis: int | tuple[int, ...] | None = -1,
    type: str = "linear",
    bp: int | Sequence[int] | Any = 0,
    overwrite_data: None = None,
) -> Array:
    """Return the data without its trend along an axis.

    Args:
      data: an array; integers become floats.
      axis: the axis; for "constant" also several, or None for all.
      type: "linear" takes away lines of least squares, "constant" the mean.
      bp: where pieces begin, each with a line of its own.
      overwrite_data: must be None: arrays aren't written to.

    Raises:
      NotImplementedError: where `overwrite_data` is given.
      ValueError: for other types, and breakpoints outside of the data.

    >>> import effax.numpy as jnp
    >>> from effax.scipy import signal
    >>> signal.detrend(jnp.array([1.0, 2.0, 6.0]), type="constant")
    Array([-2., -1.,  3.], dtype=float32)
    """
    if overwrite_data is not None:
        raise NotImplementedError("overwrite_data argument not implemented.")
    if type not in ("constant", "linear"):
        raise ValueError("Trend type must be 'linear' or 'constant'.")
    given = bp.tolist() if hasattr(bp, "tolist") else bp
    given = given if isinstance(given, list | tuple) else [given]
    breaks = tuple(concrete_int(b, "the breakpoint of detrend") for b in given)
    return _detrend(jnp.asarray(asarray(data, "detrend")), axis, type, breaks)
