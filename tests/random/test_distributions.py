"""Samples have the distributions they are named for: Kolmogorov and Smirnov's test, fixed keys.

Whatever the stream is, these hold for right samplers but for one seed in a thousand.
"""

import numpy as np
import pytest
from scipy import stats

import effax.numpy as jnp
from effax import random

KEY = random.key(2026)
N = (4000,)
QUICK = {
    "uniform": (lambda k: random.uniform(k, N, minval=-1.0, maxval=3.0), stats.uniform(-1, 4)),
    "normal": (lambda k: random.normal(k, N), stats.norm()),
    "exponential": (lambda k: random.exponential(k, N), stats.expon()),
    "gumbel": (lambda k: random.gumbel(k, N), stats.gumbel_r()),
    "laplace": (lambda k: random.laplace(k, N), stats.laplace()),
    "logistic": (lambda k: random.logistic(k, N), stats.logistic()),
    "cauchy": (lambda k: random.cauchy(k, N), stats.cauchy()),
    "pareto": (lambda k: random.pareto(k, 2.5, N), stats.pareto(2.5)),
    "weibull_min": (lambda k: random.weibull_min(k, 2.0, 1.5, N), stats.weibull_min(1.5, scale=2)),
    "rayleigh": (lambda k: random.rayleigh(k, 2.0, N), stats.rayleigh(scale=2)),
    "lognormal": (lambda k: random.lognormal(k, 0.7, N), stats.lognorm(0.7)),
    "triangular": (lambda k: random.triangular(k, 1.0, 2.0, 5.0, N), stats.triang(0.25, 1, 4)),
    "truncated_normal": (
        lambda k: random.truncated_normal(k, -0.5, 2.0, N),
        stats.truncnorm(-0.5, 2.0),
    ),
    "truncated in the tail": (
        lambda k: random.truncated_normal(k, 3.0, 4.0, N),
        stats.truncnorm(3.0, 4.0),
    ),
    "maxwell": (lambda k: random.maxwell(k, N), stats.maxwell()),
    "wald": (lambda k: random.wald(k, 2.0, N), stats.invgauss(2.0)),
}
SLOW = {
    "gamma": (lambda k: random.gamma(k, 2.5, N), stats.gamma(2.5)),
    "gamma below one": (lambda k: random.gamma(k, 0.2, N), stats.gamma(0.2)),
    "loggamma": (lambda k: random.loggamma(k, 0.1, N), stats.loggamma(0.1)),
    "beta": (lambda k: random.beta(k, 2.0, 0.5, N), stats.beta(2.0, 0.5)),
    "chisquare": (lambda k: random.chisquare(k, 3.0, N), stats.chi2(3.0)),
    "f": (lambda k: random.f(k, 4.0, 7.0, N), stats.f(4.0, 7.0)),
    "t": (lambda k: random.t(k, 4.0, N), stats.t(4.0)),
    "generalized_normal": (lambda k: random.generalized_normal(k, 3.0, N), stats.gennorm(3.0)),
    "dirichlet": (lambda k: random.dirichlet(k, jnp.array([2.0, 1.0, 0.5]), N)[:, 0],
                  stats.beta(2.0, 1.5)),
    "ball": (lambda k: jnp.linalg.norm(random.ball(k, 3, shape=N), axis=-1), stats.powerlaw(3)),
}  # fmt: skip
COUNTS = {
    "randint": (lambda k: random.randint(k, N, -3, 4), stats.randint(-3, 4)),
    "geometric": (lambda k: random.geometric(k, 0.3, N), stats.geom(0.3)),
    "bernoulli": (lambda k: random.bernoulli(k, 0.3, N), stats.bernoulli(0.3)),
    "categorical": (
        lambda k: random.categorical(k, jnp.log(jnp.array([0.2, 0.5, 0.3])), shape=N),
        stats.rv_discrete(values=([0, 1, 2], [0.2, 0.5, 0.3])),
    ),
    "choice": (
        lambda k: random.choice(k, 3, N, p=jnp.array([0.2, 0.5, 0.3])),
        stats.rv_discrete(values=([0, 1, 2], [0.2, 0.5, 0.3])),
    ),
    "poisson": (lambda k: random.poisson(k, 3.0, N), stats.poisson(3.0)),
    "poisson, many": (lambda k: random.poisson(k, 30.0, N), stats.poisson(30.0)),
    "binomial": (lambda k: random.binomial(k, 9, 0.3, N), stats.binom(9, 0.3)),
    "binomial, many": (lambda k: random.binomial(k, 90, 0.7, N), stats.binom(90, 0.7)),
}


def slow(cases):
    return [pytest.param(*c, marks=pytest.mark.slow, id=n) for n, c in cases.items()]


@pytest.mark.parametrize(
    ("draw", "law"), [*[pytest.param(*c, id=n) for n, c in QUICK.items()], *slow(SLOW)]
)
def test_samples_follow_the_law(draw, law):
    drawn = np.asarray(draw(KEY), np.float64)
    assert drawn.shape == N
    assert stats.kstest(drawn, law.cdf).pvalue > 1e-3


@pytest.mark.parametrize(
    ("draw", "law"),
    [
        *[pytest.param(*c, id=n) for n, c in list(COUNTS.items())[:5]],
        *slow(dict(list(COUNTS.items())[5:])),
    ],
)
def test_counts_follow_the_law(draw, law):
    """Pearson's test over the values that are expected five times at least, and all others."""
    drawn = np.asarray(draw(KEY)).astype(int)
    values = np.arange(drawn.min(), drawn.max() + 1)
    expected = law.pmf(values) * drawn.size
    often = expected >= 5
    seen = np.array([(drawn == v).sum() for v in values[often]])
    rest = drawn.size - seen.sum(), drawn.size - expected[often].sum()
    if rest[1] > 5:
        seen, expected = np.append(seen, rest[0]), np.append(expected[often], rest[1])
    else:
        expected = expected[often] * seen.sum() / expected[often].sum()
    assert stats.chisquare(seen, expected, sum_check=False).pvalue > 1e-3


def test_normal_vectors_have_their_covariance():
    covariance = np.array([[2.0, 0.7], [0.7, 1.0]])
    drawn = np.asarray(random.multivariate_normal(KEY, jnp.array([1.0, -1.0]), covariance, N))
    np.testing.assert_allclose(drawn.mean(0), [1, -1], atol=0.1)
    np.testing.assert_allclose(np.cov(drawn.T), covariance, atol=0.15)


def test_rotations_are_uniform():
    """Of Haar's measure: each column is uniform on the sphere, so its entries are, in 3 dimensions."""
    drawn = np.asarray(random.orthogonal(KEY, 3, (2000,)))
    np.testing.assert_allclose(drawn @ drawn.transpose(0, 2, 1), np.eye(3) + 0 * drawn, atol=1e-5)
    for entry in (drawn[:, 0, 0], drawn[:, 1, 2]):
        assert stats.kstest(entry, stats.uniform(-1, 2).cdf).pvalue > 1e-3
