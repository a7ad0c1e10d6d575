"""The sparsity pattern of a Jacobian: every value carries the inputs that its elements depend on.

    >>> import effax.numpy as jnp
    >>> print(pattern(lambda x: x[1:] * x[:-1])(jnp.ones(3)).astype(int))
    [[1 1 0]
     [0 1 1]]

With each element of a value goes the set of inputs that it depends on, a column of Booleans (Walther
2008; Hill & Dalle 2025). The pattern is global, of all inputs of these shapes: where predicates and
places depend on the inputs, every branch, number of steps and place is possible. With `local=True`
it is that of the pieces that are active at the point.
"""

from functools import partial, reduce

import effax as fx
import effax.numpy as jnp
from effax.extend import effects, traits


class Sparsity(fx.Interpreter, open_rules=True):
    """A value, and the inputs each element depends on, first axis; known where there are none."""

    value: fx.Leaf
    sets: fx.Leaf(axes=1, dtype=bool) | None  # pyright: ignore[reportCallIssue, reportInvalidTypeForm]


def pattern(f, local=False):
    """The function that gives, at x, the Booleans [*f(x).shape, *x.shape] of the Jacobian."""

    def of(x):
        x, cls = jnp.asarray(x), Local if local else Sparsity
        start = cls(x, jnp.eye(x.size, dtype=bool).reshape(x.size, *x.shape))
        y = either(none([start]), cls.transform(f)(start))
        return jnp.moveaxis(y.sets, 0, -1).reshape(y.shape + x.shape)  # pyright: ignore[reportArgumentType]

    return of


def spread(sets, shape):
    """The sets of a scalar, or along axes of length one, for every element of a shape."""
    columns = sets.reshape(sets.shape + (1,) * (len(shape) + 1 - sets.ndim))
    return jnp.broadcast_to(columns, (len(sets), *shape))


def union(shape, *sets):
    """The union of sets, of those that are there."""
    return reduce(jnp.logical_or, [spread(s, shape) for s in sets if s is not None])


def none(xs):
    """The empty set, as a column."""
    count = next(len(x.sets) for x in xs if getattr(x, "sets", None) is not None)
    return jnp.zeros(count, bool)


def everything(*xs):
    """Return the union of the inputs that any element of `xs` depends on."""
    sets = [x.sets for x in xs if x.sets is not None]
    return union((), *(s.any(tuple(range(1, s.ndim))) for s in sets))


def moves(y):
    """Whether a value can move by a little: whole numbers and Booleans don't."""
    return jnp.issubdtype(getattr(y, "dtype", type(y)), jnp.inexact)


def made(y, sets):
    """A value that depends on these."""
    return Sparsity(y, spread(sets if moves(y) else none([Sparsity(y, sets)]), y.shape))


def counted(f, *xs):
    """Apply additions and products to the sets of `xs`, by counting the ways to each element."""
    sets = [union(x.shape, none(xs), x.sets) for x in xs]
    return fx.vmap(f)(*(s.astype("float32") for s in sets)) != 0


@Sparsity.default
def dense_sets(effect, *xs, **how):
    if effect in traits.composite:
        return NotImplemented
    found = effect(*(x.value for x in xs), **how)
    results = [made(y, everything(*xs)) for y in (found if effect.multiple else [found])]
    return results if effect.multiple else results[0]


@Sparsity.rule(effects.sort)
def sort_sets(*xs, dimension, **how):
    found = effects.sort(*(x.value for x in xs), dimension=dimension, **how)
    lanes = [x.sets if x.sets is None else x.sets.any(dimension + 1, keepdims=True) for x in xs]
    return [made(y, union(y.shape, none(xs), s)) for y, s in zip(found, lanes, strict=True)]


@Sparsity.rule(*traits.linear, *traits.structural, *traits.accumulating)
@Sparsity.rule(effects.reduce_max, effects.reduce_min, effects.cummax, effects.cummin)
def moved_sets(*xs, effect, **how):
    """Ways through data to places; where these are not known, to all of them."""
    y = effect(*(x.value for x in xs), **how)
    data = [x for x in xs if moves(x)]
    if not data or any(x.sets is not None for x in xs if not moves(x)):
        return made(y, everything(*xs))
    adding = {effects.reduce_min: effects.reduce_max, effects.cummin: effects.cummax}
    adding |= {effects.scatter_min: effects.scatter_max, effects.scatter_mul: effects.scatter_add}

    def ways(*rows):
        rest = iter(rows)
        return adding.get(effect, effect)(*(next(rest) if moves(x) else x.value for x in xs), **how)

    return made(y, counted(ways, *data))


@Sparsity.rule(*traits.pointwise)
def pointwise_sets(*xs, effect, **how):
    if effect is effects.select_n and xs[0].sets is None:
        return moved_sets(*xs, effect=effect)
    y = effect(*(x.value for x in xs), **how)
    sets = (x.sets for x in xs if effect not in traits.flat)
    return made(y, union(y.shape, none(xs), *sets))


@Sparsity.rule(*traits.bilinear)
def bilinear_sets(x, y, *, effect, **how):
    """Ways through either factor; one that is known lets through where it is not zero."""
    value = effect(x.value, y.value, **how)
    open_ = [jnp.float32(z.value != 0 if z.sets is None else jnp.ones(z.shape)) for z in (x, y)]
    left = x.sets if x.sets is None else counted(lambda d: effect(d, open_[1], **how), x)
    right = y.sets if y.sets is None else counted(lambda d: effect(open_[0], d, **how), y)
    return made(value, union(value.shape, left, right))


def either(empty, *xs):
    """One of some values: no longer known, and what any of them depends on."""
    y = getattr(xs[0], "value", xs[0])
    return Sparsity(y, union(jnp.shape(y), empty, *(getattr(x, "sets", None) for x in xs)))


@Sparsity.rule(effects.cond)
def cond_sets(which, *xs, branches, run):
    if not isinstance(which, Sparsity):
        return NotImplemented
    return [*map(partial(either, none([which])), *(run(b, *xs) for b in branches))]


@Sparsity.rule(effects.while_loop)
def while_sets(*xs, cond, body, cond_consts, body_consts, run, **how):
    """Compute the least fixpoint, where the number of steps depends on the inputs."""
    join, own, rest = partial(either, none(xs)), xs[:cond_consts], xs[cond_consts:]
    consts, start = rest[:body_consts], rest[body_consts:]
    carry = [join(x) if isinstance(x, Sparsity) or moves(x) else x for x in start]
    after = [*run(body, *consts, *carry), *run(cond, *own, *carry)]
    if all(not isinstance(y, Sparsity) or moves(y) for y in after):
        return NotImplemented
    values = [join(x).value for x in start]

    def step(state):
        now = [*map(Sparsity, values, state[0])]
        grown = [y.sets for y in map(join, now, run(body, *consts, *now))]
        return grown, sum(map(jnp.sum, grown)) > sum(map(jnp.sum, state[0]))  # pyright: ignore[reportArgumentType]

    first = [join(x).sets for x in start], True
    return [*map(Sparsity, values, fx.lax.while_loop(lambda state: state[1], step, first)[0])]


class Local(Sparsity):
    """Sets at one point, where predicates and places are plain values."""


@Local.rule(*traits.discrete, effects.convert_element_type)
def decided(*xs, effect, **how):
    y = effect(*(x.value for x in xs), **how)
    return made(y, xs[0].sets) if moves(y) else y
