"""`numpy.linalg` and `numpy.fft` over effects, against NumPy's own."""

import numpy as np
import pytest
import scipy.linalg

import effax
import effax.numpy as jnp
from effax.scipy import linalg as sl

random = np.random.default_rng(11)
A = random.normal(size=(4, 4)) + 2 * np.eye(4)
B = random.normal(size=(2, 3, 3)) + 2 * np.eye(3)
C = random.normal(size=(4, 4)) + 1j * random.normal(size=(4, 4))
T = random.normal(size=(5, 3))
SINGULAR = np.array([[1.0, 2, 3, 4], [2, 4, 6, 8], [1, 0, 1, 0], [0, 1, 0, 1]])


@pytest.fixture(autouse=True)
def _double_precision():
    with effax.enable_x64(True):
        yield


def close(found, wanted, tolerance=1e-9):
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("x", [A, B, C], ids=["real", "batch", "complex"])
def test_square_matrices(x):
    close(jnp.linalg.inv(x), np.linalg.inv(x))
    close(jnp.linalg.det(x), np.linalg.det(x))
    for found, wanted in zip(jnp.linalg.slogdet(x), np.linalg.slogdet(x), strict=True):
        close(found, wanted)
    for n in (-3, 0, 1, 6):
        close(jnp.linalg.matrix_power(x, n), np.linalg.matrix_power(x, n))
    close(jnp.linalg.cond(x), np.linalg.cond(x))
    close(jnp.linalg.svdvals(x), np.linalg.svd(x, compute_uv=False))
    close(np.sort_complex(jnp.linalg.eigvals(x)), np.sort_complex(np.linalg.eigvals(x)))


@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e150, 1e300])
@pytest.mark.parametrize("x", [A, B, C], ids=["real", "batch", "complex"])
def test_eigenvalues_of_very_small_and_large_matrices(x, scale):
    """OpenBLAS 0.3.30 does not scale back what it has scaled: JAX's and SciPy's are 1e11 off."""
    values, vectors = (np.asarray(y) for y in jnp.linalg.eig(x * scale))
    found = np.sort_complex(values / scale)
    close(found, np.sort_complex(np.linalg.eigvals(x)))
    close(np.sort_complex(jnp.linalg.eigvals(x * scale) / scale), found)
    close(x @ vectors, vectors * (values / scale)[..., None, :])


@pytest.mark.parametrize("scale", [1e-290, 1e-150, 1e150, 1e290])
@pytest.mark.parametrize("x", [A, C], ids=["real", "complex"])
def test_forms_of_very_small_and_large_matrices(x, scale):
    """The polar form of such matrices was zeros, and Schur's complex form NaN or zeros."""
    u, h = (np.asarray(y) for y in sl.polar(x * scale))
    close(u @ (h / scale), x)
    close(u.conj().T @ u, np.eye(len(x)))
    t, z = (np.asarray(y) for y in sl.rsf2csf(*sl.schur(x * scale)))
    close(z @ (t / scale) @ z.conj().T, x)


@pytest.mark.parametrize("x", [T, T.T, A, C], ids=["tall", "wide", "square", "complex"])
def test_any_matrix(x):
    close(jnp.linalg.pinv(x), np.linalg.pinv(x))
    assert int(jnp.linalg.matrix_rank(x)) == np.linalg.matrix_rank(x)
    for order in (None, "fro", "nuc", 2, -2, 1, -1, np.inf, -np.inf):
        close(jnp.linalg.norm(x, order, axis=(0, 1)), np.linalg.norm(x, order))
    for found, wanted in zip(jnp.linalg.qr(x), np.linalg.qr(x), strict=True):
        close(np.abs(found), np.abs(wanted))


@pytest.mark.parametrize("order", [None, 0, 1, 2, 3, -1, np.inf, -np.inf])
def test_vector_norms(order):
    close(jnp.linalg.norm(T[:, 0], order), np.linalg.norm(T[:, 0], order))
    close(jnp.linalg.norm(T, order, axis=1), np.linalg.norm(T, order, axis=1))


@pytest.mark.parametrize(
    ("a", "b"), [(A, T[:4, 0]), (A, T[:4]), (B, T[:3]), (B, B), (C, C)], ids=range(5)
)
def test_solve(a, b):
    close(jnp.linalg.solve(a, b), np.linalg.solve(a, b))
    found = effax.grad(lambda a: jnp.sum(jnp.abs(jnp.linalg.solve(a, b)) ** 2))(a)
    eps = 1e-6
    direction = random.normal(size=a.shape)
    sides = [np.sum(np.abs(np.linalg.solve(a + s * eps * direction, b)) ** 2) for s in (1, -1)]
    close(np.sum(np.asarray(found).real * direction), (sides[0] - sides[1]) / (2 * eps), 1e-5)


def test_determinants_of_singular_matrices_have_derivatives():
    def cofactors(x):
        n = len(x)
        minor = lambda i, j: np.delete(np.delete(x, i, 0), j, 1)  # noqa: E731
        return np.array(
            [[(-1) ** (i + j) * np.linalg.det(minor(i, j)) for j in range(n)] for i in range(n)]
        )

    for x in (A, SINGULAR, A[:3, :3], SINGULAR[:2, :2]):
        close(effax.grad(jnp.linalg.det)(x), cofactors(x), 1e-7)


