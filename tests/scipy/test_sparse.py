"""Iterative solvers against direct ones, and their derivatives."""

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax.scipy.sparse.linalg import bicgstab, cg, gmres

random = np.random.default_rng(0)
ROOT = random.normal(size=(5, 5)).astype("float32")
SYMMETRIC = ROOT @ ROOT.T + 5 * np.eye(5, dtype="float32")
GENERAL = ROOT + 5 * np.eye(5, dtype="float32")
B = random.normal(size=5).astype("float32")
SOLVERS = [
    (cg, SYMMETRIC, {}),
    (bicgstab, GENERAL, {}),
    (gmres, GENERAL, {}),
    (gmres, GENERAL, {"restart": 2}),
    (gmres, GENERAL, {"solve_method": "incremental"}),
]


def close(found, wanted):
    np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("solver, a, given", SOLVERS)
def test_solutions(solver, a, given):
    wanted = np.linalg.solve(a, B)
    inverse = np.linalg.inv(a) + 0.01 * np.eye(5, dtype="float32")
    x, info = solver(a, B, **given)
    close(x, wanted)
    assert x.dtype == "float32" and (info is None if solver is not gmres else info == 0)
    close(solver(lambda v: a @ v, B, x0=np.ones(5, "int32"), M=inverse, **given)[0], wanted)
    assert solver(a, 0 * B, **given)[0].tolist() == [0] * 5
    if solver is not cg:
        close(solver(a + 1j * a.T, B + 0j, **given)[0], np.linalg.solve(a + 1j * a.T, B))
    else:
        hermitian = a + 1j * (ROOT - ROOT.T)
        close(solver(hermitian, B + 0j)[0], np.linalg.solve(hermitian, B))


@pytest.mark.parametrize("solver, a, given", SOLVERS[:3])
def test_derivatives(solver, a, given):
    def solved(a, b):
        return solver(a, b, tol=1e-6, **given)[0]

    w = random.normal(size=5).astype("float32")
    slopes = effax.grad(lambda a, b: jnp.vdot(w, solved(a, b)), (0, 1))(a, B)
    y, x = np.linalg.solve(a.T, w), np.linalg.solve(a, B)
    close(slopes[1], y)
    close(slopes[0], -np.outer(y, x))
    moved = effax.jit(lambda b: effax.jvp(lambda b: solved(a, b), (b,), (w,))[1])(B)
    close(moved, np.linalg.solve(a, w))
    many = np.stack([B, w, 0 * w])
    close(effax.vmap(lambda b: solved(a, b))(many), np.linalg.solve(a, many.T).T)


def test_trees():
    b = {"a": B[:2], "b": B[2:].reshape(3, 1)}
    for solver in (cg, bicgstab, gmres):
        x, _ = solver(lambda v: {"a": 2 * v["a"] + v["b"][0], "b": 4 * v["b"]}, b)
        if solver is not cg:  # the map isn't symmetric
            close(x["a"], (B[:2] - B[2] / 4) / 2)
        assert x["b"].shape == (3, 1)


@pytest.mark.parametrize("solver", [cg, bicgstab, gmres])
def test_what_is_refused(solver):
    for wrong, error in [
        (lambda: solver("a", B), TypeError),
        (lambda: solver(GENERAL, B[:2]), TypeError),
        (lambda: solver(GENERAL[:2], B), ValueError),
        (lambda: solver(GENERAL[None], B), ValueError),
        (lambda: solver(GENERAL, B, x0=B[:2]), ValueError),
        (lambda: solver(GENERAL, B, x0=(B,)), ValueError),
        (lambda: solver(lambda v: v[:1], B), ValueError),
    ]:
        with pytest.raises(error):
            wrong()
    if solver is gmres:
        for wrong in ({"solve_method": "foo"}, {"restart": 0}):
            with pytest.raises(ValueError):
                gmres(GENERAL, B, **wrong)


def test_few_iterations():
    once, _ = cg(SYMMETRIC, B, maxiter=1)
    alpha = B @ B / (B @ SYMMETRIC @ B)
    close(once, alpha * B)


class Times:
    """An object that has a shape and `@`, and is no array."""

    shape = GENERAL.shape

    def __matmul__(self, x):
        return GENERAL @ x


@pytest.mark.parametrize("solver", [bicgstab, gmres])
def test_an_object_with_a_shape_and_a_product_is_an_operator(solver):
    assert np.allclose(solver(Times(), B)[0], solver(GENERAL, B)[0])


def test_solutions_are_as_weak_as_the_right_side():
    for method in (cg, bicgstab, gmres):
        assert method(lambda x: 2 * x, 1.0)[0].weak_type
        assert not method(lambda x: 2 * x, jnp.ones(2))[0].weak_type
