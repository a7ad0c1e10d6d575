"""The slide on which a bead is down soonest: its heights are found by gradients, and are a cycloid's."""

import numpy as np
from _figure import figure

import effax
import effax.numpy as jnp

WIDTH, DROP, GRAVITY = 2.0, 1.0, 9.81


def seconds(inner, count):
    """The time along straight pieces, from speeds at both ends of each; `inner` are depths between."""
    x = WIDTH * (jnp.arange(count + 2) / (count + 1)) ** 2  # close together where it is steep
    below = jnp.append(inner, DROP)
    speed = jnp.append(0.0, jnp.sqrt(2 * GRAVITY * below))  # no slope is asked of the root at 0
    length = jnp.hypot(jnp.diff(x), jnp.diff(jnp.append(0.0, below)))
    return jnp.sum(2 * length / (speed[1:] + speed[:-1]))


def cycloid():
    """The exact answer: places of the curve and its time."""
    low, high = 0.1, 2 * np.pi - 0.01
    for _ in range(100):  # the angle at which the cycloid passes through the end
        angle = (low + high) / 2
        ratio = (angle - np.sin(angle)) / (1 - np.cos(angle))
        low, high = (angle, high) if ratio < WIDTH / DROP else (low, angle)
    radius, turns = DROP / (1 - np.cos(angle)), np.linspace(0, angle, 200)
    curve = radius * (turns - np.sin(turns)), radius * (1 - np.cos(turns))
    return curve, angle * np.sqrt(radius / GRAVITY)


@effax.jit(static_argnums=1)
def better(inner, count, damping):
    """A step of Newton's method, damped by a multiple of the curvatures (Marquardt 1963)."""
    slope = effax.grad(seconds)(inner, count)
    curves = effax.hessian(seconds)(inner, count)
    curves = curves + damping * jnp.diag(jnp.abs(jnp.diag(curves)))
    return inner - jnp.linalg.solve(curves, slope)


def run(count, rounds):
    """Depths and times of a straight slide and of better ones, round by round."""
    damping, shapes = 1.0, [DROP * (jnp.arange(1, count + 1) / (count + 1)) ** 2]
    times = [float(seconds(shapes[0], count))]
    for _ in range(rounds):
        shape = better(shapes[-1], count, damping)
        time = float(seconds(shape, count))
        if time < times[-1]:
            shapes.append(shape)
            times.append(time)
        damping *= 0.5 if time < times[-1] or shape is shapes[-1] else 4.0
    return shapes, times


if __name__ == "__main__":
    count = 40
    shapes, times = run(count, 60)
    (x, y), best = cycloid()
    places = WIDTH * (np.arange(count + 2) / (count + 1)) ** 2
    with figure() as axes:
        for shade, i in zip((0.8, 0.65, 0.5, 0.3, 0.0), (0, 3, 5, 7, -1), strict=True):
            depth = np.concatenate([[0], shapes[i], [DROP]])
            label = f"step {i % len(shapes)}: {times[i]:.4f} s"
            axes.plot(places, -depth, color=str(shade), label=label)
        axes.plot(x, -y, "C1:", linewidth=3, label=f"cycloid: {best:.4f} s")
        axes.set(xlabel="metres", ylabel="metres", aspect="equal")
        axes.legend(loc="center left", bbox_to_anchor=(1.02, 0.5))
