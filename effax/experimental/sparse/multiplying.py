"""Products of two sparse arrays, element by element."""

from __future__ import annotations

import effax.numpy as jnp
from effax.effects.value import Array
from effax.experimental.sparse.batches import over_batches, stored_batches
from effax.experimental.sparse.bcoo import BCOO
from effax.experimental.sparse.compiling import compiled
from effax.experimental.sparse.elements import inside, sparse_shape
from effax.experimental.sparse.layouts import bcoo_update_layout


@compiled()
def bcoo_multiply_sparse(lhs: BCOO, rhs: BCOO) -> BCOO:
    """Multiply two sparse arrays, by looking at every pair of elements.

    Shapes are broadcast. The result has as many batch axes as the operand with fewer of them.

    Args:
      lhs, rhs: sparse arrays with the same number of dense axes.

    Returns:
      A `BCOO` with room for every pair of elements.

    Raises:
      NotImplementedError: for different numbers of dense axes.
      ValueError: for shapes that can't be broadcast.

    >>> import effax.numpy as jnp
    >>> from effax.experimental import sparse
    >>> m = sparse.BCOO.fromdense(jnp.array([[1., 0., 2.], [0., 3., 0.]]))
    >>> sparse.bcoo_multiply_sparse(m, m).todense()
    Array([[1., 0., 4.],
           [0., 9., 0.]], dtype=float32)
    """
    if lhs.n_dense != rhs.n_dense:
        raise NotImplementedError(
            "bcoo_multiply_sparse: the operands must have the same number of dense axes, got "
            f"{lhs!r} and {rhs!r}; use bcoo_update_layout"
        )
    shape = tuple(jnp.broadcast_shapes(lhs.shape, rhs.shape))
    lhs, rhs = (_with_leading(x, len(shape) - x.ndim) for x in (lhs, rhs))
    n_batch = min(lhs.n_batch, rhs.n_batch)
    lhs, rhs = (bcoo_update_layout(x, n_batch=n_batch) for x in (lhs, rhs))
    lengths = shape[n_batch : n_batch + lhs.n_sparse]
    n = lhs.nse * rhs.nse

    def one(a: Array, i: Array, b: Array, j: Array) -> tuple[Array, Array]:
        same = inside(i, sparse_shape(lhs))[:, None] & inside(j, sparse_shape(rhs))[None]
        where = jnp.zeros((lhs.nse, rhs.nse, len(lengths)), i.dtype)
        for k, (p, q) in enumerate(zip(sparse_shape(lhs), sparse_shape(rhs), strict=True)):
            left, right = i[:, None, k], j[None, :, k]
            if p == q:
                same &= left == right
            where = where.at[..., k].set(right if p == 1 else left)
        where = jnp.where(same[..., None], where, jnp.array(lengths, i.dtype))
        product = a[:, None] * b[None]
        data = jnp.where(same.reshape(*same.shape, *(1,) * (product.ndim - 2)), product, 0)
        return data.reshape(n, *product.shape[2:]), where.reshape(n, len(lengths))

    found = over_batches(one, stored_batches(lhs, rhs))(
        lhs.data, lhs.indices, rhs.data, rhs.indices
    )
    # The pairs that do not meet lie outside, as unused places do.
    return BCOO(found, shape=shape, unique_indices=lhs.unique_indices and rhs.unique_indices)


def _with_leading(x: BCOO, count: int) -> BCOO:
    """The same array with more leading axes of length 1, as batch axes."""
    if not count:
        return x
    data, indices = (y.reshape(*(1,) * count, *y.shape) for y in (x.data, x.indices))
    return x.like(data, indices=indices, shape=(*(1,) * count, *x.shape))
