"""Special: the error, gamma, beta, zeta and Bessel functions."""

from __future__ import annotations

from effax.effects.signature import FLOAT, nary, unary

FAMILY = "special"

erf = unary("erf", FAMILY, FLOAT)
"""The error function, `2 / sqrt(pi)` times the integral of `exp(-t**2)` from 0 to x."""
erfc = unary("erfc", FAMILY, FLOAT)
"""`1 - erf(x)`, exact where that is near zero."""
erf_inv = unary("erf_inv", FAMILY, FLOAT)
"""The inverse of `erf`."""
lgamma = unary("lgamma", FAMILY, FLOAT)
"""The logarithm of the absolute value of the gamma function."""
digamma = unary("digamma", FAMILY, FLOAT)
"""The derivative of `lgamma`."""
polygamma = nary("polygamma", FAMILY, FLOAT)
"""`polygamma(m, x)`: the m-th derivative of `digamma`; m is a float holding an integer."""
zeta = nary("zeta", FAMILY, FLOAT)
"""`zeta(s, q)`, Hurwitz's: the sum of `(q + k)**-s` over k = 0, 1, ..."""
igamma = nary("igamma", FAMILY, FLOAT)
"""`igamma(a, x)`: the regularised lower incomplete gamma function."""
igammac = nary("igammac", FAMILY, FLOAT)
"""`1 - igamma(a, x)`: the upper one."""
igamma_grad_a = nary("igamma_grad_a", FAMILY, FLOAT)
"""The derivative of `igamma(a, x)` with respect to a."""
gamma_density = nary("gamma_density", FAMILY, FLOAT)
"""`x**(a-1) exp(-x) / gamma(a)`: the derivative of `igamma` with respect to x."""
random_gamma_grad = nary("random_gamma_grad", FAMILY, FLOAT)
"""`random_gamma_grad(a, x)`: how a sample x of the gamma distribution moves with its shape a."""
regularized_incomplete_beta = nary("regularized_incomplete_beta", FAMILY, FLOAT, arity=3)
"""`regularized_incomplete_beta(a, b, x)`: the distribution function of the beta distribution."""
regularized_incomplete_betac = nary("regularized_incomplete_betac", FAMILY, FLOAT, arity=3)
"""`1 - regularized_incomplete_beta(a, b, x)`, exact where that is near zero."""
beta_density = nary("beta_density", FAMILY, FLOAT, arity=3)
"""`x**(a-1) (1-x)**(b-1) / beta(a, b)`: its derivative with respect to x."""
bessel_i0e = unary("bessel_i0e", FAMILY, FLOAT)
"""The modified Bessel function of order 0, times `exp(-abs(x))`."""
bessel_i0e_grad = unary("bessel_i0e_grad", FAMILY, FLOAT)
"""The derivative of `bessel_i0e`: `bessel_i1e(x) - sign(x) * bessel_i0e(x)`."""
bessel_i1e = unary("bessel_i1e", FAMILY, FLOAT)
"""The modified Bessel function of order 1, times `exp(-abs(x))`."""
