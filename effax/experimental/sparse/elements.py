"""What is done to a `BCOO` element by element: to and from dense, sums, slices, products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
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
    """Which positions lie inside."""
    return jnp.all((indices >= 0) & (indices < _beside(indices, lengths)), -1)


def _beside(indices: Array, numbers: Sequence[int]) -> Array:
    """A number for each sparse axis, in the rank and dtype of the indices."""
    return jnp.array(numbers, indices.dtype).reshape([1] * (indices.ndim - 1) + [-1])


def _at(indices: Array) -> tuple[Array, ...]:
    return tuple(indices[..., i] for i in range(indices.shape[-1]))


def only_inside(x: BCOO) -> Array:
    """The elements, zero where the position lies outside."""
    keep = inside(x.indices, sparse_shape(x))
    return jnp.where(keep.reshape(keep.shape + (1,) * x.n_dense), x.data, 0)


def todense(arr: Any) -> Array:
    """A dense array, of a sparse one or as it is.

    >>> import effax.numpy as jnp
    >>> todense(BCOO.fromdense(jnp.eye(2)))
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    return arr.todense() if isinstance(arr, JAXSparse) else jnp.asarray(arr)


@compiled()
def bcoo_todense(mat: BCOO) -> Array:
    """The dense array of a sparse one.

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
        return jnp.zeros(shape, data.dtype).at[_at(placed)].add(data, mode="drop")

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
    """The elements of a dense array that are not zero, with their positions.

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
        raise ValueError(f"bcoo_fromdense: {n_batch=} and {n_dense=} of {mat.ndim} axes")
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
    """Where elements of an array that is known are not zero, while something else is traced."""
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
    """The elements of a dense array at the positions of a sparse one.

    Where a position is there several times, the first has the element, unless `assume_unique`.

    >>> import effax.numpy as jnp
    >>> from effax.experimental import sparse
    >>> m = sparse.BCOO.fromdense(jnp.array([[1., 0., 2.], [0., 3., 0.]]))
    >>> sparse.bcoo_extract(m, jnp.arange(6.0).reshape(2, 3)).data
    Array([0., 2., 4.], dtype=float32)
    """
    arr = jnp.asarray(arr)
    if arr.shape != sparr.shape:
        raise ValueError(f"bcoo_extract: {arr.shape} and {sparr.shape} are different shapes")
    unique = sparr.unique_indices if assume_unique is None else assume_unique

    def one(indices: Array, x: Array) -> Array:
        found = x.at[_at(indices)].get(mode="fill", fill_value=0)
        if unique:
            return found
        same = jnp.all(indices[:, None] == indices[None], -1)
        first = jnp.argmax(same, 1) == jnp.arange(len(indices))
        return jnp.where(first.reshape(-1, *(1,) * sparr.n_dense), found, 0)

    return sparr.like(_in_batches(one, sparr.n_batch)(sparr.indices, arr))


@compiled()
def bcoo_multiply_dense(sp_mat: BCOO, v: Array) -> Array:
    """The elements of a sparse array times those of a dense one, which is broadcast to it.

    The data of the result: its positions are those of `sp_mat`. Raises `ValueError` for a dense
    array of more axes, or one that does not broadcast.

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
            f"a sparse array of shape {sp_mat.shape} times a dense one of shape {v.shape} is of "
            "another shape than the first"
        )
    v = v.reshape((1,) * (sp_mat.ndim - v.ndim) + v.shape)
    lengths = v.shape[sp_mat.n_batch : sp_mat.n_batch + sp_mat.n_sparse]
    v = jnp.broadcast_to(v, sp_mat.shape[: sp_mat.n_batch] + v.shape[sp_mat.n_batch :])

    def one(data: Array, indices: Array, v: Array) -> Array:
        places = [
            jnp.zeros_like(i) if n == 1 else i for i, n in zip(_at(indices), lengths, strict=True)
        ]
        if not places:
            return data * v
        return data * v.at[tuple(places)].get(mode="fill", fill_value=0)

    return _in_batches(one, sp_mat.n_batch)(sp_mat.data, sp_mat.indices, v)


@compiled()
def bcoo_multiply_sparse(lhs: BCOO, rhs: BCOO) -> BCOO:
    """The product of two sparse arrays of one shape: every pair of elements is looked at.

    Raises `NotImplementedError` for dense axes or other shapes, which are not broadcast.

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
            f"bcoo {what}: of {lhs!r} and {rhs!r}; both are of one shape and as many batch axes, "
            "and without dense ones"
        )


