"""The positions of triangles and diagonals of matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from effax.eager.whole import opening
from effax.effects.types import default_int
from effax.effects.value import Array, ArrayLike
from effax.numpy.creation import constant, ones
from effax.numpy.even_spacing import arange
from effax.numpy.searching import nonzero
from effax.operands.arguments import check_arrays, concrete_int, shape_of


def _host_indices(found: Sequence[np.ndarray[Any, Any]]) -> tuple[Any, ...]:
    return tuple(constant(x.astype(default_int())) for x in found)


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, ...]:
    """Return the rows and columns of the places on and below a diagonal.

    Args:
      n: the number of rows.
      k: the diagonal: 0 for the main one, positive above it, negative below.
      m: the number of columns; by default `n`.

    >>> [x.tolist() for x in tril_indices(2)]
    [[0, 1, 1], [0, 0, 1]]
    """
    return _host_indices(np.tril_indices(n, k, m))


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, ...]:
    """Return the rows and columns of the places on and above a diagonal.

    Args:
      n: the number of rows.
      k: the diagonal: 0 for the main one, positive above it, negative below.
      m: the number of columns; by default `n`.

    >>> [x.tolist() for x in triu_indices(2)]
    [[0, 0, 1], [0, 1, 1]]
    """
    return _host_indices(np.triu_indices(n, k, m))


def _matrix(name: str, arr: Any) -> tuple[int, ...]:
    check_arrays(name, arr)
    lengths = shape_of(arr)
    if len(lengths) != 2:
        raise ValueError("Only 2-D inputs are accepted")
    return lengths


@opening
def tril_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Array, ...]:
    """Return `tril_indices` for a matrix of this shape.

    Args:
      arr: array_like, (n, m); only its shape is read.
      k: the diagonal: 0 for the main one, positive above it, negative below.

    >>> [x.tolist() for x in tril_indices_from(np.ones((2, 2)))]
    [[0, 1, 1], [0, 0, 1]]
    """
    n, m = _matrix("tril_indices_from", arr)
    return tril_indices(n, k, m)


@opening
def triu_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Array, ...]:
    """Return `triu_indices` for a matrix of this shape.

    Args:
      arr: array_like, (n, m); only its shape is read.
      k: the diagonal: 0 for the main one, positive above it, negative below.

    >>> [x.tolist() for x in triu_indices_from(np.ones((2, 2)))]
    [[0, 0, 1], [0, 1, 1]]
    """
    n, m = _matrix("triu_indices_from", arr)
    return triu_indices(n, k, m)


def diag_indices(n: int, ndim: int = 2) -> tuple[Array, ...]:
    """Return the positions of the diagonal of an array of this length in each of its axes.

    Args:
      n: the length of each axis, an int.
      ndim: the number of axes, an int.

    >>> [x.tolist() for x in diag_indices(2)]
    [[0, 1], [0, 1]]
    """
    count = concrete_int(n, "the 'n' argument of jnp.diag_indices()")
    axes = concrete_int(ndim, "the 'ndim' argument of jnp.diag_indices()")
    if count < 0 or axes < 0:
        raise ValueError(
            f"n and ndim arguments to diag_indices must be nonnegative, got {n}, {ndim}"
        )
    return (arange(count, dtype=int),) * axes


@opening
def diag_indices_from(arr: ArrayLike) -> tuple[Array, ...]:
    """Return the positions of the diagonal of an array with axes of one length.

    Args:
      arr: array_like of at least two axes; only its shape is read.

    >>> [x.tolist() for x in diag_indices_from(np.ones((2, 2)))]
    [[0, 1], [0, 1]]
    """
    check_arrays("diag_indices_from", arr)
    lengths = shape_of(arr)
    if len(lengths) < 2:
        raise ValueError("input array must be at least 2-d")
    if len(set(lengths)) != 1:
        raise ValueError("All dimensions of input must be of equal length")
    return diag_indices(lengths[0], len(lengths))


def mask_indices(
    n: int, mask_func: Callable[[Array, int], ArrayLike], k: int = 0, *, size: int | None = None
) -> tuple[Array, ...]:
    """Return the places of a matrix that a function of a full matrix and k (`triu`, `tril`) leaves.

    Args:
      n: the number of rows and columns.
      mask_func: a function that is called with `ones((n, n))` and `k`; its result is not zero at
        the places to return.
      k: the second argument of `mask_func`, such as a diagonal.
      size: the number of places to return: cut there, or filled up with 0. Under a transform it is
        needed.

    >>> from effax.numpy import triu
    >>> [x.tolist() for x in mask_indices(2, triu)]
    [[0, 0, 1], [0, 1, 1]]
    """
    return nonzero(mask_func(ones((n, n)), k), size=size)
