"""Random numbers from explicit keys: the same numbers as `jax.random`, bit for bit.

A key is made of a seed, or split from a key; each sampler is a function of a key. The generator is
Threefry-2x32 on counters, so that every element can be computed by itself.
"""

from effax.effects.frames import cut_at as _cut_at
from effax.keys.arrays import KeyArray as KeyArray
from effax.random.bits import bits as bits
from effax.random.counts import binomial as binomial
from effax.random.counts import multinomial as multinomial
from effax.random.integers import bernoulli as bernoulli
from effax.random.integers import categorical as categorical
from effax.random.integers import choice as choice
from effax.random.integers import geometric as geometric
from effax.random.integers import permutation as permutation
from effax.random.integers import rademacher as rademacher
from effax.random.integers import randint as randint
from effax.random.keys import PRNGKey as PRNGKey
from effax.random.keys import clone as clone
from effax.random.keys import fold_in as fold_in
from effax.random.keys import key as key
from effax.random.keys import key_data as key_data
from effax.random.keys import key_dtype as key_dtype
from effax.random.keys import key_impl as key_impl
from effax.random.keys import split as split
from effax.random.keys import wrap_key_data as wrap_key_data
from effax.random.rejection import beta as beta
from effax.random.rejection import chisquare as chisquare
from effax.random.rejection import dirichlet as dirichlet
from effax.random.rejection import f as f
from effax.random.rejection import gamma as gamma
from effax.random.rejection import loggamma as loggamma
from effax.random.rejection import poisson as poisson
from effax.random.rejection import t as t
from effax.random.samplers import cauchy as cauchy
from effax.random.samplers import exponential as exponential
from effax.random.samplers import gumbel as gumbel
from effax.random.samplers import laplace as laplace
from effax.random.samplers import logistic as logistic
from effax.random.samplers import lognormal as lognormal
from effax.random.samplers import normal as normal
from effax.random.samplers import pareto as pareto
from effax.random.samplers import rayleigh as rayleigh
from effax.random.samplers import triangular as triangular
from effax.random.samplers import truncated_normal as truncated_normal
from effax.random.samplers import uniform as uniform
from effax.random.samplers import weibull_min as weibull_min
from effax.random.vectors import ball as ball
from effax.random.vectors import double_sided_maxwell as double_sided_maxwell
from effax.random.vectors import generalized_normal as generalized_normal
from effax.random.vectors import maxwell as maxwell
from effax.random.vectors import multivariate_normal as multivariate_normal
from effax.random.vectors import orthogonal as orthogonal
from effax.random.vectors import wald as wald

__all__ = [
    "KeyArray",
    "PRNGKey",
    "ball",
    "bernoulli",
    "beta",
    "binomial",
    "bits",
    "categorical",
    "cauchy",
    "chisquare",
    "choice",
    "clone",
    "dirichlet",
    "double_sided_maxwell",
    "exponential",
    "f",
    "fold_in",
    "gamma",
    "generalized_normal",
    "geometric",
    "gumbel",
    "key",
    "key_data",
    "key_dtype",
    "key_impl",
    "laplace",
    "loggamma",
    "logistic",
    "lognormal",
    "maxwell",
    "multinomial",
    "multivariate_normal",
    "normal",
    "orthogonal",
    "pareto",
    "permutation",
    "poisson",
    "rademacher",
    "randint",
    "rayleigh",
    "split",
    "t",
    "triangular",
    "truncated_normal",
    "uniform",
    "wald",
    "weibull_min",
    "wrap_key_data",
]
__dir__ = __all__.copy

_cut_at(globals())
