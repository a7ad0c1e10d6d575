"""Reductions in effects, which GPUs and TPUs run, computed here and compared with LAPACK."""

from functools import partial

import numpy as np
import pytest
from scipy.linalg import get_lapack_funcs

import effax
from effax.backends.reference.condensed import reference_tridiagonal_solve
from effax.backends.xla.lowering.matrices import householder, tridiagonal
from effax.lax import linalg

DTYPES = ("float32", "float64", "complex64", "complex128")
SHAPES = ((4, 4), (7, 3), (3, 7), (1, 1), (1, 4), (4, 1), (30, 20))


@pytest.fixture(autouse=True)
def _double_precision():
    with effax.enable_x64(True):
        yield


def draw(dtype, *lengths):
    random = np.random.default_rng(sum(lengths))
    x = random.normal(size=lengths)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * random.normal(size=lengths)
    return x.astype(dtype)


def computed(function, *operands):
    return [np.asarray(y) for y in effax.jit(function)(*operands)]


def close(found, wanted, scale=1.0):
    tolerance = 1000 * np.finfo(np.asarray(wanted).dtype).eps
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance * scale)


def of_lapack(name, x, *args, **keywords):
    (function,) = get_lapack_funcs((name,), (x,))
    return function(x, *args, **keywords)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_pivoted_triangles_are_lapacks(dtype, shape):
    many = draw(dtype, 3, *shape)
    many[2] = 0
    for x, packed, taus, order in zip(many, *computed(householder.pivoted, many), strict=True):
        wanted, columns, factors, *_ = of_lapack("geqp3", x)
        np.testing.assert_array_equal(order, columns - 1)
        close(packed, wanted)
        close(taus, factors)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(8, 5), (5, 8), (6, 6)], ids=str)
def test_pivoted_triangles_of_deficient_rank(dtype, shape):
    m, n = shape
    x = draw(dtype, m, 2) @ draw(dtype, 2, n)
    packed, taus, order = (y[0] for y in computed(householder.pivoted, x[None]))
    k = min(m, n)
    q = np.asarray(linalg.householder_product(packed[:, :k], taus))
    r = np.triu(packed)[:k]
    close(q.conj().T @ q, np.eye(k, dtype=dtype))
    close(q @ r, x[:, order], np.abs(x).max())
    np.testing.assert_array_equal(np.sort(order), np.arange(n))
    sizes = np.abs(np.diag(r))
    assert (sizes[2:] < 1e-5 * sizes[0]).all()
    close(np.sort(sizes[:2])[::-1], sizes[:2])


@pytest.mark.cpu
@pytest.mark.parametrize(
    "x",
    [
        np.diag([1.0, 1, 2]),  # the exchange puts the second column before the first
        np.eye(4)[:, ::-1],
        np.diag([3.0, 1, 3, 2, 3]),
        np.diag([1e-30, 1e30, 1, 1e-20, 1e25]),
        np.full((3, 3), 1e30) * np.tri(3),
        np.full((3, 3), 1e-30) * np.tri(3),
    ],
    ids=["exchange", "identity", "equal", "graded", "large", "small"],
)
def test_columns_of_equal_or_extreme_norms_come_in_lapacks_order(x):
    x = x.astype("float32")
    packed, taus, order = (y[0] for y in computed(householder.pivoted, x[None]))
    wanted, columns, factors, *_ = of_lapack("geqp3", x)
    np.testing.assert_array_equal(order, columns - 1)
    np.testing.assert_allclose(packed, wanted, rtol=1e-5, atol=1e-6 * np.abs(x).min())
    np.testing.assert_allclose(taus, factors, rtol=1e-5)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_the_order_of_columns_that_are_not_finite_is_a_permutation(bad):
    x = draw("float32", 2, 4, 5)
    x[0, 1, 2] = bad
    packed, _, order = computed(householder.pivoted, x)
    np.testing.assert_array_equal(np.sort(order[0]), np.arange(5))
    assert order[0, 0] == 2
    assert np.isnan(packed[0]).any()
    assert np.isfinite(packed[1]).all()


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)], ids=str)
def test_empty_matrices_have_an_order_too(shape):
    packed, taus, order = computed(householder.pivoted, np.zeros((2, *shape)))
    assert packed.shape == (2, *shape)
    assert taus.shape == (2, 0)
    np.testing.assert_array_equal(order, [np.arange(shape[1])] * 2)


