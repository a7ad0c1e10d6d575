"""Numbers times logarithms: entropy and divergence of single probabilities."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import effax.numpy as jnp
from effax.api.custom.calls import SymbolicZero
from effax.api.custom.jvp import custom_jvp
from effax.eager.whole import whole
from effax.effects.value import Array, ArrayLike
from effax.interpreters.composites.gamma_ratios import near_surplus
from effax.scipy.normal import firm, real, spread


def _times(
    logarithm: Callable[[Array], Array], slope: Callable[[Array], Array], pole: float
) -> Any:
    """Return `x * logarithm(y)`, 0 where x is 0 and y no NaN, with its derivatives there too.

    The derivative by x is the logarithm, also where x is 0; that by y is 0 there. At the pole the
    logarithm is infinite; one beyond, it is 0.
    """

    @custom_jvp
    def product(x: Array, y: Array) -> Array:
        none = (x == 0) & ~jnp.isnan(y)
        return jnp.where(none, jnp.zeros_like(x), x * logarithm(jnp.where(none, pole + 1, y)))

    def product_jvp(primals: Any, tangents: Any) -> Any:
        """The rule, with no term for a constant: its zero times an infinite slope would be NaN."""
        (x, y), (by_x, by_y) = primals, tangents
        # Only at the pole: elsewhere the slope of x * slope(y) by x counts, where x is 0 too.
        none = (x == 0) & (y == pole)
        terms = []
        if type(by_x) is not SymbolicZero:
            terms.append(by_x * logarithm(y))
        if type(by_y) is not SymbolicZero:
            sloped = x * slope(jnp.where(none, pole + 1, y))
            terms.append(by_y * jnp.where(none, jnp.zeros_like(x), sloped))
        return product(x, y), sum(terms[1:], start=terms[0]) if terms else jnp.zeros_like(x)

    product.defjvp(product_jvp, symbolic_zeros=True)
    return product


_times_log = _times(jnp.log, lambda y: 1 / y, 0)
_times_log1p = _times(jnp.log1p, lambda y: 1 / (1 + y), -1)


@whole()
def xlogy(x: ArrayLike, y: ArrayLike) -> Array:
    """Return `x * log(y)`; 0 where x is 0 and y no NaN.

    >>> from effax.scipy import special
    >>> float(special.xlogy(0.0, 0.0))
    0.0
    """
    return _times_log(*spread("special.xlogy", x, y))


@whole()
def xlog1py(x: ArrayLike, y: ArrayLike) -> Array:
    """Return `x * log1p(y)`; 0 where x is 0 and y no NaN.

    >>> from effax.scipy import special
    >>> float(special.xlog1py(0.0, -1.0))
    0.0
    """
    return _times_log1p(*spread("special.xlog1py", x, y))


@whole()
def entr(x: ArrayLike) -> Array:
    """Return `-x * log(x)`; 0 at 0, -inf for negative x. Its derivative at 0 is inf.

    >>> from effax.scipy import special
    >>> float(special.entr(1.0))
    -0.0
    """

    @custom_jvp
    def function(x: Array) -> Array:
        positive = jnp.where(x > 0, x, 1)
        elsewhere = jnp.where((x == 0) | jnp.isnan(x), jnp.abs(x), jnp.full_like(x, -math.inf))
        return jnp.where(x > 0, -positive * jnp.log(positive), elsewhere)

    function.defjvps(lambda t, value, x: t * (-1 - jnp.log(x)))
    return function(*real("entr", x))


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
    p, q = map(firm, real("rel_entr", p, q))
    both, safe_p, safe_q = _safe(p, q)
    # The difference of two close numbers is exact; that of their logarithms is not.
    close = (safe_p < 2 * safe_q) & (safe_q < 2 * safe_p)
    near = jnp.log1p(jnp.where(close, safe_p - safe_q, 0) / safe_q)
    value = safe_p * jnp.where(close, near, jnp.log(safe_p) - jnp.log(safe_q))
    return jnp.where(both, value, _outside(p, q, 0))


@whole()
def kl_div(p: ArrayLike, q: ArrayLike) -> Array:
    """Return `p * log(p / q) - p + q`; q where p is 0 and q is not negative, else inf.

    >>> from effax.scipy import special
    >>> float(special.kl_div(1.0, 1.0))
    0.0
    """
    p, q = map(firm, real("kl_div", p, q))
    both, safe_p, safe_q = _safe(p, q)
    close = (safe_p < 2 * safe_q) & (safe_q < 2 * safe_p)
    near = safe_p * near_surplus(jnp.where(close, safe_q - safe_p, 0) / safe_p)
    far = safe_p * (jnp.log(safe_p) - jnp.log(safe_q)) - safe_p + safe_q
    return jnp.where(both, jnp.where(close, near, far), _outside(p, q, q))
