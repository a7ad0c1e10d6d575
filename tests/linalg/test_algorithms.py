"""Algorithms, batches and dtypes of matrix functions, against NumPy and SciPy."""

import numpy as np
import pytest
import scipy.linalg

import effax
import effax.numpy as jnp
from effax import lax
from effax.scipy import linalg as jsl

RANDOM = np.random.default_rng(0)


def matrices(*shape, dtype=np.float32):
    real = RANDOM.normal(size=shape)
    return (real + 1j * RANDOM.normal(size=shape) if dtype == np.complex64 else real).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
@pytest.mark.parametrize("shape", [(0, 2), (2, 0), (3, 3), (5, 3), (3, 5), (2, 4, 3)])
def test_raw_qr(shape, dtype):
    a = matrices(*shape, dtype=dtype)
    h, taus = jnp.linalg.qr(a, mode="raw")
    for ours, theirs in zip((h, taus), np.linalg.qr(a, mode="raw"), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)
    if 0 not in shape:
        q = lax.linalg.householder_product(jnp.swapaxes(h, -1, -2)[..., : taus.shape[-1]], taus)
        np.testing.assert_allclose(q, jnp.linalg.qr(a).Q, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (2, 3, 5), (0, 3)])
@pytest.mark.parametrize("full", [False, True])
def test_svd_by_qr(shape, full):
    a = matrices(*shape)
    qr = lax.linalg.SvdAlgorithm.QR
    u, s, vh = lax.linalg.svd(a, full_matrices=full, algorithm=qr)
    expected = np.linalg.svd(a, full_matrices=full)
    assert (u.shape, vh.shape) == (expected[0].shape, expected[2].shape)
    k = s.shape[-1]
    np.testing.assert_allclose(s, expected[1], rtol=1e-5)
    np.testing.assert_allclose((u[..., :k] * s[..., None, :]) @ vh[..., :k, :], a, atol=1e-5)
    np.testing.assert_allclose(
        lax.linalg.svd(a, compute_uv=False, algorithm=qr), expected[1], rtol=1e-5
    )


