"""Functions of matrices and Sylvester's equation, against SciPy and by finite differences."""

import numpy as np
import pytest
import scipy.linalg

import effax
import effax.numpy as jnp
from effax.scipy import linalg as sl

random = np.random.default_rng(4)
A = random.normal(size=(4, 4)) + 3 * np.eye(4)
B = random.normal(size=(3, 3)) + 3 * np.eye(3)
C = A + 1j * random.normal(size=(4, 4))
SIDE = random.normal(size=(4, 3))


@pytest.fixture(autouse=True)
def _double_precision():
    with effax.enable_x64(True):
        yield


def close(found, wanted, tolerance=1e-9):
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=tolerance, atol=tolerance)


def check_derivative(function, x, direction):
    """The directional derivative of a sum, backwards, against central differences."""
    weights = random.normal(size=np.shape(function(x)))
    total = lambda x: jnp.sum(jnp.real(function(x)) * weights)  # noqa: E731
    found = np.sum(np.asarray(effax.grad(total)(x)) * direction).real
    eps = 1e-6
    wanted = (total(x + eps * direction) - total(x - eps * direction)) / (2 * eps)
    close(found, wanted, 1e-6)


@pytest.mark.parametrize("x", [A, A @ A.T, C, -A, np.zeros((2, 2))], ids=range(5))
def test_square_roots(x):
    root = np.asarray(sl.sqrtm(x))
    close(root @ root, x)
    assert root.dtype == "complex128"
    if np.linalg.eigvals(x).real.min() > 0:
        close(root, scipy.linalg.sqrtm(x))


def test_more_square_roots():
    nilpotent = np.array([[0.0, 1], [0, 0]])
    assert np.isnan(np.asarray(sl.sqrtm(nilpotent))).any()
    many = np.stack([A, 2 * A])
    close(effax.vmap(effax.jit(sl.sqrtm))(many), np.stack(list(map(scipy.linalg.sqrtm, many))))
    close(sl.sqrtm(many), np.stack(list(map(scipy.linalg.sqrtm, many))))
    assert sl.sqrtm(np.eye(2, dtype=np.float32)).dtype == "complex64"
    check_derivative(sl.sqrtm, A, random.normal(size=A.shape))
    check_derivative(sl.sqrtm, C, random.normal(size=A.shape) * (1 + 1j))
    with pytest.raises(NotImplementedError, match="Blocked"):
        sl.sqrtm(A, blocksize=2)


@pytest.mark.parametrize("method", ["schur", "eigen"])
def test_sylvester(method):
    for a, b, c in ((A, B, SIDE), (C, B, SIDE), (A, B * 1j, SIDE), (C, C.T, C)):
        found = np.asarray(sl.solve_sylvester(a, b, c, method=method))
        close(a @ found + found @ b, c, 1e-8)
    assert np.isnan(np.asarray(sl.solve_sylvester(A, -A, A, method=method))).all()
    check_derivative(lambda x: sl.solve_sylvester(x, B, SIDE, method=method), A, np.roll(A, 1))
    check_derivative(lambda x: sl.solve_sylvester(A, x, SIDE, method=method), B, np.roll(B, 1))
    check_derivative(lambda x: sl.solve_sylvester(A, B, x, method=method), SIDE, SIDE[::-1])
    with pytest.raises(ValueError, match="Incompatible"):
        sl.solve_sylvester(A, SIDE, SIDE, method=method)
    with pytest.raises(ValueError, match="Unrecognized"):
        sl.solve_sylvester(A, B, SIDE, method="foo")


@pytest.mark.parametrize(
    "function",
    [
        (jnp.exp, np.exp),
        pytest.param((jnp.log, np.log), marks=pytest.mark.slow),
        pytest.param((jnp.sin, np.sin), marks=pytest.mark.slow),
    ],
)
def test_functions(function):
    ours, theirs = function
    for x in (A, C, np.eye(3), A[:1, :1]):
        found, error = sl.funm(x, ours, disp=False)
        wanted, _ = scipy.linalg.funm(x, theirs, disp=False)
        close(found, wanted, 1e-8)
        assert 0 < float(error) <= 1
    close(sl.funm(A, ours), sl.funm(A, ours, disp=False)[0])
    with pytest.raises(ValueError, match="square"):
        sl.funm(SIDE, ours)


