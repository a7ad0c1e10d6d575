"""Interval bounds: where every value of a program lies, if its inputs lie in boxes.

    >>> import effax.numpy as jnp
    >>> found = bounds(lambda x: x * x - x)(Interval(jnp.float32(0), jnp.float32(1)))
    >>> print(found.lo, found.hi)
    -1.0 1.0

Moore 1966, "Interval Analysis"; as bounds on networks, Gowal et al. 2018 (IBP). Comparisons answer
surely, possibly or not at all, and what depends on an unsure answer is the join of all that it may
be: elements of `where`, branches of `cond`, the steps at which a `while` loop may end. What no rule
knows is exact at points and unbounded elsewhere. Rounding is to nearest, so bounds hold up to the
last digits. NaN is no number: where an operation may leave its domain, no claim is made.
"""

from functools import reduce
from typing import Any

import effax as fx
import effax.numpy as jnp
from effax.effects.rows.reduction import highest, lowest
from effax.extend import find_effect, traits

effects = fx.effects


class Interval(fx.Interpreter, open_rules=True):
    """lo <= value <= hi; of complex numbers, both parts; of Booleans, surely <= possibly."""

    lo: fx.Leaf
    hi: fx.Leaf


bounds = Interval.transform  # bounds(f)(Interval(lo, hi)) -> Interval


def ends(t):
    """All values of a type."""
    return Interval(*(jnp.full(t.shape, end(t.dtype), t.dtype) for end in (lowest, highest)))


def where(test, yes, no):
    """One of two intervals, element by element."""
    return Interval(jnp.where(test, yes.lo, no.lo), jnp.where(test, yes.hi, no.hi))


def hull(*xs):
    """The least interval around some others."""
    lows, highs = ([getattr(x, end) for x in xs] for end in ("lo", "hi"))
    return Interval(reduce(jnp.minimum, lows), reduce(jnp.maximum, highs))


def may(x, k):
    """Whether the value may be k."""
    return (x.lo <= k) & (k <= x.hi)


def certain(*xs):
    """Whether all these are points."""
    return reduce(jnp.logical_and, [jnp.all(x.lo == x.hi) for x in xs])


def ball(center, r):
    """All that is at most `r` away; anything, where that is not a number."""
    r = r * (1 + 1j) if jnp.iscomplexobj(center) else r
    found = Interval(center - r, center + r)
    return where(jnp.isnan(found.lo) | jnp.isnan(found.hi), ends(found.type), found)


def middle(x):
    """The middle of an interval; what is plain itself."""
    return x.lo + radius(x) if isinstance(x, Interval) else x


def radius(x):
    """Half the width of an interval; what is plain has none."""
    return 0.5 * (x.hi - x.lo) if isinstance(x, Interval) else None


fx.extend.unsure(Interval, may=may, join=hull, top=ends)
Interval.leafwise(*traits.rearranging, *map(find_effect, ("complex", "real", "imag")))


@Interval.default
def exact_at_points(effect, *xs, **how):
    if effect in traits.composite:
        return NotImplemented
    found = effect(*(x.lo for x in xs), **how)
    points = [Interval(y, y) for y in (found if effect.multiple else [found])]
    made = [where(certain(*xs), p, ends(p.type)) for p in points]
    return made if effect.multiple else made[0]


@Interval.rule(*traits.increasing, *traits.decreasing, effects.and_, effects.or_, effects.not_)
def monotone_bounds(*xs, effect, **how):
    beyond = jnp.iscomplexobj(xs[0].lo) and effect not in traits.linear
    if beyond or (effect in (effects.and_, effects.or_) and xs[0].dtype != bool):
        return exact_at_points(effect, *xs, **how)
    at = [effect(*(getattr(x, end) for x in xs), **how) for end in ("lo", "hi")]
    return Interval(*(reversed(at) if effect in (*traits.decreasing, effects.not_) else at))


@Interval.rule(effects.sub)
def sub_bounds(x, y):
    return Interval(x.lo - y.hi, x.hi - y.lo)


@Interval.rule(effects.abs, effects.square, effects.cosh, effects.integer_pow)
def even_bounds(x, *, effect, **how):
    """Even functions have their least value at zero; odd powers grow."""
    if how.get("y", 2) < 0:
        power = even_bounds(x, effect=effect, y=-how["y"])
        return corner_bounds(Interval.lift(jnp.ones_like(x.lo)), power, effect=effects.div)
    if jnp.iscomplexobj(x.lo):
        return exact_at_points(effect, x, **how)
    at = hull(*(Interval(y, y) for y in (effect(x.lo, **how), effect(x.hi, **how))))
    pit = (x.lo < 0) & (x.hi > 0) & (how.get("y", 2) % 2 == 0)
    return Interval(jnp.where(pit, effect(jnp.zeros_like(x.lo), **how), at.lo), at.hi)


