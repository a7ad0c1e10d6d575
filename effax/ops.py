"""Segments: sums, products and extrema of the rows that bear one number.

`index_update` and its kin have gone from JAX; asking for one says what to write instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from effax.api.placing.output_sharding import placed
from effax.eager.whole import opening, whole
from effax.effects.frames import filtered
from effax.effects.handler import Carrier
from effax.effects.rows import elementwise, reduction
from effax.effects.rows import shape as shapes
from effax.effects.rows.indexing import GatherScatterMode, ScatterDimensionNumbers
from effax.effects.types import ShapedArray, int32, is_bool, is_integer, typeof
from effax.effects.value import Array, ArrayLike
from effax.lax.gathering import scatter_add, scatter_max, scatter_min, scatter_mul
from effax.numpy.manipulation import broadcast_to
from effax.numpy.reductions import widened
from effax.operands.arguments import cast, check_arrays, known_index
from effax.operands.promoting import asarray

__all__ = ["segment_max", "segment_min", "segment_prod", "segment_sum"]
__dir__ = __all__.copy

Mode = str | GatherScatterMode | None
_How = tuple[bool, bool, Mode]

_GONE = {
    "index_update": "x.at[idx].set(y)",
    "index_add": "x.at[idx].add(y)",
    "index_mul": "x.at[idx].multiply(y)",
    "index_min": "x.at[idx].min(y)",
    "index_max": "x.at[idx].max(y)",
}


def __getattr__(name: str) -> Any:
    if name in _GONE:
        raise AttributeError(f"ops.{name} has been removed; write {_GONE[name]}")
    if name == "index":
        raise AttributeError(
            "ops.index has been removed; index with .at[...], as in x.at[1:3].set(y)"
        )
    raise AttributeError(f"module 'effax.ops' has no attribute {name!r}")


def _segments(
    name: str,
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int | None,
    indices_are_sorted: bool,
    unique_indices: bool,
    bucket_size: int | None,
    mode: Mode,
) -> Array:
    check_arrays(name, data, segment_ids)
    data, ids = asarray(data), asarray(segment_ids)
    data = _spread(data, ids)
    _check_rows(name, typeof(data), typeof(ids))
    if num_segments is None:
        num_segments = _count(name, ids)
    count = known_index(name, "num_segments", num_segments)
    if count < 0:
        raise ValueError(f"{name}: num_segments must be non-negative, got {count}")
    how = (bool(indices_are_sorted), bool(unique_indices), mode)
    return _folded(data, ids, name, count, bucket_size, how)


@whole("name", "count", "bucket_size", "how")
def _folded(
    data: ArrayLike, ids: Array, name: str, count: int, bucket_size: int | None, how: _How
) -> Array:
    scatter, identity, fold = _FOLDS[name]
    given = typeof(data).dtype
    if name in _COMPUTED:  # in bfloat16 a sum of ones ends at 256
        data = widened(data)
    type = typeof(data)
    start = identity(type.dtype)
    rows = typeof(ids).shape[0] if typeof(ids).ndim else 1
    kept = type.shape[typeof(ids).ndim :]
    are_sorted, unique, mode = how
    hints = {
        "indices_are_sorted": are_sorted,
        "unique_indices": unique,
        "mode": GatherScatterMode.FILL_OR_DROP if mode is None else mode,
    }
    window = tuple(range(typeof(ids).ndim, type.ndim))
    if bucket_size is None:
        numbers = ScatterDimensionNumbers(window, (0,), (0,))
        out = shapes.full((count, *kept), start, type.dtype)
        indices = shapes.expand_dims(ids, (typeof(ids).ndim,))
        return cast(scatter(out, indices, data, numbers, **hints), given)
    buckets = -(-rows // bucket_size)
    numbers = ScatterDimensionNumbers(window, (0, 1), (0, 1))
    wide = typeof(ids).dtype if typeof(ids).dtype.kind == "i" else int32
    places = shapes.iota(dtype=int32, shape=(rows,), dimension=0)
    bucket = elementwise.div(places, broadcast_to(cast(bucket_size, int32), (rows,)))
    columns = [shapes.expand_dims(cast(x, wide), (1,)) for x in (bucket, ids)]
    out = shapes.full((buckets, count, *kept), start, type.dtype)
    out = scatter(out, shapes.concatenate(*columns, axis=1), data, numbers, **hints)
    return cast(fold(out, axes=(0,)), given)


def _count(name: str, ids: Any) -> int:
    """One more than the largest number, which must be known here."""
    if isinstance(ids, Carrier):
        raise ValueError(
            f"{name}: the number of segments depends on the values of segment_ids, which are not "
            "known while tracing; pass num_segments"
        )
    known = np.asarray(ids)
    if not known.size:
        raise ValueError(
            f"{name}: segment_ids is empty, so the number of segments is not known; pass "
            "num_segments"
        )
    return int(known.max()) + 1


def _spread(data: Any, ids: Any) -> Any:
    """The data, one row or a number repeated for each of the numbers of segments."""
    shape, numbers = typeof(data).shape, typeof(ids).shape
    if len(numbers) == 1 and shape[:1] in ((), (1,)):
        return broadcast_to(data, (*numbers, *shape[1:]))
    return data


def _check_rows(name: str, data: ShapedArray, ids: ShapedArray) -> None:
    """Raise where rows can't be told apart by these numbers."""
    if not is_integer(ids.dtype):
        raise TypeError(f"{name}: segment_ids must be integers, got {ids.str_short()}")
    if is_bool(data.dtype) and data.size and name in _COMPUTED:
        raise TypeError(f"{name}: data must be numbers, got {data.str_short()}")
    if ids.ndim > 1 or (ids.ndim and data.shape[:1] != ids.shape):
        raise ValueError(
            f"{name}: segment_ids must hold one number for each row of {data.str_short()}, got "
            f"{ids.str_short()}"
        )


