"""Bounds on every value: a transform as its user writes it, in one file that imports only effax.

Nothing here says how bounds go through `jit`, `vmap`, `grad`, `scan`, `while_loop` or `cond`: an
interpreter is its fields and its first-order rules. (Moore 1966, "Interval Analysis"; rounding is
to nearest, so bounds hold up to the last digits of float32.)

Run it: python examples/interval.py
"""

import effax as fx
import effax.lax as lax
import effax.numpy as jnp
from effax.extend import traits

effects = fx.effects


class Interval(fx.Interpreter):
    """lo <= value <= hi."""

    lo: fx.Leaf
    hi: fx.Leaf


bounds = Interval.transform  # bounds(f)(Interval(lo, hi)) -> Interval

# Where an effect grows with its operands, or only moves elements, each bound goes its own way.
Interval.leafwise(*traits.increasing, *traits.structural)


@Interval.rule(effects.neg)
def neg_bounds(x):
    return Interval(-x.hi, -x.lo)


@Interval.rule(effects.sub)
def sub_bounds(x, y):
    return Interval(x.lo - y.hi, x.hi - y.lo)


@Interval.rule(effects.mul)
def mul_bounds(x, y):
    corners = x.lo * y.lo, x.lo * y.hi, x.hi * y.lo, x.hi * y.hi
    return Interval(least(*corners), greatest(*corners))


@Interval.rule(effects.div)
def div_bounds(x, y):
    around_zero = (y.lo <= 0) & (y.hi >= 0)
    corners = x.lo / y.lo, x.lo / y.hi, x.hi / y.lo, x.hi / y.hi
    return Interval(
        jnp.where(around_zero, -jnp.inf, least(*corners)),
        jnp.where(around_zero, jnp.inf, greatest(*corners)),
    )


@Interval.rule(effects.abs)
def abs_bounds(x):
    return Interval(greatest(jnp.zeros_like(x.lo), x.lo, -x.hi), greatest(-x.lo, x.hi))


@Interval.rule(effects.square)
def square_bounds(x):
    size = abs_bounds(x)
    return Interval(size.lo * size.lo, size.hi * size.hi)


@Interval.rule(effects.integer_pow)
def integer_pow_bounds(x, *, y):
    if y < 0:
        return div_bounds(Interval.lift(jnp.ones_like(x.lo)), integer_pow_bounds(x, y=-y))
    base = abs_bounds(x) if y % 2 == 0 else x
    return Interval(base.lo**y, base.hi**y)


@Interval.rule(effects.dot_general, effects.conv_general_dilated)
def bilinear_bounds(x, y, *, effect, **how):
    center = effect(middle(x), middle(y), **how)
    slack = (
        effect(jnp.abs(middle(x)), radius(y), **how)
        + effect(radius(x), jnp.abs(middle(y)), **how)
        + effect(radius(x), radius(y), **how)
    )
    return Interval(center - slack, center + slack)


@Interval.rule(effects.sin, effects.cos)
def wave_bounds(x, *, effect):
    top = 0.25 if effect is effects.sin else 0.0  # where the function is 1, in turns
    turns = 2 * jnp.pi
    lo, hi = x.lo / turns - top, x.hi / turns - top
    ends = effect(x.lo), effect(x.hi)
    return Interval(
        jnp.where(jnp.floor(hi - 0.5) >= jnp.ceil(lo - 0.5), -1.0, least(*ends)),
        jnp.where(jnp.floor(hi) >= jnp.ceil(lo), 1.0, greatest(*ends)),
    )


# A comparison is an interval of Booleans: false <= true, so `lo` is "surely" and `hi` "possibly".


@Interval.rule(effects.lt, effects.le)
def less_bounds(x, y, *, effect):
    return Interval(effect(x.hi, y.lo), effect(x.lo, y.hi))


@Interval.rule(effects.gt, effects.ge)
def greater_bounds(x, y, *, effect):
    return Interval(effect(x.lo, y.hi), effect(x.hi, y.lo))


Interval.leafwise(effects.and_, effects.or_)  # of Booleans


@Interval.rule(effects.not_)
def not_bounds(x):
    return Interval(~x.hi, ~x.lo)


@Interval.rule(effects.select_n)
def select_bounds(which, no, yes):
    unsure = which.lo != which.hi
    return Interval(
        jnp.where(unsure, jnp.minimum(no.lo, yes.lo), jnp.where(which.lo, yes.lo, no.lo)),
        jnp.where(unsure, jnp.maximum(no.hi, yes.hi), jnp.where(which.lo, yes.hi, no.hi)),
    )


def least(first, *rest):
    """The elementwise minimum of some arrays."""
    for x in rest:
        first = jnp.minimum(first, x)
    return first


def greatest(first, *rest):
    """The elementwise maximum of some arrays."""
    for x in rest:
        first = jnp.maximum(first, x)
    return first


def middle(x):
    """The middle of an interval."""
    return 0.5 * (x.lo + x.hi)


def radius(x):
    """Half the width of an interval."""
    return 0.5 * (x.hi - x.lo)


def ball(center, r):
    """The interval of all that is at most `r` away."""
    return Interval(center - r, center + r)


def width(x):
    """The sum of an interval's widths."""
    return jnp.sum(x.hi - x.lo)


# ------------------------------------------------------------------- some functions to bound


def network(x):
    """A small network with fixed weights."""
    hidden = jnp.tanh(jnp.reshape(jnp.sin(jnp.arange(12.0)), (4, 3)) @ x)
    return jnp.sum(jnp.exp(-jnp.abs(hidden)))


def newton(x):
    """Three steps of a damped iteration, by scan; every step is returned."""

    def step(y, _):
        y = y + 0.1 * (x - y * y)
        return y, y

    return lax.scan(step, x, None, length=3)


def halve_often(x):
    """The loop's length is plain; its carry is bounded."""
    return lax.while_loop(lambda s: s[0] < 5, lambda s: (s[0] + 1, 0.5 * s[1] + 1.0), (0, x))[1]


def choose(x, positive):
    """Two branches that know different things: the second one's result is a constant."""
    return lax.cond(positive, jnp.exp, lambda y: jnp.zeros_like(y) + 2.0, x)


def main():
    """Show the bounds of each function, alone and under other transforms."""
    x = ball(jnp.array([0.1, -0.3, 0.7]), 0.05)
    print("network          ", bounds(network)(x))
    print("jit              ", fx.jit(bounds(network))(x))
    many = fx.vmap(lambda r: bounds(network)(ball(jnp.ones(3), r)))(jnp.array([0.0, 0.1, 0.2]))
    print("vmap over radii  ", many)
    slope = fx.grad(lambda r: width(bounds(network)(ball(jnp.ones(3), r))))
    print("grad of the width", slope(0.1))
    unit = Interval(0.5, 1.0)
    print("scan             ", bounds(newton)(unit))
    print("while            ", bounds(halve_often)(unit))
    print("cond             ", bounds(choose)(unit, True), bounds(choose)(unit, False))
    print("jit inside       ", bounds(fx.jit(newton))(unit)[0])


if __name__ == "__main__":
    main()
