"""Interpolation on grids, integrals of samples, nearest codes: against SciPy."""

import numpy as np
import pytest
import scipy.cluster.vq
import scipy.integrate
import scipy.interpolate

import effax
import effax.numpy as jnp
from effax.scipy import integrate
from effax.scipy.cluster import vq
from effax.scipy.interpolate import RegularGridInterpolator

random = np.random.default_rng(6)
GRID = (np.array([0.0, 1, 3, 4]), np.array([-1.0, 0, 0.5, 2, 5]))
VALUES = random.normal(size=(4, 5))
INSIDE = np.stack([random.uniform(0, 4, 40), random.uniform(-1, 5, 40)], axis=-1)
ANYWHERE = np.concatenate([INSIDE, [[5, 1], [2, -2], [-1, 9], [4, 5], [0, -1], [1, 0.25]]])


@pytest.mark.parametrize("method", ["linear", "nearest"])
@pytest.mark.parametrize(
    ("values", "fill"),
    [(VALUES, np.nan), (VALUES * 1j, 7.0), (np.stack([VALUES] * 3, axis=-1), None)],
    ids=["real", "complex", "vectors"],
)
def test_values_between_the_points(method, values, fill):
    options = {"method": method, "bounds_error": False, "fill_value": fill}
    wanted = scipy.interpolate.RegularGridInterpolator(GRID, values, **options)(ANYWHERE)
    with effax.enable_x64(True):
        found = RegularGridInterpolator(GRID, values, **options)
        np.testing.assert_allclose(found(ANYWHERE), wanted, 1e-10, 1e-12)
        np.testing.assert_allclose(found(tuple(ANYWHERE.T)), wanted, 1e-10, 1e-12)
        again = effax.jit(lambda f, x: f(x))(found, ANYWHERE)
        np.testing.assert_allclose(again, wanted, 1e-10, 1e-12)
        np.testing.assert_allclose(found(ANYWHERE[0]), wanted[:1], 1e-10, 1e-12)


def test_one_and_three_dimensions():
    x = np.linspace(0, 3, 7)
    line = RegularGridInterpolator((np.arange(4.0),), np.arange(4.0) ** 2)
    np.testing.assert_allclose(line(x), np.interp(x, np.arange(4.0), np.arange(4.0) ** 2), 1e-6)
    grid, values = (np.arange(2.0), np.arange(3.0), np.arange(4.0)), random.normal(size=(2, 3, 4))
    points = random.uniform(0, 1, (5, 2, 3))
    found = RegularGridInterpolator(grid, values)(points)
    wanted = scipy.interpolate.RegularGridInterpolator(grid, values)(points)
    np.testing.assert_allclose(found, wanted, 1e-5)
    assert RegularGridInterpolator(grid, np.ones((2, 3, 4), int))(points).dtype == "float32"


def test_derivatives_of_interpolated_values():
    with effax.enable_x64(True):
        found = RegularGridInterpolator(GRID, VALUES)
        slope = effax.vmap(effax.grad(lambda x: found(x)[0]))(INSIDE[:5])
        step = 1e-6
        for axis in (0, 1):
            moved = step * np.eye(2)[axis]
            wanted = (found(INSIDE[:5] + moved) - found(INSIDE[:5] - moved)) / (2 * step)
            np.testing.assert_allclose(slope[:, axis], wanted, 1e-5, 1e-6)
        weights = effax.grad(lambda v: jnp.sum(RegularGridInterpolator(GRID, v)(INSIDE)))(VALUES)
        np.testing.assert_allclose(jnp.sum(weights), len(INSIDE))


def test_interpolators_refuse():
    for wrong, error in (
        (lambda: RegularGridInterpolator(GRID, VALUES, method="cubic"), ValueError),
        (lambda: RegularGridInterpolator(GRID, VALUES, bounds_error=True), NotImplementedError),
        (lambda: RegularGridInterpolator(GRID, VALUES[:2]), ValueError),
        (lambda: RegularGridInterpolator((*GRID, GRID[0]), VALUES), ValueError),
        (lambda: RegularGridInterpolator(GRID, VALUES)(np.ones((2, 3))), ValueError),
        (lambda: RegularGridInterpolator(GRID, VALUES)(INSIDE, method="foo"), ValueError),
        (lambda: RegularGridInterpolator(GRID, VALUES.tolist()), TypeError),
    ):
        with pytest.raises(error):
            wrong()


def test_trapezoid():
    y, x = random.normal(size=(3, 4)), np.sort(random.normal(size=4))
    np.testing.assert_allclose(integrate.trapezoid(y, x), scipy.integrate.trapezoid(y, x), 1e-5)
    found = integrate.trapezoid(y, dx=0.5, axis=0)
    np.testing.assert_allclose(found, scipy.integrate.trapezoid(y, dx=0.5, axis=0), 1e-5)


def test_nearest_codes():
    for x, codes in (
        (random.normal(size=(7, 3)), random.normal(size=(4, 3))),
        (random.normal(size=7), random.normal(size=4)),
        (np.arange(6).reshape(3, 2), np.array([[0, 0], [3, 3]])),
    ):
        found, wanted = vq.vq(x, codes), scipy.cluster.vq.vq(x, codes)
        np.testing.assert_array_equal(found[0], wanted[0])
        np.testing.assert_allclose(found[1], wanted[1], 1e-5)
    for shapes in (((2, 3), (2, 2)), ((2, 3, 2), (2, 3, 2)), ((3,), (2, 3))):
        with pytest.raises(ValueError):
            vq.vq(*(np.ones(s) for s in shapes))


def test_shapes_and_fill_values_as_in_jax():
    found = RegularGridInterpolator(GRID, VALUES)
    assert found((0.5, 0.5)).shape == () and found(np.array([0.5, 0.5])).shape == (1,)
    with pytest.raises(ValueError, match="fill_value"):
        RegularGridInterpolator(GRID, VALUES, fill_value=1j)
