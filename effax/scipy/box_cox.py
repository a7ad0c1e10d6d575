"""Box and Cox's transformation, `(x**lmbda - 1) / lmbda`, with exact derivatives.

The rules of its parts would take differences of large quotients, wherever lmbda is near 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import effax.numpy as jnp
from effax.api.custom.jvp import custom_jvp
from effax.eager.whole import whole
from effax.effects.value import Array, ArrayLike
from effax.interpreters.composites.gamma_ratios import polynomial
from effax.scipy.entropies import xlog1py, xlogy
from effax.scipy.normal import spread

_NEAR = 0.5
_TERMS = 17
"""Of the series within `_NEAR`, for double precision."""


def _slope(z: Array) -> Array:
    """The derivative of `expm1(z) / z`, by its series near 0."""
    near = jnp.abs(z) < _NEAR
    inside, outside = jnp.where(near, z, 0), jnp.where(near, 1, z)
    series = polynomial(inside, [k / math.factorial(k + 1) for k in range(1, _TERMS)])
    far = (jnp.exp(outside) * (outside - 1) + 1) / (outside * outside)
    return jnp.where(near, series, far)


def _transform(logarithm: Array, lmbda: Array) -> Array:
    none = lmbda == 0
    safe = jnp.where(none, 1, lmbda)
    z = safe * logarithm
    half = jnp.exp(0.5 * z)  # the exponential itself is infinite before the result is
    value = jnp.where(z.real > 50, half * (half / safe), jnp.expm1(z) / safe)
    return jnp.where(none, logarithm, value)


def _of(
    logarithm: Callable[[Array], Array], times_logarithm: Callable[..., Array]
) -> Callable[[Array, Array], Array]:
    """The transformation of a number of which these are the logarithm, and that times another."""

    @custom_jvp
    def function(x: Array, lmbda: Array) -> Array:
        return _transform(logarithm(x), lmbda)

    @function.defjvp
    def function_jvp(primals: Any, tangents: Any) -> Any:
        (x, lmbda), (dx, dlmbda) = primals, tangents
        along = jnp.exp(times_logarithm(lmbda - 1, x)) * dx
        log = logarithm(x)
        return function(x, lmbda), along + log**2 * _slope(lmbda * log) * dlmbda

    return function


_boxcox, _boxcox1p = _of(jnp.log, xlogy), _of(jnp.log1p, xlog1py)


@whole()
def boxcox(x: ArrayLike, lmbda: ArrayLike) -> Array:
    """Compute Box and Cox's transformation, `(x**lmbda - 1) / lmbda`, or `log(x)` where lmbda is 0.

    >>> from effax.scipy import special
    >>> float(special.boxcox(2.0, 1.0))
    1.0
    """
    return _boxcox(*spread("special.boxcox", x, lmbda))


@whole()
def boxcox1p(x: ArrayLike, lmbda: ArrayLike) -> Array:
    """Return `boxcox(1 + x, lmbda)`, exact near zero.

    >>> from effax.scipy import special
    >>> float(special.boxcox1p(1.0, 1.0))
    1.0
    """
    return _boxcox1p(*spread("special.boxcox1p", x, lmbda))
