"""Krylov methods on vectors: conjugate gradients and what is like it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import effax.numpy as jnp
from effax import lax
from effax.effects.value import Array
from effax.scipy.products import product, vdot

Map = Callable[[Array], Array]


def _square(x: Array) -> Array:
    return vdot(x, x).real


def cg(a: Map, b: Array, x: Array, better: Map, maxiter: int, tol: float, atol: float) -> Array:
    """Conjugate gradients, preconditioned (Saad 2003, algorithm 9.1)."""
    goal = jnp.maximum(tol**2 * _square(b), atol**2)

    def unfinished(state: Any) -> Array:
        *_, square, k = state
        return (square > goal) & (k < maxiter)

    def step(state: Any) -> Any:
        x, r, p, gamma, _, k = state
        ap = a(p)
        alpha = gamma / vdot(p, ap)
        x, r = x + alpha * p, r - alpha * ap
        z = better(r)
        new = vdot(r, z)
        return x, r, z + new / gamma * p, new, _square(r), k + 1

    r = b - a(x)
    z = better(r)
    return lax.while_loop(unfinished, step, (x, r, z, vdot(r, z), _square(r), 0))[0]


class _Stabilised(NamedTuple):
    x: Array
    r: Array
    alpha: Array
    omega: Array
    rho: Array
    p: Array
    q: Array
    k: Array


def bicgstab(
    a: Map, b: Array, x: Array, better: Map, maxiter: int, tol: float, atol: float
) -> Array:
    """Stabilised biconjugate gradients (van der Vorst 1992), preconditioned from the right.

    It ends where a scalar product breaks down, too: there is no way on.
    """
    goal = jnp.maximum(tol**2 * _square(b), atol**2)
    shadow = b - a(x)

    def unfinished(s: _Stabilised) -> Array:
        return (_square(s.r) > goal) & (s.k < maxiter) & (s.rho != 0) & (s.omega != 0)

    def step(s: _Stabilised) -> _Stabilised:
        rho = vdot(shadow, s.r)
        beta = rho / s.rho * s.alpha / s.omega
        p = s.r + beta * (s.p - s.omega * s.q)
        p_better = better(p)
        q = a(p_better)
        alpha = rho / vdot(shadow, q)
        half = s.r - alpha * q
        early = _square(half) < goal
        half_better = better(half)
        t = a(half_better)
        omega = vdot(t, half) / vdot(t, t)
        x = s.x + alpha * p_better
        return _Stabilised(
            jnp.where(early, x, x + omega * half_better),
            jnp.where(early, half, half - omega * t),
            alpha,
            jnp.where(early, 1, omega),
            rho,
            p,
            q,
            s.k + 1,
        )

    one, zero = jnp.ones((), b.dtype), jnp.zeros_like(b)
    start = _Stabilised(x, shadow, one, one, one, zero, zero, jnp.asarray(0))
    return lax.while_loop(unfinished, step, start).x


def gmres(
    a: Map,
    b: Array,
    x: Array,
    better: Map,
    maxiter: int,
    tol: float,
    atol: float,
    restart: int,
    early: bool,
) -> Array:
    """Generalised minimal residuals with restarts (Saad & Schultz 1986), preconditioned from left.

    With `early`, a space is left as soon as its residual is small enough.
    """
    size = min(restart, b.size)
    norm = jnp.linalg.norm(b)
    share = jnp.minimum(1, jnp.maximum(tol * norm, atol) / jnp.where(norm == 0, 1, norm))
    goal = jnp.where(norm == 0, 0, share * jnp.linalg.norm(better(b)))

    def residual(x: Array) -> tuple[Array, Array]:
        r = better(b - a(x))
        return r, jnp.linalg.norm(r)

    def unfinished(state: Any) -> Array:
        _, _, length, k = state
        return (length > goal) & (k < maxiter)

    def step(state: Any) -> Any:
        x, r, length, k = state
        space = _krylov(lambda v: better(a(v)), r, length, size, goal if early else None)
        x = x + space
        return x, *residual(x), k + 1

    return lax.while_loop(unfinished, step, (x, *residual(x), 0))[0]


class _Arnoldi(NamedTuple):
    """A basis of a Krylov space (rows), the map in it (columns), and the residual there."""

    basis: Array
    columns: Array
    left: Array
    k: Array


def _divided(v: Array, length: Array) -> Array:
    """Return a vector divided by a length, which is real where the vector may be complex."""
    return v / jnp.where(length == 0, 1, length).astype(v.dtype)


def _krylov(a: Map, r: Array, length: Array, size: int, goal: Array | None) -> Array:
    """The best of a Krylov space: where the residual is least."""
    eps = jnp.finfo(r.dtype).eps

    def unfinished(s: _Arnoldi) -> Array:
        return (s.k < size) & ((s.left > goal) if goal is not None else True)

    def step(s: _Arnoldi) -> _Arnoldi:
        w = a(s.basis[s.k])
        before = jnp.linalg.norm(w)
        h = jnp.zeros(size + 1, r.dtype)
        for _ in range(2):  # twice is enough (Kahan, in Parlett 1980)
            part = product(jnp.conj(s.basis), w)
            w, h = w - product(part, s.basis), h + part
        after = jnp.linalg.norm(w)
        gone = after <= eps * before
        after = jnp.where(gone, 0, after)
        basis = s.basis.at[s.k + 1].set(jnp.where(gone, 0, _divided(w, after)))
        columns = s.columns.at[:, s.k].set(h.at[s.k + 1].set(after.astype(r.dtype)))
        left = s.left
        if goal is not None:
            left = jnp.linalg.norm(_least(columns, length)[1])
            left = jnp.where(gone, 0, left)
        return _Arnoldi(basis, columns, left, s.k + 1)

    first = _divided(r, length)
    basis = jnp.zeros((size + 1, r.size), r.dtype).at[0].set(first)
    start = _Arnoldi(basis, jnp.zeros((size + 1, size), r.dtype), length, jnp.asarray(0))
    done = lax.while_loop(unfinished, step, start)
    return product(_least(done.columns, length)[0], done.basis[:-1])


def _least(columns: Array, length: Array) -> tuple[Array, Array]:
    """The combination of columns nearest to the first unit vector times a length, and the rest."""
    wanted = jnp.zeros(columns.shape[0], columns.dtype).at[0].set(length.astype(columns.dtype))
    found = jnp.linalg.lstsq(columns, wanted)[0]
    return found, wanted - product(columns, found)
