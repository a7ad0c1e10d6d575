"""Contractions of two sparse arrays, by looking at every pair of elements."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import effax.numpy as jnp
from effax.effects.rows.contraction import free_dims
from effax.effects.value import Array
from effax.experimental.sparse.batches import over_batches, stored_batches
from effax.experimental.sparse.bcoo import BCOO
from effax.experimental.sparse.duplicates import bcoo_sum_duplicates
from effax.experimental.sparse.elements import inside, sparse_shape
from effax.experimental.sparse.layouts import bcoo_update_layout
from effax.experimental.sparse.rearranging import bcoo_transpose, transposed


def sparse_sparse(x: BCOO, y: BCOO, dims: Any) -> BCOO:
    """`dot_general` of two sparse arrays, with no more elements than positions."""
    x, y = (bcoo_update_layout(a, n_dense=0) for a in (x, y))
    (xc, yc), (xb, yb) = dims
    x_free, y_free = free_dims(x.ndim, xc, xb), free_dims(y.ndim, yc, yb)
    x_lanes, y_lanes = ([i for i in a if i < m.n_batch] for a, m in ((x_free, x), (y_free, y)))
    if y_lanes and len(x_free) > len(x_lanes):
        raise ValueError(
            "bcoo_dot_general: cannot have unused batch dims on rhs with unused sparse dims on "
            f"lhs. Got {x!r} and {y!r}, {dims}; use rhs.update_layout(n_batch=...) to have fewer"
        )
    # Axes that are batch axes in both layouts stay so; others of the product become sparse.
    both = [k for k, (i, j) in enumerate(zip(xb, yb, strict=True))
            if i < x.n_batch and j < y.n_batch]  # fmt: skip
    met = [k for k in range(len(xb)) if k not in both]
    x, x_axes = _with_lanes(x, [xb[k] for k in both], x_lanes)
    y, y_axes = _with_lanes(y, [yb[k] for k in both], y_lanes)
    x_pair = [x_axes.index(i) - x.n_batch for i in (*xc, *(xb[k] for k in met))]
    y_pair = [y_axes.index(j) - y.n_batch for j in (*yc, *(yb[k] for k in met))]
    x_kept = [*(xb[k] for k in met), *(i for i in x_free if i not in x_lanes)]
    y_kept = [j for j in y_free if j not in y_lanes]
    found = _pairs(
        _spread(x, len(both) + len(x_lanes), len(y_lanes)),
        _spread(y, len(both), len(x_lanes)),
        (x_pair, y_pair),
        ([x_axes.index(i) - x.n_batch for i in x_kept],
         [y_axes.index(j) - y.n_batch for j in y_kept]),
    )  # fmt: skip
    names = [*(("b", k) for k in both), *(("x", i) for i in x_lanes), *(("y", j) for j in y_lanes)]
    names += [*(("b", k) for k in met), *(("x", i) for i in x_free if i not in x_lanes)]
    names += [("y", j) for j in y_kept]
    wanted = [*(("b", k) for k in range(len(xb))), *(("x", i) for i in x_free)]
    wanted += [("y", j) for j in y_free]
    return transposed(found, [names.index(name) for name in wanted])


def _with_lanes(
    x: BCOO, shared: Sequence[int], lanes: Sequence[int]
) -> tuple[BCOO, tuple[int, ...]]:
    """The array with these batch axes only, and where its axes come from."""
    rest = [i for i in range(x.ndim) if i not in shared and i not in lanes]
    order = (*shared, *lanes, *rest)
    moved = bcoo_transpose(x, permutation=order) if x.ndim else x
    return bcoo_update_layout(moved, n_batch=len(shared) + len(lanes)), order


def _spread(x: BCOO, start: int, count: int) -> BCOO:
    """The array with more batch axes, of length 1."""

    def longer(a: Any) -> Any:
        return (*a[:start], *(1,) * count, *a[start:])

    data, indices = (a.reshape(longer(a.shape)) for a in (x.data, x.indices))
    return x.like(data, indices=indices, shape=longer(x.shape))


def _pairs(x: BCOO, y: BCOO, pair: Any, kept: Any) -> BCOO:
    """The elements of all pairs whose positions agree along the axes `pair`, at those `kept`."""
    x_lengths, y_lengths = sparse_shape(x), sparse_shape(y)
    (p, q), (r, s) = ([jnp.array(axes, int) for axes in two] for two in (pair, kept))
    lengths = [*(x_lengths[i] for i in kept[0]), *(y_lengths[j] for j in kept[1])]

    def one(a: Array, i: Array, b: Array, j: Array) -> tuple[Array, Array]:
        n = len(i) * len(j)
        meet = jnp.all(i[:, None, p] == j[None, :, q], -1)
        meet &= inside(i, x_lengths)[:, None] & inside(j, y_lengths)[None]
        data = jnp.where(meet, a[:, None] * b[None], 0).reshape(n)
        columns = [
            jnp.broadcast_to(part, (len(i), len(j), part.shape[-1]))
            for part in (i[:, None, r], j[None, :, s].astype(i.dtype))
        ]
        places = jnp.concatenate(columns, -1)
        places = jnp.where(meet[..., None], places, jnp.array(lengths, i.dtype))
        return data, places.reshape(n, len(lengths))

    found = over_batches(one, stored_batches(x, y))(x.data, x.indices, y.data, y.indices)
    batch = jnp.broadcast_shapes(x.shape[: x.n_batch], y.shape[: y.n_batch])
    made = BCOO(found, shape=(*batch, *lengths))
    return bcoo_sum_duplicates(made, nse=prod(lengths)) if made.nse > prod(lengths) else made
