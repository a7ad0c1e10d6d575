"""Condensed forms and what is built of them, by their defining equations and against SciPy."""

import numpy as np
import pytest
import scipy.linalg

import effax
import effax.numpy as jnp
from effax.effects.errors import UnsupportedDerivativeError
from effax.lax import linalg
from effax.scipy import linalg as sl

random = np.random.default_rng(3)
A = random.normal(size=(4, 4))
C = A + 1j * random.normal(size=(4, 4))
MANY = random.normal(size=(2, 3, 3))
TALL, WIDE = random.normal(size=(5, 3)), random.normal(size=(3, 5))


@pytest.fixture(autouse=True)
def _double_precision():
    with effax.enable_x64(True):
        yield


def close(found, wanted, tolerance=1e-9):
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=tolerance, atol=tolerance)


def adjoint(x):
    return x.conj().swapaxes(-1, -2)


def around(q, t):
    q, t = np.asarray(q), np.asarray(t)
    return q @ t @ adjoint(q)


@pytest.mark.parametrize("x", [A, C, MANY], ids=["real", "complex", "batch"])
def test_schur(x):
    t, q = sl.schur(x)
    close(around(q, t), x)
    assert t.dtype == x.dtype
    t, q = sl.schur(x, output="complex")
    close(around(q, t), x)
    close(np.tril(t, -1), 0)
    close(linalg.schur(x, compute_schur_vectors=False)[0], sl.schur(x)[0])
    for bad, error in ((x[..., :1], ValueError), (np.eye(2, dtype=int), TypeError)):
        with pytest.raises(error):
            sl.schur(bad)
    with pytest.raises(NotImplementedError, match="sort_eig_vals"):
        linalg.schur(x, sort_eig_vals=True)
    with pytest.raises(ValueError, match="output"):
        sl.schur(x, output="foo")


def test_complex_form_of_a_real_one():
    for x in (A, np.array([[0.0, 1], [-1, 0]]), random.normal(size=(7, 7))):
        t, z = sl.rsf2csf(*sl.schur(x))
        close(around(z, t), x)
        close(np.tril(t, -1), 0)
        close(*(np.sort_complex(np.round(v, 8)) for v in (np.diag(t), np.linalg.eigvals(x))))
    assert sl.rsf2csf(np.ones((1, 1)), np.ones((1, 1)))[0].dtype == "complex128"
    with pytest.raises(ValueError, match="'Z' must be square"):
        sl.rsf2csf(A, TALL)
    with pytest.raises(ValueError, match="shapes must match"):
        sl.rsf2csf(A, np.eye(3))


@pytest.mark.parametrize("x", [A, C, MANY, A[:1, :1], A[:2, :2]], ids=range(5))
def test_hessenberg(x):
    h, q = sl.hessenberg(x, calc_q=True)
    close(around(q, h), x)
    close(np.tril(h, -2), 0)
    close(sl.hessenberg(x), h)
    with pytest.raises(ValueError, match="Hessenberg"):
        sl.hessenberg(TALL)


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("x", [A + A.T, C + adjoint(C), MANY @ adjoint(MANY)], ids=range(3))
def test_tridiagonal(x, lower):
    _, d, e, _ = linalg.tridiagonal(x, lower=lower)
    assert d.dtype == e.dtype == "float64"
    for member, one, other in zip(
        x.reshape(-1, *x.shape[-2:]),
        np.reshape(d, (-1, x.shape[-1])),
        np.reshape(e, (-1, x.shape[-1] - 1)),
        strict=True,
    ):
        found = np.diag(one) + np.diag(other, 1) + np.diag(other, -1)
        close(np.linalg.eigvalsh(found), np.linalg.eigvalsh(member))


@pytest.mark.parametrize("x", [A, C, TALL, WIDE], ids=["square", "complex", "tall", "wide"])
@pytest.mark.parametrize("mode", ["full", "economic", "r"])
def test_pivoted_qr(x, mode):
    *factors, order = sl.qr(x, pivoting=True, mode=mode)
    *wanted, columns = scipy.linalg.qr(x, pivoting=True, mode=mode)
    np.testing.assert_array_equal(order, columns)
    close(factors[-1], wanted[-1])
    if mode != "r":
        close(factors[0] @ factors[1], x[:, order])


