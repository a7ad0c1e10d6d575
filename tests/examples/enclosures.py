"""Tools for tests of transforms that give bounds: samples, and a check that they stay inside."""

import numpy as np

import effax as fx
import effax.numpy as jnp
from effax import laws
from tests.examples.samples import X, load, make

interval = load("interval")
Interval, ball = interval.Interval, interval.ball


def assert_inside(values, found, slack=1e-9):
    """Every row of the values lies within the bounds; what is no number is not spoken of."""
    lo, hi = np.asarray(found.lo), np.asarray(found.hi)
    room = slack * (1 + np.abs(values))
    assert not np.any(values < lo - room)
    assert not np.any(values > hi + room)


def around(center, r, n=200):
    return center + np.random.default_rng(0).uniform(-r, r, (n, *np.shape(center)))


def assert_gradient_inside(transform, name):
    """The gradient of a program of E3 lies within its bounds."""
    slope = fx.grad(lambda x: jnp.sum(jnp.sin(make(name)(x))))
    assert_inside(np.asarray(fx.vmap(slope)(around(X, 0.05, 50))), transform(slope)(ball(X, 0.05)))


def assert_sketch_inside(transform, sketch, seed, r):
    """A generated program at some points around its arguments lies within its bounds."""
    args = laws.arguments(sketch, seed)
    found = transform(lambda *xs: tuple(sketch(*xs)))(*(ball(x, r) for x in args))
    for point in range(5):
        generator = np.random.default_rng(point)
        xs = [x + generator.uniform(-r, r, x.shape) for x in args]
        for value, b in zip(sketch(*xs), found, strict=True):
            if isinstance(b, Interval):
                assert_inside(np.asarray(value), b, 1e-7)


def assert_laws(transform, max_examples):
    """Asked about points, a transform that gives bounds keeps the laws of transformations."""
    report = laws.check(
        transform,
        embed=lambda *xs: [Interval(x, x) for x in xs],
        project=lambda found: fx.tree.map(
            lambda x: x.lo if isinstance(x, Interval) else x,
            found,
            is_leaf=lambda x: isinstance(x, Interval),
        ),
        max_examples=max_examples,
    )
    assert all(v.verdict == "true" for v in report.verdicts), str(report)
