"""Special functions under batch: the batch axis is one more axis."""

from __future__ import annotations

from effax.effects.special import (
    bessel_i0e,
    bessel_i1e,
    digamma,
    erf,
    erf_inv,
    erfc,
    igamma,
    igamma_grad_a,
    igammac,
    lgamma,
    polygamma,
    random_gamma_grad,
    regularized_incomplete_beta,
    zeta,
)
from effax.interpreters.batch.batched import elementwise

elementwise(erf, erfc, erf_inv, lgamma, digamma, polygamma, zeta, igamma, igammac)
elementwise(igamma_grad_a, random_gamma_grad, regularized_incomplete_beta, bessel_i0e)
elementwise(bessel_i1e)
