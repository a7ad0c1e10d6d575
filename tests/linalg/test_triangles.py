"""Functions that read one triangle of a matrix: SciPy's values, whatever stands in the other."""

import numpy as np
import pytest
import scipy.linalg

import effax
import effax.numpy as jnp
from effax import lax
from effax.scipy import linalg

ROUGH = np.random.RandomState(0).randn(2, 3, 3) * (1 + 0.5j)


def rough(dtype: str) -> np.ndarray:
    return (
        (ROUGH + 4 * np.eye(3)).astype(dtype)
        if dtype == "complex64"
        else ROUGH.real + 4 * np.eye(3)
    )


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_eigh_reads_one_triangle(lower: bool, dtype: str) -> None:
    x = rough(dtype)
    found = linalg.eigh(x, lower=lower, eigvals_only=True)
    wanted = [scipy.linalg.eigh(m, lower=lower, eigvals_only=True) for m in x]
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


READERS = {
    "cholesky": lambda x, lower: linalg.cholesky(x, lower=lower),
    "cho_solve": lambda x, lower: linalg.cho_solve(
        linalg.cho_factor(x, lower), jnp.arange(1.0, 4.0)
    ),
    "eigenvalues": lambda x, lower: linalg.eigh(x, lower=lower, eigvals_only=True),
    "eigenvectors": lambda x, lower: jnp.abs(linalg.eigh(x, lower=lower)[1]),
    "lax.cholesky": lambda x, lower: lax.linalg.cholesky(x, symmetrize_input=False),
    "lax.eigh": lambda x, lower: lax.linalg.eigh(x, lower=lower, symmetrize_input=False)[1],
}


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("name", READERS)
def test_derivatives_read_one_triangle(name: str, dtype: str, lower: bool) -> None:
    """Along any direction they are what differences are, and so is each other's order; JAX's are
    so along Hermitian directions."""
    with effax.enable_x64(True):
        x, along = (
            jnp.asarray((m if dtype == "complex128" else m.real).astype(dtype)) for m in ROUGH
        )
        x = x @ x.conj().T + 3 * jnp.eye(3)

        def value(x: jnp.ndarray) -> jnp.ndarray:
            return jnp.sum(jnp.arange(1, 4) * jnp.abs(READERS[name](x, lower) + 0.1) ** 2)

        slope = effax.jvp(value, (x,), (along,))[1]
        step = 1e-5 * along
        np.testing.assert_allclose(slope, (value(x + step) - value(x - step)) / 2e-5, rtol=1e-6)
        pulled = effax.grad(value)(x)
        np.testing.assert_allclose(jnp.sum(pulled * along).real, slope, rtol=1e-9)
        if dtype == "float64":
            curved = effax.jvp(effax.grad(value), (x,), (along,))[1]
            other = effax.grad(lambda x: effax.jvp(value, (x,), (along,))[1])(x)
            np.testing.assert_allclose(curved, other, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("assume_a", ["sym", "her", "pos"])
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_solve_reads_one_triangle(lower: bool, assume_a: str, dtype: str) -> None:
    x = rough(dtype)[0]
    x = x + 9 * np.eye(3)
    if assume_a != "sym":
        x = x - 1j * np.diag(np.diag(x).imag) if dtype == "complex64" else x
    y = np.arange(1.0, 4.0)
    found = linalg.solve(x, y, assume_a=assume_a, lower=lower)
    wanted = scipy.linalg.solve(x, y, assume_a=assume_a, lower=lower)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


@pytest.mark.parametrize("assume_a", ["sym", "her", "pos"])
def test_gradients_of_complex_systems(assume_a: str) -> None:
    """JAX's of "pos" are wrong here: it takes the inverse for its own transpose."""
    x = rough("complex64")[0]
    x = x + x.T if assume_a == "sym" else x @ x.conj().T
    y = x[0] + 1

    def loss(solve: object, x: jnp.ndarray, y: jnp.ndarray) -> jnp.ndarray:
        assert callable(solve)
        return jnp.sum(jnp.abs(solve(x, y)))

    found = effax.grad(loss, (1, 2))(lambda a, b: linalg.solve(a, b, assume_a=assume_a), x, y)
    wanted = effax.grad(loss, (1, 2))(jnp.linalg.solve, x, y)
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("assume_a", ["gen", "sym", "her", "pos"])
def test_solve_takes_two_axes_for_a_matrix(assume_a: str) -> None:
    """As NumPy 2 and SciPy: what `assume_a` says does not change what `b` is."""
    x = np.stack([np.diag([2.0, 4.0])] * 2)
    y = np.array([[1.0, 2.0], [3.0, 4.0]])
    found = linalg.solve(x, y, assume_a=assume_a)
    np.testing.assert_allclose(found, np.linalg.solve(x, y), rtol=1e-6)
    for of, at in [((3, 3), (4, 3, 2)), ((2, 3, 3), (3,)), ((4, 2, 3, 3), (2, 3, 1))]:
        a, b = rough("float32")[:1] @ np.ones(of), np.arange(float(np.prod(at))).reshape(at)
        a = a @ a.swapaxes(-1, -2) + np.eye(3)
        found = linalg.solve(a.reshape(of), b, assume_a=assume_a)
        np.testing.assert_allclose(found, np.linalg.solve(a.reshape(of), b), rtol=1e-3, atol=1e-3)
    with pytest.raises(ValueError, match=r"use solve\(a, b\[..., None\]\).squeeze\(-1\)"):
        linalg.solve(np.stack([np.eye(2)] * 3), np.ones((3, 2)), assume_a=assume_a)


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_expm_reads_the_upper_triangle_where_it_is_told_so(dtype: str) -> None:
    x = rough(dtype)
    wanted = scipy.linalg.expm(np.triu(x))
    np.testing.assert_allclose(linalg.expm(x, upper_triangular=True), wanted, rtol=2e-4, atol=1e-4)
    np.testing.assert_allclose(linalg.expm(x), scipy.linalg.expm(x), rtol=2e-4, atol=1e-4)


def test_matrix_rank_has_a_relative_and_an_absolute_tolerance() -> None:
    """NumPy's meanings; JAX takes `rtol` for an absolute one."""
    x = np.diag([100.0, 10.0, 0.1])
    for bound in (0.05, 0.5, 50.0):
        wanted = np.linalg.matrix_rank(x, bound)
        assert int(jnp.linalg.matrix_rank(x, bound)) == wanted
        assert int(jnp.linalg.matrix_rank(x, tol=bound)) == wanted
    for bound in (0.0001, 0.01, 0.5):
        assert int(jnp.linalg.matrix_rank(x, rtol=bound)) == np.linalg.matrix_rank(x, rtol=bound)
    several = jnp.linalg.matrix_rank(jnp.stack([x, x]), rtol=jnp.array([0.0001, 0.5]))
    assert several.tolist() == [3, 1]


@pytest.mark.parametrize("function", [jnp.linalg.matrix_rank, jnp.linalg.svd])
def test_hermitian_matrices_are_square(function: object) -> None:
    assert callable(function)
    with pytest.raises(ValueError, match="hermitian=True takes square matrices, got shape"):
        function(jnp.ones((1, 2), bool), hermitian=True)


@pytest.mark.parametrize("x", [jnp.ones(2), jnp.eye(2)])
@pytest.mark.parametrize("name", ["tol", "rtol"])
def test_tolerances_are_numbers(x: jnp.ndarray, name: str) -> None:
    with pytest.raises(TypeError, match="'x' of type <class 'str'> is not a valid effax type"):
        jnp.linalg.matrix_rank(x, **{name: "x"})
