"""A ship in fog: a Kalman filter and smoother; gradients of the likelihood find the two noises."""

import numpy as np
from _figure import figure

import effax
import effax.numpy as jnp
from effax import lax, random

MOVE = jnp.kron(jnp.eye(2), jnp.array([[1.0, 1.0], [0.0, 1.0]]))
"""A step of (place, speed) along x, and along y."""
SEE = jnp.kron(jnp.eye(2), jnp.array([[1.0, 0.0]]))
PUSH = jnp.kron(jnp.eye(2), jnp.array([[1 / 3, 1 / 2], [1 / 2, 1.0]]))


def voyage(steps, wind=0.02, fog=1.0):
    """True places, and what was seen of them."""
    one, two = random.split(random.key(4))
    root = jnp.linalg.cholesky(PUSH) * jnp.sqrt(wind)

    def step(state, noise):
        state = MOVE @ state + root @ noise
        return state, SEE @ state

    start = jnp.array([0.0, 0.4, 0.0, 0.2])
    places = lax.scan(step, start, random.normal(one, (steps, 4)))[1]
    return places, places + fog * random.normal(two, places.shape)


def filtered(logs, seen):
    """The log likelihood, and before and after each sight: mean and covariance of the state."""
    wind, fog = jnp.exp(logs)

    def step(state, z):
        mean, cov = MOVE @ state[0], MOVE @ state[1] @ MOVE.T + wind * PUSH
        surprise, spread = z - SEE @ mean, SEE @ cov @ SEE.T + fog**2 * jnp.eye(2)
        gain = jnp.linalg.solve(spread, SEE @ cov).T
        after = mean + gain @ surprise, cov - gain @ SEE @ cov
        likely = -0.5 * surprise @ jnp.linalg.solve(spread, surprise)
        likely -= 0.5 * jnp.linalg.slogdet(2 * jnp.pi * spread)[1]
        return after, (likely, (mean, cov), after)

    start = jnp.zeros(4), 10 * jnp.eye(4)
    likely, before, after = lax.scan(step, start, seen)[1]
    return likely.sum(), before, after


def smoothed(logs, seen):
    """Mean and covariance of each state, given all sights (Rauch, Tung & Striebel 1965)."""
    _, before, after = filtered(logs, seen)

    def step(later, now):
        (mean, cov), (next_mean, next_cov) = now
        gain = jnp.linalg.solve(next_cov, MOVE @ cov).T
        state = mean + gain @ (later[0] - next_mean), cov + gain @ (later[1] - next_cov) @ gain.T
        return state, state

    last = effax.tree.map(lambda x: x[-1], after)
    now = effax.tree.map(lambda x: x[:-1], after), effax.tree.map(lambda x: x[1:], before)
    found = lax.scan(step, last, now, reverse=True)[1]
    return effax.tree.map(lambda x, y: jnp.concatenate([x, y[None]]), found, last)


@effax.jit
def better(logs, seen):
    value, slope = effax.value_and_grad(lambda logs: filtered(logs, seen)[0])(logs)
    return logs + 0.003 * jnp.clip(slope, -20, 20), value


def run(steps, rounds):
    """Places, sights, the smoothed states, and the noises found with their likelihoods."""
    places, seen = voyage(steps)
    logs, values = jnp.log(jnp.array([0.2, 3.0])), []
    for _ in range(rounds):
        logs, value = better(logs, seen)
        values.append(float(value))
    return places, seen, effax.jit(smoothed)(logs, seen), np.exp(logs), np.array(values)


if __name__ == "__main__":
    places, seen, (mean, cov), (wind, fog), values = run(100, 400)
    mean, cov = np.array(mean), np.array(cov)
    with figure(2, width_ratios=[2, 1]) as (left, right):
        left.plot(*np.array(seen).T, "k.", alpha=0.4, label="seen")
        left.plot(*np.array(places).T, "k-", label="true")
        left.plot(mean[:, 0], mean[:, 2], "C1", label="smoothed")
        left.legend()
        left.set(aspect="equal", xlabel="miles", ylabel="miles")
        right.plot(values)
        right.set(xlabel="round", ylabel="log likelihood", title=f"wind {wind:.3f}, fog {fog:.2f}")
