"""Distributions against SciPy and what JAX gave (tests/goldens/make_stats.py), edges and all."""

import importlib

import numpy as np
import pytest
import scipy.stats
from scipy.optimize import approx_fprime

import effax
import effax.numpy as jnp
from effax.scipy import stats
from tests.goldens.make_stats import DISTRIBUTIONS, HERE, cases, replay

RECORDED = np.load(HERE / "stats.npz")
CASES = {name: rest for name, *rest in cases()}
TOLERANCE = {"float32": 2e-4, "float64": 1e-9}


def near(found, wanted, tolerance):
    return np.isclose(found, wanted, rtol=tolerance, atol=tolerance / 100, equal_nan=True)


def check(name, dtype):
    """Each result is JAX's, or, where JAX is inexact or hides a NaN, SciPy's."""
    with effax.enable_x64(dtype == "float64"):
        found = np.asarray(replay(stats, name, *CASES[name], dtype))
    recorded = RECORDED[f"{name}.{dtype}"]
    assert found.shape == recorded.shape
    # JAX's norm.ppf gives the default dtype, and it recorded with 64 bits enabled.
    assert found.dtype == recorded.dtype or (name in ("norm.ppf", "norm.isf"))
    # JAX's entropy is an approximation of some 7 digits.
    tolerance = 1e-6 if name == "poisson.entropy" and dtype == "float64" else TOLERANCE[dtype]
    good = near(found, recorded, tolerance)
    if not good.all():
        with np.errstate(all="ignore"):
            wanted = replay(scipy.stats, name, *CASES[name], "float64")
        good |= near(found, wanted, TOLERANCE[dtype])
    if name.startswith("gumbel"):
        # The limit of the density, where both others have the difference of two infinities.
        infinite = np.isinf(CASES[name][0])
        good[:, infinite] |= found[:, infinite] == (-np.inf if "log" in name else 0)
    if name.startswith("betabinom"):
        # JAX's 64 bits hold some 8 digits here. Between integers SciPy's is 0.
        good |= near(found, recorded, 1e-7 if dtype == "float64" else 1e-3)
    rows, columns = np.nonzero(~good)
    complaints = [
        (CASES[name][0][j], CASES[name][1][i], found[i, j], recorded[i, j])
        for i, j in zip(rows[:5], columns[:5], strict=True)
    ]
    assert not complaints, complaints


def cost(name):
    """Mark functions that are derived from others by rule as slow."""
    distribution, function = name.split(".")
    derived = function in ("pdf", "pmf", "logcdf", "sf", "logsf", "isf") or distribution == "chi2"
    return pytest.param(name, marks=[pytest.mark.slow] if derived else [])


@pytest.mark.parametrize("name", [cost(name) for name in CASES])
def test_values(name):
    check(name, "float32")


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_values_of_64_bits(name):
    check(name, "float64")


# Inside the support, away from kinks: a value and parameters, all of them with derivatives.
INSIDE = {
    "norm": (0.7, 0.2, 1.5),
    "uniform": (0.7, 0.2, 1.5),
    "expon": (0.7, 0.2, 1.5),
    "cauchy": (0.7, 0.2, 1.5),
    "laplace": (0.7, 0.2, 1.5),
    "logistic": (0.7, 0.2, 1.5),
    "gumbel_l": (0.7, 0.2, 1.5),
    "gumbel_r": (0.7, 0.2, 1.5),
    "gamma": (0.7, 1.3, 0.2, 1.5),
    "chi2": (0.7, 1.3, 0.2, 1.5),
    "beta": (0.7, 1.3, 2.1, 0.2, 1.5),
    "t": (0.7, 1.3, 0.2, 1.5),
    "pareto": (1.9, 1.3, 0.2, 1.5),
    "gennorm": (0.7, 1.3),
    "vonmises": (0.7, 1.3),
    "wrapcauchy": (0.7, 0.3),
    "truncnorm": (0.7, -1.0, 2.0, 0.2, 1.5),
}


