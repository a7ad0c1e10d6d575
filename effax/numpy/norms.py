"""Norms and products of vectors and matrices, as `numpy.linalg` has them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import effax.numpy as jnp
from effax.api.placing.output_sharding import placed
from effax.eager.whole import opening, whole
from effax.effects.types import finfo, typeof
from effax.effects.value import Array, ArrayLike, DTypeLike, OutSharding, PrecisionLike
from effax.numpy.decompositions import floats, svd, svdvals
from effax.numpy.reductions import widened
from effax.numpy.systems import inv
from effax.operands.arguments import canonical_axis, cast
from effax.operands.promoting import arraylike

Axis = Any


def _euclidean(x: Array, axis: Axis, keepdims: bool) -> Array:
    return jnp.sqrt(jnp.sum(jnp.real(x * jnp.conj(x)), axis=axis, keepdims=keepdims))


@whole("ord", "axis", "keepdims")
def norm(
    x: ArrayLike,
    ord: int | float | str | None = None,
    axis: Axis = None,
    keepdims: bool = False,
) -> Array:
    """Return the norm of a vector or a matrix.

    Args:
      x: the array.
      ord: of vectors, any number, inf and -inf (2 by default); of matrices 1, -1, 2, -2, inf,
        -inf, "fro" (the default) and "nuc".
      axis: one axis for vectors, two for matrices; by default all.
      keepdims: keep the axes, with the length 1.

    >>> import effax.numpy as jnp
    >>> jnp.linalg.norm(jnp.array([3.0, 4.0]))
    Array(5., dtype=float32)
    """
    (x,) = floats("linalg.norm", x)
    return _rounded(_norm(widened(x), ord, axis, keepdims), x)


def _rounded(result: Array, x: Array) -> Array:
    """The norm in the dtype that norms of x have: squares may be too large for it."""
    kind = finfo(typeof(x).dtype).dtype
    return result if typeof(result).dtype == kind else cast(result, kind, typeof(x).weak_type)


def _norm(x: Array, ord: Any, axis: Axis, keepdims: bool) -> Array:
    if axis is None:
        if ord is None:
            return _euclidean(x, None, keepdims)
        axes = tuple(range(x.ndim))
    else:
        given = axis if isinstance(axis, Sequence) else (axis,)
        axes = tuple(canonical_axis(a, x.ndim) for a in given)
    if len(axes) == 1:
        return _vector_norm(x, 2 if ord is None else ord, axes, keepdims)
    if len(axes) == 2:
        return _matrix_norm(x, "fro" if ord is None else ord, axes, keepdims)
    raise ValueError(
        "linalg.norm: axis must name one axis (norms of vectors) or two (norms of matrices), got "
        f"{axes}"
    )


def _vector_norm(x: Array, ord: Any, axis: Axis, keepdims: bool) -> Array:
    if isinstance(ord, str):
        hint = f" Use {'-' * ord.startswith('-')}jnp.inf instead." if ord.endswith("inf") else ""
        raise ValueError(f"Invalid order '{ord}' for vector norm.{hint}")
    if ord is None or ord == 2:
        return _euclidean(x, axis, keepdims)
    size = jnp.abs(x)
    if ord == math.inf:
        return jnp.max(size, axis=axis, keepdims=keepdims, initial=0)
    if ord == -math.inf:
        return jnp.min(size, axis=axis, keepdims=keepdims)
    if ord == 0:
        count = finfo(typeof(x).dtype).dtype
        return jnp.sum(x != 0, dtype=count, axis=axis, keepdims=keepdims)
    if ord == 1:
        return jnp.sum(size, axis=axis, keepdims=keepdims)
    total = jnp.sum(jnp.power(size, float(ord)), axis=axis, keepdims=keepdims)
    return jnp.power(total, 1.0 / float(ord))


def _matrix_norm(x: Array, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Array:
    row, column = axes
    if ord in ("f", "fro"):
        return _euclidean(x, axes, keepdims)
    if ord in (1, -1, math.inf, -math.inf):
        inner, outer = (row, column) if abs(ord) == 1 else (column, row)
        sums = jnp.sum(jnp.abs(x), axis=inner, keepdims=True)
        if ord > 0:
            folded = jnp.max(sums, axis=outer, keepdims=True, initial=0)
        else:
            folded = jnp.min(sums, axis=outer, keepdims=True)
        return folded if keepdims else jnp.squeeze(folded, axis=axes)
    if ord not in ("nuc", 2, -2):
        raise ValueError(f"Invalid order '{ord}' for matrix norm.")
    s = svd(jnp.moveaxis(x, axes, (-2, -1)), compute_uv=False)
    if ord == "nuc":
        folded = jnp.sum(s, axis=-1)
    elif ord == 2:
        folded = jnp.max(s, axis=-1, initial=0)
    else:
        folded = jnp.min(s, axis=-1)
    return jnp.expand_dims(folded, tuple(sorted(axes))) if keepdims else folded


def matrix_norm(
    x: ArrayLike, /, *, keepdims: bool = False, ord: int | float | str | None = "fro"
) -> Array:
    """Return the norm of the matrices in the last two axes.

    Args:
      x: array_like, (..., m, n).
      keepdims: whether the reduced axes stay, with length 1.
      ord: the kind of the norm, as for a matrix in `norm`.

    >>> import effax.numpy as jnp
    >>> jnp.linalg.matrix_norm(jnp.array([[3.0, 4.0]]))
    Array(5., dtype=float32)
    """
    return norm(x, ord=ord, axis=(-2, -1), keepdims=keepdims)


@whole("axis", "keepdims", "ord")
def vector_norm(
    x: ArrayLike, /, *, axis: Axis = None, keepdims: bool = False, ord: int | str = 2
) -> Array:
    """Return the norm of vectors along some axes; of all elements as one vector, by default.

    Args:
      x: array_like.
      axis: the axis or axes of the vectors; None for all.
      keepdims: whether the reduced axes stay, with length 1.
      ord: the kind of the norm, as for a vector in `norm`.

    >>> import effax.numpy as jnp
    >>> jnp.linalg.vector_norm(jnp.array([[3.0, 4.0]]))
    Array(5., dtype=float32)
    """
    (x,) = floats("linalg.vector_norm", x)
    return _rounded(_vector_norm(widened(x), ord, axis, keepdims), x)


@whole("p")
def cond(x: ArrayLike, p: int | float | str | None = None) -> Array:
    """Return the condition number: the norm of a matrix times that of its inverse.

    Args:
      x: array_like, (..., m, n), square unless `p` is None, 2 or -2.
      p: the kind of the norm, as for a matrix in `norm`; by default 2.

    >>> import effax.numpy as jnp
    >>> jnp.linalg.cond(jnp.diag(jnp.array([1.0, 4.0])))
    Array(4., dtype=float32)
    """
    (x,) = floats("linalg.cond", x)
    if x.ndim < 2:
        raise ValueError(f"jnp.linalg.cond: input array must be at least 2D; got {x.shape}")
    if 0 in x.shape[-2:]:
        raise ValueError(f"jnp.linalg.cond: input array must not be empty; got {x.shape}")
    if p is None or p == 2:
        s = svdvals(x)
        return s[..., 0] / s[..., -1]
    if p == -2:
        s = svdvals(x)
        ratio = s[..., -1] / s[..., 0]
    else:
        if x.shape[-2] != x.shape[-1]:
            raise ValueError(f"jnp.linalg.cond: for p={p}, array must be square; got {x.shape}")
        ratio = norm(x, ord=p, axis=(-2, -1)) * norm(inv(x), ord=p, axis=(-2, -1))
    valid = ~jnp.any(jnp.isnan(x), axis=(-2, -1))
    return jnp.where(jnp.isnan(ratio) & valid, math.inf, ratio)


def multi_dot(arrays: Sequence[ArrayLike], *, precision: PrecisionLike = None) -> Array:
    """Return the product of several matrices, computed in the cheapest order.

    Args:
      arrays: a sequence of at least two matrices; the first and the last may be vectors.
      precision: as for `lax.dot_general`.

    >>> import effax.numpy as jnp
    >>> jnp.linalg.multi_dot([jnp.ones(2), jnp.ones((2, 3)), jnp.ones(3)])
    Array(6., dtype=float32)
    """
    given = arraylike("linalg.multi_dot", *arrays)
    shapes = [typeof(x).shape for x in given]
    if len(given) < 2:
        raise ValueError(f"multi_dot requires at least two arrays; got len(arrays)={len(given)}")
    if any(len(s) != 2 for s in shapes[1:-1]) or any(
        len(s) not in (1, 2) for s in (shapes[0], shapes[-1])
    ):
        raise ValueError(
            "linalg.multi_dot: arrays have rank 2, and the first and the last may have rank 1; got "
            f"shapes {shapes}"
        )
    if any(a[-1] != b[0] for a, b in pairwise(shapes)):
        raise ValueError(
            "linalg.multi_dot: an array's last axis and the next one's first must have one length; "
            f"got shapes {shapes}"
        )
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    terms = [letters[i : i + 2] for i in range(len(given))]
    if len(shapes[0]) == 1:
        terms[0] = terms[0][1:]
    if len(shapes[-1]) == 1:
        terms[-1] = terms[-1][:1]
    result = (terms[0][0] if len(shapes[0]) == 2 else "") + (
        terms[-1][-1] if len(shapes[-1]) == 2 else ""
    )
    return jnp.einsum(f"{','.join(terms)}->{result}", *given, precision=precision)


def cross(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Array:
    """Return the cross product of vectors of three elements.

    Args:
      x1, x2: array_like, of length 3 along `axis`, broadcast against each other.
      axis: the axis of the vectors; negative ones count from the end.

    >>> import effax.numpy as jnp
    >>> jnp.linalg.cross(jnp.array([1, 0, 0]), jnp.array([0, 1, 0]))
    Array([0, 0, 1], dtype=int32)
    """
    lengths = [typeof(x).shape[axis] for x in arraylike("linalg.cross", x1, x2)]
    if lengths != [3, 3]:
        raise ValueError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, but they have the "
            f"lengths {lengths}"
        )
    return jnp.cross(x1, x2, axis=axis)


def outer(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Return all products of an element of one vector and an element of another.

    Args:
      x1, x2: array_like, (m,) and (n,).

    >>> import effax.numpy as jnp
    >>> jnp.linalg.outer(jnp.array([1, 2]), jnp.array([3, 4]))
    Array([[3, 4], [6, 8]], dtype=int32)
    """
    ranks = [typeof(x).ndim for x in arraylike("linalg.outer", x1, x2)]
    if ranks != [1, 1]:
        raise ValueError(f"Input arrays must be one-dimensional, but they have the ranks {ranks}")
    return jnp.outer(x1, x2)


