"""Indices of several axes and positions in an array read as a vector, one from the other."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from math import prod
from typing import Any, SupportsIndex

import numpy as np

from effax.eager.whole import opening, whole
from effax.effects.errors import ConcretizationTypeError
from effax.effects.handler import Carrier
from effax.effects.promotion import lattice_result
from effax.effects.rows import shape as shapes
from effax.effects.types import default_int, iinfo, is_integer, position_dtype, typeof, user_dtype
from effax.effects.value import Array, ArrayLike, DTypeLike, Shape, Value
from effax.numpy.arithmetic import add, divmod, multiply, remainder
from effax.numpy.choosing import clip, where
from effax.numpy.comparing import greater, less
from effax.operands.arguments import cast, check_arrays, listed
from effax.operands.promoting import array, asarray


def ix_(*args: ArrayLike) -> tuple[Array, ...]:
    """Return vectors as index arrays of an open mesh: `x[ix_(rows, columns)]` is a block of x.

    Vectors of Booleans stand for the places where they are True. Raises `ValueError` for other
    ranks than 1.

    >>> import effax.numpy as jnp
    >>> x = jnp.arange(9).reshape(3, 3)
    >>> x[jnp.ix_(jnp.array([0, 2]), jnp.array([1, 2]))]
    Array([[1, 2],
           [7, 8]], dtype=int32)
    """
    from effax.numpy.searching import nonzero

    result = []
    for given in args:
        x = asarray(given, "ix_")
        if typeof(x).ndim != 1:
            raise ValueError("Arguments to jnp.ix_ must be 1-dimensional")
        if typeof(x).dtype.kind == "b":
            (x,) = nonzero(x)
        elif typeof(x).size == 0:
            x = np.zeros(0, default_int())
        result.append(x)
    return _open_mesh(tuple(result))


@whole()
def _open_mesh(vectors: tuple[Array, ...]) -> tuple[Array, ...]:
    ndim = len(vectors)
    return tuple(
        shapes.reshape(x, shape=(1,) * i + typeof(x).shape + (1,) * (ndim - 1 - i))
        for i, x in enumerate(vectors)
    )


@opening
def unravel_index(indices: ArrayLike, shape: SupportsIndex | Shape | Array) -> tuple[Array, ...]:
    """Return the indices, an array for each axis, of positions in an array read as a vector.

    Args:
      indices: integers, array_like: the positions. Negative ones count from the end; those outside
        give the last, or first, index.
      shape: the shape of the array.

    >>> import effax.numpy as jnp
    >>> jnp.unravel_index(jnp.array([0, 5]), (2, 3))
    (Array([0, 1], dtype=int32), Array([0, 2], dtype=int32))
    """
    check_arrays("unravel_index", indices)
    lengths = listed(shape)
    if any(np.ndim(n) for n in lengths):
        raise ValueError("unravel_index: shape should be a scalar or 1D sequence.")
    if not is_integer(typeof(indices).dtype):
        raise TypeError("only int indices permitted")
    if not any(isinstance(n, Value) for n in lengths):
        lengths = tuple(operator.index(n) for n in lengths)
    elif any(typeof(n).dtype.kind not in "iu" for n in lengths):
        raise TypeError("unravel_index: the lengths of a shape must be integers")
    return _unravel_index(indices, lengths)


@whole("lengths")
def _unravel_index(indices: ArrayLike, lengths: tuple[int, ...]) -> tuple[Array, ...]:
    known = all(isinstance(n, int) for n in lengths)
    rest = _wide(indices, prod(lengths) if known else 0)
    found = []
    for n in reversed(lengths):
        rest, place = divmod(rest, n)
        found.append(place)
    above = greater(rest, 0)
    if typeof(rest).dtype.kind == "i":
        below = less(rest, -1)
        found = [where(below, 0, place) for place in found]
    found = [where(above, n - 1, place) for n, place in zip(lengths, reversed(found), strict=True)]
    given = typeof(indices).dtype
    fits = not known or max(lengths, default=0) - 1 <= iinfo(given).max
    return tuple(cast(place, given) if fits else place for place in found)


def _wide(indices: ArrayLike, size: int) -> Any:
    """Positions in a dtype that holds `size` too: eight bits hold few positions, and no lengths."""
    narrow = typeof(indices).dtype.itemsize < 4
    return cast(array(indices), position_dtype(size)) if narrow else array(indices)


@opening
def ravel_multi_index(
    multi_index: Sequence[ArrayLike],
    dims: Sequence[int],
    mode: str = "raise",
    order: str = "C",
    *,
    dtype: DTypeLike | None = None,
) -> Array:
    """Return indices, an array for each axis, as positions in an array read as a vector.

    Args:
      multi_index: integers.
      dims: the shape of the array.
      mode: what an index outside does: 'raise', 'clip', 'wrap' or 'ignore'.
      order: 'C', or 'F' for column-major.
      dtype: of the result.

    Raises:
      ValueError: for an index outside with mode='raise'.
      ConcretizationTypeError: while tracing, with mode='raise'.

    >>> import effax.numpy as jnp
    >>> jnp.ravel_multi_index((jnp.array([0, 1]), jnp.array([0, 2])), (2, 3))
    Array([0, 5], dtype=int32)
    """
    check_arrays("ravel_multi_index", *multi_index)
    if len(multi_index) != len(dims):
        raise ValueError(
            f"ravel_multi_index: expected one index array for each of the {len(dims)} dimensions, "
            f"got {len(multi_index)}"
        )
    lengths = tuple(operator.index(d) for d in dims)
    if mode not in ("raise", "clip", "wrap", "ignore"):
        raise ValueError(f"invalid mode={mode!r}. Expected 'raise', 'wrap', 'clip', or 'ignore'.")
    if order not in ("C", "F"):
        raise ValueError(f"invalid order={order!r}. Expected 'C' or 'F'")
    if not all(is_integer(typeof(i).dtype) for i in multi_index):
        raise ValueError("only int indices permitted")
    wanted = (
        lattice_result([typeof(0), *map(typeof, multi_index)])[0]
        if dtype is None
        else user_dtype(dtype, "ravel_multi_index")
    )
    if wanted.kind not in "iu":
        raise ValueError(f"dtype={wanted} is not an integer type.")
    if prod(lengths) - 1 > iinfo(wanted).max:
        raise ValueError(
            f"jnp.ravel_multi_index: dims={lengths} have positions beyond the range of {wanted}; "
            "pass dtype='int64', with x64 on"
        )
    if mode == "raise":
        for index, n in zip(multi_index, lengths, strict=True):
            if isinstance(index, Carrier):
                raise ConcretizationTypeError(
                    "jnp.ravel_multi_index with mode='raise' looks at the indices, and one is a "
                    "traced value. Use mode='wrap' or mode='clip' instead."
                )
            known = np.asarray(index)
            if ((known < 0) | (known >= n)).any():
                raise ValueError("invalid entry in coordinates array")
    return _ravel_multi_index(tuple(multi_index), lengths, mode, order, wanted)


@whole("lengths", "mode", "order", "dtype")
def _ravel_multi_index(
    indices: tuple[ArrayLike, ...], lengths: tuple[int, ...], mode: str, order: str, dtype: Any
) -> Array:
    total: Any = cast(np.int32(0), dtype)
    stride = 1
    axes = range(len(lengths)) if order == "F" else reversed(range(len(lengths)))
    for i in axes:
        index, n = _wide(indices[i], lengths[i]), lengths[i]
        if mode == "clip":
            index = clip(index, 0, n - 1)
        elif mode == "wrap":
            index = remainder(index, n)
        total = add(total, multiply(cast(index, dtype), stride))
        stride *= n
    return total