@pytest.mark.parametrize("name", INSIDE)
def test_derivatives(name):
    values = np.array(INSIDE[name])
    module, reference = getattr(stats, name), getattr(scipy.stats, name)
    with effax.enable_x64(True):
        for function in [n for n in ("logpdf", "cdf", "logsf", "ppf") if hasattr(module, n)]:
            at = values.copy()
            at[0] = 0.3 if function == "ppf" else at[0]
            # The incomplete beta function has no derivative in its parameters.
            which = tuple(i for i in range(len(at)) if not (name == "beta" and i in (1, 2)))
            which = which if function != "logpdf" else tuple(range(len(at)))
            found = effax.grad(getattr(module, function), argnums=which)(*at)
            call = getattr(reference, function)
            wanted = approx_fprime(at, lambda a, call=call: call(*a), 1e-7)
            np.testing.assert_allclose(found, wanted[list(which)], 1e-4, 1e-5, err_msg=function)


@pytest.mark.parametrize("name", ["norm", "gamma", "beta", "truncnorm", "binom", "poisson"])
def test_batches_of_compiled_calls(name):
    functions, values, _, parameters = DISTRIBUTIONS[name]
    values, columns = np.array(values, "float32"), np.array(parameters, "float32").T
    module = getattr(stats, name)
    density = getattr(module, functions.split()[0])
    batched = effax.vmap(effax.jit(density), in_axes=(None, *[0] * len(columns)))
    np.testing.assert_allclose(
        batched(values, *columns), density(values, *columns[:, :, None]), 1e-5, 1e-6
    )


def test_outside_of_the_support_derivatives_are_zero_not_nan():
    outside = [
        (stats.gamma.logpdf, (-1.0, 2.0)),
        (stats.beta.logpdf, (2.0, 2.0, 3.0)),
        (stats.expon.logcdf, (-1.0,)),
        (stats.pareto.logpdf, (0.5, 2.0)),
        (stats.truncnorm.logcdf, (3.0, -1.0, 1.0)),
        (stats.binom.logpmf, (5.0, 3.0, 0.5)),
    ]
    for function, args in outside:
        assert float(effax.grad(function)(*args)) == 0, function


def test_integers_and_numbers_are_floats():
    found = stats.norm.logpdf(3)
    assert found.dtype == "float32" and found.weak_type
    assert stats.poisson.pmf(np.arange(3), 2).dtype == "float32"
    assert stats.norm.logpdf(jnp.ones(2, "bfloat16"), 0, 1).dtype == "bfloat16"
    assert stats.norm.cdf(np.float16(0.5)).dtype == "float16"


def test_bad_arguments():
    for bad in (["a"], None, "a"):
        with pytest.raises(TypeError):
            stats.norm.logpdf(bad)
    with pytest.raises(TypeError):
        stats.norm.logpdf()
    with pytest.raises(ValueError, match="broadcast"):
        stats.norm.logpdf(np.ones(2), np.ones(3))


def test_the_entropy_of_poissons_distribution_is_a_sum():
    k = np.arange(400)
    with effax.enable_x64(True):
        for mu in (0.1, 1.0, 12.0, 99.0, 101.0, 150.0):
            logarithms = scipy.stats.poisson.logpmf(k, mu)
            wanted = -np.sum(np.exp(logarithms) * logarithms)
            np.testing.assert_allclose(stats.poisson.entropy(mu), wanted, 1e-11)


