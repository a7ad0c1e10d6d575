"""Right sides of linear systems: vectors, matrices, and batches of either, beside batches of systems."""

import numpy as np
import pytest
import scipy.linalg

import effax.numpy as jnp
import effax.scipy.linalg as sl
from effax import lax

RNG = np.random.default_rng(0)
# The system, the right side, and whether that is one or many vectors.
SHAPES = [
    ((3, 3), (3,), True),
    ((3, 3), (3, 2), False),
    ((3, 3), (4, 3, 2), False),
    ((2, 3, 3), (3,), True),
    ((2, 3, 3), (2, 3), True),
    ((2, 3, 3), (1, 3), True),
    ((1, 3, 3), (3, 3), True),
    ((3, 3, 3), (3, 3), True),
    ((2, 3, 3), (3, 2), False),
    ((4, 2, 3, 3), (4, 2, 3), True),
    ((4, 2, 3, 3), (2, 3, 1), False),
]
SOLVERS = {
    "lu_solve": lambda a, b: sl.lu_solve(sl.lu_factor(a), b),
    "cho_solve": lambda a, b: sl.cho_solve(sl.cho_factor(a, lower=True), b),
    "solve_triangular": lambda a, b: sl.solve_triangular(np.triu(a), b),
}


def system(shape):
    a = RNG.normal(size=shape).astype(np.float32)
    return a @ a.swapaxes(-1, -2) + np.eye(3, dtype=np.float32)


@pytest.mark.parametrize(("of", "at", "vector"), SHAPES)
@pytest.mark.parametrize("name", SOLVERS)
def test_solutions(name, of, at, vector):
    a, b = system(of), RNG.normal(size=at).astype(np.float32)
    columns = b[..., None] if vector else b
    wanted = np.linalg.solve(np.triu(a) if name == "solve_triangular" else a, columns)
    found = SOLVERS[name](a, b)
    np.testing.assert_allclose(found, wanted[..., 0] if vector else wanted, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("at", [(2,), (2, 3), (2, 1), (1, 3)])
def test_rows_that_do_not_fit(name, at):
    with pytest.raises(ValueError, match=f"{name}: .* as many rows as b"):
        SOLVERS[name](system((3, 3)), np.ones(at, np.float32))


def test_complex_forms_of_many():
    t, z = scipy.linalg.schur(RNG.normal(size=(4, 4)))
    many = sl.rsf2csf(np.stack([t, np.triu(t)]), np.stack([z, z]))
    for k, given in enumerate((t, np.triu(t))):
        alone = sl.rsf2csf(given, z)
        for found, wanted in zip(many, alone, strict=True):
            np.testing.assert_allclose(found[k], wanted, atol=1e-5)


def test_pinv_takes_several_bounds_for_one_matrix():
    """It took the bounds for those of singular values, each its own."""
    a, bounds = jnp.diag(jnp.array([1.0, 0.25, 0.15])), np.float32([0.1, 0.2, 0.3])
    found = jnp.linalg.pinv(a, bounds)
    assert found.shape == (3, 3, 3)
    for one, bound in zip(found, bounds, strict=True):
        np.testing.assert_allclose(one, np.linalg.pinv(np.asarray(a), bound), atol=1e-6)


def test_householder_product_refuses_shapes_that_do_not_fit():
    for a, taus in [((2, 3), (2,)), ((3, 2), (3,)), ((0, 2), (2,))]:
        with pytest.raises(ValueError, match="householder_product"):
            lax.linalg.householder_product(jnp.ones(a), jnp.ones(taus))
    with pytest.raises(TypeError, match="one batch"):
        lax.linalg.householder_product(jnp.ones((3, 3)), jnp.ones((3, 0)))
