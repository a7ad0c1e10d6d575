"""Linear bounds by substitution backwards: tighter than intervals, as what cancels is seen.

    >>> import effax.numpy as jnp
    >>> box = Interval(jnp.float32(0), jnp.float32(1))
    >>> intervals, lines = (t(lambda x: x - 0.5 * x)(box) for t in (bounds, crown))
    >>> print(intervals.lo, intervals.hi, lines.lo, lines.hi)
    -0.5 1.0 0.0 0.5

Zhang et al. 2018 (CROWN). A value keeps its interval and how it was made: between two affine
functions of what it was made from. Bounds on it come from putting these in for it, and so on back to
the inputs, where the sign of a coefficient says which of the two is needed. A curve lies between
chord and tangent where its second derivative has a sign, else between parallels of its least slope;
both are found by `interval.py` from the table of derivatives. A product lies between the planes of
McCormick 1976. Scans are unrolled; what is not here, unsure branches and loops with it, is opaque:
it has its interval.
"""

from functools import partial

from interval import Interval, bounds, middle

import effax as fx
import effax.numpy as jnp
from effax.extend import effects, traits
from effax.interpreters.composites.calculus import partials

BELLS = effects.tanh, effects.logistic, effects.atan, effects.erf, effects.asinh


class Linear(Interval):
    """An interval, and how the value was made."""

    node: fx.Static = None


class Origin:
    """A value between `lower` and `upper`, affine functions of its parents; or only in a box."""

    def __init__(self, box, parents=(), lower=None, upper=None):
        self.box, self.parents, self.lower, self.upper = box, parents, lower, upper
        self.depth = max((p.depth + 1 for p in parents), default=0)


def crown(f):
    """As `bounds(f)`: a function of Intervals, and of what is plain, that gives Intervals."""

    def bounded(*args):
        start = [Linear(x.lo, x.hi, Origin(x)) if isinstance(x, Interval) else x for x in args]
        return fx.tree.map(tight, Linear.transform(f)(*start), is_leaf=lambda y: type(y) is Linear)

    return bounded


def derivative(f):
    """The derivative of a function of each element."""
    return lambda y: fx.jvp(f, (y,), (jnp.ones_like(y),))[1]


def tight(x):
    """The interval that follows from how a value was made, within its own."""
    if getattr(x, "node", None) is None:
        return Interval(x.lo, x.hi) if isinstance(x, Interval) else x
    rows = jnp.eye(x.lo.size, dtype=x.dtype).reshape(x.lo.size, *x.shape)
    lo, hi = (sign * least(x.node, sign * rows).reshape(x.shape) for sign in (1, -1))  # pyright: ignore[reportAttributeAccessIssue]
    # Rounding may bring a bound past the other end: a point stays a point, where more is known of it.
    lo = jnp.where(lo > x.lo, jnp.minimum(lo, x.hi), x.lo)
    return Interval(lo, jnp.where(hi < x.hi, jnp.maximum(lo, hi), x.hi))


def least(node, rows):
    """Lower bounds of linear combinations of a value's elements."""
    total, pending = 0.0, {node: rows}
    while pending:
        node = max(pending, key=lambda n: n.depth)
        rows = pending.pop(node)
        above, below, box = jnp.maximum(rows, 0), jnp.minimum(rows, 0), node.box
        sides = (above, node.lower, box.lo), (below, node.upper, box.hi)
        if not node.parents:
            total += sum(summed(jnp.where(part == 0, 0, part * end)) for part, _, end in sides)
            continue
        for part, affine, _ in ((rows, node.lower, box),) if node.lower is node.upper else sides:
            offset, pull = fx.vjp(affine, *(jnp.zeros_like(p.box.lo) for p in node.parents))
            total += summed(part * offset)
            for parent, more in zip(node.parents, fx.vmap(pull)(part), strict=True):
                pending[parent] = pending[parent] + more if parent in pending else more
    return total


def summed(rows):
    """The sum of each row."""
    return jnp.sum(rows, tuple(range(1, rows.ndim)))


def between(lower, upper, xs, box):
    """A value between two affine functions of others, in a box."""
    return Linear(box.lo, box.hi, Origin(box, [x.node or Origin(x) for x in xs], lower, upper))


def floating(*xs):
    """Whether lines can be laid through values; what is plain does not matter."""
    return all(jnp.issubdtype(x.dtype, jnp.floating) for x in xs if isinstance(x, Interval))


