"""Diffrax, Lineax and Optimistix: solutions and their derivatives."""

import diffrax
import jax
import jax.numpy as jnp
import lineax
import numpy as np
import optimistix


def decay(rate):
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(lambda t, y, a: -a * y),
        diffrax.Tsit5(),
        t0=0.0,
        t1=1.0,
        dt0=0.1,
        y0=jnp.array(1.0),
        args=rate,
        stepsize_controller=diffrax.PIDController(1e-5, 1e-5),
        saveat=diffrax.SaveAt(ts=jnp.linspace(0, 1, 3)),
    )
    return solution.ys


np.testing.assert_allclose(decay(1.0), np.exp([0, -0.5, -1.0]), rtol=1e-4)
np.testing.assert_allclose(jax.grad(lambda a: decay(a)[-1])(1.0), -np.exp(-1.0), rtol=1e-3)
rates = jnp.array([1.0, 2.0])
np.testing.assert_allclose(jax.vmap(decay)(rates)[:, -1], np.exp([-1.0, -2.0]), rtol=1e-3)

matrix, b = np.array([[2.0, 1.0], [1.0, 3.0]], "f4"), np.array([1.0, 2.0], "f4")


def solve(b):
    return lineax.linear_solve(lineax.MatrixLinearOperator(jnp.array(matrix)), b).value


np.testing.assert_allclose(solve(b), np.linalg.solve(matrix, b), rtol=1e-5)
np.testing.assert_allclose(jax.jacrev(solve)(b), np.linalg.inv(matrix), rtol=1e-5)


def root(a):
    newton = optimistix.Newton(1e-5, 1e-5)
    return optimistix.root_find(lambda y, a: y**2 - a, newton, jnp.array(1.0), args=a).value


np.testing.assert_allclose(root(2.0), np.sqrt(2), rtol=1e-5)
np.testing.assert_allclose(jax.grad(root)(2.0), 0.5 / np.sqrt(2), rtol=1e-4)
bfgs = optimistix.BFGS(1e-5, 1e-5)
least = optimistix.minimise(
    lambda y, a: jnp.sum((y - a) ** 2), bfgs, jnp.zeros(2), args=jnp.ones(2)
)
np.testing.assert_allclose(least.value, [1, 1], rtol=1e-4)
