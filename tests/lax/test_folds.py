"""Reductions, windows and cumulative folds, with derivatives of first and second order, as in JAX."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import lax
from tests.programs.folds import WINDOWS, X, answers, functions

GOLDENS = np.load(Path(__file__).parent.parent / "goldens" / "folds.npz")
FOLDS = functions(effax, jnp)


QUICK = ("False} ties", "False} zeros", "cumsum", "reduce_window max 0", "reduce_window add 1")


@pytest.mark.parametrize(
    "name",
    [n if any(q in n for q in QUICK) else pytest.param(n, marks=pytest.mark.slow) for n in FOLDS],
)
def test_as_in_jax(name):
    f, x = FOLDS[name]
    found = effax.jit(lambda x: answers(effax, jnp, f, x))(x)
    flat = np.concatenate([np.ravel(a) for a in found])
    np.testing.assert_allclose(flat, GOLDENS[name], rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("options", WINDOWS)
def test_general_windows_have_gradients(options):
    """JAX has none for these: against differences."""

    def f(x):
        return lax.reduce_window(x, 1.0, lambda a, b: a * b, **options).sum()

    with effax.enable_x64(True):
        x, u = X.astype(np.float64), np.cos(X.astype(np.float64))
        step = 1e-6
        slope = (f(x + step * u) - f(x - step * u)) / (2 * step)
        np.testing.assert_allclose(np.vdot(effax.grad(f)(x), u), slope, rtol=1e-6)


@pytest.mark.slow
def test_inside_of_loops():
    def f(x):
        def step(c, row):
            c = lax.cummax(c * row, axis=0, reverse=True)
            return c, lax.reduce_window(c, -jnp.inf, lax.max, (2,), (1,), "VALID")

        c, ys = lax.scan(step, x[0], x)
        return (c * lax.cumlogsumexp(c)).sum() + ys.sum()

    step = 1e-3
    u = np.cos(X)
    slope = (f(X + step * u) - f(X - step * u)) / (2 * step)
    np.testing.assert_allclose(np.vdot(effax.jit(effax.grad(f))(X), u), slope, rtol=2e-2)
    rows = np.stack([X, 2 * X])
    each = [effax.grad(f)(x) for x in rows]
    np.testing.assert_allclose(effax.vmap(effax.grad(f))(rows), each, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["add", "mul", "max", "min"])
@pytest.mark.parametrize("init", [0.5, np.float32(2), 1])
def test_a_fold_from_a_number_that_is_no_identity_uses_it_once(name, init):
    """XLA's compiler for GPUs used it for each part of the array: sums of three were 10, not 8."""
    operator = getattr(lax, name)

    def plain(x, y):  # any other function is folded by it as it is
        return operator(x, y)

    folded, wanted = (lax.reduce(X, init, f, (0,)) for f in (operator, plain))
    np.testing.assert_allclose(folded, wanted, rtol=1e-6)
    assert folded.dtype == wanted.dtype
    text = effax.jit(lambda x: lax.reduce(x, init, operator, (0,))).lower(X).as_text()
    assert text.count("stablehlo.reduce") == 1
    assert "({" not in text or name in ("max", "min")  # it has no region for XLA to guess about


@pytest.mark.parametrize("name", ["add", "max", "min"])
@pytest.mark.parametrize("options", WINDOWS)
def test_windows_from_a_number_that_is_no_identity_use_it_once(name, options):
    operator = getattr(lax, name)
    both = (
        lax.reduce_window(X, 0.5, f, **options) for f in (operator, lambda x, y: operator(x, y))
    )
    np.testing.assert_allclose(*both, rtol=1e-6)


def test_running_logarithms_of_sums_of_complex_numbers():
    """Against NumPy in complex128; XLA has no such operation of its own."""
    rng = np.random.default_rng(3)
    x = (rng.standard_normal((4, 5)) + 1j * rng.standard_normal((4, 5))).astype("complex64")
    for axis, reverse in ((0, False), (1, True)):
        turned = np.flip(x, axis) if reverse else x
        wanted = np.cumsum(np.exp(turned.astype("complex128")), axis)
        wanted = np.flip(wanted, axis) if reverse else wanted
        found = lax.cumlogsumexp(x, axis, reverse)
        np.testing.assert_allclose(np.exp(found), wanted, rtol=1e-5, atol=1e-5)
        running = partial(lax.cumlogsumexp, axis=axis, reverse=reverse)
        mapped = effax.vmap(running)(jnp.stack([x, x]))
        np.testing.assert_allclose(mapped[1], found, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", ["int32", "uint8", "bool"])
@pytest.mark.parametrize(
    ("least", "most"),
    [
        (-np.inf, np.inf),
        (np.float32(-np.inf), np.float32(np.inf)),
        (jnp.float32(-np.inf), jnp.float32(np.inf)),
    ],
)
def test_infinity_begins_extremes_of_integers(dtype, least, most):
    x = jnp.array([3, 1, 2]).astype(dtype)
    windows = (2,), (1,), "VALID"
    for init, op, whole in ((least, lax.max, x.max()), (most, lax.min, x.min())):
        found = lax.reduce(x, init, op, (0,))
        assert found.dtype == dtype
        assert found == whole
        expected = op(x[:-1], x[1:])
        np.testing.assert_array_equal(lax.reduce_window(x, init, op, *windows), expected)


def test_the_least_number_of_another_dtype_begins_a_maximum():
    x = jnp.array([-300, -200])
    assert lax.reduce(x, np.int8(-128), lax.max, (0,)) == -200
    assert lax.reduce(x, -128, lax.max, (0,)) == -128
