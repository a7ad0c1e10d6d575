"""Special functions in float32 against SciPy in float64, where terms cancel."""

import numpy as np
import pytest
import scipy.special
import scipy.stats

import effax
from effax.scipy import special, stats

NEAR = np.geomspace(1e-7, 0.3, 200)
WIDE = np.geomspace(1e-4, 1e10, 60)
CASES = {
    "ndtri": (special.ndtri, scipy.special.ndtri, [np.r_[0.5 - NEAR, 0.5, 0.5 + NEAR]], 4e-6),
    "norm.ppf": (stats.norm.ppf, scipy.stats.norm.ppf, [np.r_[0.5 - NEAR, 0.5 + NEAR]], 4e-6),
    "log_ndtr": (special.log_ndtr, scipy.special.log_ndtr, [np.linspace(-9, 8, 300)], 4e-6),
    "exp1": (special.exp1, scipy.special.exp1, [np.geomspace(1e-6, 60, 300)], 4e-6),
    "betaln": (special.betaln, scipy.special.betaln, np.meshgrid(WIDE, WIDE[WIDE > 15]), 2e-6),
}
CASES |= {
    f"expn({n}, x)": (
        lambda x, n=n: special.expn(n, x),
        lambda x, n=n: scipy.special.expn(n, x),
        [np.geomspace(1e-6, 60, 300)],
        8e-6,
    )
    for n in (1, 2, 3, 5, 8, 15)
}


def near(name, *arguments, relative=4e-6):
    """A case of the function that both libraries have under this name."""
    module, _, function = name.partition(".")
    ours, theirs = (
        (getattr(special, module), getattr(scipy.special, module))
        if not function
        else (getattr(getattr(s, module), function) for s in (stats, scipy.stats))
    )
    return ours, theirs, list(np.broadcast_arrays(*map(np.asarray, arguments))), relative


PROBABILITIES = np.r_[np.geomspace(1e-30, 0.4, 30), 0.5, 1 - NEAR]
RATIOS = np.r_[1 - NEAR, 1, 1 + NEAR, 1e-3, 0.49, 0.51, 1.9, 2.1, 1e3]
DISTANT = RATIOS[(RATIOS == 1) | (abs(RATIOS - 1) > 1e-3)]  # nearer, SciPy's own terms cancel
SIDES = np.r_[-np.geomspace(1e-3, 80, 40), np.geomspace(1e-3, 80, 40)]
COUNTS = np.r_[0:40, 99_000:101_000:100]
CASES |= {
    "erfcx": near("erfcx", np.geomspace(1, 1e37, 80)),
    "rel_entr": near("rel_entr", RATIOS * 1e5, 1e5),
    "kl_div": near("kl_div", DISTANT * 1e5, 1e5),
    "kl_div of one": near("kl_div", 1.0, DISTANT),
    "logit": near("logit", np.r_[0.5 - NEAR, 0.5 + NEAR]),
    "norm.isf": near("norm.isf", PROBABILITIES),
    "cauchy.ppf": near("cauchy.ppf", np.r_[0, PROBABILITIES, 1]),
    "cauchy.isf": near("cauchy.isf", np.r_[0, PROBABILITIES, 1]),
    "expon.logcdf": near("expon.logcdf", np.r_[0, np.geomspace(1e-30, 80, 60)]),
    "pareto.logcdf": near("pareto.logcdf", np.geomspace(1.01, 1e15, 60), 2.0),
    "gumbel_r.logsf": near("gumbel_r.logsf", np.linspace(-4, 80, 90)),
    "gumbel_l.logcdf": near("gumbel_l.logcdf", np.linspace(-80, 4, 90)),
    "gennorm.cdf": near("gennorm.cdf", np.linspace(-12, 12, 49), 1.5, relative=4e-5),
    "t.logpdf": near("t.logpdf", SIDES, np.geomspace(1, 1e7, 80)),
    "wrapcauchy.logpdf": near("wrapcauchy.logpdf", np.abs(SIDES) / 13, 0.999, relative=1e-5),
    "poisson.logpmf": near("poisson.logpmf", COUNTS, 1e5),
    "poisson.logpmf, few": near("poisson.logpmf", COUNTS[:40], 7.5),
    "binom.logpmf": near("binom.logpmf", COUNTS, 200_000, 0.5),
}


