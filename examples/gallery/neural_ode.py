"""A neural differential equation learns a spiral from sixty noisy points on it."""

import numpy as np
from _figure import figure

import effax
import effax.numpy as jnp
from effax import random
from effax.experimental.ode import odeint

TRUE = jnp.array([[-0.1, 2.0], [-2.0, -0.1]])


def spiral(points, noise=0.05):
    """Times, and places on the spiral with noise."""
    times = jnp.linspace(0.0, 6.0, points)
    places = odeint(lambda y, t: y**3 @ TRUE, jnp.array([2.0, 0.0]), times)
    return times, places + noise * random.normal(random.key(0), places.shape)


def initial(key, width=32):
    one, other = random.split(key)
    return {
        "w": random.normal(one, (2, width)) / 2,
        "b": jnp.zeros(width),
        "v": 0.1 * random.normal(other, (width, 2)),
    }


def speed(y, t, net):
    return jnp.tanh(y**3 @ net["w"] + net["b"]) @ net["v"]


def path(net, times, start):
    return odeint(speed, start, times, net)


def loss(net, times, places):
    """The mean distance to the points of eight short pieces, each from its own first point."""
    size = len(times) // 8
    starts = places[: 8 * size : size]
    found = effax.vmap(lambda start: path(net, times[:size], start))(starts)
    return jnp.mean(jnp.abs(found - places[: 8 * size].reshape(8, size, 2)))


@effax.jit
def better(state, i, times, places):
    """One step of Adam (Kingma & Ba 2014)."""
    net, mean, square = state
    value, slope = effax.value_and_grad(loss)(net, times, places)
    mean = effax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, slope)
    square = effax.tree.map(lambda s, g: 0.99 * s + 0.01 * g * g, square, slope)

    def moved(x, m, s):
        return x - 0.02 * m / (1 - 0.9**i) / (jnp.sqrt(s / (1 - 0.99**i)) + 1e-8)

    return (effax.tree.map(moved, net, mean, square), mean, square), value


def run(steps, points=64):
    """The losses, the points and the path that the network's equation goes through them."""
    times, places = spiral(points)
    net = initial(random.key(1))
    zeros = effax.tree.map(jnp.zeros_like, net)
    state, losses = (net, zeros, zeros), []
    for i in range(1, steps + 1):
        state, value = better(state, float(i), times, places)
        losses.append(float(value))
    fine = jnp.linspace(0.0, 6.0, 400)
    return np.array(losses), places, path(state[0], fine, jnp.array([2.0, 0.0])), state[0]


if __name__ == "__main__":
    losses, places, found, net = run(2000)
    with figure(2) as (left, right):
        grid = jnp.stack(jnp.meshgrid(jnp.linspace(-2.4, 2.4, 25), jnp.linspace(-2.4, 2.4, 25)), -1)
        field = np.array(speed(grid, 0.0, net))
        left.streamplot(*np.array(grid).transpose(2, 0, 1), *field.transpose(2, 0, 1), color="0.85")
        left.plot(*np.array(places).T, "k.", label="points", markersize=4)
        left.plot(*np.array(found).T, "C1", label="learnt equation")
        left.set(aspect="equal", xlim=(-2.4, 2.4), ylim=(-2.4, 2.4))
        left.legend(loc="upper right")
        right.semilogy(losses)
        right.set(xlabel="step", ylabel="mean distance")
