"""Operations on `BCSR` arrays, which are those on `BCOO` arrays with the same elements."""

from __future__ import annotations

from collections.abc import Sequence

import effax.numpy as jnp
from effax.effects.value import Array
from effax.experimental.sparse.bcsr import BCSR
from effax.experimental.sparse.elements import bcoo_concatenate, extracted
from effax.experimental.sparse.reshaping import bcoo_broadcast_in_dim


def bcsr_broadcast_in_dim(
    mat: BCSR, *, shape: Sequence[int], broadcast_dimensions: Sequence[int], sharding: None = None
) -> BCSR:
    """Return the elements in a shape with more batch and dense axes, or longer ones.

    Args:
      mat: the sparse array.
      shape: the shape of the result.
      broadcast_dimensions: for each axis of `mat`, the axis of the result, in increasing order.
      sharding: must be None.

    Raises:
      NotImplementedError: for new axes between the sparse ones, or beside them if they are not
        batch or dense axes.
      ValueError: for axes that do not fit.

    >>> import effax.numpy as jnp
    >>> from effax.experimental import sparse
    >>> m = sparse.BCSR.fromdense(jnp.eye(2))
    >>> sparse.bcsr_broadcast_in_dim(m, shape=(3, 2, 2), broadcast_dimensions=(1, 2))
    BCSR(float32[3, 2, 2], nse=2, n_batch=1)
    """
    made = bcoo_broadcast_in_dim(
        mat.to_bcoo(), shape=shape, broadcast_dimensions=broadcast_dimensions, sharding=sharding
    )
    return BCSR.from_bcoo(made)


def bcsr_concatenate(operands: Sequence[BCSR], *, dimension: int) -> BCSR:
    """Concatenate sparse arrays along an axis: see `bcoo_concatenate`.

    Args:
      operands: sparse arrays with the same numbers of batch and dense axes, and the same shape but
        for `dimension`.
      dimension: the axis; negative ones count from the end.

    >>> import effax.numpy as jnp
    >>> from effax.experimental import sparse
    >>> m = sparse.BCSR.fromdense(jnp.eye(2))
    >>> sparse.bcsr_concatenate([m, m], dimension=0)
    BCSR(float32[4, 2], nse=4)
    """
    return BCSR.from_bcoo(bcoo_concatenate([x.to_bcoo() for x in operands], dimension=dimension))


def bcsr_extract(indices: Array, indptr: Array, mat: Array) -> Array:
    """Return the elements of a dense array at the positions of a `BCSR`.

    Args:
      indices: the columns of the elements, of shape (*batch, nse).
      indptr: where the elements of each row begin, of shape (*batch, rows + 1).
      mat: the dense array.

    Returns:
      The data of a `BCSR` with these indices, an array of shape (*batch, nse, *dense).

    >>> import effax.numpy as jnp
    >>> from effax.experimental import sparse
    >>> m = sparse.BCSR.fromdense(jnp.eye(2))
    >>> sparse.bcsr_extract(m.indices, m.indptr, jnp.arange(4.0).reshape(2, 2))
    Array([0., 3.], dtype=float32)
    """
    indices, indptr, mat = (jnp.asarray(x) for x in (indices, indptr, mat))
    n_batch = indices.ndim - 1
    nothing = jnp.zeros((*indices.shape, *mat.shape[n_batch + 2 :]), bool)
    where = BCSR((nothing, indices, indptr), shape=mat.shape).to_bcoo()
    return extracted(where.indices, mat, unique=True)


def bcsr_sum_duplicates(mat: BCSR, nse: int | None = None) -> BCSR:
    """Return the same array with each position once, in order.

    Args:
      mat: the sparse array.
      nse: the number of positions to make room for; by default as many as are needed, which is not
        known of a traced array (`ConcretizationTypeError`).

    >>> import effax.numpy as jnp
    >>> from effax.experimental import sparse
    >>> parts = jnp.array([5., 7.]), jnp.array([1, 1]), jnp.array([0, 2])
    >>> sparse.bcsr_sum_duplicates(sparse.BCSR(parts, shape=(1, 2))).data
    Array([12.], dtype=float32)
    """
    return mat.sum_duplicates(nse, remove_zeros=False)
