"""Axes and parts of sparse arrays."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import effax.numpy as jnp
from effax.effects.value import Array
from effax.experimental.sparse.batches import whole_batches
from effax.experimental.sparse.bcoo import BCOO
from effax.experimental.sparse.compiling import compiled
from effax.experimental.sparse.duplicates import bcoo_sum_duplicates
from effax.experimental.sparse.elements import (
    beside,
    inside,
    only_inside,
    sparse_shape,
)
from effax.experimental.sparse.layouts import bcoo_update_layout
from effax.operands.arguments import canonical_axes


@compiled("permutation")
def bcoo_transpose(mat: BCOO, *, permutation: Sequence[int]) -> BCOO:
    """Reorder the axes; batch, sparse and dense axes stay among themselves.

    Raises `NotImplementedError` where they do not.

    Args:
      mat: the sparse array.
      permutation: for each axis of the result, the axis of `mat`; negative ones count from the end.

    >>> import effax.numpy as jnp
    >>> from effax.experimental import sparse
    >>> m = sparse.BCOO.fromdense(jnp.array([[1., 0., 2.], [0., 3., 0.]]))
    >>> sparse.bcoo_transpose(m, permutation=(1, 0)).shape
    (3, 2)
    """
    order = tuple(int(p) % mat.ndim for p in permutation)
    if sorted(order) != list(range(mat.ndim)):
        raise ValueError(
            f"bcoo_transpose: permutation must have each of the {mat.ndim} axes once, got "
            f"{permutation}"
        )
    b, s = mat.n_batch, mat.n_batch + mat.n_sparse
    batch, sparse, dense = order[:b], order[b:s], order[s:]
    if any(p >= b for p in batch) or any(not b <= p < s for p in sparse):
        raise NotImplementedError(
            f"bcoo_transpose: {permutation} mixes batch, sparse and dense axes of {mat!r}"
        )
    data = mat.data.transpose(*batch, b, *(p - s + b + 1 for p in dense))
    indices = mat.indices.transpose(*batch, b, b + 1)[..., jnp.array([p - b for p in sparse], int)]
    return mat.like(
        data,
        indices=indices,
        shape=tuple(mat.shape[p] for p in order),
        indices_sorted=mat.indices_sorted and sparse == tuple(range(b, s)),
    )


def transposed(mat: BCOO, order: Sequence[int]) -> BCOO:
    """The axes in another order, with fewer batch and dense axes if those must mix with others."""

    def stays(start: int, end: int) -> bool:
        return sorted(order[start:end]) == list(range(start, end))

    n_batch = max(b for b in range(mat.n_batch + 1) if stays(0, b))
    n_dense = max(d for d in range(mat.n_dense + 1) if stays(mat.ndim - d, mat.ndim))
    return bcoo_transpose(
        bcoo_update_layout(mat, n_batch=n_batch, n_dense=n_dense), permutation=order
    )


@compiled("dimensions")
def bcoo_rev(operand: BCOO, *, dimensions: Sequence[int]) -> BCOO:
    """Reverse the order of elements along axes.

    Args:
      operand: the sparse array.
      dimensions: the axes; negative ones count from the end.

    >>> import effax.numpy as jnp
    >>> from effax.experimental import sparse
    >>> m = sparse.BCOO.fromdense(jnp.array([[1., 0., 2.], [0., 3., 0.]]))
    >>> sparse.bcoo_rev(m, dimensions=(0,)).todense()
    Array([[0., 3., 0.],
           [1., 0., 2.]], dtype=float32)
    """
    axes = canonical_axes(dimensions, operand.ndim)
    b, s = operand.n_batch, operand.n_batch + operand.n_sparse
    batch = [p for p in axes if p < b]
    data = jnp.flip(operand.data, [*batch, *(p - s + b + 1 for p in axes if p >= s)])
    indices = jnp.flip(operand.indices, batch)
    for p in (p for p in axes if b <= p < s):
        # Those outside of the array stay outside.
        indices = indices.at[..., p - b].set(operand.shape[p] - 1 - indices[..., p - b])
    return BCOO((data, indices), shape=operand.shape, unique_indices=operand.unique_indices)


@compiled("axes")
def bcoo_reduce_sum(mat: BCOO, *, axes: Sequence[int]) -> BCOO:
    """Return the sum along some axes, with the layout of the others.

    Along a batch axis, the elements of all batches are kept, side by side.

    Args:
      mat: the sparse array.
      axes: the axes to sum over; negative ones count from the end.

    >>> import effax.numpy as jnp
    >>> from effax.experimental import sparse
    >>> m = sparse.BCOO.fromdense(jnp.array([[1., 0., 2.], [0., 3., 0.]]))
    >>> sparse.bcoo_reduce_sum(m, axes=[1]).todense()
    Array([3., 3.], dtype=float32)
    """
    along = set(canonical_axes(axes, mat.ndim))
    batches = [a for a in range(mat.n_batch) if a in along]
    if batches:
        rest = _batches_joined(mat, batches)
        left = [a for a in range(mat.ndim) if a not in batches]
        return bcoo_reduce_sum(rest, axes=[i for i, a in enumerate(left) if a in along])
    b, s = mat.n_batch, mat.n_batch + mat.n_sparse
    kept = [i - b for i in range(b, s) if i not in along]
    data = only_inside(mat).sum(tuple(a - s + b + 1 for a in along if a >= s))
    keep = inside(mat.indices, sparse_shape(mat))[..., None]
    indices = jnp.where(keep, mat.indices, jnp.iinfo(mat.indices.dtype).max)[
        ..., jnp.array(kept, int)
    ]
    shape = tuple(n for i, n in enumerate(mat.shape) if i not in along)
    return BCOO((data, indices), shape=shape)


def _batches_joined(mat: BCOO, axes: Sequence[int]) -> BCOO:
    """The sum along batch axes: one batch with the elements of all."""
    mat = whole_batches(mat)
    kept = [a for a in range(mat.n_batch) if a not in axes]
    lead = [mat.shape[a] for a in kept]
    count = prod(mat.shape[a] for a in axes) * mat.nse

    def joined(x: Array) -> Array:
        x = x.transpose(*kept, *axes, *range(mat.n_batch, x.ndim))
        return x.reshape(*lead, count, *x.shape[mat.n_batch + 1 :])

    shape = (*lead, *mat.shape[mat.n_batch :])
    return BCOO((joined(mat.data), joined(mat.indices)), shape=shape)


@compiled("start_indices", "limit_indices", "strides")
def bcoo_slice(
    mat: BCOO,
    *,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None = None,
) -> BCOO:
    """Return a box of the array; elements outside of it stay, but do not count.

    Args:
      mat: the sparse array.
      start_indices: the first index along each axis.
      limit_indices: the index after the last one along each axis.
      strides: positive steps along each axis; by default 1.

    >>> import effax.numpy as jnp
    >>> from effax.experimental import sparse
    >>> m = sparse.BCOO.fromdense(jnp.array([[1., 0., 2.], [0., 3., 0.]]))
    >>> sparse.bcoo_slice(m, start_indices=(0, 1), limit_indices=(2, 3)).todense()
    Array([[0., 2.],
           [3., 0.]], dtype=float32)
    """
    steps = [1] * mat.ndim if strides is None else [int(s) for s in strides]
    spans = [
        (int(a), int(z), s) for a, z, s in zip(start_indices, limit_indices, steps, strict=True)
    ]
    for n, (a, z, step) in zip(mat.shape, spans, strict=True):
        if not 0 <= a <= z <= n or step < 1:
            raise TypeError(f"bcoo_slice: {a}:{z}:{step} is outside of an axis of length {n}")
    b, s = mat.n_batch, mat.n_batch + mat.n_sparse
    mat = whole_batches(mat)
    cuts = [slice(*span) for span in spans]
    data = mat.data[(*cuts[:b], slice(None), *cuts[s:])]
    indices = mat.indices[tuple(cuts[:b])]
    starts, ends, by = (beside(indices, [span[k] for span in spans[b:s]]) for k in range(3))
    keep = (indices >= starts) & (indices < ends) & ((indices - starts) % by == 0)
    moved = jnp.where(
        jnp.all(keep, -1, keepdims=True), (indices - starts) // by, jnp.iinfo(indices.dtype).max
    )
    shape = tuple(-(-(z - a) // step) for a, z, step in spans)
    found = BCOO((data, moved), shape=shape, unique_indices=mat.unique_indices)
    return without_room(found)


def without_room(mat: BCOO) -> BCOO:
    """The same array with no more elements in a batch than there are positions."""
    most = prod(sparse_shape(mat))
    return bcoo_sum_duplicates(mat, nse=most) if mat.nse > most else mat


@compiled("dimensions")
def bcoo_squeeze(arr: BCOO, *, dimensions: Sequence[int]) -> BCOO:
    """Remove some axes of length 1. Raises `ValueError` for other axes.

    Args:
      arr: the sparse array.
      dimensions: the axes to remove; negative ones count from the end.

    >>> import effax.numpy as jnp
    >>> from effax.experimental import sparse
    >>> m = sparse.BCOO.fromdense(jnp.array([[1., 0., 2.]]))
    >>> sparse.bcoo_squeeze(m, dimensions=[0]).shape
    (3,)
    """
    gone = {int(d) % arr.ndim for d in dimensions}
    if any(arr.shape[d] != 1 for d in gone):
        raise ValueError(f"bcoo_squeeze: axes {sorted(gone)} of {arr!r} must have length 1")
    b, s = arr.n_batch, arr.n_batch + arr.n_sparse
    data = arr.data.squeeze(tuple(d if d < b else d - s + b + 1 for d in gone if not b <= d < s))
    indices = arr.indices.squeeze(tuple(d for d in gone if d < b))
    keep = inside(arr.indices, sparse_shape(arr)).squeeze(tuple(d for d in gone if d < b))
    kept = jnp.array([i - b for i in range(b, s) if i not in gone], int)
    placed = jnp.where(keep[..., None], indices, jnp.iinfo(indices.dtype).max)[..., kept]
    data = jnp.where(keep.reshape(keep.shape + (1,) * (data.ndim - keep.ndim)), data, 0)
    shape = tuple(n for i, n in enumerate(arr.shape) if i not in gone)
    return BCOO((data, placed), shape=shape, unique_indices=arr.unique_indices)
