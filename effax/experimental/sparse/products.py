"""Products of sparse arrays with dense ones, and with each other."""

from __future__ import annotations

from typing import Any

import effax.numpy as jnp
from effax.api.mapping.vmap import vmap
from effax.effects.rows.contraction import free_dims
from effax.effects.value import Array
from effax.experimental.sparse.bcoo import BCOO, JAXSparse
from effax.experimental.sparse.compiling import compiled
from effax.experimental.sparse.elements import inside, only_inside, sparse_shape


@compiled("dimension_numbers", "precision", "preferred_element_type")
def bcoo_dot_general(
    lhs: Any,
    rhs: Any,
    *,
    dimension_numbers: Any,
    precision: None = None,
    preferred_element_type: Any = None,
) -> Any:
    """Compute `dot_general` where one operand is sparse, or both are.

    Args:
      lhs, rhs: a `BCOO` and an array, in either order; or two `BCOO`s without batch axes.
      dimension_numbers: as for `lax.dot_general`; batch axes are the first ones of both operands,
        and as many as the sparse one has.
      precision: must be None.
      preferred_element_type: the dtype of the result.

    Returns:
      An array; of two `BCOO`s a `BCOO`, with an element for each pair of theirs.

    Raises:
      TypeError: for contracted axes of different lengths.
      NotImplementedError: for contracted axes that are dense in a sparse operand, and for other
        batch axes.

    >>> import effax.numpy as jnp
    >>> from effax.experimental import sparse
    >>> m = sparse.BCOO.fromdense(jnp.array([[1., 0., 2.], [0., 3., 0.]]))
    >>> numbers = (([1], [0]), ([], []))
    >>> sparse.bcoo_dot_general(m, jnp.array([1.0, 2.0, 3.0]), dimension_numbers=numbers)
    Array([7., 6.], dtype=float32)
    """
    if precision is not None:
        raise NotImplementedError("bcoo_dot_general: precision must be None")
    (lc, rc), (lb, rb) = (tuple(tuple(map(int, axes)) for axes in p) for p in dimension_numbers)
    for i, j in (*zip(lc, rc, strict=True),) + (*zip(lb, rb, strict=True),):
        if lhs.shape[i] != rhs.shape[j]:
            raise TypeError(
                "dot_general requires contracting dimensions to have the same shape, got axis "
                f"{i} of {lhs.shape} and axis {j} of {rhs.shape}"
            )
    dims = (lc, rc), (lb, rb)
    if isinstance(lhs, BCOO) and isinstance(rhs, BCOO):
        out: Any = _sparse_sparse(lhs, rhs, dims)
    elif isinstance(lhs, BCOO):
        out = _sparse_dense(lhs, jnp.asarray(rhs), dims)
    elif isinstance(rhs, BCOO):
        out = _sparse_dense(rhs, jnp.asarray(lhs), ((rc, lc), (rb, lb)))
        batch = len(lb)
        free = len(free_dims(rhs.ndim, rc, rb))
        order = (*range(batch), *range(batch + free, out.ndim), *range(batch, batch + free))
        out = out.transpose(*order)
    else:
        raise TypeError("bcoo_dot_general: lhs or rhs must be a BCOO")
    return out if preferred_element_type is None else out.astype(preferred_element_type)