@compiled()
def added(lhs: BCOO, rhs: BCOO) -> BCOO:
    """The sum of two sparse arrays: the elements of both."""
    if (lhs.shape, lhs.n_batch, lhs.n_dense) != (rhs.shape, rhs.n_batch, rhs.n_dense):
        raise NotImplementedError(
            f"the sum of {lhs!r} and {rhs!r}: both are of one shape, and their axes of one kind"
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
    """Sparse arrays end to end along a sparse axis. Raises `NotImplementedError` for others.

    >>> import effax.numpy as jnp
    >>> from effax.experimental import sparse
    >>> m = sparse.BCOO.fromdense(jnp.array([[1., 0., 2.], [0., 3., 0.]]))
    >>> sparse.bcoo_concatenate([m, m], dimension=1).shape
    (2, 6)
    """
    first = operands[0]
    axis = dimension - first.n_batch
    if not 0 <= axis < first.n_sparse:
        raise NotImplementedError(f"bcoo_concatenate along axis {dimension}, which is not sparse")
    moved, offset = [], 0
    for x in operands:
        rest = [(n, m) for i, (n, m) in enumerate(zip(x.shape, first.shape, strict=True))
                if i != dimension]  # fmt: skip
        if any(n != m for n, m in rest) or (x.n_batch, x.n_dense) != (first.n_batch, first.n_dense):
            raise ValueError(f"bcoo_concatenate: {x!r} does not go with {first!r}")
        shift = jnp.zeros(x.n_sparse, x.indices.dtype).at[axis].set(offset)
        keep = inside(x.indices, sparse_shape(x))[..., None]
        moved.append(x.like(x.data))
        moved[-1].indices = jnp.where(keep, x.indices + shift, jnp.iinfo(x.indices.dtype).max)
        offset += x.shape[dimension]
    shape = (*first.shape[:dimension], offset, *first.shape[dimension + 1 :])
    return BCOO(_joined(moved), shape=shape)


@compiled()
def bcoo_sort_indices(mat: BCOO) -> BCOO:
    """The same array, its positions in order.

    >>> import effax.numpy as jnp
    >>> from effax.experimental import sparse
    >>> m = sparse.BCOO((jnp.array([5., 7.]), jnp.array([[2], [0]])), shape=(3,))
    >>> sparse.bcoo_sort_indices(m).data
    Array([7., 5.], dtype=float32)
    """

    def one(data: Array, indices: Array) -> tuple[Array, Array]:
        order = jnp.lexsort(_at(indices)[::-1])
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
    """The same array with each position once, in order.

    `nse` is the room for them; by default as much as is needed, which is not known of a traced
    array (`ConcretizationTypeError`).

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


@compiled("permutation")
def bcoo_transpose(mat: BCOO, *, permutation: Sequence[int]) -> BCOO:
    """The axes in another order; batch, sparse and dense axes stay among themselves.

    Raises `NotImplementedError` where they don't.

    >>> import effax.numpy as jnp
    >>> from effax.experimental import sparse
    >>> m = sparse.BCOO.fromdense(jnp.array([[1., 0., 2.], [0., 3., 0.]]))
    >>> sparse.bcoo_transpose(m, permutation=(1, 0)).shape
    (3, 2)
    """
    order = tuple(int(p) % mat.ndim for p in permutation)
    if sorted(order) != list(range(mat.ndim)):
        raise ValueError(f"bcoo_transpose: {permutation} is no order of {mat.ndim} axes")
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


@compiled("axes")
def bcoo_reduce_sum(mat: BCOO, *, axes: Sequence[int]) -> BCOO:
    """The sum along some axes, still sparse along the others.

    >>> import effax.numpy as jnp
    >>> from effax.experimental import sparse
    >>> m = sparse.BCOO.fromdense(jnp.array([[1., 0., 2.], [0., 3., 0.]]))
    >>> sparse.bcoo_reduce_sum(m, axes=[1]).todense()
    Array([3., 3.], dtype=float32)
    """
    along = {int(a) % mat.ndim for a in axes}
    b, s = mat.n_batch, mat.n_batch + mat.n_sparse
    if any(a < b for a in along):
        raise NotImplementedError(f"bcoo_reduce_sum of {mat!r} along batch axes")
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
    """The elements in another shape. Raises `NotImplementedError` with batch or dense axes.

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
            f"bcoo_reshape of {mat!r}: without batch and dense axes, and without `dimensions`"
        )
    sizes = [int(n) for n in new_sizes]
    if -1 in sizes:
        rest = prod(n for n in sizes if n != -1)
        sizes[sizes.index(-1)] = mat.size // rest if rest else 0
    if prod(sizes) != mat.size:
        raise TypeError(f"bcoo_reshape: {mat.size} elements do not fill the shape {tuple(sizes)}")
    position = jnp.zeros(mat.nse, mat.indices.dtype)
    for i, n in zip(_at(mat.indices), mat.shape, strict=True):
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
    """A box of the array; elements outside of it stay, but do not count.

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
            raise TypeError(f"bcoo_slice: {a}:{z}:{step} is no part of an axis of length {n}")
    b, s = mat.n_batch, mat.n_batch + mat.n_sparse
    cuts = [slice(*span) for span in spans]
    data = mat.data[(*cuts[:b], slice(None), *cuts[s:])]
    indices = mat.indices[tuple(cuts[:b])]
    starts, ends, by = (_beside(indices, [span[k] for span in spans[b:s]]) for k in range(3))
    keep = (indices >= starts) & (indices < ends) & ((indices - starts) % by == 0)
    moved = jnp.where(
        jnp.all(keep, -1, keepdims=True), (indices - starts) // by, jnp.iinfo(indices.dtype).max
    )
    shape = tuple(-(-(z - a) // step) for a, z, step in spans)
    return BCOO((data, moved), shape=shape, unique_indices=mat.unique_indices)


@compiled("dimensions")
def bcoo_squeeze(arr: BCOO, *, dimensions: Sequence[int]) -> BCOO:
    """The array without some axes of length 1. Raises `ValueError` for other axes.

    >>> import effax.numpy as jnp
    >>> from effax.experimental import sparse
    >>> m = sparse.BCOO.fromdense(jnp.array([[1., 0., 2.]]))
    >>> sparse.bcoo_squeeze(m, dimensions=[0]).shape
    (3,)
    """
    gone = {int(d) % arr.ndim for d in dimensions}
    if any(arr.shape[d] != 1 for d in gone):
        raise ValueError(f"bcoo_squeeze: axes {sorted(gone)} of {arr!r} are not all of length 1")
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
                f"a sparse array is indexed by integers and slices forwards, and not by {part!r}"
            )
    starts, stops, steps = zip(*spans, strict=True) if spans else ((), (), ())
    found = bcoo_slice(mat, start_indices=starts, limit_indices=stops, strides=steps)
    return bcoo_squeeze(found, dimensions=gone)
