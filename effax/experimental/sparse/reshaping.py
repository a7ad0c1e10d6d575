"""Other shapes for the elements of a `BCOO`: `bcoo_reshape` and `bcoo_broadcast_in_dim`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod

import effax.numpy as jnp
from effax.effects.value import Array
from effax.experimental.sparse.bcoo import BCOO
from effax.experimental.sparse.compiling import compiled
from effax.experimental.sparse.elements import inside, only_inside, placed_at, sparse_shape
from effax.experimental.sparse.layouts import positions
from effax.experimental.sparse.rearranging import bcoo_transpose


@compiled("new_sizes", "dimensions")
def bcoo_reshape(
    mat: BCOO, *, new_sizes: Sequence[int], dimensions: Sequence[int] | None = None
) -> BCOO:
    """Return the elements in another shape; batch, sparse and dense axes are not mixed.

    Args:
      mat: the sparse array.
      new_sizes: the shape of the result; one length may be -1, and is found from the others.
      dimensions: a permutation of the axes of `mat`, which is done first.

    Returns:
      A `BCOO`. Its first axes that are as long together as the batch axes of `mat` are batch axes,
      with those of length 1 that follow; the dense axes are found in the same way from the end.

    Raises:
      TypeError: for a shape of another size.
      ValueError: for a shape that mixes batch, sparse and dense axes.
      NotImplementedError: for an array with shared batch axes.

    >>> import effax.numpy as jnp
    >>> from effax.experimental import sparse
    >>> m = sparse.BCOO.fromdense(jnp.array([[1., 0., 2.], [0., 3., 0.]]))
    >>> sparse.bcoo_reshape(m, new_sizes=(3, 2)).todense()
    Array([[1., 0.],
           [2., 0.],
           [3., 0.]], dtype=float32)
    """
    if dimensions is not None:
        mat = bcoo_transpose(mat, permutation=dimensions)
    lead = mat.shape[: mat.n_batch]
    sizes = [int(n) for n in new_sizes]
    if -1 in sizes:
        rest = prod(n for n in sizes if n != -1)
        sizes[sizes.index(-1)] = mat.size // rest if rest else 0
    if prod(sizes) != mat.size:
        raise TypeError(f"bcoo_reshape: {mat.size} elements do not fill the shape {tuple(sizes)}")
    b, s = _parts(mat, sizes)
    if mat.data.shape[: mat.n_batch] != lead or mat.indices.shape[: mat.n_batch] != lead:
        raise NotImplementedError(
            "bcoo_reshape: reshape of arrays with broadcasted batch dimensions. data of shape "
            f"{mat.data.shape} and indices of shape {mat.indices.shape} must have the batch axes "
            f"{lead}; broadcast them first"
        )
    indices = _renumbered(mat, sizes[b:s])
    # Without sparse axes no element lies outside.
    data = only_inside(mat) if s == b else mat.data
    return BCOO(
        (
            data.reshape(*sizes[:b], mat.nse, *sizes[s:]),
            indices.reshape(*sizes[:b], mat.nse, s - b),
        ),
        shape=sizes,
        unique_indices=mat.unique_indices,
    )


def _parts(mat: BCOO, sizes: Sequence[int]) -> tuple[int, int]:
    """Return where the sparse axes of a shape begin and end."""
    of_batch, of_sparse = prod(mat.shape[: mat.n_batch]), prod(sparse_shape(mat))
    starts = [b for b in range(len(sizes) + 1) if prod(sizes[:b]) == of_batch]
    for b in reversed(starts):
        for s in range(len(sizes), b - 1, -1):
            if s < len(sizes) and not mat.n_dense:
                break
            dense = mat.shape[mat.n_batch + mat.n_sparse :]
            if prod(sizes[b:s]) == of_sparse and prod(sizes[s:]) == prod(dense):
                return b, s
    kinds = "sparse and dense" if starts else "batch and sparse"
    raise ValueError(
        f"bcoo_reshape: new shape cannot mix {kinds} dimensions: {tuple(sizes)} for {mat!r}; "
        "use bcoo_update_layout first"
    )


def _renumbered(mat: BCOO, sizes: Sequence[int]) -> Array:
    """The positions of elements where the sparse axes have other lengths."""
    position = jnp.zeros(mat.indices.shape[:-1], mat.indices.dtype)
    for i, n in zip(placed_at(mat.indices), sparse_shape(mat), strict=True):
        position = position * n + i
    found: list[Array] = []
    for n in reversed(sizes):
        found.insert(0, position % n if n else position)
        position = position // n if n else position
    if not found:
        return jnp.zeros((*position.shape, 0), mat.indices.dtype)
    keep = inside(mat.indices, sparse_shape(mat))[..., None]
    return jnp.where(keep, jnp.stack(found, -1), jnp.array(sizes, mat.indices.dtype))


@compiled("shape", "broadcast_dimensions", "sharding")
def bcoo_broadcast_in_dim(
    mat: BCOO, *, shape: Sequence[int], broadcast_dimensions: Sequence[int], sharding: None = None
) -> BCOO:
    """Return the elements in a shape with more axes, or longer ones.

    Args:
      mat: the sparse array.
      shape: the shape of the result.
      broadcast_dimensions: for each axis of `mat`, the axis of the result, in increasing order; it
        has the same length, or that of `mat` is 1.
      sharding: must be None.

    Returns:
      A `BCOO`. New axes before the first sparse one are batch axes. New axes after the first dense
      one are dense, and others are sparse. Each position of a longer sparse axis has elements of
      its own.

    Raises:
      ValueError: for axes that do not fit.

    >>> import effax.numpy as jnp
    >>> from effax.experimental import sparse
    >>> m = sparse.BCOO.fromdense(jnp.array([1., 0., 2.]))
    >>> sparse.bcoo_broadcast_in_dim(m, shape=(2, 3), broadcast_dimensions=(1,))
    BCOO(float32[2, 3], nse=2, n_batch=1)
    """
    if sharding is not None:
        raise NotImplementedError(
            f"bcoo_broadcast_in_dim: sharding must be None, got {sharding!r}; place the data and "
            "the indices by device_put"
        )
    sizes, places = [int(n) for n in shape], [int(d) for d in broadcast_dimensions]
    fits = (
        len(places) == mat.ndim
        and all(0 <= p < len(sizes) for p in places)
        and all(p < q for p, q in pairwise(places))
        and all(n in (1, sizes[p]) for n, p in zip(mat.shape, places, strict=True))
    )
    if not fits:
        raise ValueError(
            f"bcoo_broadcast_in_dim: the axes {tuple(places)} of shape {tuple(sizes)} must be "
            f"increasing, and as long as the {mat.ndim} axes of {mat!r} where those are not 1"
        )
    b, s = mat.n_batch, mat.n_batch + mat.n_sparse
    end = len(sizes)
    first = places[b] if b < mat.ndim else end
    last = places[s] if mat.n_dense else end

    def spread(lengths: Sequence[int], axes: Sequence[int], count: int) -> list[int]:
        known = dict(zip(axes, lengths, strict=True))
        return [known.get(i, 1) for i in range(count)]

    data = mat.data.reshape(
        *spread(mat.data.shape[:b], places[:b], first),
        mat.nse,
        *spread(mat.shape[s:], [p - last for p in places[s:]], end - last),
    )
    lead = spread(mat.indices.shape[:b], places[:b], first)
    indices = mat.indices.reshape(*lead, mat.nse, mat.n_sparse)
    data = jnp.broadcast_to(data, (*sizes[:first], mat.nse, *sizes[last:]))
    indices = jnp.broadcast_to(indices, (*sizes[:first], mat.nse, mat.n_sparse))
    return _longer(mat, data, indices, sizes, [p - first for p in places[b:s]], (first, last))


def _longer(
    mat: BCOO,
    data: Array,
    indices: Array,
    sizes: Sequence[int],
    places: Sequence[int],
    ends: tuple[int, int],
) -> BCOO:
    """The array with longer and more sparse axes, of which those of `mat` are at `places`."""
    first, last = ends
    lengths = sizes[first:last]
    known = dict(zip(places, range(mat.n_sparse), strict=True))
    same = [i for i, n in enumerate(lengths) if n == 1 or sparse_length(mat, known.get(i)) == n]
    grid = positions([1 if i in same else n for i, n in enumerate(lengths)], indices.dtype)
    keep = inside(indices, sparse_shape(mat))[..., None, None]
    columns = [
        indices[..., known[i]] if i in known else jnp.zeros(indices.shape[:-1], indices.dtype)
        for i in range(len(lengths))
    ]
    nse, copies = mat.nse * len(grid), len(grid)
    if lengths:
        placed = jnp.stack(columns, -1)[..., None, :] + grid
        placed = jnp.where(keep, placed, jnp.array(lengths, indices.dtype))
        indices = placed.reshape(*indices.shape[:-2], nse, len(lengths))
    data = jnp.repeat(data, copies, first) if copies != 1 else data
    return BCOO((data, indices), shape=sizes, unique_indices=mat.unique_indices)


def sparse_length(mat: BCOO, axis: int | None) -> int:
    """The length of a sparse axis, counted from the first of them; 1 for an axis that is new."""
    return 1 if axis is None else sparse_shape(mat)[axis]
