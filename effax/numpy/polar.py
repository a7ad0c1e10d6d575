"""The polar decomposition by QDWH iterations."""

from __future__ import annotations

from typing import Any

import effax.numpy as jnp
from effax.effects import matrices
from effax.effects.types import finfo, typeof
from effax.effects.value import Array, ArrayLike
from effax.lax.branching import cond
from effax.lax.control import while_loop
from effax.lax.linalg import cholesky, qr, triangular_solve


def polar_factors(
    x: ArrayLike, limit: int, eps: float | None, inside: tuple[int, int] | None
) -> tuple[Array, Array, Array, Array]:
    """What `lax.linalg.qdwh` gives; `inside` is the size of the corner that counts."""
    type = typeof(x)
    if type.ndim != 2:
        raise ValueError(f"qdwh takes one matrix, not one of shape {type.shape}")
    m, n = type.shape
    if m < n:
        raise ValueError("The input matrix of shape M x N must have M >= N.")
    x = jnp.asarray(x)
    if not jnp.issubdtype(x.dtype, jnp.inexact):
        raise ValueError(f"data type {x.dtype} not inexact")
    if inside is not None:
        x = _inside(x, inside)
    precision = float(finfo(x.dtype).eps) if eps is None else eps
    norms = [jnp.max(jnp.sum(jnp.abs(x), axis=axis), initial=0) for axis in (0, 1)]
    size = jnp.sqrt(norms[0] * norms[1])
    size = jnp.where(size == 0, 1, size)
    real = size.dtype
    start = x / size.astype(x.dtype)
    smallest = jnp.asarray(float(finfo(x.dtype).eps), real)

    def going(state: Any) -> Array:
        step, _, _, near = state
        return (step < limit) & ~near

    def iterate(state: Any) -> Any:
        step, u, least, _ = state
        a, b, c = _weights(least)
        following = _step(u, a, b, c)
        least = jnp.minimum(least * (a + b * least**2) / (1 + c * least**2), 1)
        moved = jnp.linalg.norm(following - u)
        near = (moved <= (4 * precision) ** (1 / 3) * jnp.linalg.norm(following)) & (
            jnp.abs(1 - least) <= 4 * precision
        )
        return step + 1, following, least, near

    first = (jnp.asarray(0), start, smallest, jnp.asarray(False))
    steps, u, _, converged = while_loop(going, iterate, first)
    # Half a step of Newton and Schulz's takes away what rounding has left.
    product = matrices.product
    u = 1.5 * u - 0.5 * product(u, product(matrices.adjoint(u), u))
    h = product(matrices.adjoint(u), x)
    h = 0.5 * (h + matrices.adjoint(h))
    return u, h, steps, converged


def _inside(x: Array, lengths: tuple[int, int]) -> Array:
    """The upper left corner of this size, zeros around it."""
    rows, columns = (jnp.arange(n) < k for n, k in zip(x.shape, lengths, strict=True))
    return jnp.where(rows[:, None] & columns, x, 0)


def _weights(least: Array) -> tuple[Array, Array, Array]:
    """The best ones for singular values between `least` and 1."""
    square = least**2
    root = jnp.cbrt(4 * (1 / square - 1) / square)
    one = jnp.sqrt(1 + root)
    a = one + jnp.sqrt(jnp.maximum(8 - 4 * root + 8 * (2 - square) / (square * one), 0)) / 2
    b = (a - 1) ** 2 / 4
    return a, b, a + b - 1


def _step(u: Array, a: Array, b: Array, c: Array) -> Array:
    """Halley's step with weights: by QR while c is large, by Cholesky then."""
    n = u.shape[1]
    ratio = b / c

    def by_qr(u: Array) -> Array:
        stacked = jnp.concatenate([jnp.sqrt(c).astype(u.dtype) * u, jnp.eye(n, dtype=u.dtype)])
        q, _ = qr(stacked, full_matrices=False)
        above, below = q[: u.shape[0]], q[u.shape[0] :]
        turned = matrices.product(above, matrices.adjoint(below))
        weight = ((a - ratio) / jnp.sqrt(c)).astype(u.dtype)
        return ratio.astype(u.dtype) * u + weight * turned

    def by_cholesky(u: Array) -> Array:
        inner = matrices.product(matrices.adjoint(u), u)
        factor = cholesky(jnp.eye(n, dtype=u.dtype) + c.astype(u.dtype) * inner)
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
