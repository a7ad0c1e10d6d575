"""Operations on the elements of a `BCOO`: conversions to and from dense, slices, sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import effax.numpy as jnp
from effax.api.calling.scopes import ensure_compile_time_eval
from effax.api.mapping.vmap import vmap
from effax.effects.errors import ConcretizationTypeError
from effax.effects.handler import Carrier
from effax.effects.value import Array
from effax.experimental.sparse.bcoo import BCOO, JAXSparse
from effax.experimental.sparse.compiling import compiled


def _in_batches(function: Callable[..., Any], count: int) -> Callable[..., Any]:
    for _ in range(count):
        function = vmap(function)
    return function


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


def todense(arr: Any) -> Array:
    """Return a dense array: that of a sparse one, or the array as it is.

    Args:
      arr: a sparse array, or array_like.

    >>> import effax.numpy as jnp
    >>> todense(BCOO.fromdense(jnp.eye(2)))
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    return arr.todense() if isinstance(arr, JAXSparse) else jnp.asarray(arr)


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

    return _in_batches(one, mat.n_batch)(mat.data, mat.indices)


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
        nse = _count(mask if isinstance(mat, Carrier) else _known_mask(mat, n_dense), n_batch)
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

    data, indices = _in_batches(one, n_batch)(mat, mask)
    return BCOO((data, indices), shape=mat.shape, indices_sorted=True, unique_indices=True)


def _known_mask(mat: Array, n_dense: int) -> Array:
    """Return the nonzero mask of an array whose elements are known, while others are traced."""
    with ensure_compile_time_eval():
        return jnp.any(mat != 0, tuple(range(mat.ndim - n_dense, mat.ndim)))


def _count(mask: Array, n_batch: int) -> int:
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

    def one(indices: Array, x: Array) -> Array:
        found = x.at[placed_at(indices)].get(mode="fill", fill_value=0)
        if unique:
            return found
        same = jnp.all(indices[:, None] == indices[None], -1)
        first = jnp.argmax(same, 1) == jnp.arange(len(indices))
        return jnp.where(first.reshape(-1, *(1,) * sparr.n_dense), found, 0)

    return sparr.like(_in_batches(one, sparr.n_batch)(sparr.indices, arr))


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
    v = jnp.broadcast_to(v, sp_mat.shape[: sp_mat.n_batch] + v.shape[sp_mat.n_batch :])

    def one(data: Array, indices: Array, v: Array) -> Array:
        places = [
            jnp.zeros_like(i) if n == 1 else i
            for i, n in zip(placed_at(indices), lengths, strict=True)
        ]
        if not places:
            return data * v
        return data * v.at[tuple(places)].get(mode="fill", fill_value=0)

    return _in_batches(one, sp_mat.n_batch)(sp_mat.data, sp_mat.indices, v)


@compiled()
def bcoo_multiply_sparse(lhs: BCOO, rhs: BCOO) -> BCOO:
    """Multiply two sparse arrays of one shape, by looking at every pair of elements.

    Raises `NotImplementedError` for dense axes or other shapes, which are not broadcast.

    Args:
      lhs, rhs: sparse arrays of one shape, without dense axes.

    >>> import effax.numpy as jnp
    >>> from effax.experimental import sparse
    >>> m = sparse.BCOO.fromdense(jnp.array([[1., 0., 2.], [0., 3., 0.]]))
    >>> sparse.bcoo_multiply_sparse(m, m).todense()
    Array([[1., 0., 4.],
           [0., 9., 0.]], dtype=float32)
    """
    _alike("multiply", lhs, rhs)
    lengths = jnp.array(sparse_shape(lhs), lhs.indices.dtype)
    n = lhs.nse * rhs.nse

    def one(a: Array, i: Array, b: Array, j: Array) -> tuple[Array, Array]:
        same = jnp.all(i[:, None] == j[None], -1)
        data = jnp.where(same, a[:, None] * b[None], 0).reshape(n)
        where = jnp.where(same[..., None], i[:, None], lengths)
        return data, where.reshape(n, i.shape[-1])

    data, indices = _in_batches(one, lhs.n_batch)(lhs.data, lhs.indices, rhs.data, rhs.indices)
    unique = lhs.unique_indices and rhs.unique_indices
    return BCOO((data, indices), shape=lhs.shape, unique_indices=unique)


def _alike(what: str, lhs: BCOO, rhs: BCOO) -> None:
    same = (lhs.shape, lhs.n_batch, lhs.n_dense) == (rhs.shape, rhs.n_batch, 0)
    if not same:
        raise NotImplementedError(
            f"bcoo {what}: the operands must have the same shape and number of batch axes, and no "
            f"dense axes, got {lhs!r} and {rhs!r}"
        )


@compiled()
def added(lhs: BCOO, rhs: BCOO) -> BCOO:
    """The sum of two sparse arrays: the elements of both."""
    if (lhs.shape, lhs.n_batch, lhs.n_dense) != (rhs.shape, rhs.n_batch, rhs.n_dense):
        raise NotImplementedError(
            "the sum of sparse arrays: the operands must have the same shape and the same kinds "
            f"of axes, got {lhs!r} and {rhs!r}"
        )
    return BCOO(_joined([lhs, rhs]), shape=lhs.shape)