def test_fresnels_integrals_keep_the_angle_of_a_large_number():
    x = np.float32(np.r_[1.0:40.0:0.37, 3000.123, 3500.4, 1e4 + 1 / 3, 1e5 + 0.1])
    for found, wanted in zip(special.fresnel(x), scipy.special.fresnel(np.float64(x)), strict=True):
        np.testing.assert_allclose(found, wanted, atol=2e-7)


@pytest.mark.parametrize("function", [special.kl_div, special.rel_entr])
@pytest.mark.parametrize("p", [0.0, 0.3, 0.99, 1.0, 1.6, 40.0])
def test_divergences_have_derivatives_on_both_sides_of_their_branches(function, p):
    value, slope = effax.value_and_grad(function, argnums=1)(np.float32(p), np.float32(1))
    assert value == pytest.approx(getattr(scipy.special, function.__name__)(np.float32(p), 1), 1e-5)
    assert slope == pytest.approx((function is special.kl_div) - np.float32(p), rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("name", CASES)
def test_digits_are_not_lost(name):
    function, exact, arguments, relative = CASES[name]
    single = [x.astype(np.float32) for x in arguments]
    wanted = exact(*[x.astype(np.float64) for x in single])
    np.testing.assert_allclose(
        function(*single), wanted, rtol=relative, atol=1e-6 * (name == "betaln")
    )


@pytest.mark.parametrize(
    ("function", "log"), [(special.xlogy, np.log), (special.xlog1py, np.log1p)]
)
@pytest.mark.parametrize("derivative", [effax.jacfwd, effax.jacrev])
def test_a_number_times_a_logarithm_has_its_slope_where_the_number_is_0(function, log, derivative):
    assert derivative(function)(0.0, 3.0) == pytest.approx(log(3.0))
    assert derivative(function, argnums=1)(0.0, 3.0) == 0
    assert derivative(function, argnums=1)(2.0, 0.0) == (np.inf if log is np.log else 2)
    assert derivative(special.entr)(0.0) == np.inf
    assert derivative(stats.poisson.logpmf, argnums=1)(0.0, 0.0) == -1


@pytest.mark.parametrize("function", [special.expi, special.exp1, lambda x: special.expn(2, x)])
def test_loops_of_special_functions_run_without_being_compiled(function):
    wanted = function(np.float32([0.5, 3]))
    with effax.disable_jit():
        np.testing.assert_allclose(function(np.float32([0.5, 3])), wanted, rtol=1e-6)


@pytest.mark.parametrize("function", [special.hyp1f1, lambda a, b, x: special.hyp2f1(a, b, 2.0, x)])
def test_hypergeometric_loops_run_without_being_compiled(function):
    wanted = function(1.5, 2.5, 0.3)
    with effax.disable_jit():
        assert function(1.5, 2.5, 0.3) == pytest.approx(float(wanted), rel=1e-6)


def test_hyp1f1_of_a_tiny_denominator_is_large_and_not_nan():
    """All terms but the first are divided by it: they overflowed with both signs."""
    draw = np.random.default_rng(0)
    a, x = 3 * draw.normal(size=200), 5 * draw.normal(size=200)
    b = 10.0 ** -draw.uniform(31, 200, 200)
    with effax.enable_x64(True):
        np.testing.assert_allclose(
            special.hyp1f1(a, b, x), scipy.special.hyp1f1(a, b, x), rtol=1e-10
        )
    found = special.hyp1f1(np.float32(2.7), np.float32(2e-38), np.float32(-1.5))
    assert found == pytest.approx(1.9241865e36, rel=1e-3)
