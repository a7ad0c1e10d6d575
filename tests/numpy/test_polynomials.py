"""Polynomials against NumPy's."""

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax.errors import ConcretizationTypeError

random = np.random.default_rng(7)
P = random.normal(size=5).astype(np.float32)
Q = random.normal(size=3).astype(np.float32)
N = np.array([3, -1, 2, 5], np.int32)
Z = (random.normal(size=4) + 1j * random.normal(size=4)).astype(np.complex64)
X = random.normal(size=(2, 3)).astype(np.float32)
PAIRS = [(P, Q), (Q, P), (P, P), (N, Q), (Q, N), (N, N), (Z, Q), (P, Z), (P, Q[:1])]


def close(found, wanted, tolerance=2e-4):
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=tolerance, atol=tolerance)


def in_order(zeros):
    return np.sort_complex(np.round(np.asarray(zeros, np.complex128), 5))


@pytest.mark.parametrize("name", ["polyadd", "polysub", "polymul", "polyval"])
@pytest.mark.parametrize("a, b", PAIRS)
def test_functions_of_two(name, a, b):
    close(getattr(jnp, name)(a, b), getattr(np, name)(a, b))
    close(effax.jit(getattr(jnp, name))(a, b), getattr(np, name)(a, b))


@pytest.mark.parametrize("u, v", PAIRS)
def test_division(u, v):
    quotient, rest = jnp.polydiv(u, v, trim_leading_zeros=True)
    wanted = np.polydiv(u, v)
    close(quotient, wanted[0], 1e-3)
    # NumPy leaves what rounding leaves of zeros.
    close(jnp.polyadd(rest, 0 * wanted[1]), wanted[1], 1e-3)
    close(jnp.polyadd(jnp.polymul(quotient, v), rest)[-len(u) :], u, 1e-3)


def test_a_division_that_comes_out_even():
    quotient, rest = jnp.polydiv(np.array([1, -3, 2]), np.array([1, -1]))
    assert quotient.tolist() == [1, -2]
    assert rest.tolist() == [0, 0, 0]
    assert jnp.polydiv(P, np.zeros(2, np.float32))[1].shape == P.shape


@pytest.mark.parametrize("p", [P, N, Z, Q[:1]])
@pytest.mark.parametrize("m", [0, 1, 2, 3])
def test_derivatives_and_integrals(p, m):
    close(jnp.polyder(p, m), np.polyder(p, m))
    close(jnp.polyint(p, m), np.polyint(p, m))
    close(jnp.polyint(p, m, k=2.0), np.polyint(p, m, k=[2.0] * m))
    if m:
        k = np.arange(1.0, m + 1)
        close(jnp.polyint(p, m, k=k), np.polyint(p, m, k=k))
    close(jnp.polyder(jnp.polyint(p, m), m), p)


def test_values_at_arrays_and_of_several_polynomials():
    close(jnp.polyval(P, X), np.polyval(P, X))
    close(jnp.polyval(X, 2.0), 2.0 * X[0] + X[1])
    close(effax.grad(jnp.polyval, argnums=1)(P, 0.5), np.polyval(np.polyder(P), 0.5))
    assert jnp.polyval(np.array([1, 2]), 3).dtype == np.int32


@pytest.mark.parametrize("zeros", [P, N, Z, np.float32(3), np.zeros(0)])
def test_polynomials_from_zeros(zeros):
    close(jnp.poly(zeros), np.poly(np.atleast_1d(zeros)))


def test_the_characteristic_polynomial():
    matrix = np.array([[2.0, 1.0], [0.0, 3.0]], np.float32)
    close(jnp.poly(matrix), np.poly(matrix))
    with pytest.raises(ValueError, match="square"):
        jnp.poly(X)


@pytest.mark.parametrize(
    "p",
    [[1, -3, 2], [1, -6, 11, -6], [0, 0, 1, -3, 2, 0], [2, 0, 2], [5], [0, 0], [], [3, 0, 0], Z],
)
def test_roots(p):
    p = np.array(p, np.complex64 if p is Z else np.float32)
    found = jnp.roots(p)
    assert found.dtype == np.complex64
    close(in_order(found), in_order(np.roots(p)), 1e-3)


def test_roots_of_an_unknown_number():
    p = np.array([0, 0, 1, -3, 2, 0], np.float32)
    with pytest.raises(ConcretizationTypeError):
        effax.jit(jnp.roots)(p)
    found = np.asarray(effax.jit(lambda p: jnp.roots(p, strip_zeros=False))(p))
    assert np.isnan(found[3:]).all()
    close(in_order(found[:3]), [0, 1, 2])


@pytest.mark.parametrize("deg", [0, 1, 3])
@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_fits(deg, several, weighted):
    x = np.linspace(-1, 2, 9).astype(np.float32)
    y = random.normal(size=(9, 2) if several else 9).astype(np.float32)
    w = np.linspace(0.5, 2, 9).astype(np.float32) if weighted else None
    close(jnp.polyfit(x, y, deg, w=w), np.polyfit(x, y, deg, w=w), 2e-3)
    for cov in (True, "unscaled"):
        fit, covariance = jnp.polyfit(x, y, deg, w=w, cov=cov)
        wanted = np.polyfit(x, y, deg, w=w, cov=cov)
        close(fit, wanted[0], 2e-3)
        close(
            covariance, np.broadcast_to(wanted[1].reshape(covariance.shape), covariance.shape), 2e-3
        )
    full = jnp.polyfit(x, y, deg, w=w, full=True)
    for found, wanted in zip(full[:4], np.polyfit(x, y, deg, w=w, full=True)[:4], strict=True):
        close(found, wanted, 2e-3)
    if not several:
        change = effax.grad(lambda y: jnp.sum(jnp.polyfit(x, y, deg, w=w)))(y)
        wanted = [np.polyfit(x, row, deg, w=w).sum() for row in np.eye(9)]
        close(change, wanted, 2e-3)


def test_refusals():
    x = np.arange(4.0)
    for bad in (
        lambda: jnp.polyfit(x, np.ones(3), 1),
        lambda: jnp.polyfit(np.ones((4, 1)), x, 1),
        lambda: jnp.polyfit(np.zeros(0), np.zeros(0), 1),
        lambda: jnp.polyfit(x, x, 1, w=np.ones(2)),
        lambda: jnp.polyfit(x, x, 1.5),
        lambda: jnp.polyadd([1], x),
        lambda: jnp.polyval([1], x),
        lambda: jnp.polyder(x, 1.5),
        lambda: jnp.polyadd(np.ones(2, bool), np.ones(2, bool)),
    ):
        with pytest.raises(TypeError):
            bad()
    for bad in (
        lambda: jnp.polyfit(x, x, -1),
        lambda: jnp.polyfit(x[:2], x[:2], 1, cov=True),
        lambda: jnp.polyder(x, -1),
        lambda: jnp.polyint(x, -1),
        lambda: jnp.polyint(x, 3, np.ones(2)),
        lambda: jnp.polymul(X, x),
        lambda: jnp.roots(X),
        lambda: jnp.polyval(1.0, x),
    ):
        with pytest.raises(ValueError):
            bad()


def test_a_remainder_of_an_infinite_product_is_nan():
    for dtype in ("float32", "complex64"):
        quotient, rest = jnp.polydiv(jnp.ones(3, dtype), jnp.array([np.inf], dtype))
        assert (quotient == 0).all() and jnp.isnan(rest).all()
