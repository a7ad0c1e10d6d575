"""The elements of a `BCOO`: from and to dense arrays, looked up, scaled, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import effax.numpy as jnp
from effax.api.calling.scopes import ensure_compile_time_eval
from effax.effects.errors import ConcretizationTypeError
from effax.effects.handler import Carrier
from effax.effects.value import Array
from effax.experimental.sparse.batches import over_batches, stored_batches, whole_batches
from effax.experimental.sparse.bcoo import BCOO
from effax.experimental.sparse.compiling import compiled
from effax.operands.arguments import canonical_axes


def sparse_shape(x: BCOO) -> tuple[int, ...]:
    """The lengths of the sparse axes."""
    return x.shape[x.n_batch : x.n_batch + x.n_sparse]


def inside(indices: Array, lengths: Sequence[int]) -> Array:
    """Return whether each position lies inside the array."""
    return jnp.all((indices >= 0) & (indices < beside(indices, lengths)), -1)


def beside(indices: Array, numbers: Sequence[int]) -> Array:
    """A number for each sparse axis, in the rank and dtype of the indices."""
    return jnp.array(numbers, indices.dtype).reshape([1] * (indices.ndim - 1) + [-1])


def placed_at(indices: Array) -> tuple[Array, ...]:
    """Indices of elements as an index of an array: one array an axis."""
    return tuple(indices[..., i] for i in range(indices.shape[-1]))


def only_inside(x: BCOO) -> Array:
    """The elements, zero where the position lies outside."""
    keep = inside(x.indices, sparse_shape(x))
    return jnp.where(keep.reshape(keep.shape + (1,) * x.n_dense), x.data, 0)


def outside(x: BCOO) -> Array:
    """The position at which unused places lie."""
    return jnp.array(sparse_shape(x), x.indices.dtype)


@compiled()
def bcoo_todense(mat: BCOO) -> Array:
    """Return the dense array of a sparse one.

    Args:
      mat: the sparse array.

    >>> import effax.numpy as jnp
    >>> from effax.experimental import sparse
    >>> m = sparse.BCOO.fromdense(jnp.array([[1., 0., 2.], [0., 3., 0.]]))
    >>> sparse.bcoo_todense(m)
    Array([[1., 0., 2.],
           [0., 3., 0.]], dtype=float32)
    """
    shape = mat.shape[mat.n_batch :]

    def one(data: Array, indices: Array) -> Array:
        if not mat.n_sparse:
            return data.sum(0)
        if 0 in shape:
            return jnp.zeros(shape, data.dtype)
        # Negative positions are outside too.
        placed = jnp.where(inside(indices, shape[: mat.n_sparse])[:, None], indices, _far(shape))
        return jnp.zeros(shape, data.dtype).at[placed_at(placed)].add(data, mode="drop")

    return over_batches(one, mat.shape[: mat.n_batch])(mat.data, mat.indices)


def _far(shape: Sequence[int]) -> int:
    return max(shape, default=0)


def bcoo_fromdense(
    mat: Array,
    *,
    nse: int | None = None,
    n_batch: int = 0,
    n_dense: int = 0,
    index_dtype: Any = jnp.int32,
) -> BCOO:
    """Return the elements of a dense array that are not zero, with their positions, as a BCOO.

    Args:
      mat: an array.
      nse: room for so many elements in each batch; by default as many as there are. If there are
        more, the last ones are left out.
      n_batch, n_dense: how many axes are batch axes, and how many are dense.
      index_dtype: the dtype of positions.

    Raises:
      ConcretizationTypeError: without `nse` for a traced array.
      ValueError: for more batch and dense axes than there are.

    >>> import effax.numpy as jnp
    >>> from effax.experimental import sparse
    >>> m = sparse.bcoo_fromdense(jnp.array([[1., 0., 2.], [0., 3., 0.]]))
    >>> m.data
    Array([1., 2., 3.], dtype=float32)
    """
    mat = jnp.asarray(mat)
    n_sparse = mat.ndim - n_batch - n_dense
    if n_batch < 0 or n_dense < 0 or n_sparse < 0:
        raise ValueError(
            f"bcoo_fromdense: {n_batch=} and {n_dense=} must not be negative, nor more than the "
            f"{mat.ndim} axes of mat together"
        )
    mask = mat != 0
    mask = jnp.any(mask, tuple(range(n_batch + n_sparse, mat.ndim)))
    if nse is None:
        nse = count(mask if isinstance(mat, Carrier) else known_mask(mat, n_dense), n_batch)
    known = {"nse": nse, "n_batch": n_batch, "n_sparse": n_sparse}
    return _fromdense(mat, mask, index_dtype=jnp.dtype(index_dtype), **known)


@compiled("nse", "n_batch", "n_sparse", "index_dtype")
def _fromdense(
    mat: Array, mask: Array, *, nse: int, n_batch: int, n_sparse: int, index_dtype: Any
) -> BCOO:
    lengths = mat.shape[n_batch : n_batch + n_sparse]

    def one(x: Array, mask: Array) -> tuple[Array, Array]:
        if not n_sparse:
            return x[None][:nse], jnp.zeros((min(nse, 1), 0), index_dtype)
        found = jnp.nonzero(mask, size=nse, fill_value=lengths)
        data = x.at[found].get(mode="fill", fill_value=0)
        return data, jnp.stack(found, -1).astype(index_dtype)

    data, indices = over_batches(one, mat.shape[:n_batch])(mat, mask)
    return BCOO((data, indices), shape=mat.shape, indices_sorted=True, unique_indices=True)


def known_mask(mat: Array, n_dense: int) -> Array:
    """Return the nonzero mask of an array whose elements are known, while others are traced."""
    with ensure_compile_time_eval():
        return jnp.any(mat != 0, tuple(range(mat.ndim - n_dense, mat.ndim)))


def count(mask: Array, n_batch: int) -> int:
    """The most elements that a batch has, of which a mask says where they are."""
    if isinstance(mask, Carrier):
        raise ConcretizationTypeError(
            mask,
            " The number of elements is part of the shape of a sparse array: give BCOO.fromdense "
            "and sum_duplicates `nse=` where the array is traced.",
        )
    with ensure_compile_time_eval():
        return int(jnp.sum(mask, tuple(range(n_batch, mask.ndim))).max()) if mask.size else 0


@compiled("assume_unique")
def bcoo_extract(sparr: BCOO, arr: Array, *, assume_unique: bool | None = None) -> BCOO:
    """Return the elements of a dense array at the positions of a sparse one.

    Where a position is there several times, the first has the element, unless `assume_unique`.

    Args:
      sparr: the sparse array whose positions are looked up.
      arr: array_like of the same shape.
      assume_unique: whether each position is there once; by default `sparr.unique_indices`.

    >>> import effax.numpy as jnp
    >>> from effax.experimental import sparse
    >>> m = sparse.BCOO.fromdense(jnp.array([[1., 0., 2.], [0., 3., 0.]]))
    >>> sparse.bcoo_extract(m, jnp.arange(6.0).reshape(2, 3)).data
    Array([0., 2., 4.], dtype=float32)
    """
    arr = jnp.asarray(arr)
    if arr.shape != sparr.shape:
        raise ValueError(
            f"bcoo_extract: arr and sparr must have the same shape, got {arr.shape} and "
            f"{sparr.shape}"
        )
    unique = sparr.unique_indices if assume_unique is None else assume_unique
    return sparr.like(extracted(sparr.indices, arr, unique=unique))


def extracted(indices: Array, arr: Array, *, unique: bool) -> Array:
    """The elements of a dense array at positions, as data of a `BCOO`.

    Of the elements at one position, only the first is looked up unless `unique`.
    """
    n_batch = indices.ndim - 2
    n_dense = arr.ndim - n_batch - indices.shape[-1]

    def one(indices: Array, x: Array) -> Array:
        lengths = x.shape[: indices.shape[-1]]
        if not lengths:
            found = jnp.broadcast_to(x, (len(indices), *x.shape))
        elif 0 in x.shape:
            return jnp.zeros((len(indices), *x.shape[len(lengths) :]), x.dtype)
        else:
            keep = inside(indices, lengths).reshape(-1, *(1,) * n_dense)
            found = jnp.where(keep, x.at[placed_at(indices)].get(mode="clip"), 0)
        if unique:
            return found
        same = jnp.all(indices[:, None] == indices[None], -1)
        first = jnp.argmax(same, 1) == jnp.arange(len(indices)) if len(indices) else same[0]
        return jnp.where(first.reshape(-1, *(1,) * n_dense), found, 0)

    return over_batches(one, arr.shape[:n_batch])(indices, arr)


@compiled()
def bcoo_multiply_dense(sp_mat: BCOO, v: Array) -> Array:
    """Multiply the elements of a sparse array by those of a dense one.

    The data of the result: its positions are those of `sp_mat`. Raises `ValueError` for a dense
    array of more axes, or one that does not broadcast.

    Args:
      sp_mat: the sparse array.
      v: array_like, broadcast to the shape of `sp_mat`.

    >>> import effax.numpy as jnp
    >>> from effax.experimental import sparse
    >>> m = sparse.BCOO.fromdense(jnp.array([[1., 0., 2.], [0., 3., 0.]]))
    >>> sparse.bcoo_multiply_dense(m, jnp.array([1.0, 2.0, 3.0]))
    Array([1., 6., 6.], dtype=float32)
    """
    v = jnp.asarray(v)
    if v.ndim == 0:
        return sp_mat.data * v
    if jnp.broadcast_shapes(v.shape, sp_mat.shape) != sp_mat.shape:
        raise ValueError(
            f"bcoo_multiply_dense: v of shape {v.shape} can't be broadcast to the shape "
            f"{sp_mat.shape} of sp_mat"
        )
    v = v.reshape((1,) * (sp_mat.ndim - v.ndim) + v.shape)
    lengths = v.shape[sp_mat.n_batch : sp_mat.n_batch + sp_mat.n_sparse]
    batch = jnp.broadcast_shapes(stored_batches(sp_mat), v.shape[: sp_mat.n_batch])

    def one(data: Array, indices: Array, v: Array) -> Array:
        places = [
            jnp.zeros_like(i) if n == 1 else i
            for i, n in zip(placed_at(indices), lengths, strict=True)
        ]
        if not places:
            return data * v
        return data * v.at[tuple(places)].get(mode="fill", fill_value=0)

    return over_batches(one, batch)(sp_mat.data, sp_mat.indices, v)


def joined(operands: Sequence[BCOO]) -> tuple[Array, Array]:
    """The data and the indices of the elements of all arrays, which have one layout."""
    axis = operands[0].n_batch
    if len({x.data.shape[:axis] + x.indices.shape[:axis] for x in operands}) > 1:
        operands = [whole_batches(x) for x in operands]
    return (
        jnp.concatenate([x.data for x in operands], axis),
        jnp.concatenate([x.indices for x in operands], axis),
    )


@compiled("dimension")
def bcoo_concatenate(operands: Sequence[BCOO], *, dimension: int) -> BCOO:
    """Concatenate sparse arrays along an axis.

    Args:
      operands: sparse arrays with the same numbers of batch and dense axes, and the same shape but
        for `dimension`.
      dimension: the axis; negative ones count from the end.

    Returns:
      A `BCOO` with the elements of all operands; along a batch axis, with as many in a batch as
      the operand with the most.

    Raises:
      ValueError: for arrays that do not go together.

    >>> import effax.numpy as jnp
    >>> from effax.experimental import sparse
    >>> m = sparse.BCOO.fromdense(jnp.array([[1., 0., 2.], [0., 3., 0.]]))
    >>> sparse.bcoo_concatenate([m, m], dimension=1).shape
    (2, 6)
    """
    operands = [whole_batches(x) for x in operands]
    first = operands[0] if operands else None
    if first is None:
        raise ValueError("bcoo_concatenate: operands must have at least one array, got none")
    (dimension,) = canonical_axes([dimension], first.ndim)
    for x in operands:
        same = (x.ndim, x.n_batch, x.n_dense) == (first.ndim, first.n_batch, first.n_dense)
        if not same or any(
            n != m and i != dimension
            for i, (n, m) in enumerate(zip(x.shape, first.shape, strict=True))
        ):
            raise ValueError(
                "bcoo_concatenate: the operands must have equal shapes in other axes and the same "
                f"kinds of axes, got {first!r} and {x!r}"
            )
    length = sum(x.shape[dimension] for x in operands)
    shape = (*first.shape[:dimension], length, *first.shape[dimension + 1 :])
    if dimension < first.n_batch:
        nse = max(x.nse for x in operands)
        operands = [_with_room(x, nse) for x in operands]
        data = jnp.concatenate([x.data for x in operands], dimension)
        indices = jnp.concatenate([x.indices for x in operands], dimension)
        return BCOO((data, indices), shape=shape)
    moved, offset = [], 0
    for x in operands:
        moved.append(_moved(x, dimension, offset, shape))
        offset += x.shape[dimension]
    return BCOO(joined(moved), shape=shape)


def _with_room(x: BCOO, nse: int) -> BCOO:
    """The same array with room for more elements."""
    widths = [(0, nse - x.nse if i == x.n_batch else 0) for i in range(x.data.ndim)]
    lead = x.indices.shape[: x.n_batch]
    unused = jnp.broadcast_to(outside(x), (*lead, nse - x.nse, x.n_sparse))
    return x.like(jnp.pad(x.data, widths), indices=jnp.concatenate([x.indices, unused], x.n_batch))


def _moved(x: BCOO, axis: int, offset: int, shape: Sequence[int]) -> BCOO:
    """The same array further along a sparse or dense axis of a larger array."""
    first_dense = x.n_batch + x.n_sparse
    if axis >= first_dense:
        rest = shape[axis] - offset - x.shape[axis]
        widths = [(0, 0)] * x.data.ndim
        widths[axis - first_dense + x.n_batch + 1] = (offset, rest)
        return x.like(jnp.pad(x.data, widths), shape=shape)
    shift = jnp.zeros(x.n_sparse, x.indices.dtype).at[axis - x.n_batch].set(offset)
    keep = inside(x.indices, sparse_shape(x))[..., None]
    far = jnp.iinfo(x.indices.dtype).max
    return x.like(x.data, indices=jnp.where(keep, x.indices + shift, far), shape=shape)
