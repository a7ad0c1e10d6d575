"""Molecular dynamics: an energy is all that is written, forces are its gradient; a droplet forms."""

import numpy as np
from _figure import figure

import effax
import effax.numpy as jnp
from effax import lax, random

STEP = 0.005


def pair(square):
    """Lennard-Jones's energy of two atoms, of their squared distance."""
    sixth = 1 / square**3
    return 4 * (sixth**2 - sixth)


def energy(places, box):
    """The energy of all pairs, each with the nearest copy in a periodic box."""
    i, j = np.triu_indices(len(places), 1)
    away = places[i] - places[j]
    away = away - box * jnp.round(away / box)
    return pair((away**2).sum(1)).sum()


@effax.jit(static_argnums=(2, 3))
def dynamics(places, speeds, box, steps, friction=0.0):
    """Places, and potential and kinetic energy at each step (velocity Verlet, friction by hand)."""
    force = lambda x: -effax.grad(energy)(x, box)  # noqa: E731

    def step(state, _):
        places, speeds, pull = state
        speeds = (speeds + STEP / 2 * pull) * (1 - friction * STEP)
        places = (places + STEP * speeds) % box
        pull = force(places)
        speeds = speeds + STEP / 2 * pull
        return (places, speeds, pull), (places, energy(places, box), 0.5 * (speeds**2).sum())

    return lax.scan(step, (places, speeds, force(places)), length=steps)


def start(side, box):
    """Atoms on a grid, with speeds at random whose sum is zero."""
    axis = (jnp.arange(side) + 0.5) * box / side
    places = jnp.stack(jnp.meshgrid(axis, axis), -1).reshape(-1, 2)
    speeds = 0.9 * random.normal(random.key(0), places.shape)
    return places, speeds - speeds.mean(0)


def run(side, steps, box):
    """Paths and energies: first cooled by friction, then left alone."""
    (places, speeds, _), cooled = dynamics(*start(side, box), box, steps, 0.3)
    _, free = dynamics(places, speeds, box, steps)
    return cooled, free


if __name__ == "__main__":
    box = 20.0
    cooled, free = run(12, 6000, box)
    with figure(3) as (left, middle, right):
        for part, x, title in ((left, cooled[0][0], "at first"), (middle, free[0][-1], "later")):
            part.scatter(*np.array(x).T, s=25)
            part.set(
                xlim=(0, box), ylim=(0, box), aspect="equal", title=title, xticks=[], yticks=[]
            )
        time = STEP * np.arange(12000)
        potential, kinetic = (
            np.concatenate([a, b]) for a, b in zip(cooled[1:], free[1:], strict=True)
        )
        right.plot(time, potential, label="potential")
        right.plot(time, kinetic, label="kinetic")
        right.plot(time, potential + kinetic, "k", label="sum")
        right.axvline(time[6000], color="0.7", linestyle=":")
        right.legend()
        right.set(xlabel="time", title="energy")