def test_exponentials_and_their_derivatives():
    direction = random.normal(size=A.shape)
    for method in (None, "SPS", "blockEnlarge"):
        found = sl.expm_frechet(A, direction, method=method)
        for one, other in zip(found, scipy.linalg.expm_frechet(A, direction), strict=True):
            close(one, other)
    close(sl.expm_frechet(A, direction, compute_expm=False), found[1])
    with pytest.raises(ValueError, match="expected E"):
        sl.expm_frechet(A, SIDE)
    with pytest.raises(ValueError, match="Unknown implementation"):
        sl.expm_frechet(A, A, method="foo")


VECTORS = {
    "circulant": None,
    "companion": None,
    "fiedler": None,
    "fiedler_companion": None,
    "hankel": None,
    "toeplitz": None,
}


@pytest.mark.parametrize("name", VECTORS)
@pytest.mark.parametrize("dtype", ["int32", "complex64"])
def test_matrices_of_vectors(name, dtype):
    ours, theirs = getattr(sl, name), getattr(scipy.linalg, name)
    for n in (2, 3, 5, 8) if dtype == "int32" else (4,):
        x = (np.arange(1, n + 1) ** 2 * (1 + 1j if dtype == "complex64" else 1)).astype(dtype)
        close(ours(x), theirs(x), 1e-5)
    close(ours(np.stack([x, 2 * x])), np.stack([theirs(x), theirs(2 * x)]), 1e-5)
    with pytest.raises(TypeError, match="list"):
        ours([1, 2])


@pytest.mark.parametrize("name", ["hankel", "toeplitz"])
def test_two_vectors(name):
    ours, theirs = getattr(sl, name), getattr(scipy.linalg, name)
    c, r = np.arange(3), np.arange(3.0, 8)
    close(ours(c, r), theirs(c, r))
    close(ours(np.stack([c, c + 1]), r), np.stack([theirs(c, r), theirs(c + 1, r)]))


def test_leslie_and_convolution():
    f, s = np.array([1.0, 2, 4]), np.array([0.5, 0.25])
    close(sl.leslie(f, s), scipy.linalg.leslie(f, s))
    assert sl.leslie(np.stack([f, f]), s).shape == (2, 3, 3)
    with pytest.raises(ValueError, match="one element fewer"):
        sl.leslie(f, f)
    for mode in ("full", "same", "valid"):
        for n in (2, 6):
            found = sl.convolution_matrix(f, n, mode)
            close(found, scipy.linalg.convolution_matrix(f, n, mode))
    for wrong in ((f, 0), (f, 3, "foo"), (f[:0], 3)):
        with pytest.raises(ValueError):
            sl.convolution_matrix(*wrong)


SIZES = {
    "hilbert": (0, 1, 5),
    "invhilbert": (1, 5, 12),
    "pascal": (1, 2, 6, 15),
    "invpascal": (1, 2, 6),
    "hadamard": (1, 2, 16),
    "helmert": (1, 2, 6),
    "dft": (1, 2, 7),
}


@pytest.mark.parametrize("name", SIZES)
def test_matrices_of_a_size(name):
    ours, theirs = getattr(sl, name), getattr(scipy.linalg, name)
    for n in SIZES[name]:
        if n or name == "hilbert":
            close(ours(n), theirs(n), 1e-12)
    if name in ("pascal", "invpascal"):
        for kind in ("symmetric", "lower", "upper"):
            close(ours(6, kind), theirs(6, kind))
        with pytest.raises(ValueError, match="kind"):
            ours(4, "foo")
    if name == "dft":
        for scale in ("sqrtn", "n"):
            close(ours(5, scale), theirs(5, scale))
        assert ours(3, dtype="complex64").dtype == "complex64"
        for wrong in ({"scale": "foo"}, {"dtype": "float32"}):
            with pytest.raises(ValueError):
                ours(3, **wrong)
    if name == "hadamard":
        assert ours(2, dtype="complex64").dtype == "complex64"
        for wrong in (0, 3, -1, 2.5):
            with pytest.raises(ValueError, match="power of 2"):
                ours(wrong)
    if name == "helmert":
        close(ours(5, True), theirs(5, True))


def test_default_dtypes_are_jaxs():
    with effax.enable_x64(False):
        assert sl.hilbert(2).dtype == sl.pascal(2).dtype == sl.helmert(3).dtype == "float32"
        assert sl.hadamard(2).dtype == "int32" and sl.dft(2).dtype == "complex64"


def test_a_convolution_with_a_scalar_is_refused():
    with pytest.raises(ValueError, match="must be at least 1-dimensional"):
        sl.convolution_matrix(jnp.array(5.0), 3)


def test_the_exponential_of_a_matrix_mixes_no_dtypes():
    with effax.numpy_dtype_promotion("strict"):
        sl.expm_frechet(np.eye(3, dtype="float32"), np.ones((3, 3), "float32"))
