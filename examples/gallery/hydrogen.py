"""The ion of the hydrogen molecule, by the forward Laplacian: energies against the bond's length.

The electron is near one proton or the other: exp(-k r) + exp(-k s), whose k is found by gradient
descent at each length. Finkelstein and Horowitz (1928) found the least, -0.5865 hartree, at 2.00
bohr and k = 1.24; the exact one is -0.6026.
"""

from functools import partial

import numpy as np
from _figure import figure
from laplacian import forward_laplacian  # pyright: ignore[reportMissingImports]

import effax
import effax.numpy as jnp


def wave(k, length, x):
    """The wave function at a point, with the protons at equal distances from 0 on the last axis."""
    half = jnp.array([0.0, 0.0, length / 2])
    return sum(jnp.exp(-k * jnp.linalg.norm(x - sign * half)) for sign in (1, -1))


def action(k, length, x):
    """The wave function and the Hamiltonian's action on it, at a point."""
    half = jnp.array([0.0, 0.0, length / 2])
    y = forward_laplacian(partial(wave, k, length))(x)
    pull = sum(1 / jnp.linalg.norm(x - sign * half) for sign in (1, -1))
    return y.value, -y.sum / 2 - pull * y.value


def grid(length, count):
    """Points around one proton, which stand for all by symmetry, and the volumes they stand for."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    m, n = jnp.array(nodes), jnp.array(weights)
    # Elliptic coordinates: the sum and the difference of the distances, over the length.
    mu, width = 1 + 8 / length * (1 + m), 8 / length * n
    nu, height = (1 + m) / 2, n / 2
    mu, nu = mu[:, None], nu[None, :]
    rho = length / 2 * jnp.sqrt((mu**2 - 1) * (1 - nu**2))
    places = jnp.stack(jnp.broadcast_arrays(rho, 0.0, length / 2 * mu * nu), axis=-1)
    volume = (mu**2 - nu**2) * width[:, None] * height * length**3
    return places.reshape(-1, 3), volume.reshape(-1)


def energy(k, length, count=40):
    """The expected energy, with the protons' repulsion."""
    points, volume = grid(length, count)
    values, acted = effax.vmap(partial(action, k, length))(points)
    return jnp.sum(volume * values * acted) / jnp.sum(volume * values**2) + 1 / length


def best(length, steps=60):
    """The best k for a length, and its energy."""

    def step(k, _):
        return k - effax.grad(energy)(k, length), None

    k, _ = effax.lax.scan(step, 1.0, length=steps)
    return k, energy(k, length)


if __name__ == "__main__":
    lengths = jnp.linspace(1.0, 6.0, 26)
    fixed = effax.jit(effax.vmap(partial(energy, 1.0)))(lengths)
    ks, found = effax.jit(effax.vmap(best))(lengths)
    line = jnp.linspace(-4.0, 4.0, 161)
    points = jnp.stack(jnp.meshgrid(line, jnp.zeros(1), line, indexing="ij"), -1)[:, 0] + 1e-3
    values, acted = effax.vmap(effax.vmap(partial(action, 1.24, 2.0)))(points)
    with figure(2) as (left, right):
        extent = (-4, 4, -4, 4)
        shown = left.imshow(
            (acted / values), cmap="RdBu", vmin=-2, vmax=0, extent=extent, origin="lower"
        )
        left.contour(line, line, values, colors="k", linewidths=0.5)
        left.set(title="local energy, hartree", xlabel="bohr")
        left.figure.colorbar(shown, ax=left)
        right.plot(lengths, fixed, "0.6", label="k = 1")
        right.plot(lengths, found, label="best k")
        right.plot(2.0, -0.6026, "k*", label="exact")
        right.axhline(-0.5, color="0.8", linestyle=":")
        right.set(xlabel="length of the bond, bohr", ylabel="energy, hartree", ylim=(-0.62, -0.4))
        right.legend()