@Interval.rule(effects.mul, effects.div, effects.pow)
def corner_bounds(x, y, *, effect):
    """Monotone in each operand, unless the poles of a quotient or negative bases are inside."""
    if jnp.iscomplexobj(x.lo):
        return (ball_bounds if effect is effects.mul else exact_at_points)(x, y, effect=effect)
    corners = [effect(a, b) for a in (x.lo, x.hi) for b in (y.lo, y.hi)]
    found = hull(*(Interval(c, c) for c in corners))
    vague = {effects.div: may(y, 0), effects.pow: x.lo < 0}.get(effect, jnp.isnan(found.lo))
    return where(vague & ((x.lo < x.hi) | (y.lo < y.hi)), ends(found.type), found)


@Interval.rule(effects.dot_general, effects.conv_general_dilated, lift=False)
def ball_bounds(x, y, *, effect, **how):
    pairs = (middle(x), radius(y)), (radius(x), middle(y)), (radius(x), radius(y))
    known = [(jnp.abs(a), jnp.abs(b)) for a, b in pairs if a is not None and b is not None]
    return ball(effect(middle(x), middle(y), **how), sum(effect(*pair, **how) for pair in known))


@Interval.rule(effects.fft)
def fft_bounds(x, **how):
    center, axes = effects.fft(middle(x), **how), tuple(range(-len(how["fft_lengths"]), 0))
    slack = jnp.sum(jnp.abs(radius(x)), axes, keepdims=True)  # no coefficient is larger than one  # pyright: ignore[reportArgumentType]
    return ball(center, jnp.broadcast_to(slack, center.shape))


@Interval.rule(effects.sin, effects.cos)
def wave_bounds(x, *, effect):
    if jnp.iscomplexobj(x.lo):
        return exact_at_points(effect, x)
    top = 0.25 if effect is effects.sin else 0.0  # where the function is 1, in turns
    turns = Interval(x.lo / (2 * jnp.pi) - top, x.hi / (2 * jnp.pi) - top)
    hill, pit = (jnp.floor(turns.hi - at) >= jnp.ceil(turns.lo - at) for at in (0.0, 0.5))
    at = hull(*(Interval(y, y) for y in (effect(x.lo), effect(x.hi))))
    return Interval(jnp.where(pit, -1.0, at.lo), jnp.where(hill, 1.0, at.hi))


# A comparison is an interval of Booleans: false <= true, so `lo` is "surely" and `hi` "possibly".


@Interval.rule(*traits.comparing)
def comparison_bounds(x, y=None, *, effect):
    if y is None or jnp.iscomplexobj(x.lo):
        return exact_at_points(effect, *filter(None, (x, y)))
    if effect in (effects.gt, effects.ge):
        return Interval(effect(x.lo, y.hi), effect(x.hi, y.lo))
    if effect not in (effects.eq, effects.ne, effects.eq_to):
        return Interval(effect(x.hi, y.lo), effect(x.lo, y.hi))
    possibly = (x.lo <= y.hi) & (y.lo <= x.hi)
    surely = (x.hi <= y.lo) & (y.hi <= x.lo)
    return Interval(~possibly, ~surely) if effect is effects.ne else Interval(surely, possibly)


@Interval.rule(effects.select_n)
def select_bounds(which, *cases):
    all_ = ends(cases[0].type)
    never = Interval(all_.hi, all_.lo)
    return hull(*(where(may(which, k), case, never) for k, case in enumerate(cases)))


@Interval.rule(*traits.indexed, effects.scatter_add, effects.scatter_min, effects.scatter_max)
def indexed_bounds(*xs, effect, **how):
    """Each end at the places, where these are sure; else all that may be met anywhere."""
    first = 2 if effect is effects.dynamic_update_slice else 1
    places = xs[1:2] if "scatter" in effect.name else xs[first:]
    sides = [[getattr(x, "lo" if x in places else end) for x in xs] for end in ("lo", "hi")]
    found = Interval(*(effect(*side, **how) for side in sides))
    data = [x for x in xs if x not in places]
    met = hull(*(Interval(jnp.min(x.lo), jnp.max(x.hi)) for x in data))
    wide = ends(found.type) if effect is effects.scatter_add else met
    return where(certain(*places), found, wide)


@Interval.rule(effects.sort)
def sort_bounds(*xs: Any, **how):
    """Order statistics are monotone."""
    if len(xs) > 1:
        return exact_at_points(effects.sort, *xs, **how)
    return [Interval(effects.sort(xs[0].lo, **how)[0], effects.sort(xs[0].hi, **how)[0])]  # pyright: ignore[reportGeneralTypeIssues]