@pytest.mark.parametrize("n", [1, 2, 3, 6, 20])
@pytest.mark.parametrize("dtype", DTYPES)
def test_hessenbergs_form_is_lapacks(dtype, n):
    many = draw(dtype, 3, n, n)
    many[2] = np.triu(many[2])
    for x, packed, taus in zip(many, *computed(householder.hessenberg, many), strict=True):
        wanted, factors, _ = of_lapack("gehrd", x) if n > 1 else (x, np.zeros(0, dtype), 0)
        close(packed, wanted, 10)
        close(taus, factors)


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("n", [1, 2, 3, 8])
@pytest.mark.parametrize("dtype", DTYPES)
def test_tridiagonal_form_is_lapacks(dtype, n, lower):
    many = draw(dtype, 2, n, n)
    found = computed(partial(householder.tridiagonal, lower=lower), many)
    name = "hetrd" if np.dtype(dtype).kind == "c" else "sytrd"
    for x, *results in zip(many, *found, strict=True):
        wanted = of_lapack(name, x, lower=lower)[:4] if n > 1 else (x.real, [x[0, 0].real], [], [])
        for one, other in zip(results[1:], wanted[1:], strict=True):
            assert one.dtype == np.asarray(other, one.dtype).dtype
            close(one, np.asarray(other, one.dtype), 10)
        triangle = np.tril if lower else np.triu
        if n > 1:
            close(triangle(results[0]), triangle(wanted[0]), 10)


# ---- tridiagonal systems


def system(dtype, *lengths, sides=2):
    d, dl, du = (draw(dtype, *lengths) + shift for shift in (0, 0.5, -0.5))
    # Small elements on the diagonal: without exchanges of rows, no digit would be right.
    d = (d * np.where(np.arange(lengths[-1]) % 3, 1, 1e-9)).astype(dtype)
    b = draw(dtype, *lengths, sides)
    return dl.astype(dtype), d, du.astype(dtype), b


def full(dl, d, du):
    return np.diag(d) + np.diag(dl[1:], -1) + np.diag(du[:-1], 1)


@pytest.mark.parametrize("n", [1, 2, 3, 9])
@pytest.mark.parametrize("dtype", DTYPES)
def test_tridiagonal_systems_with_exchanges_of_rows(dtype, n):
    operands = system(dtype, 3, n)
    (found,) = computed(lambda *xs: [tridiagonal.solve(*xs)], *operands)
    for dl, d, du, b, x in zip(*operands, found, strict=True):
        a = full(dl, d, du)
        np.testing.assert_allclose(a @ x, b, atol=200 * np.finfo(dtype).eps * np.abs(x).max())


def test_elements_that_are_not_read_may_be_nan():
    dl, d, du, b = system("float32", 5)
    dl[0] = du[-1] = np.nan
    for perturbed in (False, True):
        x = tridiagonal.solve(dl, d, du, b, perturbed)
        np.testing.assert_allclose(full(dl, d, du) @ np.asarray(x), b, rtol=1e-4, atol=1e-4)


def test_a_singular_system_alone_is_nan():
    dl, d, du, b = system("float64", 2, 4)
    dl[0, 2] = d[0, 2] = du[0, 2] = 0
    found = np.asarray(tridiagonal.solve(dl, d, du, b))
    assert np.isnan(found[0]).all()
    np.testing.assert_allclose(full(dl[1], d[1], du[1]) @ found[1], b[1], atol=1e-12)


@pytest.mark.parametrize("dtype", DTYPES)
def test_small_pivots_are_moved(dtype):
    dl, d, du, b = system(dtype, 2, 4)
    dl[0, 2] = d[0, 2] = du[0, 2] = 0
    dl[1] = d[1] = du[1] = 0
    found = np.asarray(tridiagonal.solve(dl, d, du, b, perturb_singular=True))
    wanted = reference_tridiagonal_solve(dl, d, du, b, perturb_singular=True)
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-3)
    tiny = np.finfo(dtype).tiny
    np.testing.assert_allclose(found[1], b[1] / tiny, rtol=1e-6)
