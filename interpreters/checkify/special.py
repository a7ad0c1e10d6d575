"""Special functions under checkify: NaN outside their domains."""

from __future__ import annotations

from effax.effects import special as s
from effax.interpreters.checkify.checking import computes

computes(s.erf, s.erfc, s.erf_inv, s.lgamma, s.digamma, s.polygamma, s.zeta)
computes(s.igamma, s.igammac, s.igamma_grad_a, s.random_gamma_grad)
computes(s.regularized_incomplete_beta, s.bessel_i0e, s.bessel_i1e)
