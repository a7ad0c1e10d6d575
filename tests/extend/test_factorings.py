"""Factorisations written out, under an interpreter that has no rule for them."""

import numpy as np
import pytest

import effax as fx
import effax.numpy as jnp
from effax import lax
from effax.extend import Interpreter, Leaf, effects, traits


class Written(Interpreter):
    """A value, of which factorisations are not known."""

    value: Leaf


@Written.default
def known(effect, *xs, **how):
    if effect in traits.composite:
        return NotImplemented
    assert effect.family != "linalg"
    return Written(effect(*(x.value for x in xs), **how))


def written(f, *xs):
    return np.asarray(Written.transform(f)(*map(Written, xs)).value)


def matrices(dtype, *shape):
    generator = np.random.default_rng(0)
    x = generator.normal(size=shape).astype(dtype)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * generator.normal(size=shape).astype(dtype)
    return x


@pytest.fixture(autouse=True, scope="module")
def float64():
    with fx.enable_x64(True):
        yield


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("shape", [(4, 4), (2, 3, 3), (1, 1), (0, 0)])
def test_cholesky(dtype, shape):
    x = matrices(dtype, *shape)
    a = x @ np.conj(np.swapaxes(x, -1, -2)) + np.eye(shape[-1])
    np.testing.assert_allclose(written(lax.linalg.cholesky, a), np.linalg.cholesky(a), rtol=1e-10)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("left_side", [True, False])
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("transpose_a", [True, False])
@pytest.mark.parametrize("unit_diagonal", [True, False])
def test_triangular_solve(dtype, left_side, lower, transpose_a, unit_diagonal):
    a = matrices(dtype, 2, 3, 3) + 3 * np.eye(3)
    b = matrices(dtype, 2, 3, 2) if left_side else matrices(dtype, 2, 2, 3)
    how = {
        "left_side": left_side,
        "lower": lower,
        "transpose_a": transpose_a,
        "conjugate_a": transpose_a,
        "unit_diagonal": unit_diagonal,
    }

    def f(a, b):
        return lax.linalg.triangular_solve(a, b, **how)

    read = np.tril(a) if lower else np.triu(a)
    if unit_diagonal:
        read = read * (1 - np.eye(3)) + np.eye(3)
    op = np.conj(np.swapaxes(read, 1, 2)) if transpose_a else read
    x = written(f, a, b)
    np.testing.assert_allclose(op @ x if left_side else x @ op, b, rtol=1e-9, atol=1e-12)


def test_under_jit_vmap_and_grad():
    x = matrices("float64", 3, 4, 4)
    a = x @ np.swapaxes(x, 1, 2) + np.eye(4)

    def f(a):
        found = Written.transform(lambda a: jnp.linalg.cholesky(a) @ jnp.ones(4))(Written(a))
        return found.value

    expected = np.linalg.cholesky(a) @ np.ones(4)
    np.testing.assert_allclose(fx.jit(fx.vmap(f))(a), expected, rtol=1e-10)
    slope = fx.grad(lambda a: jnp.sum(f(a)))(a[0])
    direct = fx.grad(lambda a: jnp.sum(jnp.linalg.cholesky(a) @ jnp.ones(4)))(a[0])
    symmetric = np.asarray(slope + slope.T), np.asarray(direct + direct.T)
    np.testing.assert_allclose(*symmetric, rtol=1e-9)


def test_patterns_of_a_factor_are_those_of_its_columns():
    assert effects.cholesky in traits.composite
    assert effects.triangular_solve in traits.composite