@pytest.mark.parametrize(
    ("left", "transpose"), [(a, b) for a in (True, False) for b in (True, False)]
)
@pytest.mark.parametrize("x", [TALL, TALL + 1j * TALL[::-1]], ids=["real", "complex"])
def test_products_with_reflections(x, left, transpose):
    (packed, taus), _ = scipy.linalg.qr(x, mode="raw")
    full = np.linalg.qr(x, mode="complete")[0]
    close(linalg.householder_product(packed, taus), full[:, :3])
    q = adjoint(full) if transpose else full
    c = x[:, :2] if left else x[:, :2].T
    found = linalg.ormqr(packed, taus, c, left=left, transpose=transpose)
    close(found, q @ c if left else c @ q)


@pytest.mark.parametrize("x", [TALL, WIDE, C], ids=["tall", "wide", "complex"])
@pytest.mark.parametrize("mode", ["left", "right"])
@pytest.mark.parametrize("pivoting", [True, False])
def test_qr_multiply(x, mode, pivoting):
    k, m = min(x.shape), x.shape[0]
    c = random.normal(size=(k, 2) if mode == "left" else (2, m))
    for side in (c, c[:, 0] if mode == "left" else c[0]):
        found = sl.qr_multiply(x, side, mode, pivoting, conjugate=True)
        wanted = scipy.linalg.qr_multiply(x, side, mode, pivoting, conjugate=True)
        for one, other in zip(found, wanted, strict=True):
            close(one, other)
    with pytest.raises(ValueError, match="not compatible"):
        sl.qr_multiply(x, np.ones((7, 7)), mode)


def test_tridiagonal_systems():
    dl, d, du = random.normal(size=(3, 5))
    b = random.normal(size=(5, 2))
    full = np.diag(d) + np.diag(dl[1:], -1) + np.diag(du[:-1], 1)
    close(linalg.tridiagonal_solve(dl, d, du, b), np.linalg.solve(full, b))
    one, none = np.ones((3, 1), "float32"), np.zeros(3, "float32")
    assert np.isnan(np.asarray(linalg.tridiagonal_solve(none, none, none, one))).all()
    middle = np.array([1, 0, 1], "float32")
    found = linalg.tridiagonal_solve(none, middle, none, one, perturb_singular=True)
    np.testing.assert_array_equal(found[:, 0], [1, 2**23, 1])  # as JAX
    with pytest.raises(TypeError, match="rank at least 2"):
        linalg.tridiagonal_solve(dl, d, du, b[:, 0])
    with pytest.raises(TypeError, match="same shape"):
        linalg.tridiagonal_solve(dl[1:], d, du, b)


def test_cholesky_update():
    r = scipy.linalg.cholesky(A @ A.T + np.eye(4))
    w = random.normal(size=4)
    for vector in (w, 0 * w):
        found = np.asarray(linalg.cholesky_update(r, vector))
        close(np.abs(found), np.abs(scipy.linalg.cholesky(r.T @ r + np.outer(vector, vector))))
    found = effax.grad(lambda w: jnp.sum(linalg.cholesky_update(r, w) ** 2))(w)
    close(found, 2 * w)  # the trace of r^T r + w w^T
    for wrong, error in (
        ((r[None], w), TypeError),
        ((r * 1j, w), TypeError),
        ((r, w[1:]), ValueError),
    ):
        with pytest.raises(error):
            linalg.cholesky_update(*wrong)


SLOW = pytest.mark.slow


@pytest.mark.parametrize("method", ["qdwh", "svd"])
@pytest.mark.parametrize(
    "x",
    [pytest.param(A, marks=SLOW), pytest.param(C, marks=SLOW), TALL, np.diag([1, 1e-7, 1e3])],
    ids=range(4),
)
def test_polar(x, method):
    u, p = sl.polar(x, method=method)
    wanted = scipy.linalg.polar(x)
    close(u, wanted[0], 1e-6)
    close(p, wanted[1], 1e-6)
    u, p = sl.polar(adjoint(x), "left", method=method)
    wanted = scipy.linalg.polar(adjoint(x), "left")
    close(u, wanted[0], 1e-6)
    close(p, wanted[1], 1e-6)


@pytest.mark.parametrize("method", ["qdwh", "svd"])
def test_polar_of_many_and_of_none(method):
    many = np.random.default_rng(0).normal(size=(2, 4, 3)).astype(np.float32)
    u, p = sl.polar(many, method=method)
    for k, x in enumerate(many):
        wanted = scipy.linalg.polar(x)
        np.testing.assert_allclose(u[k], wanted[0], atol=1e-5)
        np.testing.assert_allclose(p[k], wanted[1], atol=1e-5)
    for shape in ((0, 0), (3, 0), (0, 4, 3)):
        assert [y.shape for y in sl.polar(np.zeros(shape), method=method)] == [
            shape,
            (*shape[:-2], shape[-1], shape[-1]),
        ]


