"""Entropy and divergence of single probabilities, element by element."""

from __future__ import annotations

import math
from typing import Any

import effax.numpy as jnp
from effax.effects.types import bit_width
from effax.scipy.normal import firm, real
from effax.whole import whole

Array = Any
ArrayLike = Any


@whole()
def entr(x: ArrayLike) -> Array:
    """Return `-x * log(x)`; 0 at 0, -inf for negative x.

    >>> from effax.scipy import special
    >>> float(special.entr(1.0))
    -0.0
    """
    (x,) = real("entr", x)
    positive = jnp.where(x > 0, x, 1)
    elsewhere = jnp.where(x == 0, 0, jnp.where(jnp.isnan(x), math.nan, -math.inf))
    return jnp.where(x > 0, -positive * jnp.log(positive), elsewhere)


def _safe(p: Array, q: Array) -> tuple[Array, Array, Array]:
    """Return where p and q are positive, and both of them with 1 elsewhere."""
    both = (p > 0) & (q > 0)
    return both, jnp.where(both, p, 1), jnp.where(both, q, 1)


def _outside(p: Array, q: Array, zero: Array | float) -> Array:
    """Return the value where p or q is not positive: `zero` where p is 0 and q is not negative."""
    unknown = jnp.where(jnp.isnan(p) | jnp.isnan(q), math.nan, math.inf)
    return jnp.where((p == 0) & (q >= 0), zero, unknown)


@whole()
def rel_entr(p: ArrayLike, q: ArrayLike) -> Array:
    """Return `p * log(p / q)`; 0 where p is 0 and q is not negative, else inf.

    >>> from effax.scipy import special
    >>> float(special.rel_entr(1.0, 1.0))
    0.0
    """
    p, q = real("rel_entr", p, q)
    both, safe_p, safe_q = _safe(p, q)
    # The difference of two close numbers is exact, and that of their logarithms is not.
    close = (safe_p < 2 * safe_q) & (safe_q < 2 * safe_p)
    near = jnp.log1p(jnp.where(close, safe_p - safe_q, 0) / safe_q)
    value = safe_p * jnp.where(close, near, jnp.log(safe_p) - jnp.log(safe_q))
    return firm(jnp.where(both, value, _outside(p, q, 0)))


def _log1p_rest(u: Array) -> Array:
    """Return `u - log1p(u)` for u from -1/2 to 1, by `log1p(u) = 2 * atanh(v)`, v = u / (2 + u)."""
    v = u / (2 + u)
    square, series = v * v, jnp.zeros_like(v)
    for k in range(17 if bit_width(u.dtype) > 32 else 9, 0, -1):
        series = (series + 1 / (2 * k + 1)) * square
    return v * (u - 2 * series)


@whole()
def kl_div(p: ArrayLike, q: ArrayLike) -> Array:
    """Return `p * log(p / q) - p + q`; q where p is 0 and q is not negative, else inf.

    >>> from effax.scipy import special
    >>> float(special.kl_div(1.0, 1.0))
    0.0
    """
    p, q = real("kl_div", p, q)
    both, safe_p, safe_q = _safe(p, q)
    close = (safe_p < 2 * safe_q) & (safe_q < 2 * safe_p)
    near = safe_p * _log1p_rest(jnp.where(close, safe_q - safe_p, 0) / safe_p)
    far = safe_p * (jnp.log(safe_p) - jnp.log(safe_q)) - safe_p + safe_q
    return firm(jnp.where(both, jnp.where(close, near, far), _outside(p, q, q)))
