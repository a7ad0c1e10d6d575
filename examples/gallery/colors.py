"""A sparse Jacobian from a few products: its pattern, and columns that are found together."""

import numpy as np
from _figure import figure
from compressed import jacobian  # pyright: ignore[reportMissingImports]

import effax
import effax.numpy as jnp


def reaction(state):
    """The changes of two substances on a ring (the Brusselator): neighbours, and each other."""
    u, v = state

    def spread(x):
        return jnp.roll(x, 1) - 2 * x + jnp.roll(x, -1)

    return jnp.stack([1 + u * u * v - 4 * u + spread(u), 3 * u - u * u * v + 10 * spread(v)])


def run(count):
    """The plan for a ring of so many places, the matrix by it, and the matrix by `jacfwd`."""
    state = 1 + 0.1 * jnp.sin(jnp.arange(2.0 * count)).reshape(2, count)
    plan = jacobian(reaction, state, mode="forward")
    size = (2 * count, 2 * count)
    return plan, plan.dense(state).reshape(size), effax.jacfwd(reaction)(state).reshape(size)


if __name__ == "__main__":
    plan, matrix, _ = run(12)
    groups = np.full(matrix.shape, np.nan)
    groups[plan.rows, plan.columns] = plan.take[0]
    small = np.full((matrix.shape[0], plan.directions), np.nan)
    small[plan.take[1], plan.take[0]] = plan.take[0]
    with figure(2, width_ratios=[3, 1]) as (left, right):
        for axes, picture in ((left, groups), (right, small)):
            axes.imshow(picture, cmap="tab10", vmin=0, vmax=9, aspect="auto")
            axes.set(xticks=[], yticks=[])
        left.set(title=f"{len(plan.rows)} of {matrix.size} elements", ylabel="results")
        left.set(xlabel=f"{matrix.shape[1]} arguments; one color: found together")
        right.set(title=f"{plan.directions} products")
