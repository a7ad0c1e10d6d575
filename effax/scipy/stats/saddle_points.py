"""Probabilities of large counts, in which the large terms of gamma functions have cancelled.

Source: Loader 2000, "Fast and accurate computation of binomial probabilities".
"""

from __future__ import annotations

import math

import effax.numpy as jnp
from effax.effects.value import Array
from effax.interpreters.composites.gamma_ratios import stirling_error
from effax.scipy import special

MANY = 15
"""From so many on the formulas hold."""


def poisson_log(n: Array, mean: Array) -> Array:
    """`log(exp(-mean) * mean**n / gamma(n + 1))`, for n from `MANY` on and a positive mean."""
    return -special.kl_div(n, mean) - stirling_error(n) - 0.5 * jnp.log(2 * math.pi * n)


def binomial_log(y: Array, z: Array, p: Array) -> Array:
    """The logarithm of the probability of y successes and z failures, both from `MANY` on."""
    n = y + z
    rest = stirling_error(n) - stirling_error(y) - stirling_error(z)
    rest = rest - special.kl_div(y, n * p) - special.kl_div(z, n * (1 - p))
    return rest + 0.5 * jnp.log(n / (2 * math.pi * y * z))
