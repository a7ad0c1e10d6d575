"""Differential equations against SciPy's solutions, and derivatives against known ones."""

import numpy as np
import pytest
import scipy.integrate

import effax
import effax.numpy as jnp
from effax.experimental.ode import odeint

LOOSE = {"rtol": 1e-6, "atol": 1e-6}
TIMES = np.linspace(0, 1, 4).astype("float32")


def pendulum(y, t, damping, g):
    return jnp.stack([y[1], -damping * y[1] - g * jnp.sin(y[0]) + jnp.sin(t)])


def close(found, wanted, tolerance=1e-4):
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


def test_a_pendulum_as_in_scipy():
    start, times = np.array([1.0, 0.3], "float32"), np.linspace(0.5, 6, 9).astype("float32")
    found = odeint(pendulum, start, times, 0.25, 5.0, **LOOSE)
    wanted = scipy.integrate.solve_ivp(
        lambda t, y: [y[1], -0.25 * y[1] - 5 * np.sin(y[0]) + np.sin(t)],
        (0.5, 6),
        start,
        t_eval=times,
        rtol=1e-9,
        atol=1e-9,
    ).y.T
    close(found, wanted, 1e-3)
    assert found.dtype == "float32"


def test_double_precision():
    with effax.enable_x64(True):
        times = np.linspace(0, 2, 5)
        found = odeint(lambda y, t: -y, 1.0, times)
        np.testing.assert_allclose(found, np.exp(-times), rtol=1e-7)
        limited = odeint(lambda y, t: jnp.cos(t), 0.0, times, hmax=0.1)
        np.testing.assert_allclose(limited, np.sin(times), atol=1e-8)


def test_trees_complex_numbers_and_halves():
    def turning(y, t):
        return {"a": 1j * y["a"], "b": (-y["b"][0],)}

    found = odeint(turning, {"a": 1 + 0j, "b": (jnp.ones(2),)}, TIMES, **LOOSE)
    close(found["a"], np.exp(1j * TIMES))
    close(found["b"][0], np.exp(-TIMES)[:, None] * [1, 1])
    halves = odeint(lambda y, t: -y, np.ones(2, "float16"), TIMES, rtol=1e-3, atol=1e-3)
    assert halves.dtype == "float16"
    assert odeint(lambda y, t: -y, 1.0, TIMES[:1]).tolist() == [1]


def test_the_adjoint():
    def end(y, k, t, closed):
        return odeint(lambda y, t, k: -k * y * t * closed, y, t, k, **LOOSE)[-1]

    y, k, closed = 2.0, 1.5, 0.7
    slopes = effax.jit(effax.grad(end, (0, 1, 2, 3)))(y, k, TIMES, closed)
    value = y * np.exp(-k * closed / 2)
    close(slopes[0], value / y, 1e-3)
    close(slopes[1], -value * closed / 2, 1e-3)
    close(slopes[2], [0, 0, 0, -k * closed * value], 1e-3)
    close(slopes[3], -value * k / 2, 1e-3)


def test_the_adjoint_along_the_way_and_whole_numbers_beside():
    def total(y, n):
        return jnp.sum(
            odeint(lambda y, t, n, s: -n * s["rate"] * y, y, TIMES, n, {"rate": 0.5}, **LOOSE)
        )

    close(effax.grad(total)(1.0, 2), np.exp(-TIMES).sum(), 1e-3)


@pytest.mark.slow
def test_second_derivatives():
    with effax.enable_x64(True):
        times = np.array([0.0, 1.0])

        def end(y):
            return odeint(lambda y, t: y * y, y, times, rtol=1e-9, atol=1e-9)[-1]

        # y / (1 - y t), from y at 0.
        close(effax.grad(end)(0.5), 4, 1e-5)
        close(effax.grad(effax.grad(end))(0.5), 16, 1e-5)


def test_batches():
    rates = np.array([0.5, 1.0, 2.0], "float32")
    found = effax.vmap(lambda k: odeint(lambda y, t: -k * y, 1.0, TIMES, **LOOSE))(rates)
    close(found, np.exp(-rates[:, None] * TIMES))


def test_what_is_not_reached_is_nan():
    assert np.isnan(odeint(lambda y, t: -y, 1.0, TIMES[::-1]).tolist()[1:]).all()
    assert np.isnan(odeint(lambda y, t: -y, 1.0, 100 * TIMES, mxstep=3).tolist()[1:]).all()


def test_what_is_refused():
    def decay(y, t, *args):
        return -y

    for wrong, error in [
        (lambda: odeint(3, 1.0, TIMES), TypeError),
        (lambda: odeint(decay, 1, TIMES), TypeError),
        (lambda: odeint(decay, 1.0, np.arange(4)), TypeError),
        (lambda: odeint(decay, 1.0, [0.0, 1.0]), TypeError),
        (lambda: odeint(decay, 1.0, TIMES, "a"), TypeError),
        (lambda: odeint(decay, 1.0, TIMES.reshape(2, 2)), ValueError),
        (lambda: odeint(decay, 1.0, TIMES[:0]), ValueError),
        (lambda: odeint(lambda y, t: (y, y), 1.0, TIMES), TypeError),
        (lambda: odeint(lambda y, t: jnp.ones(3), np.ones(2), TIMES), TypeError),
    ]:
        with pytest.raises(error):
            wrong()


def test_a_slope_may_come_in_another_tree_than_the_state():
    def listed(y, t):
        return [y[1], -y[0]]

    def stacked(y, t):
        return jnp.array([y[1], -y[0]])

    t = jnp.linspace(0.0, 1.0, 3)
    wanted = odeint(stacked, jnp.array([1.0, 0.0]), t)
    assert (odeint(listed, jnp.array([1.0, 0.0]), t) == wanted).all()
    assert (jnp.stack(odeint(stacked, [1.0, 0.0], t), -1) == wanted).all()
