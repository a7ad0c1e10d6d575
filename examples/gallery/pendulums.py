"""Double pendulums from their energy alone, and how soon each forgets where it began."""

import numpy as np
from _figure import figure

import effax
import effax.numpy as jnp
from effax import lax

GRAVITY, STEP = 9.81, 0.01


def lagrangian(q, turn):
    """Kinetic less potential energy of two unit masses on unit rods."""
    inner, outer = q
    first, second = turn
    kinetic = first**2 + second**2 / 2 + first * second * jnp.cos(inner - outer)
    return kinetic + GRAVITY * (2 * jnp.cos(inner) + jnp.cos(outer))


def bend(q, turn):
    """Lagrange's equations, solved for the second derivative of the angles."""
    mass = effax.hessian(lagrangian, 1)(q, turn)
    mixed = effax.jacfwd(effax.grad(lagrangian, 1), 0)(q, turn)
    return jnp.linalg.solve(mass, effax.grad(lagrangian, 0)(q, turn) - mixed @ turn)


def step(state):
    """The classical Runge-Kutta step."""

    def slope(s):
        return jnp.stack([s[1], bend(s[0], s[1])])

    a = slope(state)
    b = slope(state + STEP / 2 * a)
    c = slope(state + STEP / 2 * b)
    d = slope(state + STEP * c)
    return state + STEP / 6 * (a + 2 * b + 2 * c + d)


def energy(state):
    """The sum of kinetic and potential energy, from the Lagrangian: turn dL/dturn - L."""
    q, turn = state
    return turn @ effax.grad(lagrangian, 1)(q, turn) - lagrangian(q, turn)


@effax.jit(static_argnums=1)
def forgetting(angles, steps):
    """The path from rest at two angles, and the rate at which a small error grows, for each second.

    The tangent is made as small as it was after every step (Benettin et al. 1980).
    """

    def move(carry, _):
        state, error, grown = carry
        state, error = effax.jvp(step, (state,), (error,))
        size = jnp.sqrt((error**2).sum())
        return (state, error / size, grown + jnp.log(size)), state

    start = jnp.stack([angles, jnp.zeros(2)])
    error = jnp.full((2, 2), 0.5)
    (_, _, grown), path = lax.scan(move, (start, error, 0.0), length=steps)
    return path, grown / (steps * STEP)


def run(side, steps):
    """The rates over a grid of both angles."""
    axis = jnp.linspace(-3.0, 3.0, side)
    grid = jnp.stack(jnp.meshgrid(axis, axis), -1).reshape(-1, 2)
    rates = effax.jit(effax.vmap(lambda a: forgetting(a, steps)[1]))(grid)
    return np.array(rates).reshape(side, side)


if __name__ == "__main__":
    rates = run(80, 1000)
    with figure(2) as (left, right):
        for i, color in ((0, "C0"), (1, "C3")):
            path, _ = forgetting(jnp.array([2.0, 2.0 + 0.001 * i]), 1200)
            inner, outer = np.array(path[:, 0]).T
            x, y = np.sin(inner) + np.sin(outer), -np.cos(inner) - np.cos(outer)
            left.plot(x, y, color, linewidth=0.8, label=f"{2 + 0.001 * i:.3f}")
        left.set(aspect="equal", title="ends of two, 0.001 apart at first")
        left.legend(loc="upper right")
        shown = right.imshow(rates, origin="lower", extent=(-3, 3, -3, 3), cmap="magma")
        right.set(xlabel="first angle", ylabel="second angle", title="growth of errors, 1/s")
        right.figure.colorbar(shown)