def test_dirichlet():
    alpha = np.array([1.0, 2, 3])
    inside, many = np.array([0.2, 0.3, 0.5]), np.array([[0.2, 0.1], [0.3, 0.4], [0.5, 0.5]])
    for x in (inside, inside[:2], many):
        np.testing.assert_allclose(
            stats.dirichlet.logpdf(x, alpha), scipy.stats.dirichlet.logpdf(x, alpha), 1e-5
        )
        np.testing.assert_allclose(
            stats.dirichlet.pdf(x, alpha), scipy.stats.dirichlet.pdf(x, alpha), 1e-5
        )
    # SciPy refuses what is no vector of probabilities; JAX says -inf.
    assert float(stats.dirichlet.logpdf(np.array([0.2, 0.9]), np.array([1.0, 2]))) == -np.inf
    assert float(stats.dirichlet.logpdf(np.array([-0.2, 1.2]), np.array([1.0, 2]))) == -np.inf
    with pytest.raises(ValueError, match="one-dimensional"):
        stats.dirichlet.logpdf(inside, np.ones((1, 3)))
    with pytest.raises(ValueError, match="alpha has 3 entries"):
        stats.dirichlet.logpdf(np.ones(5), alpha)


def test_multinomial():
    p = np.array([0.2, 0.3, 0.5])
    for x in (np.array([1, 2, 3]), np.array([[1, 2, 3], [0, 6, 0], [1, 1, 1]])):
        found = stats.multinomial.logpmf(x, 6, p)
        np.testing.assert_allclose(found, scipy.stats.multinomial.logpmf(x, 6, p), 1e-5)
        found = stats.multinomial.pmf(x, 6, p)
        np.testing.assert_allclose(found, scipy.stats.multinomial.pmf(x, 6, p), 1e-5)
    with pytest.raises(ValueError, match="integer"):
        stats.multinomial.logpmf(np.ones(3), 3, p)


COVARIANCE = np.array([[2.0, 0.3], [0.3, 1.0]])


@pytest.mark.parametrize(
    ("x", "mean", "cov"),
    [
        (np.array([0.5, 1.0]), np.array([0.1, 0.2]), COVARIANCE),
        (np.ones((4, 3, 2)), np.array([0.1, 0.2]), COVARIANCE),
        (np.array([0.5, 1.0]), np.array([0.1, 0.2]), 2.0),
        (0.5, 0.1, 2.0),
    ],
)
def test_multivariate_normal(x, mean, cov):
    reference = scipy.stats.multivariate_normal
    found = stats.multivariate_normal.logpdf(x, mean, cov)
    np.testing.assert_allclose(found, reference.logpdf(x, mean, cov), 1e-5)
    found = stats.multivariate_normal.pdf(x, mean, cov)
    np.testing.assert_allclose(found, reference.pdf(x, mean, cov), 1e-5)


def test_multivariate_normal_in_batches():
    covariances = np.stack([COVARIANCE, 2 * COVARIANCE])
    x, mean = np.ones((3, 1, 2)), np.zeros((1, 2))
    reference = scipy.stats.multivariate_normal
    wanted = [[reference.logpdf(np.ones(2), np.zeros(2), c) for c in covariances]] * 3
    np.testing.assert_allclose(stats.multivariate_normal.logpdf(x, mean, covariances), wanted, 1e-5)
    assert np.isnan(float(stats.multivariate_normal.logpdf(x[0, 0], mean[0], -COVARIANCE)))
    with effax.enable_x64(True):
        found = effax.grad(stats.multivariate_normal.logpdf, (0, 2))(x[0, 0], mean[0], COVARIANCE)
    inverse = np.linalg.inv(COVARIANCE)
    moved = inverse @ np.ones(2)
    np.testing.assert_allclose(found[0], -moved, 1e-6)
    np.testing.assert_allclose(found[1], 0.5 * (np.outer(moved, moved) - inverse), 1e-6)
    with pytest.raises(ValueError, match="incompatible shapes"):
        stats.multivariate_normal.logpdf(np.ones(2), np.zeros(2), np.eye(3))
    with pytest.raises(NotImplementedError, match="allow_singular"):
        stats.multivariate_normal.logpdf(np.ones(2), np.zeros(2), COVARIANCE, allow_singular=True)


def test_each_distribution_is_a_module():
    for name in (*DISTRIBUTIONS, "dirichlet", "multinomial", "multivariate_normal"):
        assert importlib.import_module(f"effax.scipy.stats.{name}") is getattr(stats, name)


