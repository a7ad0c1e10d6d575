"""Statistics of samples against SciPy, and what JAX answers where that differs."""

import numpy as np
import pytest
import scipy.stats

import effax
import effax.numpy as jnp
from effax.scipy import stats

random = np.random.default_rng(5)
SMALL = random.integers(0, 4, (5, 6))


@pytest.mark.parametrize(("axis", "dtype"), [(0, "int32"), (-1, "float32"), (None, "float32")])
def test_mode(axis, dtype):
    x = SMALL.astype(dtype)
    for keepdims in (False, True):
        found = stats.mode(x, axis=axis, keepdims=keepdims)
        wanted = scipy.stats.mode(x, axis=axis, keepdims=keepdims)
        np.testing.assert_array_equal(found.mode, wanted.mode)
        np.testing.assert_array_equal(found.count, wanted.count)
        assert found.mode.dtype == dtype and found.count.dtype == "int32"


def test_mode_of_nan_and_of_nothing():
    nan = np.nan
    found = stats.mode(np.array([nan, nan, 2, 1]))
    assert np.isnan(found.mode) and found.count == 2
    assert stats.mode(np.array([1, nan, 2])).mode == 1
    for axis in (0, -1, None):
        kept = scipy.stats.mode(2.0, axis=axis, keepdims=True).mode.shape
        assert stats.mode(2.0, axis=axis, keepdims=True).mode.shape == kept == (1,)
    found = stats.mode(np.zeros((0, 3)))
    assert np.isnan(np.asarray(found.mode)).all() and found.count.shape == (3,)
    assert stats.mode(3.0).count == 1


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("method", ["average", "min", "max", "dense", "ordinal"])
def test_rankdata(method, axis):
    found = stats.rankdata(SMALL, method, axis=axis)
    wanted = scipy.stats.rankdata(SMALL, method, axis=axis)
    # JAX's are flat where there is no axis, and floats always.
    np.testing.assert_array_equal(found, wanted.ravel() if axis is None else wanted)
    assert found.dtype == "float32"
    batched = effax.vmap(effax.jit(lambda x: stats.rankdata(x, method)))(SMALL)
    np.testing.assert_array_equal(batched, scipy.stats.rankdata(SMALL, method, axis=1))


def test_ranks_among_nan():
    x = np.array([[1, np.nan, 2], [3, 3, 1]])
    np.testing.assert_array_equal(stats.rankdata(x, axis=1), scipy.stats.rankdata(x, axis=1))
    assert stats.rankdata(np.zeros((3, 0)), axis=1).shape == (3, 0)


@pytest.mark.parametrize(("axis", "ddof"), [(None, 1), (0, 0), (-1, 1)])
def test_sem(axis, ddof):
    x = random.normal(size=(4, 5)).astype("float32")
    gaps = np.where(x > 1, np.nan, x)
    for keepdims in (False, True):
        found = stats.sem(x, axis=axis, ddof=ddof, keepdims=keepdims)
        wanted = scipy.stats.sem(x, axis=axis, ddof=ddof, keepdims=keepdims)
        np.testing.assert_allclose(found, wanted, 1e-5)
        found = stats.sem(gaps, axis, ddof, "omit", keepdims=keepdims)
        wanted = scipy.stats.sem(gaps, axis, ddof, "omit", keepdims=keepdims)
        np.testing.assert_allclose(found, wanted, 1e-5)
    assert stats.sem(x.astype("float16")).dtype == "float16"
    assert stats.sem(np.arange(4)).dtype == "float32"


def test_policies():
    for function in (stats.mode, stats.rankdata):
        for policy, error in (("omit", NotImplementedError), ("foo", ValueError)):
            with pytest.raises(error, match=policy):
                function(SMALL, nan_policy=policy)
    with pytest.raises(ValueError, match="foo is not supported"):
        stats.sem(SMALL, nan_policy="foo")
    with pytest.raises(ValueError, match="unknown method"):
        stats.rankdata(SMALL, "foo")
    with pytest.raises(ValueError, match="out of bounds"):
        stats.mode(SMALL, axis=5)
    with pytest.raises(TypeError, match="list"):
        stats.mode([1, 2, 2])