def _sparse_dense(x: BCOO, y: Array, dims: Any) -> Array:
    """The product; its axes are batch, free ones of the sparse operand, then of the other."""
    (xc, yc), (xb, yb) = dims
    if xb:
        n = len(xb)
        if xb != yb or xb != tuple(range(n)) or x.n_batch < n:
            raise NotImplementedError(
                "bcoo_dot_general: batch axes must be the first axes of both operands, and batch "
                f"axes of the sparse one, got {xb} and {yb} for {x!r}"
            )
        inner = (tuple(a - n for a in xc), tuple(a - n for a in yc)), ((), ())

        def one(data: Array, indices: Array, y: Array) -> Array:
            return _sparse_dense(BCOO((data, indices), shape=x.shape[n:]), y, inner)

        for _ in xb:
            one = vmap(one)
        return one(x.data, x.indices, y)
    if x.n_batch or any(a >= x.n_sparse for a in xc):
        raise NotImplementedError(
            "bcoo_dot_general: contracted axes must be sparse axes, and batch axes must be batch "
            f"axes of the product, got contracted axes {xc} of {x!r}"
        )
    free = [a for a in range(x.n_sparse) if a not in xc]
    rows = y.transpose(*yc, *free_dims(y.ndim, yc, ()))
    places = tuple(x.indices[:, a] for a in xc)
    keep = inside(x.indices, sparse_shape(x))
    taken = (
        rows.at[places].get(mode="clip") if places else jnp.broadcast_to(rows, (x.nse, *rows.shape))
    )
    data = only_inside(x)
    rest = taken.shape[1:]
    terms = data.reshape(data.shape + (1,) * len(rest)) * taken.reshape(
        (x.nse,) + (1,) * x.n_dense + rest
    )
    if not free:
        return terms.sum(0)
    lengths = [x.shape[a] for a in free]
    where = tuple(jnp.where(keep, x.indices[:, a], x.shape[a]) for a in free)
    zeros = jnp.zeros((*lengths, *terms.shape[1:]), terms.dtype)
    return zeros.at[where].add(terms, mode="drop")


def _sparse_sparse(x: BCOO, y: BCOO, dims: Any) -> BCOO:
    (xc, yc), (xb, _) = dims
    if xb or x.n_batch or y.n_batch or x.n_dense or y.n_dense:
        raise NotImplementedError(
            f"bcoo_dot_general: two sparse operands must have no batch or dense axes, got {x!r} "
            f"and {y!r}; use vmap for batches"
        )
    n = x.nse * y.nse
    i, j = jnp.array(xc, int), jnp.array(yc, int)
    meet = jnp.all(x.indices[:, None, i] == y.indices[None, :, j], -1)
    meet &= inside(x.indices, x.shape)[:, None] & inside(y.indices, y.shape)[None]
    data = jnp.where(meet, x.data[:, None] * y.data[None], 0).reshape(n)
    x_free, y_free = (free_dims(a.ndim, c, ()) for a, c in ((x, xc), (y, yc)))
    shape = tuple([x.shape[a] for a in x_free] + [y.shape[a] for a in y_free])
    pairs = jnp.concatenate(
        [
            jnp.broadcast_to(part, (x.nse, y.nse, part.shape[-1]))
            for part in (
                x.indices[:, None, jnp.array(x_free, int)],
                y.indices[None, :, jnp.array(y_free, int)],
            )
        ],
        -1,
    )
    outside = jnp.array(shape, pairs.dtype)
    indices = jnp.where(meet[..., None], pairs, outside).reshape(n, len(shape))
    return BCOO((data, indices), shape=shape)


def matmul(lhs: Any, rhs: Any) -> Any:
    """`lhs @ rhs`, one of which is sparse: of vectors and matrices, and of batches of them."""
    for x in (lhs, rhs):
        if not isinstance(x, BCOO) and isinstance(x, JAXSparse):
            return NotImplemented
    lhs, rhs = (x if isinstance(x, BCOO) else jnp.asarray(x) for x in (lhs, rhs))
    if not lhs.ndim or not rhs.ndim:
        raise TypeError("matmul: operands must have at least one axis")
    batch = max(0, min(lhs.ndim, rhs.ndim) - 2) if lhs.ndim > 1 and rhs.ndim > 1 else 0
    if max(lhs.ndim, rhs.ndim) - 2 > batch and min(lhs.ndim, rhs.ndim) > 1:
        raise NotImplementedError(
            f"matmul of shapes {lhs.shape} and {rhs.shape}: batches of sparse operands are not "
            "broadcast; use vmap"
        )
    contract = ((lhs.ndim - 1,), (max(rhs.ndim - 2, 0),))
    axes = tuple(range(batch))
    return bcoo_dot_general(lhs, rhs, dimension_numbers=(contract, (axes, axes)))