def test_the_exponential_of_an_empty_matrix():
    assert sl.expm(np.zeros((0, 0))).shape == (0, 0)
    assert sl.expm(np.zeros((2, 0, 0))).shape == (2, 0, 0)


def test_qdwh():
    u, h, steps, converged = linalg.qdwh(A)
    assert bool(converged) and 3 < int(steps) < 8
    close(np.asarray(u) @ np.asarray(h), A)
    assert not bool(linalg.qdwh(A, max_iterations=1)[3])
    corner = linalg.qdwh(A, dynamic_shape=(2, 2))
    close(np.asarray(corner[1])[:2, :2], scipy.linalg.polar(A[:2, :2])[1], 1e-7)
    for wrong in (WIDE, MANY, A.astype(int)):
        with pytest.raises(ValueError):
            linalg.qdwh(wrong)
    for wrong, error in (
        ({"side": "foo"}, ValueError),
        ({"method": "foo"}, ValueError),
        ({"side": "left"}, NotImplementedError),
    ):
        with pytest.raises(error):
            sl.polar(TALL, **wrong)


def test_eigenvalues_of_tridiagonal_matrices():
    d, e = random.normal(size=6), random.normal(size=5)
    w, v = sl.eigh_tridiagonal(d, e)
    wanted = scipy.linalg.eigh_tridiagonal(d, e)
    close(w, wanted[0])
    close(np.abs(v), np.abs(wanted[1]))
    some = {"select": "i", "select_range": (1, 3)}
    close(sl.eigh_tridiagonal(d, e, eigvals_only=True, **some), wanted[0][1:4])
    close(sl.eigh_tridiagonal(d, e, **some)[0], wanted[0][1:4])
    slope = effax.grad(lambda d: sl.eigh_tridiagonal(d, e, eigvals_only=True)[0])(d)
    close(slope, wanted[1][:, 0] ** 2)
    for wrong, error in (
        ({"select": "x"}, ValueError),
        ({"select": "i"}, ValueError),
        ({"select": "i", "select_range": (2, 1)}, ValueError),
        ({"select": "v", "select_range": (0, 1)}, NotImplementedError),
    ):
        with pytest.raises(error):
            sl.eigh_tridiagonal(d, e, **wrong)
    with pytest.raises(TypeError, match="same dtype"):
        sl.eigh_tridiagonal(d, e * 1j)


def test_what_has_no_derivative_says_so():
    for function in (
        lambda x: linalg.schur(x)[0],
        lambda x: linalg.hessenberg(x)[0],
        lambda x: linalg.tridiagonal(x)[1],
    ):
        with pytest.raises(UnsupportedDerivativeError, match="derivative is not implemented; use"):
            effax.jvp(function, (A,), (A,))


@pytest.mark.parametrize("x", [A, C, MANY], ids=["real", "complex", "batch"])
def test_eigenvectors_have_derivatives_where_asked(x):
    def function(x):
        return linalg.eig(x, enable_eigvec_derivs=True)

    direction = np.roll(x, 1, axis=-1)
    _, slopes = effax.jvp(function, (x,), (direction,))
    eps = 1e-6
    ahead, behind = (function(x + s * eps * direction) for s in (1, -1))
    for slope, one, other in zip(slopes, ahead, behind, strict=True):
        close(slope, (np.asarray(one) - np.asarray(other)) / (2 * eps), 1e-6)
    close(function(x)[2], np.linalg.eig(x)[1])
    total = effax.grad(lambda x: jnp.sum(jnp.abs(function(x)[2] ** 2 @ np.arange(x.shape[-1]))))
    assert np.isfinite(np.asarray(total(x))).all()


def test_algorithms_that_are_not_here_are_refused():
    for wrong in (
        lambda: linalg.qr(A, use_magma=True),
        lambda: linalg.svd(A, algorithm=linalg.SvdAlgorithm.POLAR),
        lambda: linalg.eigh(A, implementation=linalg.EighImplementation.QDWH),
        lambda: linalg.eig(A, implementation=linalg.EigImplementation.MAGMA),
    ):
        with pytest.raises(NotImplementedError, match="is not implemented"):
            wrong()
    values = linalg.svd(A, compute_uv=False, algorithm=linalg.SvdAlgorithm.DIVIDE_AND_CONQUER)
    close(values, np.linalg.svd(A, compute_uv=False))