LINE = np.array([1.0, 2, 4, 7], "float32")
PLANE = np.array([[1.0, 2, 4, 7], [2, 1, 3, 5]], "float32")
WEIGHTS = np.array([1, 2, 1, 1.0], "float32")


@pytest.mark.parametrize("samples", [LINE, PLANE], ids=["line", "plane"])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weighted"])
@pytest.mark.parametrize("method", ["silverman", lambda kde: kde.n**-0.5])
def test_kernel_density(samples, weights, method):
    found = stats.gaussian_kde(samples, method, weights)
    wanted = scipy.stats.gaussian_kde(samples, method, weights)
    points = samples + 0.3
    close = lambda x, y: np.testing.assert_allclose(x, y, 1e-4)  # noqa: E731
    close(found.covariance, wanted.covariance)
    close(found.inv_cov, wanted.inv_cov)
    close(found.neff, wanted.neff)
    close(found(points), wanted(points))
    close(found.pdf(points), wanted(points))
    close(found.logpdf(points), wanted.logpdf(points))
    d = wanted.d
    close(
        found.integrate_gaussian(np.zeros(d), np.eye(d)),
        wanted.integrate_gaussian(np.zeros(d), np.eye(d)),
    )
    close(found.integrate_kde(found), wanted.integrate_kde(wanted))
    if d == 1:
        close(found.integrate_box_1d(0.0, 2.0), wanted.integrate_box_1d(0.0, 2.0))


def test_kernel_densities_are_nodes():
    def log_likelihood(samples):
        return jnp.sum(stats.gaussian_kde(samples).logpdf(LINE))

    density = effax.jit(stats.gaussian_kde)(PLANE)
    np.testing.assert_allclose(density.covariance, stats.gaussian_kde(PLANE).covariance, 1e-6)
    assert len(effax.tree.leaves(density)) == 5
    with effax.enable_x64(True):
        samples = LINE.astype("float64")
        found = np.asarray(effax.grad(log_likelihood)(samples))
        step = np.array([0, 1e-5, 0, 0])
        change = (log_likelihood(samples + step) - log_likelihood(samples - step)) / 2e-5
        np.testing.assert_allclose(found[1], change, 1e-5)


def test_samples_of_a_kernel_density_are_jaxs():
    key = effax.random.key(0)
    found = stats.gaussian_kde(LINE).resample(key, (3,))
    np.testing.assert_allclose(found, [[-3.897379, 2.9182477, 7.4121375]], 1e-5)
    found = stats.gaussian_kde(PLANE, "silverman", WEIGHTS).resample(key, (3,))
    wanted = [[-3.971673, 7.41839, 2.4489849], [-2.3642259, 5.062872, 1.3232946]]
    np.testing.assert_allclose(found, wanted, 1e-5)


def test_kernel_densities_refuse():
    density = stats.gaussian_kde(PLANE)
    for wrong, message in [
        (lambda: density(np.zeros((3, 2))), "points have dimension 3"),
        (lambda: density.integrate_box_1d(0, 1), "only handles 1D"),
        (lambda: density.integrate_kde(stats.gaussian_kde(LINE)), "same dimensionality"),
        (lambda: density.integrate_gaussian(np.zeros(3), np.eye(2)), "mean does not"),
        (lambda: density.integrate_gaussian(np.zeros(2), np.eye(3)), "covariance does not"),
        (lambda: stats.gaussian_kde(LINE[:1]), "multiple elements"),
        (lambda: stats.gaussian_kde(LINE, weights=np.ones(3)), "of length n"),
        (lambda: stats.gaussian_kde(LINE, weights=np.ones((2, 2))), "one-dimensional"),
        (lambda: stats.gaussian_kde(LINE, "foo"), "bw_method"),
    ]:
        with pytest.raises(ValueError, match=message):
            wrong()
    for refused in (
        lambda: stats.gaussian_kde(LINE * 1j),
        lambda: density.set_bandwidth(1.0),
        lambda: density.integrate_box(np.zeros(2), np.ones(2)),
    ):
        with pytest.raises(NotImplementedError):
            refused()