@pytest.mark.parametrize("n", [1, 5, 20])
@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_funm_of_eigenvalues_on_a_branch_cut(n, dtype):
    """Negative real eigenvalues stay real, and pairs conjugate, as in SciPy."""
    a = 3 * matrices(n, n, dtype=dtype)
    power = lambda x: x**-2.718  # noqa: E731
    found, error = jsl.funm(a, power, disp=False)
    expected, bound = scipy.linalg.funm(a, power, disp=False)
    np.testing.assert_allclose(found, expected, atol=2e-5 * max(1, np.abs(expected).max()))
    np.testing.assert_allclose(error, bound, rtol=1e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_rsf2csf_of_any_matrix(dtype):
    """LAPACK's order of eigenvalues is followed where the matrix is no Schur form."""
    for n in (2, 4, 15):
        t, z = matrices(n, n, dtype=dtype), matrices(n, n, dtype=dtype)
        pairs = zip(jsl.rsf2csf(t, z), scipy.linalg.rsf2csf(t, z), strict=True)
        for ours, theirs in pairs:
            np.testing.assert_allclose(ours, theirs, atol=2e-5)
    t, z = matrices(3, 4, 4, dtype=dtype), matrices(4, 4, dtype=dtype)
    for one, other in ((t, z), (z, t)):
        found = jsl.rsf2csf(one, other)
        each = [jsl.rsf2csf(*(x[i] if x.ndim > 2 else x for x in (one, other))) for i in range(3)]
        for ours, theirs in zip(found, zip(*each, strict=True), strict=True):
            np.testing.assert_allclose(ours, np.stack(theirs), atol=1e-5)


@pytest.mark.parametrize("method", ["schur", "eigen"])
@pytest.mark.parametrize(
    "shapes", [((3, 3), (4, 4), (2, 3, 4)), ((2, 3, 3), (4, 4), (3, 4)), ((5, 1, 3, 3), (2, 4, 4), (3, 4))]
)  # fmt: skip
def test_solve_sylvester_broadcasts(shapes, method):
    a, b, c = (matrices(*s) for s in shapes)
    a = a + 5 * np.eye(3, dtype=a.dtype)  # far from the eigenvalues of -b
    x = jsl.solve_sylvester(a, b, c, method=method)
    assert x.shape == np.broadcast_shapes(*(s[:-2] for s in shapes)) + (3, 4)
    np.testing.assert_allclose(a @ x + x @ b, np.broadcast_to(c, x.shape), atol=1e-3)
    grad = effax.grad(lambda c: jsl.solve_sylvester(a, b, c, method=method).sum())(c)
    assert grad.shape == c.shape


def test_batches_under_rank_promotion_raise():
    """The bodies, and the derivative rules, mix no ranks of their own."""
    square, tall = jnp.asarray(matrices(2, 4, 4)), jnp.asarray(matrices(2, 5, 3))
    calls = (
        (jnp.linalg.det, square), (jnp.linalg.det, square[0]), (jnp.linalg.slogdet, square),
        (lambda x: jnp.linalg.slogdet(x, method="qr"), square), (jnp.linalg.pinv, square),
        (jnp.linalg.pinv, tall), (jsl.det, square), (jsl.lu, square), (jsl.lu, tall),
    )  # fmt: skip
    for f, x in calls:
        total = lambda x, f=f: sum(y.sum() for y in effax.tree.leaves(f(x)))  # noqa: E731
        expected = effax.grad(total)(x)
        with effax.numpy_rank_promotion("raise"):
            np.testing.assert_allclose(effax.grad(total)(x), expected, rtol=1e-5)
            np.testing.assert_allclose(effax.jit(total)(x), total(x), rtol=1e-4)
    with effax.numpy_dtype_promotion("strict"):
        assert jsl.schur(square[0], output="complex")[0].dtype == "complex64"


def test_narrow_floats_are_told_apart_from_integers():
    """LAPACK has no float16, which may come; of integers there are no factors."""
    for f in (lax.linalg.qr, lax.linalg.cholesky, lax.linalg.lu, jnp.linalg.qr):
        with pytest.raises(NotImplementedError, match="Unsupported dtype float16"):
            f(jnp.ones((2, 2), jnp.float16))
    with pytest.raises(TypeError, match="Unsupported dtype int32"):
        lax.linalg.lu(jnp.ones((2, 2), jnp.int32))


def test_precisions_equal_their_names():
    """The equations of programs have the names; cholesky's derivative multiplies precisely."""
    highest = lax.Precision.HIGHEST
    assert highest == "HIGHEST" and highest != "HIGH" and highest != lax.Precision.HIGH
    assert {highest: 1}["HIGHEST"] == 1
    a = jnp.eye(3)
    program = effax.make_jaxpr(lambda a: effax.jvp(jnp.linalg.cholesky, (a,), (a,)))(a)
    text = str(program)
    assert "dot_general" in text and text.count("HIGHEST") == 2 * text.count("dot_general[")


@pytest.mark.parametrize("shape", [(3, 2), (4, 1), (2, 5, 3), (3, 0)])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("pivoting", [False, True])
def test_columns_that_complete_q_are_differentiated(shape, dtype, pivoting):
    rng = np.random.RandomState(0)
    with effax.enable_x64(True):
        x, t = (rng.normal(size=shape).astype(dtype) for _ in "xt")
        if dtype == "complex128":
            x, t = x + 1j * rng.normal(size=shape), t + 1j * rng.normal(size=shape)

        def factors(x):
            return jsl.qr(x, pivoting=pivoting)[:2]

        found = effax.jvp(factors, (jnp.asarray(x),), (jnp.asarray(t),))[1]
        ahead, behind = factors(jnp.asarray(x + 1e-6 * t)), factors(jnp.asarray(x - 1e-6 * t))
        for f, a, b in zip(found, ahead, behind, strict=True):
            np.testing.assert_allclose(f, (a - b) / 2e-6, rtol=1e-6, atol=1e-6)
        second = effax.jvp(lambda x: effax.jvp(factors, (x,), (t,))[1][0].sum(), (x,), (t,))[1]
        assert np.isfinite(second)
