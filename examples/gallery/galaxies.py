"""Two galaxies pass each other: N bodies, each device computing the pull on its share of them."""

import numpy as np
from _figure import figure

import effax

if __name__ == "__main__":
    effax.config.update("num_cpu_devices", 4)

import effax.numpy as jnp
from effax import lax, random
from effax.sharding import PartitionSpec as P

SOFT, STEP = 0.1, 0.02


def disc(key, count, place, speed, tilt):
    """A heavy centre, and stars on circles around it: places, speeds, masses."""
    one, other = random.split(key)
    radius = jnp.sqrt(random.uniform(one, (count,), minval=0.15, maxval=2.0))
    angle = random.uniform(other, (count,), maxval=2 * jnp.pi)
    flat = jnp.array([[1.0, 0.0, 0.0], [0.0, jnp.cos(tilt), jnp.sin(tilt)]])
    around = radius[:, None] * jnp.stack([jnp.cos(angle), jnp.sin(angle)], 1) @ flat
    rate = jnp.sqrt(1 / jnp.sqrt(radius**2 + SOFT**2))
    turning = rate[:, None] * jnp.stack([-jnp.sin(angle), jnp.cos(angle)], 1) @ flat
    centre = jnp.zeros((1, 3))
    masses = jnp.concatenate([jnp.ones(1), jnp.full(count, 0.1 / count)])
    return (
        jnp.concatenate([centre, around]) + jnp.array(place),
        jnp.concatenate([centre, turning]) + jnp.array(speed),
        masses,
    )


def start(count):
    """Both galaxies; `count` bodies in all."""
    one = disc(random.key(0), count // 2 - 1, (-2.0, -1.0, 0.0), (0.35, 0.1, 0.0), 0.3)
    other = disc(random.key(1), count // 2 - 1, (2.0, 1.0, 0.0), (-0.35, -0.1, 0.0), 1.2)
    return [jnp.concatenate(pair) for pair in zip(one, other, strict=True)]


def potential(here, all_places, masses):
    """The potential energy of a unit mass at a place."""
    away = all_places - here
    return -jnp.sum(masses / jnp.sqrt((away**2).sum(1) + SOFT**2))


def simulate(mesh, state, steps):
    """The places at each step, by the leapfrog rule; bodies are spread over the mesh."""

    def of_share(places, speeds, masses):
        every_mass = lax.all_gather(masses, "bodies", tiled=True)

        def pull(places):
            every = lax.all_gather(places, "bodies", tiled=True)
            return -effax.vmap(effax.grad(potential), (0, None, None))(places, every, every_mass)

        def step(state, _):
            places, speeds = state
            places = places + STEP / 2 * speeds
            speeds = speeds + STEP * pull(places)
            places = places + STEP / 2 * speeds
            return (places, speeds), places

        (places, speeds), path = lax.scan(step, (places, speeds), length=steps)
        return path, speeds

    share = effax.shard_map(
        of_share, mesh=mesh, in_specs=P("bodies"), out_specs=(P(None, "bodies"), P("bodies"))
    )
    return effax.jit(share)(*state)


def energy(places, speeds, masses):
    """The energy of all bodies: half of each pair's potential is counted twice, and one's own is none."""
    own = -masses / SOFT
    mutual = effax.vmap(potential, (0, None, None))(places, places, masses) - own
    return 0.5 * jnp.sum(masses * ((speeds**2).sum(1) + mutual))


def run(count, steps):
    """The path, and the energies at the start and the end."""
    auto = (
        effax.sharding.AxisType.Auto,
    )  # the compiler chooses where pairs of bodies are computed
    mesh = effax.make_mesh((effax.device_count(),), ("bodies",), axis_types=auto)
    state = start(count)
    path, speeds = simulate(mesh, state, steps)
    return path, float(energy(*state)), float(energy(path[-1], speeds, state[2]))


if __name__ == "__main__":
    count = 1200
    path, first, last = run(count, 600)
    with figure(4) as axes:
        for part, i in zip(axes, (0, 250, 400, 599), strict=True):
            x = np.array(path[i])
            part.set_facecolor("black")
            for half, color in ((x[: count // 2], "#8cf"), (x[count // 2 :], "#fb7")):
                part.plot(*half[:, :2].T, ".", markersize=1, color=color)
            part.set(
                xlim=(-4.5, 4.5), ylim=(-4.5, 4.5), aspect="equal", title=f"time {i * STEP:.0f}"
            )
            part.set(xticks=[], yticks=[])
