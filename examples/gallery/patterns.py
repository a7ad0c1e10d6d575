"""Two substances react and spread: spots grow (Gray & Scott 1984), and what another feed would change."""

import numpy as np
from _figure import figure

import effax
import effax.numpy as jnp
from effax import lax, random


def spread(x):
    """The sum of differences to the four neighbours, on a torus."""
    return sum(jnp.roll(x, shift, axis) for shift in (-1, 1) for axis in (0, 1)) - 4 * x


def step(state, feed, kill):
    u, v = state
    made = u * v * v
    u = u + 0.16 * spread(u) - made + feed * (1 - u)
    v = v + 0.08 * spread(v) + made - (feed + kill) * v
    return u, v


def start(size, seeds):
    """The first substance everywhere, and squares of the second."""
    v = jnp.zeros((size, size))
    for x, y in random.randint(random.key(0), (seeds, 2), 0, size - 8).tolist():
        v = v.at[x : x + 6, y : y + 6].set(0.5)
    return 1 - v, v


@effax.jit(static_argnums=2)
def grown(feed, state, steps, kill=0.062):
    return lax.fori_loop(0, steps, lambda i, s: step(s, feed, kill), state)


def change(feed, state, steps):
    """The pattern, and its derivative with respect to the feed: forward mode carries it along."""
    one = jnp.ones(())
    return effax.jvp(lambda f: grown(f, state, steps)[1], (jnp.asarray(feed),), (one,))


def run(size, steps, seeds=12):
    """The pattern after a quarter of the steps, after all, and its derivative by the feed."""
    state = start(size, seeds)
    early = grown(0.035, state, steps // 4)[1]
    late, slope = change(0.035, state, steps)
    return early, late, slope


if __name__ == "__main__":
    early, late, slope = run(160, 6000)
    with figure(3) as (left, middle, right):
        left.imshow(early, cmap="viridis")
        left.set(title="after 1500 steps")
        middle.imshow(late, cmap="viridis")
        middle.set(title="after 6000 steps")
        limit = np.quantile(np.abs(slope), 0.98)
        right.imshow(slope, cmap="RdBu", vmin=-limit, vmax=limit)
        right.set(title="change with more feed")
        for part in (left, middle, right):
            part.axis("off")
