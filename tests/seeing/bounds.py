"""A user's interpreter, small, with few rules and no catch-all: what it has no rule for it refuses."""

import effax as fx
import effax.lax as lax
import effax.numpy as jnp
from effax import traits

effects = fx.effects


class Interval(fx.Interpreter):
    """lo <= value <= hi."""

    lo: fx.Leaf
    hi: fx.Leaf


bounds = Interval.transform
Interval.leafwise(*traits.increasing, *traits.structural)


@Interval.rule(effects.sub)
def sub_bounds(x, y):
    return Interval(x.lo - y.hi, x.hi - y.lo)


@Interval.rule(effects.mul)
def mul_bounds(x, y):
    corners = jnp.stack([x.lo * y.lo, x.lo * y.hi, x.hi * y.lo, x.hi * y.hi])
    return Interval(jnp.min(corners, axis=0), jnp.max(corners, axis=0))


@Interval.rule(effects.sin)
def sin_bounds(x):
    return Interval(jnp.full_like(x.lo, -1.0), jnp.full_like(x.hi, 1.0))


def newton(x):
    """Three steps of a damped iteration, by scan; every step is returned."""

    def step(y, _):
        y = y + 0.1 * (x - y * y)
        return y, y

    return lax.scan(step, x, None, length=3)
