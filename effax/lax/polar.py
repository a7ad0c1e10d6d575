"""The polar decomposition by QDWH iterations."""

from __future__ import annotations

from typing import Any

from effax.eager.whole import whole
from effax.effects import matrices
from effax.effects.rows import elementwise, reduction, shape
from effax.effects.rows.elementwise import sqrt
from effax.effects.rows.selection import select_n
from effax.effects.types import bool_, finfo, int32, is_inexact, typeof
from effax.effects.value import Array, ArrayLike
from effax.lax.branching import cond
from effax.lax.control import while_loop
from effax.lax.decompositions import cholesky, qr, triangular_solve
from effax.operands.promoting import asarray


@whole("is_hermitian", "max_iterations", "eps", "dynamic_shape")
def qdwh(
    x: ArrayLike,
    *,
    is_hermitian: bool = False,
    max_iterations: int | None = None,
    eps: float | None = None,
    dynamic_shape: tuple[int, int] | None = None,
) -> tuple[Array, Array, Array, Array]:
    """Return u with orthonormal columns and positive semidefinite h, with `x = u @ h`.

    The third result is the number of iterations taken (10 at most, or `max_iterations`), the
    fourth whether u has converged to a relative `eps`. For matrices at least as tall as wide.

    Args:
      x: array_like of floats or complex numbers, (m, n) with m >= n.
      is_hermitian: of no effect here.
      max_iterations: the largest number of iterations; None for 10.
      eps: the relative tolerance; None for the precision of the dtype.
      dynamic_shape: the rows and columns of the upper left part of `x` that holds the matrix; the
        rest counts as zero. None for all of it.

    Source: Nakatsukasa, Bai & Gygi 2010, "Optimizing Halley's iteration for computing the matrix
    polar decomposition".

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> u, h, iterations, converged = lax.linalg.qdwh(jnp.array([[0.0, 2.0], [3.0, 0.0]]))
    >>> converged
    Array(True, dtype=bool)
    """
    limit = 10 if max_iterations is None else max_iterations
    type = typeof(x)
    if type.ndim != 2:
        raise ValueError(f"qdwh: expected a matrix, got shape {type.shape}")
    m, n = type.shape
    if m < n:
        raise ValueError("The input matrix of shape M x N must have M >= N.")
    if not is_inexact(type.dtype):
        raise ValueError(f"data type {type.dtype} not inexact")
    matrix: Array = asarray(x)
    if dynamic_shape is not None:
        matrix = _inside(matrix, dynamic_shape)
    rounding = float(finfo(type.dtype).eps)
    precision = rounding if eps is None else eps
    # In two steps, as sums and products of very large or small numbers leave the dtype.
    scaled = _divided(matrix, _largest(elementwise.abs(matrix), (0, 1)))
    size = sqrt(_largest_sum(scaled, 0)) * sqrt(_largest_sum(scaled, 1))
    start = _divided(scaled, size)
    smallest = shape.full((), rounding, size.dtype)

    def going(state: Any) -> Array:
        step, _, _, near = state
        return (step < limit) & ~near

    def iterate(state: Any) -> Any:
        step, u, least, _ = state
        a, b, c = _weights(least)
        following = _step(u, a, b, c)
        least = elementwise.min(least * (a + b * least**2) / (1 + c * least**2), 1)
        moved, length = _norm(following - u), _norm(following)
        near = (moved <= (4 * precision) ** (1 / 3) * length) & (abs(1 - least) <= 4 * precision)
        return step + 1, following, least, near

    first = (asarray(0), start, smallest, shape.full((), False, bool_))
    steps, u, _, converged = while_loop(going, iterate, first)
    # Half a Newton-Schulz step removes the rounding errors that are left.
    product = matrices.product
    u = 1.5 * u - 0.5 * product(u, product(matrices.adjoint(u), u))
    h = product(matrices.adjoint(u), matrix)
    h = 0.5 * (h + matrices.adjoint(h))
    return u, h, steps, converged


def _inside(x: Array, lengths: tuple[int, int]) -> Array:
    """The upper left corner of this size, zeros around it."""
    places = (shape.iota(dtype=int32, shape=x.shape, dimension=axis) for axis in (0, 1))
    rows, columns = (at < k for at, k in zip(places, lengths, strict=True))
    return select_n(rows & columns, 0, x)


def _divided(x: Array, size: Array) -> Array:
    return x / select_n(size == 0, size, 1).astype(x.dtype)


def _largest(x: Array, axes: tuple[int, ...]) -> Array:
    """The largest of sizes; 0 of none."""
    return elementwise.max(reduction.reduce_max(x, axes=axes), 0)


def _largest_sum(x: Array, axis: int) -> Array:
    """The largest sum of sizes along an axis."""
    return _largest(reduction.reduce_sum(elementwise.abs(x), axes=(axis,)), (0,))


def _norm(x: Array) -> Array:
    squares = elementwise.square(elementwise.abs(x))
    return sqrt(reduction.reduce_sum(squares, axes=(0, 1)))


def _weights(least: Array) -> tuple[Array, Array, Array]:
    """The best ones for singular values between `least` and 1."""
    square = least**2
    root = elementwise.cbrt(4 * (1 / square - 1) / square)
    one = sqrt(1 + root)
    a = one + sqrt(elementwise.max(8 - 4 * root + 8 * (2 - square) / (square * one), 0)) / 2
    b = (a - 1) ** 2 / 4
    return a, b, a + b - 1


def _step(u: Array, a: Array, b: Array, c: Array) -> Array:
    """Halley's step with weights: by QR while c is large, by Cholesky then."""
    one = matrices.identity_like(u[: u.shape[1]])
    ratio = b / c

    def by_qr(u: Array) -> Array:
        stacked = shape.concatenate(sqrt(c).astype(u.dtype) * u, one, axis=0)
        q, _ = qr(stacked, full_matrices=False)
        above, below = q[: u.shape[0]], q[u.shape[0] :]
        turned = matrices.product(above, matrices.adjoint(below))
        weight = ((a - ratio) / sqrt(c)).astype(u.dtype)
        return ratio.astype(u.dtype) * u + weight * turned

    def by_cholesky(u: Array) -> Array:
        inner = matrices.product(matrices.adjoint(u), u)
        factor = cholesky(one + c.astype(u.dtype) * inner)
        turned = matrices.adjoint(u)
        for adjoint in (False, True):
            turned = triangular_solve(
                factor,
                turned,
                left_side=True,
                lower=True,
                transpose_a=adjoint,
                conjugate_a=adjoint,
            )
        weight = (a - ratio).astype(u.dtype)
        return ratio.astype(u.dtype) * u + weight * matrices.adjoint(turned)

    return cond(c > 100, by_qr, by_cholesky, u)