@opening
def matrix_transpose(x: ArrayLike, /) -> Array:
    """Return the array with its last two axes exchanged.

    Args:
      x: array_like, (..., m, n).

    >>> import effax.numpy as jnp
    >>> jnp.linalg.matrix_transpose(jnp.zeros((2, 3))).shape
    (3, 2)
    """
    ndim = typeof(x).ndim
    if ndim < 2:
        raise ValueError(f"matrix_transpose requires at least 2 dimensions; got ndim={ndim}")
    return jnp.swapaxes(x, -1, -2)


def diagonal(x: ArrayLike, /, *, offset: int = 0) -> Array:
    """Return the diagonals of the matrices in the last two axes.

    Args:
      x: array_like, (..., m, n).
      offset: the diagonal: 0 for the main one, positive above it, negative below.

    >>> import effax.numpy as jnp
    >>> jnp.linalg.diagonal(jnp.eye(2))
    Array([1., 1.], dtype=float32)
    """
    return jnp.diagonal(x, offset=offset, axis1=-2, axis2=-1)


def trace(x: ArrayLike, /, *, offset: int = 0, dtype: DTypeLike | None = None) -> Array:
    """Return the sums of the diagonals of the matrices in the last two axes.

    Args:
      x: array_like, (..., m, n).
      offset: the diagonal: 0 for the main one, positive above it, negative below.
      dtype: the dtype of the result; by default that of `x`, with narrow integers widened.

    >>> import effax.numpy as jnp
    >>> jnp.linalg.trace(jnp.eye(2))
    Array(2., dtype=float32)
    """
    return jnp.trace(x, offset=offset, axis1=-2, axis2=-1, dtype=dtype)


