"""Special functions, as `scipy.special` has them, with derivatives of any order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

import effax.numpy as jnp
from effax import nn
from effax.api.custom.jvp import custom_jvp
from effax.eager.whole import own_promotion, whole
from effax.effects.effect import Effect
from effax.effects.rows import special, transcendental
from effax.effects.types import is_complex, is_integer, typeof
from effax.effects.value import Array, ArrayLike
from effax.lax import lgamma as _lgamma
from effax.nn import logsumexp as logsumexp
from effax.numpy import bessel
from effax.scipy.box_cox import boxcox as boxcox
from effax.scipy.box_cox import boxcox1p as boxcox1p
from effax.scipy.entropies import entr as entr
from effax.scipy.entropies import kl_div as kl_div
from effax.scipy.entropies import rel_entr as rel_entr
from effax.scipy.entropies import xlog1py as xlog1py
from effax.scipy.entropies import xlogy as xlogy
from effax.scipy.faddeeva import dawsn as dawsn
from effax.scipy.faddeeva import erfcx as erfcx
from effax.scipy.faddeeva import wofz as wofz
from effax.scipy.gamma_quotients import betaln as betaln
from effax.scipy.gamma_quotients import comb as comb
from effax.scipy.gamma_quotients import counted, log_rising
from effax.scipy.harmonics import bernoulli as bernoulli
from effax.scipy.harmonics import bessel_jn as bessel_jn
from effax.scipy.harmonics import sph_harm_y as sph_harm_y
from effax.scipy.hypergeometric import hyp1f1 as hyp1f1
from effax.scipy.hypergeometric import hyp2f1 as hyp2f1
from effax.scipy.integrals import exp1 as exp1
from effax.scipy.integrals import expi as expi
from effax.scipy.integrals import expn as expn
from effax.scipy.integrals import fresnel as fresnel
from effax.scipy.integrals import sici as sici
from effax.scipy.integrals import spence as spence
from effax.scipy.legendre import lpmn as lpmn
from effax.scipy.legendre import lpmn_values as lpmn_values
from effax.scipy.log_gamma import complex_loggamma
from effax.scipy.normal import firm
from effax.scipy.normal import log_ndtr as log_ndtr
from effax.scipy.normal import ndtr as ndtr
from effax.scipy.normal import ndtri as ndtri
from effax.scipy.normal import real as _real
from effax.scipy.normal import spread as _spread
from effax.scipy.owens import owens_t as owens_t

if TYPE_CHECKING:
    from effax.api.compiling.function_types import SpecialOfOne, SpecialOfThree, SpecialOfTwo

__all__ = [
    "bernoulli",
    "bessel_jn",
    "beta",
    "betainc",
    "betaln",
    "boxcox",
    "boxcox1p",
    "comb",
    "dawsn",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
    "exp1",
    "expi",
    "expit",
    "expn",
    "factorial",
    "fresnel",
    "gamma",
    "gammainc",
    "gammaincc",
    "gammaln",
    "gammasgn",
    "hyp1f1",
    "hyp2f1",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "kl_div",
    "log_ndtr",
    "log_softmax",
    "loggamma",
    "logit",
    "logsumexp",
    "multigammaln",
    "ndtr",
    "ndtri",
    "owens_t",
    "poch",
    "polygamma",
    "rel_entr",
    "sici",
    "softmax",
    "spence",
    "sph_harm_y",
    "wofz",
    "xlog1py",
    "xlogy",
    "zeta",
]
__dir__ = __all__.copy


# `Args` of the docstring of a function that is one effect, by its arity: two are those of the
# incomplete gamma functions, three those of the incomplete beta function.
_ARGUMENTS = (
    "x: array_like of real numbers.",
    "a: array_like, the shape parameter, positive.\n"
    "      x: array_like, the limit of the integral, not negative; broadcast against `a`.",
    "a, b: array_like, the shape parameters, positive.\n"
    "      x: array_like, the limit of the integral, from 0 to 1; all are broadcast together.",
)


@overload
def _effect(
    name: str, effect: Effect, arity: Literal[1], meaning: str, example: str
) -> SpecialOfOne: ...
@overload
def _effect(
    name: str, effect: Effect, arity: Literal[2], meaning: str, example: str
) -> SpecialOfTwo: ...
@overload
def _effect(
    name: str, effect: Effect, arity: Literal[3], meaning: str, example: str
) -> SpecialOfThree: ...
def _effect(name: str, effect: Effect, arity: int, meaning: str, example: str) -> Any:
    """A function that is one effect on floats."""

    @whole()
    def of_one(x: ArrayLike) -> Array:
        return effect(*_real(name, x))

    @whole()
    def of_two(a: ArrayLike, x: ArrayLike) -> Array:
        return effect(*_real(name, a, x))

    @whole()
    def of_three(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
        return effect(*_real(name, a, b, x))

    function: Any = (of_one, of_two, of_three)[arity - 1]
    function.__name__ = function.__qualname__ = name
    call, _, answer = example.partition(" -> ")
    function.__doc__ = (
        f"{meaning}\n\n    Args:\n      {_ARGUMENTS[arity - 1]}\n\n"
        f"    >>> from effax.scipy import special\n    >>> {call}\n    {answer}\n    "
    )
    return function


erf = _effect(
    "erf", special.erf, 1, "Compute the error function.", "float(special.erf(0.0)) -> 0.0"
)
erfc = _effect("erfc", special.erfc, 1, "Return `1 - erf(x)`.", "float(special.erfc(0.0)) -> 1.0")
erfinv = _effect(
    "erfinv",
    special.erf_inv,
    1,
    "Compute the inverse of `erf`.",
    "float(special.erfinv(0.0)) -> 0.0",
)
gammaln = _effect(
    "gammaln",
    special.lgamma,
    1,
    "Compute the logarithm of the absolute value of the gamma function.",
    "float(special.gammaln(5.0)) -> 3.178...",
)
digamma = _effect(
    "digamma",
    special.digamma,
    1,
    "Compute the derivative of `gammaln`.",
    "float(special.digamma(1.0)) -> -0.577...",
)
i0e = _effect(
    "i0e",
    special.bessel_i0e,
    1,
    "Compute the modified Bessel function of order 0, times `exp(-abs(x))`.",
    "float(special.i0e(2.0)) -> 0.308...",
)
i1e = _effect(
    "i1e",
    special.bessel_i1e,
    1,
    "Compute the modified Bessel function of order 1, times `exp(-abs(x))`.",
    "float(special.i1e(2.0)) -> 0.215...",
)
gammainc = _effect(
    "gammainc",
    special.igamma,
    2,
    "Compute the regularised lower incomplete gamma function.",
    "float(special.gammainc(1.0, 1.0)) -> 0.632...",
)
gammaincc = _effect(
    "gammaincc",
    special.igammac,
    2,
    "Compute the regularised upper incomplete gamma function.",
    "float(special.gammaincc(1.0, 1.0)) -> 0.367...",
)
betainc = _effect(
    "betainc",
    special.regularized_incomplete_beta,
    3,
    "Compute the regularised incomplete beta function.",
    "round(float(special.betainc(2.0, 2.0, 0.5)), 3) -> 0.5",
)


@whole()
def polygamma(n: ArrayLike, x: ArrayLike) -> Array:
    """Compute the n-th derivative of `digamma`. Raises `ValueError` for an n of no integer type.

    Args:
      n: array_like of integers, the order of the derivative.
      x: array_like of real numbers.

    >>> from effax.scipy import special
    >>> float(special.polygamma(1, 1.0))
    1.644...
    """
    if not is_integer(typeof(n).dtype):
        raise ValueError(f"polygamma: n must be of an integer type, got {typeof(n).str_short()}")
    return special.polygamma(*_real("polygamma", n, x))


@whole()
def zeta(x: ArrayLike, q: ArrayLike | None = None) -> Array:
    """Compute Hurwitz's zeta function, the sum of `(k + q)**-x` over k >= 0; Riemann's without q.

    >>> from effax.scipy import special
    >>> float(special.zeta(2.0, 1.0))
    1.644...
    """
    return special.zeta(*_real("zeta", x, 1.0 if q is None else q))


@whole()
def i0(x: ArrayLike) -> Array:
    """Compute the modified Bessel function of order 0.

    Args:
      x: array_like of real numbers.

    >>> from effax.scipy import special
    >>> round(float(special.i0(0.0)), 4)
    1.0
    """
    return bessel.i0(*_real("i0", x))


@whole()
def i1(x: ArrayLike) -> Array:
    """Compute the modified Bessel function of order 1.

    Args:
      x: array_like of real numbers.

    >>> from effax.scipy import special
    >>> float(special.i1(0.0))
    0.0
    """
    return bessel.i1(*_real("i1", x))


@whole()
def gammasgn(x: ArrayLike) -> Array:
    """Compute the sign of the gamma function; NaN at its poles.

    Args:
      x: array_like of real numbers.

    >>> from effax.scipy import special
    >>> float(special.gammasgn(-0.5))
    -1.0
    """
    (x,) = _real("gammasgn", x)
    below = jnp.floor(x)
    odd = (x < 0) & (below % 2 != 0)
    sign = jnp.where(odd | ((x == 0) & jnp.signbit(x)), -1.0, 1.0).astype(x.dtype)
    return jnp.where(((x < 0) & (x == below)) | jnp.isnan(x), math.nan, sign)


@own_promotion
@whole()
def gamma(x: ArrayLike) -> Array:
    """Compute the gamma function, of complex numbers too.

    Args:
      x: array_like, real or complex.

    >>> from effax.scipy import special
    >>> round(float(special.gamma(5.0)), 3)
    24.0
    """
    (x,) = _spread("special.gamma", x)
    if is_complex(x.dtype):
        return jnp.exp(complex_loggamma(x))
    return gammasgn(x) * jnp.exp(_lgamma(x))


@own_promotion
@whole()
def loggamma(x: ArrayLike) -> Array:
    """Compute the logarithm of the gamma function; NaN where x is negative.

    Of complex numbers, that which is continuous off the negative real axis; NaN at the poles.

    >>> from effax.scipy import special
    >>> float(special.loggamma(5.0))
    3.178...
    >>> complex(special.loggamma(-0.5 + 0j)).imag
    -3.14159...
    """
    (x,) = _spread("special.loggamma", x)
    if is_complex(x.dtype):
        return complex_loggamma(x)
    return jnp.where(x >= 0, _lgamma(x), math.nan)


@whole("exact")
def factorial(n: ArrayLike, exact: bool = False) -> Array:
    """Compute the product of 1, 2, ..., n, by the gamma function.

    Args:
      n: array_like of real numbers; the result is 0 where it is negative.
      exact: must be False.

    >>> from effax.scipy import special
    >>> float(special.factorial(4))
    24.0
    """
    if exact:
        raise NotImplementedError("factorial with exact=True is not supported; use math.factorial")
    (n,) = _real("factorial", n)
    return jnp.where(n < 0, 0, counted(jnp.exp(_lgamma(n + 1)), n))


@whole()
def beta(a: ArrayLike, b: ArrayLike) -> Array:
    """Compute the beta function, `gamma(a) * gamma(b) / gamma(a + b)`.

    Args:
      a, b: array_like of real numbers, broadcast against each other.

    >>> from effax.scipy import special
    >>> round(float(special.beta(2.0, 3.0)), 4)
    0.0833
    """
    a, b = _real("beta", a, b)
    return gammasgn(a) * gammasgn(b) * gammasgn(a + b) * jnp.exp(betaln(a, b))


@whole()
def poch(z: ArrayLike, m: ArrayLike) -> Array:
    """Compute the rising factorial, `gamma(z + m) / gamma(z)`.

    >>> from effax.scipy import special
    >>> round(float(special.poch(2.0, 3.0)), 3)
    24.0
    """
    z, m = _real("poch", z, m)
    ratio = gammasgn(z + m) * gammasgn(z) * jnp.exp(log_rising(z, m))
    # At a pole of gamma the ratio is undefined. Elsewhere use 1, which has a derivative.
    defined = (jnp.isfinite(z) & (z > 0)) | (z != jnp.floor(z)) & (z == z)
    return jnp.where((m == 0) & ~defined, 1, ratio)


@own_promotion
@whole("d")
def multigammaln(a: ArrayLike, d: int) -> Array:
    """Compute the logarithm of the multivariate gamma function.

    Args:
      a: array_like of real numbers, above `(d - 1) / 2`.
      d: the number of dimensions, an int.

    >>> from effax.scipy import special
    >>> float(special.multigammaln(3.0, 1))
    0.693...
    """
    a, _ = _real("multigammaln", a, d)  # promote Booleans with integers before they become floats
    constant = 0.25 * d * (d - 1) * math.log(math.pi)
    steps = jnp.arange(d) / 2
    return jnp.sum(_lgamma(a[..., None] - steps.astype(a.dtype)), axis=-1) + constant


@whole()
def expit(x: ArrayLike) -> Array:
    """Return `1 / (1 + exp(-x))`.

    >>> from effax.scipy import special
    >>> float(special.expit(0.0))
    0.5
    """
    (x,) = _spread("special.expit", x)
    return transcendental.logistic(x)


@whole()
def logit(x: ArrayLike) -> Array:
    """Compute the inverse of `expit`, `log(x / (1 - x))`.

    >>> from effax.scipy import special
    >>> float(special.logit(0.5))
    0.0
    """

    @custom_jvp
    def function(x: Array) -> Array:
        odds = jnp.log(x / (1 - x))
        if is_complex(x.dtype):
            return odds
        # Near 1/2 the odds are near 1, where rounding would cost all digits of their logarithm.
        middle = jnp.abs(x - 0.5) < 0.25
        inside = jnp.where(middle, x, 0.5)
        return jnp.where(middle, jnp.log1p((2 * inside - 1) / (1 - inside)), odds)

    function.defjvps(lambda t, value, x: t / (x * (1 - x)))
    return function(*map(firm, _spread("special.logit", x)))


def softmax(x: ArrayLike, /, *, axis: int | Sequence[int] | None = None) -> Array:
    """Return `exp(x) / sum(exp(x))`, by default over all elements.

    Args:
      x: array_like.
      axis: the axis or axes along which the result sums to 1; None for all.

    >>> from effax.scipy import special
    >>> import effax.numpy as jnp
    >>> special.softmax(jnp.zeros(2))
    Array([0.5, 0.5], dtype=float32)
    """
    return nn.softmax(x, axis=axis)


def log_softmax(x: ArrayLike, /, *, axis: int | Sequence[int] | None = None) -> Array:
    """Compute the logarithm of `softmax`.

    Args:
      x: array_like.
      axis: the axis or axes of `softmax`; None for all.

    >>> from effax.scipy import special
    >>> import effax.numpy as jnp
    >>> special.log_softmax(jnp.zeros(1))
    Array([0.], dtype=float32)
    """
    return nn.log_softmax(x, axis=axis)
