"""Incomplete gamma and beta functions whose parameters are large, against SciPy's in float64."""

import numpy as np
import pytest
import scipy.special
import scipy.stats

import effax
from effax.scipy import special, stats

PRECISION = {"float32": 1e-4, "float64": 1e-11}
DTYPES = pytest.mark.parametrize("dtype", PRECISION)


def around(dtype, count=400):
    """Parameters of all sizes from 0.1 to 1e6, and numbers within four deviations of a."""
    draw = np.random.default_rng(0)
    a = np.exp(draw.uniform(np.log(0.1), np.log(1e6), count)).astype(dtype)
    return a, np.abs(a + draw.uniform(-4, 4, count) * np.sqrt(a)).astype(dtype)


def shares(dtype, count=400):
    draw = np.random.default_rng(1)
    a, b = np.exp(draw.uniform(np.log(0.1), np.log(1e5), (2, count)))
    mean = a / (a + b)
    x = mean + np.sqrt(mean * (1 - mean) / (a + b + 1)) * draw.normal(size=count)
    return tuple(y.astype(dtype) for y in (a, b, np.clip(x, 1e-4, 0.999)))


def near(found, wanted, dtype, times=1):
    np.testing.assert_allclose(found, wanted, rtol=times * PRECISION[dtype], atol=1e-7)


@DTYPES
@pytest.mark.parametrize("name", ["gammainc", "gammaincc"])
def test_incomplete_gammas(name, dtype):
    with effax.enable_x64(True):
        a, x = around(dtype)
        wanted = getattr(scipy.special, name)(a.astype(float), x.astype(float))
        near(getattr(special, name)(a, x), wanted, dtype)


@DTYPES
def test_incomplete_beta(dtype):
    with effax.enable_x64(True):
        operands = shares(dtype)
        wanted = scipy.special.betainc(*(y.astype(float) for y in operands))
        near(special.betainc(*operands), wanted, dtype, 50)  # 1 - x is not known better


@DTYPES
def test_slopes_are_densities(dtype):
    with effax.enable_x64(True):
        a, x = around(dtype)
        slope = effax.vmap(effax.grad(special.gammainc, 1))(a, x)
        wanted = scipy.stats.gamma.pdf(x.astype(float), a.astype(float))
        near(slope, wanted, dtype, 100)
        a, b, x = shares(dtype)
        slope = effax.vmap(effax.grad(special.betainc, 2))(a, b, x)
        near(slope, scipy.stats.beta.pdf(*(y.astype(float) for y in (x, a, b))), dtype, 10)


@pytest.mark.parametrize("a", [1e5, 1e6, 1e8, 1e12, 1e30])
def test_half_is_below_the_middle(a):
    assert abs(float(special.gammainc(a, a)) - 0.5) < 1e-3
    assert abs(float(special.gammaincc(a, a)) - 0.5) < 1e-3


def test_counts_of_large_expectation():
    for mean, count in ((1e5, 1e5), (1e6, 1001000.0), (3e6, 2.999e6)):
        wanted = scipy.stats.poisson.cdf(count, mean)
        np.testing.assert_allclose(stats.poisson.cdf(count, mean), wanted, rtol=2e-4)
    np.testing.assert_allclose(stats.chi2.cdf(2e5, 2e5), scipy.stats.chi2.cdf(2e5, 2e5), rtol=1e-5)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("gamma.logpdf", (1e5, 1e5)),
        ("gamma.logpdf", (30.0, 20.0)),
        ("chi2.logpdf", (1e5, 1.001e5)),
        ("nbinom.logpmf", (1e5, 1e5, 0.5)),
        ("nbinom.logpmf", (20.0, 40.0, 0.75)),
        ("poisson.logpmf", (1e5, 1.01e5)),
        ("binom.logpmf", (5e4, 1e5, 0.5)),
        ("betabinom.logpmf", (5e4, 1e5, 1e5, 1e5)),
        ("betabinom.logpmf", (50.0, 100.0, 20.0, 30.0)),
        ("betabinom.logpmf", (5e4, 1e5, 2.0, 1e3)),
        ("betabinom.logpmf", (5e4, 1e5, 0.5, 2.0)),
    ],
)
def test_densities(name, given):
    """The terms of gamma functions had rounding errors of the size of the result."""
    family, method = name.split(".")
    given = [float(np.float32(x)) for x in given]
    wanted = getattr(getattr(scipy.stats, family), method)(*given)
    found = getattr(getattr(stats, family), method)
    np.testing.assert_allclose(found(*given), wanted, rtol=1e-5)
    place = 2 if family == "betabinom" else 1  # SciPy's numbers of trials are integers
    slope = effax.grad(found, place)(*given)
    step = 1e-3 * given[place]
    moved = [[*given[:place], given[place] + h, *given[place + 1 :]] for h in (-step, step)]
    low, high = (getattr(getattr(scipy.stats, family), method)(*x) for x in moved)
    np.testing.assert_allclose(slope, (high - low) / (2 * step), rtol=1e-2, atol=2e-5)


def test_bessel_functions_are_finite_to_the_end_of_the_dtype():
    x = np.array([1.0, 89.0, 91.0, -91.0], np.float32)
    np.testing.assert_allclose(special.i0(x), scipy.special.i0(x.astype(float)), rtol=2e-5)
    np.testing.assert_allclose(special.i1(x), scipy.special.i1(x.astype(float)), rtol=2e-5)
    assert special.loggamma(0.0) == np.inf
