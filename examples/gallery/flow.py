"""A normalising flow: a map from a normal distribution to a ring of eight, trained by likelihood."""

import numpy as np
from _figure import figure

import effax
import effax.numpy as jnp
from effax import lax, nn, random

LAYERS = 8


def ring(key, count):
    """Points near eight places on a circle."""
    one, other = random.split(key)
    angle = jnp.pi / 4 * random.randint(one, (count,), 0, 8)
    centre = 2 * jnp.stack([jnp.cos(angle), jnp.sin(angle)], 1)
    return centre + 0.15 * random.normal(other, (count, 2))


def initial(key, width=48):
    one, two = random.split(key)
    return {
        "in": random.normal(one, (LAYERS, 1, width)) * 2,
        "at": jnp.linspace(-3.0, 3.0, width) * jnp.ones((LAYERS, 1)),
        "out": 0.01 * random.normal(two, (LAYERS, width, 2)),
        "shift": jnp.zeros((LAYERS, 2)),
    }


def scale_and_shift(layer, x):
    hidden = nn.tanh(x[:, None] @ layer["in"] + layer["at"])
    found = hidden @ layer["out"] + layer["shift"]
    return 2 * nn.tanh(found[:, 0] / 2), found[:, 1]


def to_normal(net, x):
    """Points as points of a normal distribution, and the logarithm of the change of volume.

    Each layer moves one coordinate by what depends on the other: Dinh, Sohl-Dickstein & Bengio 2016.
    """

    def step(state, layer):
        x, volume = state
        scale, shift = scale_and_shift(layer, x[:, 0])
        moved = x[:, 1] * jnp.exp(scale) + shift
        return (jnp.stack([moved, x[:, 0]], 1), volume + scale), None

    return lax.scan(step, (x, jnp.zeros(len(x))), net)[0]


def from_normal(net, z):
    """The inverse."""

    def step(z, layer):
        scale, shift = scale_and_shift(layer, z[:, 1])
        return jnp.stack([z[:, 1], (z[:, 0] - shift) * jnp.exp(-scale)], 1), None

    return lax.scan(step, z, net, reverse=True)[0]


def log_density(net, x):
    z, volume = to_normal(net, x)
    return volume - 0.5 * (z * z).sum(1) - jnp.log(2 * jnp.pi)


@effax.jit
def train(net, keys):
    def step(state, key):
        net, mean, square, i = state
        value, slope = effax.value_and_grad(lambda n: -log_density(n, ring(key, 256)).mean())(net)
        mean = effax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, slope)
        square = effax.tree.map(lambda s, g: 0.99 * s + 0.01 * g * g, square, slope)
        rate = 3e-3 * jnp.sqrt(1 - 0.99**i) / (1 - 0.9**i)
        move = lambda x, m, s: x - rate * m / (jnp.sqrt(s) + 1e-8)  # noqa: E731
        return (effax.tree.map(move, net, mean, square), mean, square, i + 1), value

    zeros = effax.tree.map(jnp.zeros_like, net)
    (net, *_), losses = lax.scan(step, (net, zeros, zeros, 1.0), keys)
    return net, losses


def run(steps):
    """Losses in nats, and the trained map."""
    net, losses = train(initial(random.key(0)), random.split(random.key(1), steps))
    return np.array(losses), net


if __name__ == "__main__":
    losses, net = run(5000)
    z = random.normal(random.key(2), (3000, 2))
    axis = jnp.linspace(-3, 3, 200)
    grid = jnp.stack(jnp.meshgrid(axis, axis), -1).reshape(-1, 2)
    density = np.exp(np.array(log_density(net, grid))).reshape(200, 200)
    with figure(3) as (left, middle, right):
        color = np.arctan2(*np.array(z).T)
        for part, points, title in ((left, z, "normal"), (middle, from_normal(net, z), "mapped")):
            part.scatter(*np.array(points).T, s=1, c=color, cmap="twilight")
            part.set(title=title, xlim=(-3.2, 3.2), ylim=(-3.2, 3.2), aspect="equal")
        right.imshow(density, extent=(-3, 3, -3, 3), origin="lower", cmap="magma")
        right.set(title="density")
