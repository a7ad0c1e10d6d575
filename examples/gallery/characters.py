"""A small language model: a recurrent network learns to write like Python's own documentation."""

import textwrap
from pydoc_data.topics import topics

import numpy as np
from _figure import figure

import effax
import effax.numpy as jnp
from effax import lax, nn, random

LETTERS = "\n" + "".join(map(chr, range(32, 127)))
LENGTH, ROWS = 96, 48


def text():
    """All of it, each letter as its number."""
    joined = "\n".join(topics[name] for name in sorted(topics))
    known = joined.encode("ascii", "ignore").decode()
    return jnp.asarray(np.array([max(LETTERS.find(c), 0) for c in known], np.uint8))


def initial(key, width=160):
    keys = random.split(key, 4)
    many = len(LETTERS)
    return {
        "letters": 0.1 * random.normal(keys[0], (many, width)),
        "in": random.normal(keys[1], (width, 3 * width)) / np.sqrt(width),
        "own": random.normal(keys[2], (width, 3 * width)) / np.sqrt(width),
        "bias": jnp.zeros(3 * width),
        "out": random.normal(keys[3], (width, many)) / np.sqrt(width),
    }


def step(net, state, letter):
    """A gated recurrent unit (Cho et al. 2014), and what it expects next."""
    x = net["letters"][letter] @ net["in"] + net["bias"]
    keep, look, new = jnp.split(x, 3, -1)
    keep_own, look_own, new_own = jnp.split(state @ net["own"], 3, -1)
    keep, look = nn.sigmoid(keep + keep_own), nn.sigmoid(look + look_own)
    state = keep * state + (1 - keep) * jnp.tanh(new + look * new_own)
    return state, state @ net["out"]


def loss(net, letters):
    """The mean number of nats for the next letter; letters [length + 1, rows]."""
    start = jnp.zeros((letters.shape[1], net["own"].shape[0]))
    _, expected = lax.scan(lambda s, letter: step(net, s, letter), start, letters[:-1])
    chances = nn.log_softmax(expected)
    return -jnp.take_along_axis(chances, letters[1:, :, None].astype(int), -1).mean()


@effax.jit
def better(state, key, letters):
    net, mean, square, i = state
    starts = random.randint(key, (ROWS,), 0, len(letters) - LENGTH - 1)
    rows = letters[starts + jnp.arange(LENGTH + 1)[:, None]]
    value, slope = effax.value_and_grad(loss)(net, rows)
    mean = effax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, slope)
    square = effax.tree.map(lambda s, g: 0.99 * s + 0.01 * g * g, square, slope)
    rate = 4e-3 * jnp.sqrt(1 - 0.99**i) / (1 - 0.9**i)
    net = effax.tree.map(lambda x, m, s: x - rate * m / (jnp.sqrt(s) + 1e-8), net, mean, square)
    return (net, mean, square, i + 1), value


@effax.jit(static_argnums=2)
def written(net, key, count):
    """Letters drawn from what the network expects, one after the other."""

    def draw(carry, key):
        state, letter = carry
        state, expected = step(net, state, letter)
        letter = random.categorical(key, expected / 0.6)
        return (state, letter), letter

    start = jnp.zeros(net["own"].shape[0]), jnp.asarray(0)
    return lax.scan(draw, start, random.split(key, count))[1]


def run(steps, width=160):
    """The losses in nats, and the network."""
    net = initial(random.key(0), width)
    zeros = effax.tree.map(jnp.zeros_like, net)
    state, losses, letters = (net, zeros, zeros, 1.0), [], text()
    for key in random.split(random.key(1), steps):
        state, value = better(state, key, letters)
        losses.append(float(value))
    return np.array(losses), state[0]


if __name__ == "__main__":
    losses, net = run(700)
    sample = "".join(LETTERS[i] for i in written(net, random.key(5), 700).tolist())
    with figure(2, width_ratios=[1, 1.4]) as (left, right):
        left.plot(losses / np.log(2))
        left.set(xlabel="step", ylabel="bits for a letter")
        lines = [line for part in sample.split("\n") for line in textwrap.wrap(part, 52)]
        right.text(0, 1, "\n".join(lines[:17]), va="top", family="monospace", fontsize=7)
        right.axis("off")