_COMPUTED = ("segment_sum", "segment_prod")
"""Folds whose results are other numbers than those of the rows."""
_FOLDS: dict[str, tuple[Callable[..., Any], Callable[[Any], Any], Callable[..., Any]]] = {
    "segment_sum": (scatter_add, lambda d: 0, reduction.reduce_sum),
    "segment_prod": (scatter_mul, lambda d: 1, reduction.reduce_prod),
    "segment_max": (scatter_max, reduction.lowest, reduction.reduce_max),
    "segment_min": (scatter_min, reduction.highest, reduction.reduce_min),
}


@opening
@filtered
@placed
def segment_sum(
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: Mode = None,
) -> Array:
    """Return the sum of the rows of each segment, 0 for an empty one.

    Args:
      data: array_like, the rows.
      segment_ids: array_like of integers, the segment of each row.
      num_segments: the number of segments, the length of the result; needed under `jit`, by default
        one more than the largest id.
      indices_are_sorted, unique_indices: promises that let the compiler write faster code; the
        result is undefined where they are broken.
      bucket_size: the number of rows to sum at a time first, for accuracy.
      mode: the treatment of ids out of range, as in `lax.scatter`; by default they are dropped.
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    >>> import effax.numpy as jnp, effax.ops as ops
    >>> ops.segment_sum(jnp.arange(4.0), jnp.array([0, 0, 1, 2]), 3)
    Array([1., 2., 3.], dtype=float32)
    """
    return _segments(
        "segment_sum", data, segment_ids, num_segments, indices_are_sorted, unique_indices,
        bucket_size, mode,
    )  # fmt: skip


@opening
@filtered
@placed
def segment_prod(
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: Mode = None,
) -> Array:
    """Return the product of the rows of each segment, 1 for an empty one.

    Args:
      data, segment_ids, num_segments: as for `segment_sum`.
      indices_are_sorted, unique_indices: promises that let the compiler write faster code; the
        result is undefined where they are broken.
      bucket_size: the number of rows to multiply at a time first.
      mode: the treatment of ids out of range, as in `lax.scatter`; by default they are dropped.
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    >>> import effax.numpy as jnp, effax.ops as ops
    >>> ops.segment_prod(jnp.array([2.0, 3.0, 4.0]), jnp.array([0, 0, 1]), 2)
    Array([6., 4.], dtype=float32)
    """
    return _segments(
        "segment_prod", data, segment_ids, num_segments, indices_are_sorted, unique_indices,
        bucket_size, mode,
    )  # fmt: skip


@opening
@filtered
@placed
def segment_max(
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: Mode = None,
) -> Array:
    """Return the largest of each segment, -inf (or the least of the dtype) for an empty one.

    Args:
      data, segment_ids, num_segments: as for `segment_sum`.
      indices_are_sorted, unique_indices: promises that let the compiler write faster code; the
        result is undefined where they are broken.
      bucket_size: the number of rows to compare at a time first.
      mode: the treatment of ids out of range, as in `lax.scatter`; by default they are dropped.
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    >>> import effax.numpy as jnp, effax.ops as ops
    >>> ops.segment_max(jnp.array([2.0, 3.0, 4.0]), jnp.array([0, 0, 1]), 2)
    Array([3., 4.], dtype=float32)
    """
    return _segments(
        "segment_max", data, segment_ids, num_segments, indices_are_sorted, unique_indices,
        bucket_size, mode,
    )  # fmt: skip


@opening
@filtered
@placed
def segment_min(
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: Mode = None,
) -> Array:
    """Return the smallest of each segment, inf (or the largest of the dtype) for an empty one.

    Args:
      data, segment_ids, num_segments: as for `segment_sum`.
      indices_are_sorted, unique_indices: promises that let the compiler write faster code; the
        result is undefined where they are broken.
      bucket_size: the number of rows to compare at a time first.
      mode: the treatment of ids out of range, as in `lax.scatter`; by default they are dropped.
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    >>> import effax.numpy as jnp, effax.ops as ops
    >>> ops.segment_min(jnp.array([2.0, 3.0, 4.0]), jnp.array([0, 0, 1]), 2)
    Array([2., 4.], dtype=float32)
    """
    return _segments(
        "segment_min", data, segment_ids, num_segments, indices_are_sorted, unique_indices,
        bucket_size, mode,
    )  # fmt: skip
