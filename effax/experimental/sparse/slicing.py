"""Parts of a `BCOO` by indices: dynamic slices, gathers, and `mat[index]`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import effax.numpy as jnp
from effax import lax
from effax.api.mapping.vmap import vmap
from effax.effects.handler import Carrier
from effax.effects.value import Array
from effax.experimental.sparse.batches import whole_batches
from effax.experimental.sparse.bcoo import BCOO
from effax.experimental.sparse.compiling import compiled
from effax.experimental.sparse.elements import inside, only_inside, sparse_shape
from effax.experimental.sparse.rearranging import (
    bcoo_rev,
    bcoo_slice,
    bcoo_squeeze,
    transposed,
    without_room,
)
from effax.experimental.sparse.reshaping import bcoo_broadcast_in_dim


@compiled("slice_sizes")
def bcoo_dynamic_slice(mat: BCOO, start_indices: Sequence[Any], slice_sizes: Sequence[int]) -> BCOO:
    """Return a box of the array that begins at traced indices.

    As in `lax.dynamic_slice`, negative indices count from the end, and the box is moved where it
    would leave the array.

    Args:
      mat: the sparse array.
      start_indices: the first index along each axis: integers, or an array of them.
      slice_sizes: the length along each axis.

    Returns:
      A `BCOO` with the layout of `mat`.

    Raises:
      TypeError: for another number of indices or lengths than axes, or longer lengths.

    >>> import effax.numpy as jnp
    >>> from effax.experimental import sparse
    >>> m = sparse.BCOO.fromdense(jnp.array([[1., 0., 2.], [0., 3., 0.]]))
    >>> sparse.bcoo_dynamic_slice(m, (0, 1), slice_sizes=(2, 2)).todense()
    Array([[0., 2.],
           [3., 0.]], dtype=float32)
    """
    sizes = [int(n) for n in slice_sizes]
    if not len(start_indices) == len(sizes) == mat.ndim or any(
        not 0 <= n <= m for n, m in zip(sizes, mat.shape, strict=True)
    ):
        raise TypeError(
            "bcoo_dynamic_slice: start_indices and slice_sizes must have a number for each axis, "
            f"and the sizes must be at most {mat.shape}, got {len(start_indices)} indices and the "
            f"sizes {tuple(sizes)}"
        )
    starts = [jnp.asarray(i, mat.indices.dtype) for i in start_indices]
    starts = [jnp.where(i < 0, i + n, i) for i, n in zip(starts, mat.shape, strict=True)]
    return box(mat, starts, slice_sizes=sizes)


@compiled("slice_sizes")
def box(mat: BCOO, start_indices: Sequence[Any], *, slice_sizes: Sequence[int]) -> BCOO:
    """The box that begins at these indices, moved to lie inside; negative ones lie before 0."""
    mat, sizes = whole_batches(mat), slice_sizes
    starts = [
        jnp.clip(jnp.asarray(i, mat.indices.dtype), 0, n - size)
        for i, n, size in zip(start_indices, mat.shape, sizes, strict=True)
    ]
    b, s = mat.n_batch, mat.n_batch + mat.n_sparse
    zero = jnp.zeros((), mat.indices.dtype)
    data = lax.dynamic_slice(
        only_inside(mat),
        (*starts[:b], zero, *starts[s:]),
        (*sizes[:b], mat.nse, *sizes[s:]),
    )
    indices = lax.dynamic_slice(
        mat.indices, (*starts[:b], zero, zero), (*sizes[:b], mat.nse, mat.n_sparse)
    )
    if mat.n_sparse:
        keep = inside(indices, sparse_shape(mat))
        indices = indices - jnp.stack(starts[b:s])
        keep = (keep & inside(indices, sizes[b:s]))[..., None]
        indices = jnp.where(keep, indices, jnp.array(sizes[b:s], indices.dtype))
    found = BCOO((data, indices), shape=sizes, unique_indices=mat.unique_indices)
    return without_room(found)


def bcoo_gather(
    operand: BCOO,
    start_indices: Array,
    dimension_numbers: lax.GatherDimensionNumbers,
    slice_sizes: Sequence[int],
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: Any = None,
    fill_value: Any = None,
) -> BCOO:
    """Return boxes of a sparse array, as `lax.gather` does of a dense one.

    Args:
      operand: the sparse array.
      start_indices: an integer array, whose last axis has the first index along each axis of
        `dimension_numbers.start_index_map`.
      dimension_numbers: as for `lax.gather`, without batching axes.
      slice_sizes: the length of a box along each axis of `operand`.
      unique_indices: ignored.
      indices_are_sorted: ignored.
      mode: None, "clip" or "promise_in_bounds": boxes are moved to lie inside.
      fill_value: must be None.

    Returns:
      A `BCOO`. The axes of `start_indices` are batch axes where they come before sparse and dense
      axes, and sparse axes otherwise.

    Raises:
      NotImplementedError: for other modes and for batching axes.

    >>> import effax.numpy as jnp
    >>> from effax import lax
    >>> from effax.experimental import sparse
    >>> m = sparse.BCOO.fromdense(jnp.array([[1., 0., 2.], [0., 3., 0.]]))
    >>> rows = lax.GatherDimensionNumbers((1,), (0,), (0,))
    >>> sparse.bcoo_gather(m, jnp.array([[1], [1]]), rows, slice_sizes=(1, 3)).todense()
    Array([[0., 3., 0.],
           [0., 3., 0.]], dtype=float32)
    """
    name = "none" if mode is None else str(getattr(mode, "name", mode)).lower()
    numbers = dimension_numbers
    batching = numbers.operand_batching_dims or numbers.start_indices_batching_dims
    if name not in ("none", "clip", "promise_in_bounds") or fill_value is not None or batching:
        raise NotImplementedError(
            f"bcoo_gather: {mode=}, {fill_value=} and {numbers} are not supported; mode must be "
            "'clip' or 'promise_in_bounds', fill_value None, and there must be no batching axes"
        )
    starts = jnp.asarray(start_indices)
    collapsed = tuple(numbers.collapsed_slice_dims)
    found = _boxes(operand, starts, tuple(numbers.start_index_map), tuple(slice_sizes), collapsed)
    lanes = starts.ndim - 1
    offsets = list(numbers.offset_dims)
    others = [i for i in range(found.ndim) if i not in offsets]
    order = [0] * found.ndim
    for k, i in enumerate([*others, *offsets]):
        order[i] = k
    return transposed(found, order) if lanes else found


def _boxes(
    mat: BCOO, starts: Array, axes: Sequence[int], sizes: Sequence[int], gone: Sequence[int]
) -> BCOO:
    """The box at each row of `starts`, without the axes that are `gone`: the rows are batches."""

    def one(row: Array) -> BCOO:
        first: list[Any] = [0] * mat.ndim
        for k, axis in enumerate(axes):
            first[axis] = row[k]
        return bcoo_squeeze(box(mat, first, slice_sizes=sizes), dimensions=gone)

    for _ in range(starts.ndim - 1):
        one = vmap(one)
    return one(starts)


def at(mat: BCOO, index: Any) -> BCOO:
    """`mat[index]`: integers, slices, None, Ellipsis, and arrays of integers or Booleans."""
    parts = _expanded(mat, index)
    arrays = [i for i, p in enumerate(parts) if _is_array(p)]
    if arrays:
        return _by_arrays(mat, parts)
    found = _sliced(mat, [p for p in parts if p is not None])
    axes = [p for p in parts if not isinstance(p, int)]
    return _with_new(found, [p is None for p in axes])


def _expanded(mat: BCOO, index: Any) -> list[Any]:
    """The parts of an index, one for each axis and None for new ones."""
    parts: list[Any] = []
    for part in index if isinstance(index, tuple) else (index,):
        if isinstance(part, list):
            part = np.asarray(part)
        if _is_array(part) and part.dtype == bool:
            if isinstance(part, Carrier):
                raise NotImplementedError(
                    "a sparse array can't be indexed by a traced Boolean array, whose number of "
                    "True is not known; use where, or indices of a fixed number"
                )
            parts += np.nonzero(np.asarray(part))
        elif isinstance(part, np.integer):
            parts.append(int(part))
        elif part is None or part is Ellipsis or isinstance(part, slice | int) or _is_array(part):
            parts.append(part)
        else:
            raise NotImplementedError(
                f"a sparse array can be indexed by integers, slices, None and arrays, got {part!r}"
            )
    taken = sum(p is not None and p is not Ellipsis for p in parts)
    if taken > mat.ndim:
        raise IndexError(f"too many indices for {mat!r}: {taken}")
    dots = next((i for i, p in enumerate(parts) if p is Ellipsis), len(parts))
    parts[dots : dots + 1] = [slice(None)] * (mat.ndim - taken)
    if Ellipsis in [p for p in parts if not _is_array(p)]:
        raise IndexError("an index can only have a single ellipsis ('...')")
    return parts


def _is_array(part: Any) -> bool:
    return hasattr(part, "dtype") and hasattr(part, "shape") and not isinstance(part, np.integer)


def _sliced(mat: BCOO, parts: Sequence[Any]) -> BCOO:
    """The array by an integer or a slice for each axis; the axes of integers are removed."""
    spans, gone, reversed_axes = [], [], []
    for i, (part, n) in enumerate(zip(parts, mat.shape, strict=True)):
        if isinstance(part, int):
            if not -n <= part < n:
                raise IndexError(f"index {part} is out of bounds for an axis of length {n}")
            spans.append((part % n, part % n + 1, 1))
            gone.append(i)
            continue
        start, stop, step = part.indices(n)
        if step < 0:
            # A negative step is a positive one through the same indices, the other way round.
            count = len(range(start, stop, step))
            start, stop, step = start + (count - 1) * step if count else 0, start + 1, -step
            stop = stop if count else 0
            reversed_axes.append(i)
        spans.append((start, max(start, stop), step))
    starts, stops, steps = zip(*spans, strict=True) if spans else ((), (), ())
    if any(span != (0, n, 1) for span, n in zip(spans, mat.shape, strict=True)):
        mat = bcoo_slice(mat, start_indices=starts, limit_indices=stops, strides=steps)
    if reversed_axes:
        mat = bcoo_rev(mat, dimensions=reversed_axes)
    return bcoo_squeeze(mat, dimensions=gone) if gone else mat


def _with_new(mat: BCOO, new: Sequence[bool]) -> BCOO:
    """The array with axes of length 1 where `new` says so."""
    if not any(new):
        return mat
    kept = [i for i, one in enumerate(new) if not one]
    lengths = iter(mat.shape)
    shape = [1 if one else next(lengths) for one in new]
    return bcoo_broadcast_in_dim(mat, shape=shape, broadcast_dimensions=kept)


def _by_arrays(mat: BCOO, parts: Sequence[Any]) -> BCOO:
    """The array by arrays of integers, broadcast against each other, among other parts."""
    chosen = [i for i, p in enumerate(parts) if isinstance(p, int) or _is_array(p)]
    together = chosen == list(range(chosen[0], chosen[-1] + 1))
    axis_of = dict(
        zip((i for i, p in enumerate(parts) if p is not None), range(mat.ndim), strict=True)
    )
    axes = [axis_of[i] for i in chosen]
    places = [jnp.asarray(parts[i], jnp.int32) for i in chosen]
    places = [jnp.where(i < 0, i + mat.shape[a], i) for i, a in zip(places, axes, strict=True)]
    lanes = jnp.broadcast_arrays(*places)
    whole = [slice(None) if i in chosen else p for i, p in enumerate(parts) if p is not None]
    cut = _sliced(mat, whole)
    sizes = [1 if a in axes else n for a, n in enumerate(cut.shape)]
    found = _boxes(cut, jnp.stack(lanes, -1), axes, sizes, axes)
    count = lanes[0].ndim
    before = [i for i in range(chosen[0]) if together]
    kept = sum(parts[i] is not None for i in before)
    rest = [i for i in range(len(parts)) if i not in chosen and i not in before]
    order = [*range(count, count + kept), *range(count), *range(count + kept, found.ndim)]
    if kept and count:
        found = transposed(found, order)
    new = [parts[i] is None for i in before] + [False] * count + [parts[i] is None for i in rest]
    return _with_new(found, new)
