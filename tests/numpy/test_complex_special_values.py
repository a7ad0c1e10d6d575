"""Complex functions where a part is infinite or NaN: annex G of the C standard, as NumPy has it."""

import numpy as np
import pytest

import effax
import effax.numpy as jnp

INF, NAN = np.inf, np.nan
PARTS = [0.0, 1.5, -1.5, INF, -INF, NAN]
NUMBERS = np.array([complex(a, b) for a in PARTS for b in PARTS])
FUNCTIONS = "exp log log1p sqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh"


def agree(found, wanted):
    """Whether parts agree, NaN with NaN, and infinities of any sign if the other part is NaN."""
    for x, y in zip(found, wanted, strict=True):
        free = np.isnan(y.real) or np.isnan(y.imag)
        for p, q in ((x.real, y.real), (x.imag, y.imag)):
            if free and np.isinf(q):
                yield np.isinf(p)
            else:
                yield np.isclose(p, q, rtol=1e-5, atol=1e-6, equal_nan=True)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", FUNCTIONS.split())
def test_infinities_and_nan_are_as_in_numpy(name, dtype):
    x = NUMBERS.astype(dtype)
    with np.errstate(all="ignore"):
        wanted = getattr(np, name.replace("a", "arc", 1) if name.startswith("a") else name)(x)
    with effax.enable_x64(dtype == "complex128"):
        function = getattr(jnp, name)
        for found in (function(x), effax.jit(function)(x)):
            assert all(agree(np.asarray(found), wanted))


def test_expm1_keeps_what_is_known():
    x = [complex(INF, INF), complex(INF, NAN), complex(-INF, INF), complex(-INF, NAN)]
    x += [complex(INF, 0), complex(NAN, 0)]
    found = np.asarray(jnp.expm1(jnp.array(x)))
    np.testing.assert_array_equal(found.real, [INF, INF, -1, -1, INF, NAN])
    np.testing.assert_array_equal(found.imag, [NAN, NAN, 0, 0, 0, 0])


def test_derivatives_of_finite_numbers_are_what_they_were():
    x = jnp.array([0.3 + 0.2j, -1.5 + 0.7j])
    found = effax.vmap(effax.grad(jnp.tanh, holomorphic=True))(x)
    np.testing.assert_allclose(found, 1 - np.tanh(np.asarray(x)) ** 2, 1e-5)


def test_complex_numbers_with_a_nan_are_one_element():
    """They sort by their parts, which put some NaN first and some last."""
    numbers = np.array([complex(-0.0, np.nan), 1, complex(np.nan, 0), 1, np.inf], np.complex64)
    values, counts = jnp.unique(numbers, return_counts=True)
    np.testing.assert_array_equal(values, np.array([1, np.inf, np.nan], np.complex64))
    assert counts.tolist() == [2, 1, 2]
    assert jnp.unique(numbers, equal_nan=False).shape == (4,)


@pytest.mark.parametrize("name", ["sin", "cos", "sinh", "cosh"])
def test_parts_are_right_from_the_small_to_those_that_overflow(name):
    """XLA's own (and JAX's) sinh and cosh cancel near zero: sinh(1e-7) is 0, and NaN on an axis."""
    sizes = np.outer([1, -1], [0, 1e-30, 1e-7, 1e-3, 0.3, 2, 50, 89.2]).ravel()
    x = (sizes[:, None] + 1j * sizes).ravel().astype(np.complex64)
    wanted = getattr(np, name)(x.astype(complex))
    for found in (getattr(jnp, name)(x), effax.jit(getattr(jnp, name))(x)):
        found = np.asarray(found)
        np.testing.assert_allclose(found.real, wanted.real, rtol=2e-6, atol=1e-37)
        np.testing.assert_allclose(found.imag, wanted.imag, rtol=2e-6, atol=1e-37)


CUT = ("sqrt", "log", "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh")


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", CUT)
def test_the_sign_of_zero_says_from_which_side_a_cut_is_seen(name, dtype):
    """As in NumPy; JAX gives `sqrt(-1 - 0j)` as 1j."""
    parts = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.0, -2.0]
    z = np.array([complex(a, b) for a in parts for b in parts], dtype)
    with effax.enable_x64(dtype == "complex128"), np.errstate(all="ignore"):
        found = np.asarray(getattr(jnp, name)(z))
        expected = getattr(np, name)(z)
    for part in ("real", "imag"):
        given, wanted = getattr(found, part), getattr(expected, part)
        np.testing.assert_allclose(given, wanted, rtol=1e-5)
        defined = ~np.isnan(wanted)
        np.testing.assert_array_equal(np.signbit(given)[defined], np.signbit(wanted)[defined])
