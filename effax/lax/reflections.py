"""Products of Householder's reflections and Givens's rotations, in `lax.linalg`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from effax.eager.whole import whole
from effax.effects import matrices
from effax.effects.rows import comparison, elementwise, shape
from effax.effects.rows.conversion import convert_element_type
from effax.effects.rows.selection import select_n
from effax.effects.types import is_float, is_inexact, typeof
from effax.effects.value import Array, ArrayLike


def _reflect(vectors: ArrayLike, taus: ArrayLike, c: Any, adjoint: bool, backwards: bool) -> Array:
    """Apply to c the reflections `1 - tau v v^H`, of the columns of `vectors`, one by one."""
    from effax.lax.control import fori_loop
    from effax.lax.slicing import dynamic_index_in_dim

    rank = typeof(vectors).ndim
    count = typeof(taus).shape[-1]
    unit = elementwise.add(matrices.tril(vectors, -1), matrices.identity_like(vectors))
    factors = matrices.conj(taus) if adjoint else taus

    def reflect(step: Array, c: Array) -> Array:
        i = (
            elementwise.sub(shape.scalar(count - 1, typeof(step).dtype), step)
            if backwards
            else step
        )
        v = dynamic_index_in_dim(unit, i, rank - 1)
        tau = dynamic_index_in_dim(factors, i, rank - 2)
        seen = matrices.product(matrices.adjoint(v), c)
        scale = shape.broadcast_in_dim(tau, shape=typeof(seen).shape, dims=tuple(range(rank - 1)))
        return elementwise.sub(c, matrices.product(v, elementwise.mul(scale, seen)))

    return fori_loop(0, count, reflect, c) if count else c


def _check(name: str, operands: Sequence[ArrayLike], ranks: Sequence[int]) -> None:
    """Refuse operands of other ranks, of several dtypes or batches, and integers."""
    types = [typeof(x) for x in operands]
    for place, (type, rank) in enumerate(zip(types, ranks, strict=True)):
        if not is_inexact(type.dtype):
            raise TypeError(f"{name} does not accept dtype {type.dtype.name} at position {place}")
        if type.ndim < rank:
            raise TypeError(
                f"{name}: expected an array of rank at least {rank} at position {place}, got "
                f"shape {type.shape}"
            )
    if (
        len({t.dtype for t in types}) > 1
        or len({t.ndim - r for t, r in zip(types, ranks, strict=True)}) > 1
    ):
        listed = ", ".join(t.str_short() for t in types)
        raise TypeError(f"{name}: expected operands of one dtype and one batch, got {listed}")
    if len({t.shape[: t.ndim - r] for t, r in zip(types, ranks, strict=True)}) > 1:
        listed = ", ".join(str(t.shape) for t in types)
        raise ValueError(f"{name}: expected operands of one batch, got shapes {listed}")


def _weak_with(x: Array, *operands: ArrayLike) -> Array:
    """x, weakly typed where all operands are."""
    weak = all(typeof(o).weak_type for o in operands)
    return convert_element_type(x, dtype=typeof(x).dtype, weak_type=True) if weak else x


@whole()
def householder_product(a: ArrayLike, taus: ArrayLike) -> Array:
    """Return the first columns of the product of Householder reflections `1 - tau v v^H`.

    Reflection i has v of column i of a: 0 above the diagonal, 1 on it, the column's below. Raises
    `TypeError` for integers, and `ValueError` where a has fewer rows than columns, fewer columns
    than there are taus, or another batch.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.linalg.householder_product(jnp.array([[1.0], [2.0]]), jnp.array([0.4]))
    Array([[ 0.6], [-0.8]], dtype=float32)
    """
    _check("householder_product", (a, taus), (2, 1))
    lengths, count = typeof(a).shape, typeof(taus).shape[-1]
    if lengths[-2] < lengths[-1] or count > lengths[-1]:
        raise ValueError(
            "householder_product: expected an array (..., m, n) with m >= n and taus (..., k) with "
            f"k <= n, got shapes {lengths} and {typeof(taus).shape}"
        )
    out = _reflect(a, taus, matrices.identity_like(a), adjoint=False, backwards=True)
    return _weak_with(out, a, taus)


@whole("left", "transpose")
def ormqr(
    a: ArrayLike, taus: ArrayLike, c: ArrayLike, *, left: bool = True, transpose: bool = False
) -> Array:
    """Return `q @ c`, where `householder_product(a, taus)` gives columns of q.

    `c @ q` where `left` is False; with `transpose` the adjoint of q, which is the transpose of a
    real one. q itself, which is square, is not made.

    Args:
      a: the vectors of the reflections, (..., m, n).
      taus: their factors, (..., k) with k at most the smaller of m and n.
      c: the matrices to multiply, (..., m, p), or (..., p, m) where `left` is False.
      left: whether q stands at the left.
      transpose: whether to multiply by the adjoint.

    Raises:
      TypeError: for integers, for operands of several dtypes, and for other ranks.
      ValueError: where shapes do not fit.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> a, taus = jnp.array([[1.0], [2.0]]), jnp.array([0.4])
    >>> lax.linalg.ormqr(a, taus, jnp.eye(2))
    Array([[ 0.6, -0.8], [-0.8, -0.6]], dtype=float32)
    """
    _check("ormqr", (a, taus, c), (2, 1, 2))
    lengths, count = typeof(a).shape, typeof(taus).shape[-1]
    if typeof(c).shape[-2 if left else -1] != lengths[-2] or count > min(lengths[-2:]):
        raise ValueError(
            "ormqr: expected reflections a (..., m, n), taus (..., k) with k <= min(m, n) and c "
            f"with m {'rows' if left else 'columns'}, got shapes {lengths}, {typeof(taus).shape} "
            f"and {typeof(c).shape}"
        )
    return _weak_with(_applied(a, taus, c, left, transpose), a, taus, c)


def _applied(a: ArrayLike, taus: ArrayLike, c: ArrayLike, left: bool, transpose: bool) -> Array:
    if not left:
        # c @ q is the adjoint of q^H @ c^H.
        turned = matrices.adjoint(c)
        return matrices.adjoint(_reflect(a, taus, turned, not transpose, backwards=transpose))
    return _reflect(a, taus, c, transpose, backwards=not transpose)


@whole()
def cholesky_update(r_matrix: ArrayLike, w_vector: ArrayLike) -> Array:
    """Return the upper triangular factor of `r^T @ r + w w^T`, for a real upper triangular r.

    A rotation for each row, each of which makes one element of w zero.

    Raises `TypeError` for batches and for complex numbers, `ValueError` where shapes don't fit.

    Args:
      r_matrix: the factor r, (n, n).
      w_vector: the vector w, (n,).

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.linalg.cholesky_update(3.0 * jnp.eye(2), jnp.array([4.0, 0.0]))
    Array([[5., 0.], [0., 3.]], dtype=float32)
    """
    from effax.lax.control import scan

    matrix, vector = typeof(r_matrix), typeof(w_vector)
    if matrix.ndim != 2:
        raise TypeError(
            "Input 0 to cholesky_update must have a rank of exactly 2, but got "
            f"shape={matrix.shape}"
        )
    if not is_float(matrix.dtype):
        raise TypeError(f"cholesky_update does not accept dtype {matrix.dtype} at position 0")
    n = matrix.shape[0]
    if matrix.shape != (n, n) or vector.shape != (n,):
        raise ValueError(
            "cholesky_update: expected a square matrix and a vector of its length, got shapes "
            f"{matrix.shape} and {vector.shape}"
        )

    def rotate(w: Array, row: Any) -> Any:
        values, here = row
        cosine, sine = (_spread(x, n) for x in _rotation(_element(values, here), _element(w, here)))
        turned = elementwise.add(elementwise.mul(cosine, values), elementwise.mul(sine, w))
        rest = elementwise.sub(elementwise.mul(cosine, w), elementwise.mul(sine, values))
        return rest, turned

    places = matrices.on_diagonal(r_matrix)
    _, rows = scan(rotate, w_vector, (r_matrix, places))
    return matrices.triu(rows)


def _rotation(x: Array, y: Array) -> tuple[Array, Array]:
    """Return the cosine and sine of the rotation that makes y zero; no rotation where it is.

    The larger of both is divided out, since their squares may overflow.
    """
    largest = elementwise.max(elementwise.abs(x), elementwise.abs(y))
    nothing = comparison.eq(largest, 0.0)
    x, y = (elementwise.div(e, select_n(nothing, largest, 1.0)) for e in (x, y))
    squares = elementwise.add(elementwise.mul(x, x), elementwise.mul(y, y))
    length = elementwise.sqrt(select_n(nothing, squares, 1.0))
    length = select_n(comparison.eq(y, 0.0), length, select_n(nothing, x, 1.0))
    return select_n(nothing, elementwise.div(x, length), 1.0), elementwise.div(y, length)


def _element(x: Array, here: Array) -> Array:
    from effax.effects.rows.reduction import reduce_sum

    return reduce_sum(select_n(here, 0, x), axes=(0,))


def _spread(x: Array, n: int) -> Array:
    return shape.broadcast_in_dim(x, shape=(n,), dims=())
