"""Optics: a plate that only delays light, shaped by gradients until its far field is a picture."""

import numpy as np
from _figure import figure

import effax
import effax.numpy as jnp
from effax import lax, random


def target(size):
    """A bright spiral."""
    axis = jnp.linspace(-1, 1, size)
    x, y = jnp.meshgrid(axis, axis)
    radius, angle = jnp.hypot(x, y), jnp.arctan2(y, x)
    arms = jnp.cos(2 * angle - 9 * radius) > 0.6
    picture = jnp.where(arms & (radius < 0.7) & (radius > 0.1), 1.0, 0.0)
    return picture / picture.sum()


def far_field(delays):
    """The brightness far behind a plate with these delays, lit by a Gaussian beam: a Fourier transform."""
    axis = jnp.linspace(-1, 1, len(delays))
    beam = jnp.exp(-2 * (axis[:, None] ** 2 + axis**2))
    field = jnp.fft.fftshift(jnp.fft.fft2(beam * jnp.exp(1j * delays), norm="ortho"))
    bright = jnp.abs(field) ** 2
    return bright / bright.sum()


def loss(delays, picture):
    """The distance of amplitudes from the picture's: 0 if equal, 1 if nowhere bright together."""
    return 1 - jnp.sum(jnp.sqrt(far_field(delays) * picture + 1e-16))


@effax.jit(static_argnums=1)
def shaped(delays, steps, picture):
    """Adam on each point of the plate."""

    def step(state, i):
        x, mean, square = state
        value, slope = effax.value_and_grad(loss)(x, picture)
        mean, square = 0.9 * mean + 0.1 * slope, 0.99 * square + 0.01 * slope**2
        move = 0.1 * mean / (1 - 0.9**i) / (jnp.sqrt(square / (1 - 0.99**i)) + 1e-12)
        return (x - move, mean, square), value

    zero = jnp.zeros_like(delays)
    (delays, *_), losses = lax.scan(step, (delays, zero, zero), jnp.arange(1.0, steps + 1))
    return delays, losses


def run(size, steps):
    """The delays of the plate, the picture it should make, and the losses."""
    axis = jnp.linspace(-1, 1, size)
    lens = 12 * (axis[:, None] ** 2 + axis**2) + 0.3 * random.normal(random.key(0), (size, size))
    picture = target(size)
    delays, losses = shaped(lens, steps, picture)
    return delays, picture, np.array(losses)


if __name__ == "__main__":
    delays, picture, losses = run(128, 400)
    with figure(3) as (left, middle, right):
        left.imshow(np.angle(np.exp(1j * np.array(delays))), cmap="twilight")
        left.set(title="delays of the plate")
        middle.imshow(np.sqrt(np.array(far_field(delays))), cmap="inferno")
        middle.set(title="its far field")
        for part in (left, middle):
            part.axis("off")
        right.semilogy(losses)
        right.set(xlabel="step", title="loss")
