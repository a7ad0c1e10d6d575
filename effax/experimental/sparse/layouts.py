"""The layout of a `BCOO`: which axes are batch axes, sparse axes and dense axes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from math import prod
from typing import Any

import effax.numpy as jnp
from effax.effects.value import Array
from effax.experimental.sparse.batches import over_batches, stored_batches
from effax.experimental.sparse.bcoo import BCOO
from effax.experimental.sparse.compiling import compiled
from effax.experimental.sparse.elements import inside, joined, placed_at, sparse_shape


class SparseEfficiencyError(ValueError):
    """An operation on sparse arrays would need much more memory than its operands."""


class SparseEfficiencyWarning(UserWarning):
    """An operation on sparse arrays needs much more memory than its operands."""


class CuSparseEfficiencyWarning(SparseEfficiencyWarning):
    """A sparse product is not computed by cuSPARSE. effax never warns so: it does not call it."""


def bcoo_update_layout(
    mat: BCOO,
    *,
    n_batch: int | None = None,
    n_dense: int | None = None,
    on_inefficient: str | None = "error",
) -> BCOO:
    """Return the same array with other numbers of batch and dense axes.

    More batch or dense axes are inefficient: each batch gets room for all elements, and each
    element becomes a dense block that is zero but for one place.

    Args:
      mat: the sparse array.
      n_batch: the number of batch axes of the result; by default that of `mat`.
      n_dense: the number of dense axes of the result; by default that of `mat`.
      on_inefficient: what to do where an inefficient result is asked for: "error", "warn", or
        None for nothing.

    Returns:
      A `BCOO` of the shape of `mat`.

    Raises:
      SparseEfficiencyError: for more batch or dense axes, if `on_inefficient` is "error".
      ValueError: for numbers that are negative or together more than the axes of `mat`.

    >>> import effax.numpy as jnp
    >>> from effax.experimental import sparse
    >>> m = sparse.BCOO.fromdense(jnp.array([[1., 0., 2.], [0., 3., 0.]]), n_batch=1)
    >>> m, sparse.bcoo_update_layout(m, n_batch=0)
    (BCOO(float32[2, 3], nse=2, n_batch=1), BCOO(float32[2, 3], nse=4))
    """
    n_batch = mat.n_batch if n_batch is None else int(n_batch)
    n_dense = mat.n_dense if n_dense is None else int(n_dense)
    if n_batch < 0 or n_dense < 0 or n_batch + n_dense > mat.ndim:
        raise ValueError(
            f"bcoo_update_layout: {n_batch=} and {n_dense=} must not be negative, nor more than "
            f"the {mat.ndim} axes of mat together"
        )
    if on_inefficient not in ("error", "warn", None):
        raise ValueError(
            "bcoo_update_layout: on_inefficient must be 'error', 'warn' or None, got "
            f"{on_inefficient!r}"
        )
    if (n_batch > mat.n_batch or n_dense > mat.n_dense) and on_inefficient is not None:
        what = (
            f"bcoo_update_layout: n_batch={n_batch} and n_dense={n_dense} store {mat!r} "
            "inefficiently; on_inefficient=None or 'warn' allows it"
        )
        if on_inefficient == "error":
            raise SparseEfficiencyError(what)
        warnings.warn(what, SparseEfficiencyWarning, stacklevel=2)
    if (n_batch, n_dense) == (mat.n_batch, mat.n_dense):
        return mat
    return _relaid(mat, n_batch=n_batch, n_dense=n_dense)


@compiled("n_batch", "n_dense")
def _relaid(mat: BCOO, *, n_batch: int, n_dense: int) -> BCOO:
    if n_dense < mat.n_dense:
        mat = _dense_to_sparse(mat, mat.n_dense - n_dense)
    if n_batch < mat.n_batch:
        mat = _batch_to_sparse(mat, mat.n_batch - n_batch)
    if n_dense > mat.n_dense:
        mat = _sparse_to_dense(mat, n_dense - mat.n_dense)
    if n_batch > mat.n_batch:
        mat = _sparse_to_batch(mat, n_batch - mat.n_batch)
    return mat


def positions(lengths: Sequence[int], dtype: Any) -> Array:
    """All positions of an array in order, one a row."""
    if not lengths:
        return jnp.zeros((1, 0), dtype)
    return jnp.indices(tuple(lengths), dtype).reshape(len(lengths), prod(lengths)).T


def _dense_to_sparse(mat: BCOO, count: int) -> BCOO:
    """Make the first dense axes sparse: a dense block becomes as many elements as it has."""
    batch = mat.n_batch
    blocks = mat.data.shape[batch + 1 : batch + 1 + count]
    size = prod(blocks)
    rest = mat.data.shape[batch + 1 + count :]
    data = mat.data.reshape(*mat.data.shape[:batch], mat.nse * size, *rest)
    lead = mat.indices.shape[:batch]
    outer = jnp.broadcast_to(mat.indices[..., None, :], (*lead, mat.nse, size, mat.n_sparse))
    inner = jnp.broadcast_to(positions(blocks, mat.indices.dtype), (*lead, mat.nse, size, count))
    both = jnp.concatenate([outer, inner], -1)
    return mat.like(data, indices=both.reshape(*lead, mat.nse * size, mat.n_sparse + count))


def _batch_to_sparse(mat: BCOO, count: int) -> BCOO:
    """Make the last batch axes sparse: their batches follow one another."""
    kept = mat.n_batch - count
    blocks = mat.shape[kept : mat.n_batch]
    size = prod(blocks)

    def in_a_row(x: Array, *rest: int) -> Array:
        x = jnp.broadcast_to(x, (*x.shape[:kept], *blocks, *x.shape[mat.n_batch :]))
        return x.reshape(*x.shape[:kept], size * mat.nse, *rest)

    data = in_a_row(mat.data, *mat.data.shape[mat.n_batch + 1 :])
    inner = in_a_row(mat.indices, mat.n_sparse)
    outer = jnp.repeat(positions(blocks, mat.indices.dtype), mat.nse, 0)
    outer = jnp.broadcast_to(outer, (*inner.shape[:-1], count))
    return mat.like(data, indices=jnp.concatenate([outer, inner], -1))


def _sparse_to_dense(mat: BCOO, count: int) -> BCOO:
    """Make the last sparse axes dense: each element becomes a block that is zero beside it."""
    kept = mat.n_sparse - count
    lengths = sparse_shape(mat)

    def one(data: Array, indices: Array) -> Array:
        keep = inside(indices, lengths)[:, None]
        # Negative positions are outside too.
        placed = jnp.where(keep, indices[:, kept:], jnp.array(lengths[kept:], indices.dtype))
        blocks = jnp.zeros((mat.nse, *lengths[kept:], *data.shape[1:]), data.dtype)
        if 0 in blocks.shape:
            return blocks
        return blocks.at[(jnp.arange(mat.nse), *placed_at(placed))].set(data, mode="drop")

    data = over_batches(one, stored_batches(mat))(mat.data, mat.indices)
    return mat.like(
        data, indices=mat.indices[..., :kept], indices_sorted=False, unique_indices=False
    )


def _sparse_to_batch(mat: BCOO, count: int) -> BCOO:
    """Make the first sparse axes batch axes: each batch has room for all elements."""
    lengths = sparse_shape(mat)
    blocks, rest = lengths[:count], lengths[count:]

    def one(data: Array, indices: Array) -> tuple[Array, Array]:
        here = jnp.all(indices[:, :count] == positions(blocks, indices.dtype)[:, None], -1)
        shaped = here.reshape(*here.shape, *(1,) * mat.n_dense)
        left = jnp.where(shaped, data, 0)
        where = jnp.where(here[..., None], indices[:, count:], jnp.array(rest, indices.dtype))
        return left.reshape(*blocks, *data.shape), where.reshape(*blocks, mat.nse, len(rest))

    data, indices = over_batches(one, stored_batches(mat))(mat.data, mat.indices)
    return mat.like(data, indices=indices, indices_sorted=False, unique_indices=False)


@compiled()
def added(lhs: BCOO, rhs: BCOO) -> BCOO:
    """The sum of two sparse arrays: the elements of both."""
    if lhs.shape != rhs.shape:
        raise NotImplementedError(
            f"the sum of sparse arrays: the operands must have the same shape, got {lhs!r} and "
            f"{rhs!r}"
        )
    n_batch, n_dense = min(lhs.n_batch, rhs.n_batch), min(lhs.n_dense, rhs.n_dense)
    lhs, rhs = (bcoo_update_layout(x, n_batch=n_batch, n_dense=n_dense) for x in (lhs, rhs))
    return BCOO(joined([lhs, rhs]), shape=lhs.shape)
