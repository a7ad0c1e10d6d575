"""Axes and parts of sparse arrays."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import effax.numpy as jnp
from effax.effects.value import Array
from effax.experimental.sparse.bcoo import BCOO
from effax.experimental.sparse.compiling import compiled
from effax.experimental.sparse.elements import beside, inside, only_inside, placed_at, sparse_shape
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
    shape = tuple(mat.shape[p] for p in order)
    return BCOO((data, indices), shape=shape, unique_indices=mat.unique_indices)


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
    """Return the sum along some axes, still sparse along the others.

    Args:
      mat: the sparse array.
      axes: the sparse or dense axes to sum over; negative ones count from the end.

    Raises:
      NotImplementedError: for a batch axis.

    >>> import effax.numpy as jnp
    >>> from effax.experimental import sparse
    >>> m = sparse.BCOO.fromdense(jnp.array([[1., 0., 2.], [0., 3., 0.]]))
    >>> sparse.bcoo_reduce_sum(m, axes=[1]).todense()
    Array([3., 3.], dtype=float32)
    """
    along = {int(a) % mat.ndim for a in axes}
    b, s = mat.n_batch, mat.n_batch + mat.n_sparse
    if any(a < b for a in along):
        raise NotImplementedError(
            f"bcoo_reduce_sum: sums along batch axes are not supported, got {mat!r}"
        )
    kept = [i - b for i in range(b, s) if i not in along]
    data = only_inside(mat).sum(tuple(a - s + b + 1 for a in along if a >= s))
    keep = inside(mat.indices, sparse_shape(mat))[..., None]
    indices = jnp.where(keep, mat.indices, jnp.iinfo(mat.indices.dtype).max)[
        ..., jnp.array(kept, int)
    ]
    shape = tuple(n for i, n in enumerate(mat.shape) if i not in along)
    return BCOO((data, indices), shape=shape)


@compiled("new_sizes", "dimensions")
def bcoo_reshape(
    mat: BCOO, *, new_sizes: Sequence[int], dimensions: Sequence[int] | None = None
) -> BCOO:
    """Return the elements in another shape. Raises `NotImplementedError` with batch or dense axes.

    Args:
      mat: the sparse array, without batch and dense axes.
      new_sizes: the shape of the result; one length may be -1, and is found from the others.
      dimensions: must be None.

    >>> import effax.numpy as jnp
    >>> from effax.experimental import sparse
    >>> m = sparse.BCOO.fromdense(jnp.array([[1., 0., 2.], [0., 3., 0.]]))
    >>> sparse.bcoo_reshape(m, new_sizes=(3, 2)).todense()
    Array([[1., 0.],
           [2., 0.],
           [3., 0.]], dtype=float32)
    """
    if dimensions is not None or mat.n_batch or mat.n_dense:
        raise NotImplementedError(
            f"bcoo_reshape: batch axes, dense axes and `dimensions` are not supported, got {mat!r}"
        )
    sizes = [int(n) for n in new_sizes]
    if -1 in sizes:
        rest = prod(n for n in sizes if n != -1)
        sizes[sizes.index(-1)] = mat.size // rest if rest else 0
    if prod(sizes) != mat.size:
        raise TypeError(f"bcoo_reshape: {mat.size} elements do not fill the shape {tuple(sizes)}")
    position = jnp.zeros(mat.nse, mat.indices.dtype)
    for i, n in zip(placed_at(mat.indices), mat.shape, strict=True):
        position = position * n + i
    found: list[Array] = []
    for n in reversed(sizes):
        found.insert(0, position % n if n else position)
        position = position // n if n else position
    keep = inside(mat.indices, mat.shape)[:, None]
    stacked = jnp.stack(found, -1) if found else jnp.zeros((mat.nse, 0), mat.indices.dtype)
    indices = jnp.where(keep, stacked, jnp.array(sizes, mat.indices.dtype))
    data = only_inside(mat) if not found else mat.data
    return BCOO((data, indices), shape=sizes, unique_indices=mat.unique_indices)


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
    cuts = [slice(*span) for span in spans]
    data = mat.data[(*cuts[:b], slice(None), *cuts[s:])]
    indices = mat.indices[tuple(cuts[:b])]
    starts, ends, by = (beside(indices, [span[k] for span in spans[b:s]]) for k in range(3))
    keep = (indices >= starts) & (indices < ends) & ((indices - starts) % by == 0)
    moved = jnp.where(
        jnp.all(keep, -1, keepdims=True), (indices - starts) // by, jnp.iinfo(indices.dtype).max
    )
    shape = tuple(-(-(z - a) // step) for a, z, step in spans)
    return BCOO((data, moved), shape=shape, unique_indices=mat.unique_indices)


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


def at(mat: BCOO, index: Any) -> BCOO:
    """`mat[index]` for integers and slices with positive steps."""
    parts = list(index) if isinstance(index, tuple) else [index]
    if Ellipsis in parts:
        i = parts.index(Ellipsis)
        parts[i : i + 1] = [slice(None)] * (mat.ndim - len(parts) + 1)
    if len(parts) > mat.ndim:
        raise IndexError(f"too many indices for {mat!r}: {len(parts)}")
    parts += [slice(None)] * (mat.ndim - len(parts))
    spans, gone = [], []
    for i, (part, n) in enumerate(zip(parts, mat.shape, strict=True)):
        if isinstance(part, int):
            if not -n <= part < n:
                raise IndexError(f"index {part} is out of bounds for an axis of length {n}")
            spans.append((part % n, part % n + 1, 1))
            gone.append(i)
        elif isinstance(part, slice) and (part.step is None or part.step > 0):
            start, stop, step = part.indices(n)
            spans.append((start, max(start, stop), step))
        else:
            raise NotImplementedError(
                "a sparse array can be indexed by integers and slices with positive steps, got "
                f"{part!r}"
            )
    starts, stops, steps = zip(*spans, strict=True) if spans else ((), (), ())
    found = bcoo_slice(mat, start_indices=starts, limit_indices=stops, strides=steps)
    return bcoo_squeeze(found, dimensions=gone)
