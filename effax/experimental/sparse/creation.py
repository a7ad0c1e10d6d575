"""Sparse arrays made of nothing: without elements, with ones on a diagonal, at random."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, prod
from typing import Any, Final

import effax.numpy as jnp
from effax import random
from effax.api.mapping.vmap import vmap
from effax.effects.value import Array
from effax.experimental.sparse.bcoo import BCOO
from effax.experimental.sparse.bcsr import BCSR
from effax.experimental.sparse.coo import COO
from effax.experimental.sparse.csr import CSC, CSR
from effax.experimental.sparse.elements import bcoo_fromdense


def _as_format(made: BCOO, sparse_format: str) -> Any:
    if sparse_format == "bcoo":
        return made
    if sparse_format in _FORMATS:
        return _FORMATS[sparse_format].from_bcoo(made)
    known = ", ".join(map(repr, ("bcoo", *_FORMATS)))
    raise ValueError(f"sparse_format={sparse_format!r} not recognized; it must be one of {known}")


_FORMATS: Final[dict[str, Any]] = {"bcsr": BCSR, "coo": COO, "csr": CSR, "csc": CSC}


def empty(
    shape: Sequence[int],
    dtype: Any = None,
    index_dtype: Any = "int32",
    sparse_format: str = "bcoo",
    *,
    nse: int = 0,
    n_batch: int = 0,
    n_dense: int = 0,
) -> Any:
    """Return a sparse array whose elements are all zero.

    Args:
      shape: the shape of the result.
      dtype: the dtype of the result; by default that of floats.
      index_dtype: the dtype of the indices.
      sparse_format: "bcoo", "bcsr", "coo", "csr" or "csc".
      nse: the number of unused places in each batch.
      n_batch, n_dense: how many axes are batch axes, and how many are dense.

    Raises:
      ValueError: for more batch and dense axes than there are.

    >>> empty((2, 3))
    BCOO(float32[2, 3], nse=0)
    """
    batch, lengths, dense = _parts("empty", shape, n_batch, n_dense)
    data = jnp.zeros((*batch, nse, *dense), float if dtype is None else dtype)
    outside = jnp.array(lengths, index_dtype)
    indices = jnp.broadcast_to(outside, (*batch, nse, len(lengths)))
    made = BCOO((data, indices), shape=shape, indices_sorted=True, unique_indices=True)
    return _as_format(made, sparse_format)


def _parts(
    name: str, shape: Sequence[int], n_batch: int, n_dense: int
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """The batch, sparse and dense part of a shape."""
    sizes = tuple(int(n) for n in shape)
    end = len(sizes) - n_dense
    if n_batch < 0 or n_dense < 0 or n_batch > end:
        raise ValueError(
            f"{name}: {n_batch=} and {n_dense=} must not be negative, nor more than the axes of "
            f"shape {sizes} together"
        )
    return sizes[:n_batch], sizes[n_batch:end], sizes[end:]


def eye(
    N: int,  # noqa: N803
    M: int | None = None,  # noqa: N803
    k: int = 0,
    dtype: Any = None,
    index_dtype: Any = "int32",
    sparse_format: str = "bcoo",
    *,
    n_batch: int = 0,
    n_dense: int = 0,
) -> Any:
    """Return a matrix with ones on its k-th diagonal.

    Args:
      N: the number of rows.
      M: the number of columns; by default `N`.
      k: the diagonal: 0 for the main one, positive above it, negative below.
      dtype: the dtype of the result; by default that of floats.
      index_dtype: the dtype of the indices.
      sparse_format: "bcoo", "bcsr", "coo", "csr" or "csc".
      n_batch, n_dense: how many of the two axes are batch axes, and how many are dense.

    Raises:
      ValueError: for more batch and dense axes than two.

    >>> eye(2, 3, k=1).todense()
    Array([[0., 1., 0.],
           [0., 0., 1.]], dtype=float32)
    """
    rows, columns = int(N), int(N if M is None else M)
    _parts("eye", (rows, columns), n_batch, n_dense)
    count = max(0, min(rows + min(k, 0), columns - max(k, 0)))
    if n_dense or n_batch == 2:  # as many elements are stored as the dense matrix has
        full = jnp.eye(rows, columns, k, dtype=float if dtype is None else dtype)
        nse = 0 if not count else count if (n_batch, n_dense) == (0, 1) else 1
        options: dict[str, Any] = {"n_batch": n_batch, "n_dense": n_dense}
        return _as_format(
            bcoo_fromdense(full, nse=nse, index_dtype=index_dtype, **options), sparse_format
        )
    if n_batch:
        of_rows = jnp.arange(rows, dtype=index_dtype)[:, None] + k
        inside = (of_rows >= 0) & (of_rows < columns)
        data = jnp.where(inside, 1, 0).astype(float if dtype is None else dtype)
        indices = jnp.where(inside, of_rows, columns)[..., None]
        nse = min(count, 1)
        made = BCOO(
            (data[:, :nse], indices[:, :nse]),
            shape=(rows, columns),
            indices_sorted=True,
            unique_indices=True,
        )
        return _as_format(made, sparse_format)
    place = jnp.arange(count, dtype=index_dtype)
    indices = jnp.stack([place - min(k, 0), place + max(k, 0)], 1)
    data = jnp.ones(count, float if dtype is None else dtype)
    made = BCOO((data, indices), shape=(rows, columns), indices_sorted=True, unique_indices=True)
    return _as_format(made, sparse_format)


def random_bcoo(
    key: Array,
    shape: Sequence[int],
    *,
    dtype: Any = float,
    indices_dtype: Any = None,
    nse: float = 0.2,
    n_batch: int = 0,
    n_dense: int = 0,
    unique_indices: bool = True,
    sorted_indices: bool = False,
    generator: Callable[..., Array] = random.uniform,
    **kwds: Any,
) -> BCOO:
    """Return a sparse array with elements of a distribution at random positions.

    Args:
      key: a random key.
      shape: the shape of the result.
      dtype: the dtype of elements.
      indices_dtype: the dtype of positions, int32 by default.
      nse: how many elements in each batch, or below 1 which part of its positions, rounded up.
      n_batch, n_dense: how many axes are batch axes, and how many are dense.
      unique_indices: whether no position is there twice in a batch.
      sorted_indices: whether positions are in order.
      generator: draws elements, `generator(key, shape=..., dtype=...)`.
      **kwds: further arguments of `generator`.

    Raises:
      ValueError: for more elements than positions, and for more batch and dense axes than there
        are.

    >>> import effax
    >>> random_bcoo(effax.random.key(0), (10, 10), nse=0.1)
    BCOO(float32[10, 10], nse=10)
    """
    batch, lengths, dense = _parts("random_bcoo", shape, n_batch, n_dense)
    size = prod(lengths)
    count = ceil(nse * size) if 0 < nse < 1 else int(nse)
    if not 0 <= count <= size:
        raise ValueError(
            f"random_bcoo: nse must be from 0 to {size}, the number of positions in a batch, got "
            f"{nse}"
        )
    of_data, *of_places = random.split(key, prod(batch) + 1)

    def drawn(key: Array) -> Array:
        places = random.choice(key, size, (count,), replace=not unique_indices)
        return jnp.stack(jnp.unravel_index(places, lengths), 1)

    index_dtype = indices_dtype or jnp.int32
    if lengths and of_places:
        indices = vmap(drawn)(jnp.stack(of_places)).astype(index_dtype)
    else:
        indices = jnp.zeros((len(of_places), count, len(lengths)), index_dtype)
    data = generator(of_data, shape=(*batch, count, *dense), dtype=dtype, **kwds)
    made = BCOO(
        (data, indices.reshape(*batch, count, len(lengths))),
        shape=shape,
        unique_indices=unique_indices,
    )
    return made.sort_indices() if sorted_indices else made
