"""A Gaussian process on noisy points: the marginal likelihood chooses its three hyperparameters."""

import numpy as np
from _figure import figure

import effax
import effax.numpy as jnp
from effax import random
from effax.scipy import linalg


def data(count, noise=0.15):
    places, errors = random.split(random.key(3))
    x = jnp.sort(random.uniform(places, (count,), minval=-4.0, maxval=4.0))
    x = jnp.where((x > 0.5) & (x < 2.0), x - 2.5, x)  # a gap, where the band has to open
    return x, jnp.sin(1.5 * x) + 0.3 * x + noise * random.normal(errors, (count,))


def kernel(logs, x, y):
    """The covariance of values at x and y: squared exponential."""
    size, length = jnp.exp(logs["size"]), jnp.exp(logs["length"])
    return size**2 * jnp.exp(-0.5 * ((x[:, None] - y[None]) / length) ** 2)


def factor(logs, x):
    noise = jnp.exp(2 * logs["noise"]) + 1e-5
    return jnp.linalg.cholesky(kernel(logs, x, x) + noise * jnp.eye(len(x)))


def evidence(logs, x, y):
    """The logarithm of the marginal likelihood (Rasmussen & Williams 2006, equation 2.30)."""
    low = factor(logs, x)
    half = linalg.solve_triangular(low, y, lower=True)
    return -0.5 * half @ half - jnp.log(jnp.diag(low)).sum() - len(x) / 2 * jnp.log(2 * jnp.pi)


def posterior(logs, x, y, at):
    """Mean and standard deviation of the function at other places."""
    low = factor(logs, x)
    across = linalg.solve_triangular(low, kernel(logs, x, at), lower=True)
    mean = across.T @ linalg.solve_triangular(low, y, lower=True)
    return mean, jnp.sqrt(jnp.diag(kernel(logs, at, at)) - (across**2).sum(0) + 1e-6)


@effax.jit
def better(logs, x, y):
    value, slope = effax.value_and_grad(evidence)(logs, x, y)
    return effax.tree.map(lambda a, g: a + 0.01 * jnp.clip(g, -10, 10), logs, slope), value


def run(steps, count=40):
    """The evidence at each step, the points, and the logarithms of the hyperparameters."""
    x, y = data(count)
    logs, values = {"size": jnp.array(0.0), "length": jnp.array(1.0), "noise": jnp.array(0.0)}, []
    for _ in range(steps):
        logs, value = better(logs, x, y)
        values.append(float(value))
    return np.array(values), (x, y), logs


if __name__ == "__main__":
    values, (x, y), logs = run(400)
    at = jnp.linspace(-5, 5, 300)
    mean, width = map(np.array, posterior(logs, x, y, at))
    with figure(2, width_ratios=[2, 1]) as (left, right):
        left.fill_between(at, mean - 2 * width, mean + 2 * width, alpha=0.2, label="two deviations")
        left.plot(at, mean, label="posterior mean")
        left.plot(at, np.sin(1.5 * np.array(at)) + 0.3 * np.array(at), "k:", label="truth")
        left.plot(x, y, "k.")
        left.legend()
        right.plot(values)
        right.set(xlabel="step", ylabel="log marginal likelihood")
