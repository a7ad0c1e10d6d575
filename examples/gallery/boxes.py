"""Bounds of a function over boxes of inputs: by intervals, and tighter ones by lines (CROWN)."""

import numpy as np
from _figure import figure
from crown import crown  # pyright: ignore[reportMissingImports]
from interval import Interval, bounds  # pyright: ignore[reportMissingImports]

import effax
import effax.numpy as jnp
from effax import random


def wave(x):
    return x * jnp.sin(3 * x) - 0.5 * x


def network(key, width=16):
    """A random network of two hidden layers, from two numbers to one."""
    shapes = [(2, width), (width, width), (width, 1)]
    layers = [
        random.normal(k, s) / np.sqrt(s[0])
        for k, s in zip(random.split(key, 3), shapes, strict=True)
    ]

    def f(x):
        for layer in layers[:-1]:
            x = jnp.tanh(x @ layer)
        return (x @ layers[-1])[0]

    return f


def covered(f, edges):
    """The bounds of f between neighbouring edges, by intervals and by lines: two arrays of pairs."""
    box = Interval(jnp.array(edges[:-1]), jnp.array(edges[1:]))
    found = (effax.jit(effax.vmap(transform(f)))(box) for transform in (bounds, crown))
    return [np.stack([y.lo, y.hi], axis=1) for y in found]


def widths(f, radii, key, count=2000):
    """The width of f over squares: by intervals, by lines, and by random points."""

    def width(transform):
        def one(radius):
            y = transform(f)(Interval(-radius * jnp.ones(2), radius * jnp.ones(2)))
            return y.hi - y.lo

        return effax.jit(effax.vmap(one))(radii)

    points = random.uniform(key, (count, 2), minval=-1.0, maxval=1.0)
    values = effax.vmap(lambda r: effax.vmap(f)(r * points))(radii)
    return np.array([width(bounds), width(crown), jnp.ptp(values, axis=1)])


if __name__ == "__main__":
    edges = np.linspace(-2, 2, 25, dtype="float32")
    boxes, lines = covered(wave, edges)
    radii = jnp.geomspace(0.01, 1.0, 20)
    found = widths(network(random.key(1)), radii, random.key(2))
    with figure(2) as (left, right):
        for (lows, highs), color in ((boxes.T, "0.85"), (lines.T, "C0")):
            left.bar(
                edges[:-1], highs - lows, np.diff(edges), lows, align="edge", color=color, ec="w"
            )
        xs = np.linspace(-2, 2, 400)
        left.plot(xs, wave(xs), "C3")
        left.set(xlabel="x", title="x sin 3x - x / 2")
        for values, name, style in zip(
            found, ["intervals", "lines", "2000 points"], ["0.6", "C0", "C3"], strict=True
        ):
            right.loglog(radii, values, style, label=name)
        right.set(xlabel="half the side of the square", title="width of a network's results")
        right.legend()