def boxed(f, *xs):
    """The interval of a function's result; of each, where there are several."""
    found = bounds(f)(*(Interval(x.lo, x.hi) if isinstance(x, Interval) else x for x in xs))
    return found if isinstance(found, Interval | list) else Interval.lift(found)


@Linear.rule(*traits.linear, *traits.structural, effects.scatter_add, lift=False)
def affine(*xs, effect, **how):
    """Affine in those operands that are bounded, at places that are plain."""
    effect = effects.copy if effect is effects.stop_gradient else effect  # the value is the same
    f, data = partial(effect, **how), [x for x in xs if isinstance(x, Linear)]
    if not data:
        return f(*xs)
    box = boxed(f, *xs)
    if not floating(box, *data):
        return box

    def of(*values):
        rest = iter(values)
        return f(*(next(rest) if isinstance(x, Linear) else x for x in xs))

    return between(of, of, data, box)


unary = {e for e, p in partials.items() if len(p) == 1} - {*traits.linear, *traits.flat}


@Linear.rule(*unary - {effects.tan, effects.sign})  # their derivatives show no poles and no jumps
def curved(x, *, effect, **how):
    """Between chord and tangent, or parallels."""
    f = partial(effect, **how)
    if not floating(x):
        return boxed(f, x)

    def line(slope, at):
        return lambda y: slope * (y - at) + f(at)

    box, slope = tight(x), derivative(f)
    lo, hi, mid, apart = box.lo, box.hi, middle(box), box.hi > box.lo
    first, second = (boxed(g, box) for g in (slope, derivative(slope)))
    chord = jnp.where(apart, (f(hi) - f(lo)) / jnp.where(apart, hi - lo, 1), 0)
    flattest = jnp.minimum(slope(lo), slope(hi)) if effect in BELLS else first.lo  # pyright: ignore[reportAttributeAccessIssue]
    convex, concave = second.lo >= 0, (second.lo < 0) & (second.hi <= 0)  # pyright: ignore[reportAttributeAccessIssue]
    below = jnp.where(convex, slope(mid), jnp.where(concave, chord, flattest))
    above = jnp.where(convex, chord, jnp.where(concave, slope(mid), flattest))
    lower, upper = line(below, jnp.where(convex, mid, lo)), line(above, jnp.where(concave, mid, hi))
    return between(lower, upper, [x], boxed(f, box))


@Linear.rule(effects.max, effects.min, lift=False)
def extremum(x, y, *, effect):
    if not floating(x, y):
        return boxed(effect, x, y)
    over = curved(affine(x, y, effect=effects.sub), effect=lambda d: jnp.maximum(d, 0))
    base, joined = (y, effects.add) if effect is effects.max else (x, effects.sub)
    return affine(base, over, effect=joined)


@Linear.rule(*traits.bilinear, effects.div, lift=False)
def product(x, y, *, effect, **how):
    f, own = partial(effect, **how), [isinstance(z, Linear) for z in (x, y)]
    if not floating(x, y):
        return boxed(f, x, y)
    if own in ([True, False], [False, effect is not effects.div]):
        return affine(x, y, effect=effect, **how)
    if effect is effects.div:
        return product(x, curved(y, effect=jnp.reciprocal), effect=effects.mul)
    a, b = tight(x), tight(y)
    lower, upper = (lambda v, w, e=e: f(e, w) + f(v, b.lo) - f(e, b.lo) for e in (a.lo, a.hi))
    return between(lower, upper, [x, y], boxed(f, a, b))


@Linear.rule(effects.call, effects.remat)
def inlined(*xs, program, run, **how):
    return run(program, *xs)


@Linear.rule(effects.cond, effects.while_loop, effects.kernel)
def opaque(*xs, effect, run, **how):
    return boxed(lambda *ys: effect(*ys, **how), *xs)


@Linear.rule(effects.scan)
def unrolled(*xs, effect, run, **how):
    n, m = how["consts"], how["consts"] + how["carry"]
    steps, stacked, state = list(range(how["length"])), {}, xs[n:m]
    if not 0 < len(steps) <= 64:  # unrolled, longer ones cost too much
        return opaque(*xs, effect=effect, run=run, **how)
    for i in reversed(steps) if how["reverse"] else steps:
        rows = [affine(x, effect=lambda rows, i=i: rows[i]) for x in xs[m:]]
        found = run(how["body"], *xs[:n], *state, *rows)
        state, stacked[i] = found[: m - n], found[m - n :]
    columns = zip(*(stacked[i] for i in steps), strict=True)
    return [*state, *(affine(*c, effect=lambda *rows: jnp.stack(rows)) for c in columns)]
