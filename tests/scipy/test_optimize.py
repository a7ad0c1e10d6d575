"""Minima against SciPy's, and under transformations."""

import numpy as np
import pytest
import scipy.optimize

import effax
import effax.numpy as jnp
from effax.scipy.optimize import OptimizeResults, minimize


def rosenbrock(x):
    return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def himmelblau(x):
    return (x[0] ** 2 + x[1] - 11) ** 2 + (x[0] + x[1] ** 2 - 7) ** 2


def steep(x):
    return jnp.sum(jnp.cosh(3 * x) + x**2) + jnp.exp(x[0] - x[1])


@pytest.mark.parametrize("function", [rosenbrock, himmelblau, steep])
def test_minima(function):
    start = np.array([-0.7, 0.4], "float32")
    with effax.enable_x64(True):
        found = minimize(function, start.astype("float64"), method="BFGS")
        wanted = scipy.optimize.minimize(lambda x: float(function(x)), start, method="Powell")
        assert found.success and found.status == 0 and found.x.dtype == "float64"
        np.testing.assert_allclose(function(found.x), function(wanted.x), rtol=1e-5, atol=1e-7)
        assert np.abs(found.jac).max() < 1e-5
        np.testing.assert_allclose(found.fun, function(found.x), rtol=1e-6, atol=1e-12)
    found = minimize(function, start, method="bfgs", tol=1e-2)
    assert found.success
    assert np.abs(np.asarray(effax.grad(function)(found.x))).max() < 2e-2


def test_a_parabola_is_learned():
    matrix = np.array([[3.0, 1.0], [1.0, 2.0]], "float32")
    found = minimize(
        lambda x, b: x @ matrix @ x / 2 - b @ x,
        np.zeros(2, "float32"),
        (np.ones(2),),
        method="BFGS",
    )
    np.testing.assert_allclose(found.x, np.linalg.solve(matrix, np.ones(2)), rtol=1e-4)
    assert isinstance(found, OptimizeResults) and found.nfev == found.njev >= found.nit
    assert [found.nit.dtype, found.status.dtype, found.success.dtype] == ["int32", "int32", "bool"]


@pytest.mark.parametrize("scale", [1.0, 1e2, 1e3, 1e4, 1e5])
def test_functions_of_any_size(scale):
    """The search begins with the identity, which is far from the inverse that it looks for."""
    start = np.array([1.0, 1.0], "float32")
    found = minimize(lambda x: jnp.mean((scale * x) ** 2), start, method="BFGS")
    assert found.success
    np.testing.assert_allclose(found.x, [0, 0], atol=1e-5)
    uneven = np.array([1.0, 30.0], "float32")
    found = minimize(lambda x: jnp.sum(uneven * (scale * x) ** 2), start, method="BFGS")
    assert found.success or found.fun < 1e-9 * scale**2


def test_minima_are_staged_and_batched():
    def best(target):
        return minimize(
            lambda x: jnp.sum(jnp.cosh(x - target)), jnp.zeros(2), method="BFGS", tol=1e-3
        ).x

    targets = np.array([[0.5, 1.0], [-2.0, 0.1], [0.0, 0.0]], "float32")
    np.testing.assert_allclose(effax.jit(effax.vmap(best))(targets), targets, atol=1e-3)


def test_how_it_ends_otherwise():
    start = np.full(2, 9.0, "float32")
    few = minimize(rosenbrock, start, method="BFGS", options={"maxiter": 1})
    assert not few.success and few.status == 1 and few.nit == 1
    bottomless = minimize(lambda x: jnp.sum(x), start, method="BFGS")
    assert not bottomless.success and bottomless.status == 5
    nan = minimize(lambda x: jnp.sum(jnp.log(x)), np.ones(2, "float32"), method="BFGS")
    assert not nan.success


def test_what_is_refused():
    start = np.zeros(2, "float32")
    for wrong, error in [
        (lambda: minimize(steep, start, method="Newton"), ValueError),
        (lambda: minimize(steep, start, args=3, method="BFGS"), TypeError),
        (lambda: minimize(steep, start, method="BFGS", options={"foo": 1}), TypeError),
        (lambda: minimize(steep, np.zeros(2, int), method="BFGS"), TypeError),
        (lambda: minimize(steep, start[None], method="BFGS"), ValueError),
        (lambda: minimize(lambda x: x, start, method="BFGS"), TypeError),
        (lambda: minimize(steep, start), TypeError),
    ]:
        with pytest.raises(error):
            wrong()


LIMITED = "l-bfgs-experimental-do-not-rely-on-this"


@pytest.mark.parametrize("size", [2, 12])
def test_few_steps_remembered_find_the_minimum_too(size):
    with effax.enable_x64(True):
        start = jnp.zeros(size)
        options = {"gtol": 1e-7, "ftol": 0.0}
        found = effax.jit(lambda x: minimize(rosenbrock, x, method=LIMITED, options=options))(start)
        expected = scipy.optimize.minimize(rosenbrock, np.zeros(size), method="L-BFGS-B")
    assert found.success and found.hess_inv is None
    np.testing.assert_allclose(found.x, np.ones(size), atol=1e-7)
    assert int(found.nfev) <= 2 * expected.nfev


def test_steps_beyond_those_remembered_are_forgotten():
    with effax.enable_x64(True):
        few = minimize(rosenbrock, jnp.zeros(8), method=LIMITED, options={"maxcor": 1, "ftol": 0.0})
        many = minimize(rosenbrock, jnp.zeros(8), method=LIMITED, options={"ftol": 0.0})
    np.testing.assert_allclose(few.x, np.ones(8), atol=1e-4)
    assert int(many.nit) < int(few.nit)


def test_complex_vectors_have_minima():
    goal = jnp.array([1.0, 2.0 - 3.0j, -5.0j])
    weights = jnp.array([1.0, 10.0, 0.1])
    with effax.numpy_dtype_promotion("strict"):
        found = minimize(
            lambda z: jnp.sum(weights * jnp.abs(z - goal) ** 2),
            jnp.ones_like(goal),
            method=LIMITED,
            options={"ftol": -jnp.inf},
        )
    np.testing.assert_allclose(found.x, goal, atol=1e-4)
    with pytest.raises(TypeError, match="x0 of floats"):
        minimize(lambda z: jnp.abs(z).sum(), goal, method="BFGS")


@pytest.mark.parametrize(
    "options, status", [({"maxiter": 2}, 1), ({"maxfun": 4}, 2), ({"maxgrad": 4}, 3), ({}, 4)]
)
def test_why_a_descent_ends(options, status):
    found = minimize(rosenbrock, jnp.zeros(4), method=LIMITED, options={"gtol": 0.0} | options)
    assert (bool(found.success), int(found.status)) == (False, status)
