"""Diffusion: a network learns to take noise from points of two moons, and makes new points of it."""

import numpy as np
from _figure import figure

import effax
import effax.numpy as jnp
from effax import lax, nn, random

LEVELS = 100
KEPT = jnp.cumprod(1 - jnp.linspace(1e-4, 0.08, LEVELS))
"""The part of a point's square that is left at each level of noise."""


def moons(key, count):
    one, two, three = random.split(key, 3)
    angle = jnp.pi * random.uniform(one, (count,))
    sign = jnp.where(random.bernoulli(two, 0.5, (count,)), 1.0, -1.0)
    points = jnp.stack([sign * (jnp.cos(angle) - 0.5), sign * (jnp.sin(angle) - 0.25)], 1)
    return points + 0.07 * random.normal(three, (count, 2))


def initial(key, width=96):
    sizes = (2 + 8, width, width, 2)
    keys = random.split(key, len(sizes) - 1)
    pairs = zip(keys, sizes[:-1], sizes[1:], strict=True)
    return [(random.normal(k, (n, m)) / jnp.sqrt(n), jnp.zeros(m)) for k, n, m in pairs]


def noise_in(net, x, level):
    """The noise that the network sees in points."""
    turns = level[:, None] / LEVELS * jnp.pi * 2.0 ** jnp.arange(-1.0, 3.0)
    x = jnp.concatenate([x, jnp.sin(turns), jnp.cos(turns)], 1)
    *hidden, (w, b) = net
    for v, c in hidden:
        x = nn.silu(x @ v + c)
    return x @ w + b


def loss(net, key):
    one, two, three = random.split(key, 3)
    x, noise = moons(one, 512), random.normal(two, (512, 2))
    level = random.randint(three, (512,), 0, LEVELS)
    kept = KEPT[level][:, None]
    seen = noise_in(net, jnp.sqrt(kept) * x + jnp.sqrt(1 - kept) * noise, level)
    return jnp.mean((seen - noise) ** 2)


@effax.jit
def train(net, keys):
    """Adam, one step for each key."""

    def step(state, key):
        net, mean, square, i = state
        value, slope = effax.value_and_grad(loss)(net, key)
        mean = effax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, slope)
        square = effax.tree.map(lambda s, g: 0.999 * s + 0.001 * g * g, square, slope)
        rate = 3e-3 * jnp.sqrt(1 - 0.999**i) / (1 - 0.9**i)
        move = lambda x, m, s: x - rate * m / (jnp.sqrt(s) + 1e-8)  # noqa: E731
        return (effax.tree.map(move, net, mean, square), mean, square, i + 1), value

    zeros = effax.tree.map(jnp.zeros_like, net)
    (net, *_), losses = lax.scan(step, (net, zeros, zeros, 1.0), keys)
    return net, losses


@effax.jit(static_argnums=2)
def sample(net, key, count):
    """Points at all levels, from pure noise to none (Ho, Jain & Abbeel 2020, algorithm 2)."""
    before = jnp.concatenate([jnp.ones(1), KEPT[:-1]])

    def step(x, now):
        level, key = now
        kept, one = KEPT[level], KEPT[level] / before[level]
        seen = noise_in(net, x, jnp.full(count, level))
        x = (x - (1 - one) / jnp.sqrt(1 - kept) * seen) / jnp.sqrt(one)
        return x + jnp.sqrt(1 - one) * (level > 0) * random.normal(key, x.shape), x

    first, rest = random.split(key)
    levels = jnp.arange(LEVELS)[::-1], random.split(rest, LEVELS)
    last, path = lax.scan(step, random.normal(first, (count, 2)), levels)
    return jnp.concatenate([path, last[None]])


def run(steps, count=1000):
    """Losses, and the points at all levels."""
    net, losses = train(initial(random.key(0)), random.split(random.key(1), steps))
    return np.array(losses), np.array(sample(net, random.key(2), count))


if __name__ == "__main__":
    losses, points = run(4000)
    with figure(4, sharex=True, sharey=True) as axes:
        for part, level in zip(axes, (0, 60, 85, 100), strict=True):
            part.plot(*points[level].T, ".", markersize=2, alpha=0.6)
            part.set(title=f"step {level}", xlim=(-2.5, 2.5), ylim=(-2.5, 2.5), aspect="equal")
