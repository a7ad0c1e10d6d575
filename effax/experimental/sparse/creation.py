"""Sparse arrays made of nothing: without elements, with ones on a diagonal, at random."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Final

import effax.numpy as jnp
from effax import random
from effax.effects.value import Array
from effax.experimental.sparse.bcoo import BCOO
from effax.experimental.sparse.bcsr import BCSR
from effax.experimental.sparse.coo import COO
from effax.experimental.sparse.csr import CSC, CSR


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
) -> Any:
    """Return a sparse array without elements.

    Args:
      shape: the shape of the result.
      dtype: the dtype of the result; by default that of floats.
      index_dtype: the dtype of the indices.
      sparse_format: "bcoo", "bcsr", "coo", "csr" or "csc".

    >>> empty((2, 3))
    BCOO(float32[2, 3], nse=0)
    """
    data = jnp.zeros(0, float if dtype is None else dtype)
    indices = jnp.zeros((0, len(shape)), index_dtype)
    made = BCOO((data, indices), shape=shape, indices_sorted=True, unique_indices=True)
    return _as_format(made, sparse_format)


def eye(
    N: int,  # noqa: N803
    M: int | None = None,  # noqa: N803
    k: int = 0,
    dtype: Any = None,
    index_dtype: Any = "int32",
    sparse_format: str = "bcoo",
) -> Any:
    """Return a matrix with ones on its k-th diagonal.

    Args:
      N: the number of rows.
      M: the number of columns; by default `N`.
      k: the diagonal: 0 for the main one, positive above it, negative below.
      dtype: the dtype of the result; by default that of floats.
      index_dtype: the dtype of the indices.
      sparse_format: "bcoo", "bcsr", "coo", "csr" or "csc".

    >>> eye(2, 3, k=1).todense()
    Array([[0., 1., 0.],
           [0., 0., 1.]], dtype=float32)
    """
    rows, columns = int(N), int(N if M is None else M)
    count = max(0, min(rows + min(k, 0), columns - max(k, 0)))
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
    unique_indices: bool = True,
    sorted_indices: bool = False,
    generator: Callable[..., Array] = random.uniform,
) -> BCOO:
    """Return a sparse array with elements of a distribution at random positions.

    Args:
      key: a random key.
      shape: the shape; all axes are sparse.
      dtype: the dtype of elements.
      indices_dtype: the dtype of positions, int32 by default.
      nse: how many elements, or below 1 which part of all.
      unique_indices: whether no position is there twice.
      sorted_indices: whether positions are in order.
      generator: draws elements, `generator(key, shape, dtype)`.

    >>> import effax
    >>> random_bcoo(effax.random.key(0), (10, 10), nse=0.1)
    BCOO(float32[10, 10], nse=10)
    """
    size = prod(shape)
    count = int(nse * size) if 0 < nse < 1 else int(nse)
    if not 0 <= count <= size:
        raise ValueError(
            f"random_bcoo: nse must be from 0 to {size}, the number of elements, got {nse}"
        )
    of_places, of_data = random.split(key)
    places = random.choice(of_places, size, (count,), replace=not unique_indices)
    found = jnp.stack(jnp.unravel_index(places, tuple(shape)), 1)
    data = generator(of_data, (count,), dtype)
    indices = found.astype(indices_dtype or jnp.int32)
    made = BCOO((data, indices), shape=shape, unique_indices=unique_indices)
    return made.sort_indices() if sorted_indices else made