def test_least_squares():
    b = random.normal(size=5)
    found = jnp.linalg.lstsq(T, b)
    wanted = np.linalg.lstsq(T, b, rcond=None)
    for x, y in zip(found, wanted, strict=True):
        close(x, y)


def test_several_factors():
    v, w = T[0], T[:, 0]
    close(jnp.linalg.multi_dot([w, T, T.T, w]), np.linalg.multi_dot([w, T, T.T, w]))
    close(
        jnp.linalg.tensorsolve(A.reshape(2, 2, 4), A[:2, :2]),
        np.linalg.tensorsolve(A.reshape(2, 2, 4), A[:2, :2]),
    )
    close(jnp.linalg.tensorinv(A.reshape(4, 2, 2), 1), np.linalg.tensorinv(A.reshape(4, 2, 2), 1))
    close(jnp.linalg.cross(v, T[1]), np.cross(v, T[1]))


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: jnp.linalg.inv(T), ValueError),
        (lambda: jnp.linalg.solve(A, T), ValueError),
        (lambda: jnp.linalg.det(T), ValueError),
        (lambda: jnp.linalg.norm(B, 2), ValueError),
        (lambda: jnp.linalg.norm(T, "nucular", axis=(0, 1)), ValueError),
        (lambda: jnp.linalg.matrix_power(T, 2), TypeError),
        (lambda: jnp.linalg.qr(T, mode="sideways"), ValueError),
        (lambda: jnp.linalg.eigh(A, UPLO="R"), ValueError),
    ],
    ids=range(8),
)
def test_refusals(call, error):
    with pytest.raises(error):
        call()


def test_scipy():
    s = A @ A.T
    close(sl.cholesky(s), scipy.linalg.cholesky(s))
    close(sl.cho_solve(sl.cho_factor(s), T[:4]), np.linalg.solve(s, T[:4]))
    close(sl.expm(A), scipy.linalg.expm(A))
    close(sl.block_diag(A, T), scipy.linalg.block_diag(A, T))
    close(sl.toeplitz(T[0], T[1]), scipy.linalg.toeplitz(T[0], T[1]))
    p, lower, u = map(np.asarray, sl.lu(T))
    close(p @ lower @ u, T)
    for trans in (0, 1, 2):
        found = sl.lu_solve(sl.lu_factor(C), C[0], trans=trans)
        close(found, scipy.linalg.lu_solve(scipy.linalg.lu_factor(C), C[0], trans=trans))
        found = sl.solve_triangular(C, C[0], trans=trans)
        close(found, scipy.linalg.solve_triangular(C, C[0], trans=trans))


X = random.normal(size=(3, 6, 5))
Z = X + 1j * random.normal(size=X.shape)


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
@pytest.mark.parametrize(
    "options",
    [{}, {"n": 4}, {"n": 9}, {"axis": 1, "norm": "ortho"}, {"norm": "forward"}],
    ids=range(5),
)
def test_transforms_of_one_axis(name, options):
    x = X if name in ("rfft", "ihfft") else Z
    close(getattr(jnp.fft, name)(x, **options), getattr(np.fft, name)(x, **options))


@pytest.mark.parametrize(
    "name", ["fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"]
)
@pytest.mark.parametrize(
    "options", [{}, {"s": (4, 3), "axes": (0, 2)}, {"axes": (2, 0), "norm": "ortho"}], ids=range(3)
)
def test_transforms_of_several_axes(name, options):
    x = X if name.startswith("r") else Z
    close(getattr(jnp.fft, name)(x, **options), getattr(np.fft, name)(x, **options))


def test_more_axes_than_one_effect_takes():
    x = random.normal(size=(2, 3, 2, 3, 4))
    close(jnp.fft.fftn(x), np.fft.fftn(x))
    close(jnp.fft.rfftn(x), np.fft.rfftn(x))
    close(jnp.fft.irfftn(x + 0j), np.fft.irfftn(x + 0j))


def test_frequencies_and_shifts():
    for n in (4, 5):
        close(jnp.fft.fftfreq(n, 0.5), np.fft.fftfreq(n, 0.5))
        close(jnp.fft.rfftfreq(n, 2.0), np.fft.rfftfreq(n, 2.0))
    close(jnp.fft.fftshift(X, axes=(0, 2)), np.fft.fftshift(X, axes=(0, 2)))
    close(jnp.fft.ifftshift(X), np.fft.ifftshift(X))


def test_bad_transforms():
    with pytest.raises(ValueError, match="norm"):
        jnp.fft.fft(X, norm="sideways")
    with pytest.raises(ValueError, match="data points"):
        jnp.fft.fft(X, n=0)
    with pytest.raises(ValueError, match="real"):
        jnp.fft.rfft(Z)


def test_gradients_by_parseval():
    """The sum of squares of a spectrum is n times that of the signal."""
    n = X.shape[-1]

    def power(x):
        return jnp.sum(jnp.abs(jnp.fft.fft(x)) ** 2)

    close(effax.grad(power)(X), 2 * n * X)
    close(effax.vmap(effax.grad(power))(X), 2 * n * X)

    def half_power(x):
        weights = jnp.array([1.0, 2.0, 2.0])
        return jnp.sum(weights * jnp.abs(jnp.fft.rfft(x)) ** 2)

    close(effax.grad(half_power)(X), 2 * n * X)
    close(effax.grad(lambda x: jnp.sum(jnp.fft.irfft(jnp.fft.rfft(x), n=n) ** 2))(X), 2 * X)
