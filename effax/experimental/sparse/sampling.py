"""Some elements of a dense product, by positions."""

from __future__ import annotations

from typing import Any

import effax.numpy as jnp
from effax import lax
from effax.effects.rows.contraction import free_dims
from effax.effects.value import Array
from effax.experimental.sparse.compiling import compiled
from effax.experimental.sparse.elements import extracted, inside, placed_at


@compiled("dimension_numbers")
def bcoo_dot_general_sampled(
    A: Array,  # noqa: N803
    B: Array,  # noqa: N803
    indices: Array,
    *,
    dimension_numbers: Any,
) -> Array:
    """Return the elements of a dense `dot_general` at given positions.

    Where all axes of the product are sparse, only those elements are computed.

    Args:
      A, B: dense arrays.
      indices: positions in the product, of shape (*batch, nse, n_sparse) as in a `BCOO`.
      dimension_numbers: as for `lax.dot_general`.

    Returns:
      The data of a `BCOO` with these indices, an array of shape (*batch, nse, *dense). It is 0 for
      positions outside of the product.

    >>> import effax.numpy as jnp
    >>> from effax.experimental import sparse
    >>> x = jnp.arange(6.0).reshape(2, 3)
    >>> numbers = (([1], [1]), ([], []))
    >>> sparse.bcoo_dot_general_sampled(x, x, jnp.array([[0, 1]]), dimension_numbers=numbers)
    Array([14.], dtype=float32)
    """
    left, right, indices = (jnp.asarray(x) for x in (A, B, indices))
    (lc, rc), (lb, rb) = (tuple(tuple(map(int, axes)) for axes in p) for p in dimension_numbers)
    l_free, r_free = free_dims(left.ndim, lc, lb), free_dims(right.ndim, rc, rb)
    shape = [left.shape[i] for i in (*lb, *l_free)] + [right.shape[j] for j in r_free]
    if indices.ndim != 2 or indices.shape[-1] != len(shape) or not shape or 0 in shape:
        return extracted(indices, lax.dot_general(left, right, dimension_numbers), unique=True)
    places = placed_at(indices)
    b, f = len(lb), len(lb) + len(l_free)
    rows = _at_places(left.transpose(*lb, *l_free, *lc), places[:f], len(indices))
    of_right = (*places[:b], *places[f:])
    columns = _at_places(right.transpose(*rb, *r_free, *rc), of_right, len(indices))
    dtype = jnp.result_type(left, right)
    rows, columns = (x.reshape(len(indices), -1).astype(dtype) for x in (rows, columns))
    found = lax.dot_general(rows, columns, (([1], [1]), ([0], [0])))
    return jnp.where(inside(indices, shape), found, 0)


def _at_places(x: Array, places: tuple[Array, ...], count: int) -> Array:
    """The part of an array at each of `count` places along its first axes."""
    return x.at[places].get(mode="clip") if places else jnp.broadcast_to(x, (count, *x.shape))