def _joined(operands: Sequence[BCOO]) -> tuple[Array, Array]:
    axis = operands[0].n_batch
    return (
        jnp.concatenate([x.data for x in operands], axis),
        jnp.concatenate([x.indices for x in operands], axis),
    )


@compiled("dimension")
def bcoo_concatenate(operands: Sequence[BCOO], *, dimension: int) -> BCOO:
    """Concatenate sparse arrays along a sparse axis.

    Args:
      operands: sparse arrays with the same numbers of batch and dense axes, and the same shape but
        for `dimension`.
      dimension: the axis, counted from the start; it must be sparse.

    Raises:
      NotImplementedError: for an axis that is not sparse.
      ValueError: for arrays that do not go together.

    >>> import effax.numpy as jnp
    >>> from effax.experimental import sparse
    >>> m = sparse.BCOO.fromdense(jnp.array([[1., 0., 2.], [0., 3., 0.]]))
    >>> sparse.bcoo_concatenate([m, m], dimension=1).shape
    (2, 6)
    """
    first = operands[0]
    axis = dimension - first.n_batch
    if not 0 <= axis < first.n_sparse:
        raise NotImplementedError(
            f"bcoo_concatenate: dimension must be a sparse axis, got {dimension}"
        )
    moved, offset = [], 0
    for x in operands:
        rest = [(n, m) for i, (n, m) in enumerate(zip(x.shape, first.shape, strict=True))
                if i != dimension]  # fmt: skip
        if any(n != m for n, m in rest) or (x.n_batch, x.n_dense) != (first.n_batch, first.n_dense):
            raise ValueError(
                "bcoo_concatenate: the operands must have equal shapes in other axes and the same "
                f"kinds of axes, got {first!r} and {x!r}"
            )
        shift = jnp.zeros(x.n_sparse, x.indices.dtype).at[axis].set(offset)
        keep = inside(x.indices, sparse_shape(x))[..., None]
        moved.append(x.like(x.data))
        moved[-1].indices = jnp.where(keep, x.indices + shift, jnp.iinfo(x.indices.dtype).max)
        offset += x.shape[dimension]
    shape = (*first.shape[:dimension], offset, *first.shape[dimension + 1 :])
    return BCOO(_joined(moved), shape=shape)


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

    def one(data: Array, indices: Array) -> tuple[Array, Array]:
        order = jnp.lexsort(placed_at(indices)[::-1])
        return data[order], indices[order]

    if not mat.n_sparse:
        return mat
    data, indices = _in_batches(one, mat.n_batch)(mat.data, mat.indices)
    unique = mat.unique_indices
    return BCOO((data, indices), shape=mat.shape, indices_sorted=True, unique_indices=unique)


@compiled()
def without_zeros(mat: BCOO) -> BCOO:
    """The same array, its zeros moved outside, where they do not count."""
    zero = jnp.all(mat.data == 0, tuple(range(mat.n_batch + 1, mat.data.ndim)))
    made = mat.like(mat.data)
    made.indices = jnp.where(zero[..., None], _ends(mat), mat.indices)
    return made


def _ends(mat: BCOO) -> Array:
    return jnp.array(sparse_shape(mat), mat.indices.dtype)


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
        nse = _count(counted, mat.n_batch)
    return _summed(ordered, counted, nse=nse)


@compiled()
def _in_order(mat: BCOO) -> tuple[BCOO, Array]:
    """The array with positions in order, and where a position inside stands first."""
    keep = inside(mat.indices, sparse_shape(mat))
    placed = jnp.where(keep[..., None], mat.indices, _ends(mat))
    ordered = bcoo_sort_indices(BCOO((only_inside(mat), placed), shape=mat.shape))
    indices = ordered.indices
    first = jnp.concatenate(
        [
            jnp.ones_like(indices[..., :1, 0], bool),
            jnp.any(indices[..., 1:, :] != indices[..., :-1, :], -1),
        ],
        -1,
    )[..., : mat.nse]
    return ordered, first & inside(indices, sparse_shape(mat))


@compiled("nse")
def _summed(ordered: BCOO, first: Array, *, nse: int) -> BCOO:
    ends = _ends(ordered)

    def one(data: Array, indices: Array, first: Array) -> tuple[Array, Array]:
        keep = inside(indices, sparse_shape(ordered))
        place = jnp.where(keep, jnp.cumsum(first) - 1, nse)
        sums = jnp.zeros((nse, *data.shape[1:]), data.dtype)
        where = jnp.broadcast_to(ends, (nse, len(ends))).astype(indices.dtype)
        if not nse:
            return sums, where
        sums = sums.at[place].add(data, mode="drop")
        return sums, where.at[place].set(indices, mode="drop")

    found = _in_batches(one, ordered.n_batch)(ordered.data, ordered.indices, first)
    return BCOO(found, shape=ordered.shape, indices_sorted=True, unique_indices=True)
