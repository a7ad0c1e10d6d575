"""Special functions by SciPy, which is imported when the first is asked for."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from effax.backends.reference.elementwise import Array, wide
from effax.backends.reference.table import rule
from effax.effects.effect import Effect
from effax.effects.rows import special

_NAMES: Final[dict[Effect, str]] = {
    special.erf: "erf",
    special.erfc: "erfc",
    special.erf_inv: "erfinv",
    special.lgamma: "gammaln",
    special.digamma: "psi",
    special.zeta: "zeta",
    special.igamma: "gammainc",
    special.igammac: "gammaincc",
    special.regularized_incomplete_beta: "betainc",
    special.regularized_incomplete_betac: "betaincc",
    special.bessel_i0e: "i0e",
    special.bessel_i1e: "i1e",
}


def _scipy(name: str) -> Any:
    import scipy.special

    return getattr(scipy.special, name)


def _function(effect: Effect, name: str) -> None:
    @rule(effect)
    @wide
    def by_scipy(*xs: Array) -> Array:
        return _scipy(name)(*xs)


for _effect, _name in _NAMES.items():
    _function(_effect, _name)


@rule(special.polygamma)
@wide
def reference_polygamma(m: Array, x: Array) -> Array:
    """`(-1)^(m+1) m! zeta(m + 1, x)`, and digamma for m = 0."""
    higher = (-1.0) ** (m + 1) * _scipy("gamma")(m + 1) * _scipy("zeta")(m + 1, x)
    return np.where(m == 0, _scipy("psi")(x), higher)


@rule(special.bessel_i0e_grad)
@wide
def reference_bessel_i0e_grad(x: Array) -> Array:
    return _scipy("i1e")(x) - np.sign(x) * _scipy("i0e")(x)


@rule(special.igamma_grad_a)
@wide
def reference_igamma_grad_a(a: Array, x: Array) -> Array:
    """By a central difference of fourth order, in double precision."""
    a, x = a.astype(np.float64), x.astype(np.float64)
    h = 1e-3 * a

    def at(k: int) -> Array:
        return np.asarray(_scipy("gammainc")(a + k * h, x))

    return (at(-2) - 8 * at(-1) + 8 * at(1) - at(2)) / (12 * h)


@rule(special.gamma_density)
@wide
def reference_gamma_density(a: Array, x: Array) -> Array:
    density = np.exp(_scipy("xlogy")(a - 1, x) - x - _scipy("gammaln")(a))
    density = np.where((a == 0) & (x >= 0) | (x == np.inf), 0.0, density)
    return np.where((a < 0) | (x < 0), np.nan, density)


@rule(special.beta_density)
@wide
def reference_beta_density(a: Array, b: Array, x: Array) -> Array:
    powers = _scipy("xlogy")(a - 1, x) + _scipy("xlog1py")(b - 1, -x)
    density = np.exp(powers - _scipy("betaln")(a, b))
    return np.where((a < 0) | (b < 0) | (x < 0) | (x > 1), np.nan, density)


@rule(special.random_gamma_grad)
@wide
def reference_random_gamma_grad(a: Array, x: Array) -> Array:
    """Minus the slope of the distribution function by a, over its density."""
    wide_a, wide_x = a.astype(np.float64), x.astype(np.float64)
    return -reference_igamma_grad_a(wide_a, wide_x) / reference_gamma_density(wide_a, wide_x)
