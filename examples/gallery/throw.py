"""Throw a ball with drag over a wall onto a target: gradients through the simulation find the throw."""

import numpy as np
from _figure import figure

import effax
import effax.numpy as jnp
from effax import lax

TARGET, WALL, HEIGHT = 12.0, 6.0, 4.0
DRAG, STEP = 0.03, 0.02


def flight(throw, steps):
    """The places of the ball at each step, for a throw by its horizontal and vertical speed."""

    def move(state, _):
        place, speed = state
        force = jnp.array([0.0, -9.81]) - DRAG * jnp.linalg.norm(speed) * speed
        speed = speed + STEP * force
        place = place + STEP * speed
        return (place, speed), place

    return lax.scan(move, (jnp.zeros(2), throw), length=steps)[1]


def landing(places):
    """The place at which the ball falls through the ground, between two steps."""
    below = jnp.argmax((places[:, 1] < 0) & (jnp.arange(len(places)) > 0))
    a, b = places[below - 1], places[below]
    return a[0] + (b[0] - a[0]) * a[1] / (a[1] - b[1])


def cost(throw, steps):
    """The squared distance from the target, and of what the ball lacks to clear the wall."""
    places = flight(throw, steps)
    above = jnp.interp(WALL, places[:, 0], places[:, 1])
    return (landing(places) - TARGET) ** 2 + 10 * jnp.maximum(HEIGHT + 0.3 - above, 0) ** 2


@effax.jit
def better(throw, steps=200):
    value, slope = effax.value_and_grad(cost)(throw, 200)
    return throw - 0.02 * slope, value


def run(rounds, throw=(5.0, 8.0)):
    """The throws and their costs, round by round."""
    throws, costs = [jnp.array(throw)], []
    for _ in range(rounds):
        throw, value = better(throws[-1])
        throws.append(throw)
        costs.append(float(value))
    return np.array(throws), np.array(costs)


if __name__ == "__main__":
    throws, costs = run(200)
    with figure(2, width_ratios=[2, 1]) as (left, right):
        for i in (0, 5, 10, 20, 40, 200):
            places = np.vstack([[0, 0], np.array(flight(jnp.array(throws[i]), 200))])
            places = places[: 2 + np.argmax(places[1:, 1] < 0)]
            left.plot(*places.T, label=f"round {i}", color=str(0.8 - 0.8 * min(i, 60) / 60))
        left.fill_between([WALL - 0.1, WALL + 0.1], 0, HEIGHT, color="C3")
        left.plot(TARGET, 0, "C2^", markersize=12)
        left.set(xlabel="metres", ylabel="metres", ylim=(0, 8))
        left.legend(loc="upper left")
        right.semilogy(costs)
        right.set(xlabel="round", ylabel="cost")
