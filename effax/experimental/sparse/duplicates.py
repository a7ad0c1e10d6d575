"""Order and duplicates of the elements of a `BCOO`."""

from __future__ import annotations

import effax.numpy as jnp
from effax.effects.value import Array
from effax.experimental.sparse.batches import over_batches, stored_batches, whole_batches
from effax.experimental.sparse.bcoo import BCOO
from effax.experimental.sparse.compiling import compiled
from effax.experimental.sparse.elements import (
    count,
    inside,
    only_inside,
    outside,
    placed_at,
    sparse_shape,
)


@compiled()
def bcoo_sort_indices(mat: BCOO) -> BCOO:
    """Return the same array with its positions in order.

    Args:
      mat: the sparse array.

    >>> import effax.numpy as jnp
    >>> from effax.experimental import sparse
    >>> m = sparse.BCOO((jnp.array([5., 7.]), jnp.array([[2], [0]])), shape=(3,))
    >>> sparse.bcoo_sort_indices(m).data
    Array([7., 5.], dtype=float32)
    """

    if not mat.n_sparse:
        return mat.like(mat.data, indices_sorted=True)

    def in_order(indices: Array) -> tuple[Array, Array]:
        order = jnp.lexsort(placed_at(indices)[::-1])
        return order, indices[order]

    # Shared indices are sorted once, and stay shared.
    order, indices = over_batches(in_order, mat.indices.shape[: mat.n_batch])(mat.indices)
    data = over_batches(lambda x, order: x[order], stored_batches(mat))(mat.data, order)
    return mat.like(data, indices=indices, indices_sorted=True)


@compiled()
def without_zeros(mat: BCOO) -> BCOO:
    """The same array, its zeros moved outside, where they do not count."""
    zero = jnp.all(mat.data == 0, tuple(range(mat.n_batch + 1, mat.data.ndim)))
    return mat.like(
        mat.data,
        indices=jnp.where(zero[..., None], outside(mat), mat.indices),
        indices_sorted=False,
        unique_indices=False,
    )


def bcoo_sum_duplicates(mat: BCOO, nse: int | None = None) -> BCOO:
    """Return the same array with each position once, in order.

    Args:
      mat: the sparse array.
      nse: the number of positions to make room for; by default as many as are needed, which is not
        known of a traced array (`ConcretizationTypeError`).

    >>> import effax.numpy as jnp
    >>> from effax.experimental import sparse
    >>> m = sparse.BCOO((jnp.array([5., 7.]), jnp.array([[1], [1]])), shape=(3,))
    >>> sparse.bcoo_sum_duplicates(m).data
    Array([12.], dtype=float32)
    """
    ordered, counted = _in_order(mat)
    if nse is None:
        nse = count(counted, mat.n_batch)
    return _summed(ordered, counted, nse=nse)


@compiled()
def _in_order(mat: BCOO) -> tuple[BCOO, Array]:
    """The array with positions in order, and where a position inside stands first."""
    keep = inside(mat.indices, sparse_shape(mat))
    placed = jnp.where(keep[..., None], mat.indices, outside(mat))
    ordered = bcoo_sort_indices(BCOO((only_inside(mat), placed), shape=mat.shape))
    ordered = whole_batches(ordered)
    indices = ordered.indices
    first = jnp.concatenate(
        [
            jnp.ones(indices[..., :1, :].shape[:-1], bool),
            jnp.any(indices[..., 1:, :] != indices[..., :-1, :], -1),
        ],
        -1,
    )[..., : mat.nse]
    return ordered, first & inside(indices, sparse_shape(mat))


@compiled("nse")
def _summed(ordered: BCOO, first: Array, *, nse: int) -> BCOO:
    ends = outside(ordered)

    def one(data: Array, indices: Array, first: Array) -> tuple[Array, Array]:
        keep = inside(indices, sparse_shape(ordered))
        place = jnp.where(keep, jnp.cumsum(first) - 1, nse)
        sums = jnp.zeros((nse, *data.shape[1:]), data.dtype)
        where = jnp.broadcast_to(ends, (nse, len(ends))).astype(indices.dtype)
        if not nse:
            return sums, where
        sums = sums.at[place].add(data, mode="drop")
        return sums, where.at[place].set(indices, mode="drop")

    batch = ordered.shape[: ordered.n_batch]
    found = over_batches(one, batch)(ordered.data, ordered.indices, first)
    return BCOO(found, shape=ordered.shape, indices_sorted=True, unique_indices=True)
