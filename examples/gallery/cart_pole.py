"""Reinforcement learning: a policy learns to balance a pole by the gradient of its own chances."""

import numpy as np
from _figure import figure

import effax
import effax.numpy as jnp
from effax import lax, nn, random

STEPS, EPISODES = 200, 64


def moved(state, force):
    """The cart and its pole 0.02 s later (Barto, Sutton & Anderson 1983)."""
    _, speed, angle, turn = state
    sin, cos = jnp.sin(angle), jnp.cos(angle)
    push = (force + 0.05 * turn**2 * sin) / 1.1
    bend = (9.8 * sin - cos * push) / (0.5 * (4 / 3 - 0.1 * cos**2 / 1.1))
    pull = push - 0.05 * bend * cos / 1.1
    return state + 0.02 * jnp.stack([speed, pull, turn, bend])


def initial(key, width=32):
    one, other = random.split(key)
    return {
        "w": random.normal(one, (4, width)) / 2,
        "b": jnp.zeros(width),
        "v": 0.1 * random.normal(other, (width, 2)),
    }


def log_chances(policy, state):
    return nn.log_softmax(jnp.tanh(state @ policy["w"] + policy["b"]) @ policy["v"])


def episode(policy, key):
    """States, choices, and whether the pole still stood, at each step."""

    def step(carry, key):
        state, stands = carry
        choice = random.categorical(key, log_chances(policy, state))
        after = moved(state, jnp.where(choice == 1, 10.0, -10.0))
        fell = (jnp.abs(after[0]) > 2.4) | (jnp.abs(after[2]) > 0.21)
        after = jnp.where(stands, after, state)
        return (after, stands & ~fell), (state, choice, stands)

    first, rest = random.split(key)
    start = random.uniform(first, (4,), minval=-0.05, maxval=0.05)
    return lax.scan(step, (start, True), random.split(rest, STEPS))[1]


def surrogate(policy, states, choices, stood):
    """Its gradient is that of the expected length of an episode (Williams 1992)."""
    left = jnp.cumsum(stood[:, ::-1], 1)[:, ::-1].astype("float32")
    better = (left - left.mean(0)) / (left.std(0) + 1.0)
    chances = jnp.take_along_axis(log_chances(policy, states), choices[..., None], -1)[..., 0]
    return jnp.mean(jnp.where(stood, better * chances, 0.0))


@effax.jit
def improved(state, key):
    """One round of 64 episodes, and a step of Adam; the mean length of the episodes."""
    policy, mean, square, i = state
    states, choices, stood = effax.vmap(episode, (None, 0))(policy, random.split(key, EPISODES))
    slope = effax.grad(surrogate)(policy, states, choices, stood)
    mean = effax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, slope)
    square = effax.tree.map(lambda s, g: 0.99 * s + 0.01 * g * g, square, slope)
    rate = 0.02 * jnp.sqrt(1 - 0.99**i) / (1 - 0.9**i)
    policy = effax.tree.map(
        lambda x, m, s: x + rate * m / (jnp.sqrt(s) + 1e-8), policy, mean, square
    )
    return (policy, mean, square, i + 1), stood.sum(1).mean()


def run(rounds):
    """The mean lengths of episodes, round by round, and the last policy."""
    policy = initial(random.key(0))
    zeros = effax.tree.map(jnp.zeros_like, policy)
    state, lengths = (policy, zeros, zeros, 1.0), []
    for key in random.split(random.key(1), rounds):
        state, length = improved(state, key)
        lengths.append(float(length))
    return np.array(lengths), state[0]


if __name__ == "__main__":
    lengths, policy = run(150)
    with figure(2) as (left, right):
        left.plot(lengths)
        left.set(xlabel="round", ylabel="steps until it falls", ylim=(0, STEPS + 5))
        for who, color, name in (
            (initial(random.key(0)), "0.6", "before"),
            (policy, "C1", "after"),
        ):
            for i in range(6):
                states, _, stood = episode(who, random.key(i))
                angle = np.where(np.array(stood), np.degrees(np.array(states[:, 2])), np.nan)
                right.plot(0.02 * np.arange(STEPS), angle, color, label=None if i else name)
        right.set(xlabel="seconds", ylabel="degrees from upright")
        right.legend()