@pytest.mark.parametrize("name", ["logpmf", "pmf", "cdf"])
def test_poissons_distribution_outside_of_its_support_and_parameters(name):
    k = np.array([-1, 1.5, 2, 2, np.nan, 0, 1, np.inf, 2])
    mu = np.array([2, 2, -1, np.nan, 2, 0, 0, 2, np.inf])
    with np.errstate(invalid="ignore"):
        wanted = getattr(scipy.stats.poisson, name)(k, mu)
    # SciPy's NaN is infinity less infinity: it has 0 where the mean is below 1.
    wanted[k == np.inf] = {"pmf": 0, "logpmf": -np.inf, "cdf": 1}[name]
    np.testing.assert_allclose(getattr(stats.poisson, name)(k, mu), wanted, 1e-5, 1e-6)


@pytest.mark.parametrize(
    "call",
    ["laplace.logpdf", "expon.cdf", "uniform.pdf", "gumbel_r.ppf", "gumbel_l.sf", "laplace.cdf"],
)
def test_complex_numbers_are_refused_where_there_is_an_order(call):
    name, _, function = call.partition(".")
    function = getattr(getattr(stats, name), function)
    z = jnp.array([0.3 + 0.2j])
    for args in ((z,), (0.5, z), (0.5, 0.0, z)):
        with pytest.raises(TypeError, match=f"stats.{name}"):
            function(*args)


@pytest.mark.parametrize("call", ["pareto.sf", "geom.pmf", "bernoulli.logpmf", "wrapcauchy.pdf"])
def test_complex_parameters_are_refused(call):
    name, _, function = call.partition(".")
    for args in ((1, 0.3 + 0.2j), (1 + 0j, 0.3)):
        with pytest.raises(TypeError, match=f"stats.{name}"):
            getattr(getattr(stats, name), function)(*args)


def test_complex_numbers_are_taken_by_what_analysis_continues():
    z = np.array([0.3 + 0.2j, 0.6 - 0.1j])
    found = stats.cauchy.logpdf(z), stats.logistic.cdf(z), stats.expon.ppf(z)
    wanted = -np.log(np.pi * (1 + z * z)), 1 / (1 + np.exp(-z)), -np.log1p(-z)
    np.testing.assert_allclose(found, wanted, 1e-5)
    scale = 0.7 + 0.2j
    density = np.exp(-0.5 * (0.3 / scale) ** 2) / np.sqrt(2 * np.pi * scale**2)
    np.testing.assert_allclose(stats.norm.pdf(0.3, 0, scale), density, 1e-5)
    assert stats.sem(z).dtype == "complex64"


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize(
    ("name", "function", "sign"), [("gumbel_l", "logcdf", 1), ("gumbel_r", "logsf", -1)]
)
def test_a_tail_of_gumbels_outlives_its_exponential(name, function, sign, dtype):
    """JAX gives -inf where exp(x) is 0 already, and derivatives that are NaN."""
    x = jnp.linspace(-60, 12, 40).astype(dtype) * sign
    ours = getattr(getattr(stats, name), function)
    wanted = getattr(getattr(scipy.stats, name), function)(np.asarray(x, np.float64))
    np.testing.assert_allclose(
        np.asarray(ours(x), np.float64), wanted, 4 * float(jnp.finfo(dtype).eps), 1e-6
    )
    slopes = np.asarray(effax.vmap(effax.grad(ours))(x), np.float64) * sign
    assert np.isfinite(slopes).all()
    np.testing.assert_allclose(slopes[:15], 1, float(jnp.finfo(dtype).eps))


def test_all_or_no_successes_are_one_way():
    for k, p in ((0, 0.0), (9, 1.0), (0, 0.25)):
        wanted = scipy.stats.binom.logpmf(k, 9, p)
        np.testing.assert_allclose(stats.binom.logpmf(k, 9, p), wanted, 1e-7)