def matmul(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Return the matrix product, as `jnp.matmul`.

    Args:
      x1, x2: array_like, of at least one axis, the leading axes broadcast against each other.
      precision: as for `lax.dot_general`.
      preferred_element_type: the dtype to accumulate in, and of the result.

    >>> import effax.numpy as jnp
    >>> jnp.linalg.matmul(jnp.eye(2), jnp.array([1.0, 2.0]))
    Array([1., 2.], dtype=float32)
    """
    return jnp.matmul(x1, x2, precision=precision, preferred_element_type=preferred_element_type)


@placed
def tensordot(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    axes: int | Sequence[int] | Sequence[Sequence[int]] = 2,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: OutSharding = None,
) -> Array:
    """Return sums of products over paired axes, as `jnp.tensordot`.

    Args:
      x1, x2: array_like.
      axes: a number n, for the last n axes of `x1` with the first n of `x2`; or a pair of axes, or
        of sequences of axes, of `x1` and of `x2`.
      precision: as for `lax.dot_general`.
      preferred_element_type: the dtype to accumulate in, and of the result.
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    >>> import effax.numpy as jnp
    >>> jnp.linalg.tensordot(jnp.ones((2, 3)), jnp.ones((2, 3)))
    Array(6., dtype=float32)
    """
    return jnp.tensordot(
        x1,
        x2,
        axes=axes,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def vecdot(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    axis: int = -1,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Return sums of products along an axis, the first factor conjugated, as `jnp.vecdot`.

    Args:
      x1, x2: array_like, broadcast against each other except along `axis`.
      axis: the axis of the vectors; negative ones count from the end.
      precision: as for `lax.dot_general`.
      preferred_element_type: the dtype to accumulate in, and of the result.

    >>> import effax.numpy as jnp
    >>> jnp.linalg.vecdot(jnp.array([1.0, 2.0]), jnp.array([3.0, 4.0]))
    Array(11., dtype=float32)
    """
    return jnp.vecdot(
        x1, x2, axis=axis, precision=precision, preferred_element_type=preferred_element_type
    )
