"""Batching: `fx.vmap` along first axes, written on what anyone may use.

    >>> import effax.numpy as jnp
    >>> print(vmap(lambda x: x * jnp.sum(x))(jnp.ones((2, 3))))
    [[3. 3. 3.]
     [3. 3. 3.]]

A batched value is one array with one more axis in front; values that are the same in each lane are
plain. Elementwise effects have one more axis, the others here a shifted one, and what has no rule
is done lane by lane. Where lanes disagree about a branch, all branches are taken, and the results
selected; a loop runs until no lane goes on. A `custom_jvp` keeps its rule, batched.
"""

# pyright takes effects.transpose for extend's module of that name.
# pyright: reportArgumentType=false, reportCallIssue=false

from functools import reduce

import effax as fx
import effax.numpy as jnp
from effax.extend import effects, stage, traits, typeof


class Batched(fx.Interpreter, pure=True):
    """The values of all lanes, along the first axis."""

    many: fx.Leaf(axes=1)  # pyright: ignore[reportCallIssue, reportInvalidTypeForm]

    @classmethod
    def lift(cls, value, mode):
        return cls(repeat(value, mode.axes["many"][0]))


def batched(x):
    """Whether a value differs from lane to lane."""
    return isinstance(x, Batched)


def value(x):
    """The array of a value, for all lanes if it is batched."""
    return x.many if batched(x) else x


def repeat(x, n):
    """A plain value in each of n lanes."""
    return jnp.broadcast_to(x, (n, *typeof(x).shape))


def lanes(xs):
    """Return the number of lanes."""
    return next(typeof(x.many).shape[0] for x in xs if batched(x))


def full(x, n):
    """The values of all lanes, repeated if they are plain."""
    return x.many if batched(x) else repeat(x, n)


def vmap(f):
    """The function of arrays with one more axis in front."""

    def mapped(*args):
        args = fx.tree.map(jnp.asarray, args)
        n = typeof(fx.tree.leaves(args)[0]).shape[0]
        ys = Batched.transform(f)(*fx.tree.map(Batched, args))
        return fx.tree.map(lambda y: full(y, n), ys, is_leaf=batched)

    return mapped


Batched.default(Batched.map)  # lane by lane
SCALARS = effects.select_n, effects.clamp  # some operands may be of rank 0 where others are not
LITERAL = bool, int, float, complex  # of the dtype of the operands beside them


@Batched.rule(*{*traits.pointwise} - {*SCALARS}, effects.not_, lift=False)
def elementwise(*xs, effect, **how):
    return Batched(effect(*(x if type(x) in LITERAL else full(x, lanes(xs)) for x in xs), **how))


@Batched.rule(*SCALARS, lift=False)
def spread(*xs, effect):
    """A scalar among arrays is one number in each lane: as many as the elements of that."""
    like = next((typeof(value(x)).dtype for x in xs[1:] if type(x) not in LITERAL), None)
    found = [full(jnp.asarray(x, like) if type(x) in LITERAL else x, lanes(xs)) for x in xs]
    shape = max((x.shape for x in found), key=len)
    found = [x.reshape(x.shape + (1,) * (len(shape) - x.ndim)) for x in found]
    return Batched(effect(*(jnp.broadcast_to(x, shape) for x in found)))


@Batched.rule(effects.reduce_sum, effects.reduce_max, effects.reduce_min, effects.reduce_prod)
def reduced(x, *, effect, axes):
    return Batched(effect(x.many, axes=tuple(i + 1 for i in axes)))


@Batched.rule(effects.cumsum, effects.cumprod, effects.cummax, effects.cummin)
def cumulated(x, *, effect, axis, **how):
    return Batched(effect(x.many, axis=axis + 1, **how))


@Batched.rule(effects.broadcast_in_dim)
def broadcast(x, *, shape, dims):
    n, dims = lanes([x]), (0, *(i + 1 for i in dims))
    return Batched(effects.broadcast_in_dim(x.many, shape=(n, *shape), dims=dims))


@Batched.rule(effects.reshape)
def reshape(x, *, shape):
    return Batched(effects.reshape(x.many, shape=(lanes([x]), *shape)))


@Batched.rule(effects.transpose)
def transpose(x, *, permutation):
    return Batched(effects.transpose(x.many, permutation=(0, *(i + 1 for i in permutation))))


@Batched.rule(effects.slice)
def slice_(x, *, start, limit, strides):
    to, steps = (lanes([x]), *limit), strides and (1, *strides)
    return Batched(effects.slice(x.many, start=(0, *start), limit=to, strides=steps))


@Batched.rule(effects.sort, lift=False)
def sort(*xs, dimension, **how):
    found = [full(x, lanes(xs)) for x in xs]
    return [Batched(y) for y in effects.sort(*found, dimension=dimension + 1, **how)]


@Batched.rule(effects.dot_general, lift=False)
def contract(x, y, *, dimension_numbers, **how):
    """One more axis of the batch, the first."""
    n = lanes([x, y])
    contracted, common = ([tuple(i + 1 for i in side) for side in p] for p in dimension_numbers)
    numbers = tuple(contracted), tuple((0, *side) for side in common)
    return Batched(effects.dot_general(full(x, n), full(y, n), dimension_numbers=numbers, **how))


@Batched.rule(effects.cond)
def cond(index, *xs, branches, run):
    if not batched(index):
        return NotImplemented
    n, cases = lanes([index]), [run(branch, *xs) for branch in branches]
    which = jnp.clip(jnp.asarray(index.many, "int32"), 0, len(branches) - 1)
    found = ([full(y, n) for y in ys] for ys in zip(*cases, strict=True))
    return [Batched(choose(which, ys)) for ys in found]


def choose(which, ys):
    """Of several arrays, the one that each lane says."""
    at = jnp.expand_dims(which, tuple(range(1, ys[0].ndim)))
    return reduce(lambda a, k: jnp.where(at == k, ys[k], a), range(1, len(ys)), ys[0])


def differing(run, program, xs):
    """Find the results of a program that are batched."""
    found = []

    def see(*leaves):
        found.extend(map(batched, run(program, *wrapped(leaves, map(batched, xs)))))
        return []

    stage(see, [typeof(value(x)) for x in xs])
    return found


@Batched.rule(effects.while_loop)
def while_loop(*xs, cond, body, cond_consts, body_consts, run, **_):
    """Loop until the last lane has ended; lanes that ended before keep their values."""
    n, m = cond_consts, cond_consts + body_consts
    test, step, carry = xs[:n], xs[n:m], [*xs[m:]]
    size, before = lanes(xs), None
    while before != (before := [*map(batched, carry)]):
        after = differing(run, body, (*step, *carry))
        grown = [b or c for b, c in zip(before, after, strict=True)]
        carry = [Batched(full(x, size)) if b else x for b, x in zip(grown, carry, strict=True)]
    if not differing(run, cond, (*test, *carry))[0]:
        return NotImplemented
    more = lambda ys: full(run(cond, *test, *map(Batched, ys))[0], size)  # noqa: E731

    def steps(ys):
        new = [full(y, size) for y in run(body, *step, *map(Batched, ys))]
        on = jnp.asarray(more(ys), "int32")
        return [choose(on, pair) for pair in zip(ys, new, strict=True)]

    start = [full(x, size) for x in carry]
    return [*map(Batched, fx.lax.while_loop(lambda ys: jnp.any(more(ys)), steps, start))]


def wrapped(ys, flags):
    """Arrays as values, those that are flagged batched; None stays."""
    return [Batched(y) if b and y is not None else y for y, b in zip(ys, flags, strict=True)]


def in_all(run, program, xs):
    """The program for all lanes, of values like these: staged, its results all batched."""
    n, flags, types = lanes(xs), [*map(batched, xs)], [typeof(value(x)) for x in xs]
    return stage(lambda *ys: [full(y, n) for y in run(program, *wrapped(ys, flags))], types)


@Batched.rule(effects.linear_solve)
def solve(*xs, consts, run, **programs):
    """Right sides are batched, and what else is; the four programs are, and remain a system."""
    n, rest, parts = lanes(xs), iter(xs), []
    own = [[next(rest) for _ in range(count)] for count in consts]
    b = [Batched(full(x, n)) for x in rest]
    for name, ours in zip(consts._fields, own, strict=True):
        staged = programs[name] and in_all(run, programs[name], [*ours, *b])
        programs[name] = staged and staged.program
        parts.append([*(staged.captured if staged else ()), *map(value, ours)])
    counts, given = type(consts)(*map(len, parts)), [y for p in [*parts, map(value, b)] for y in p]
    return [*map(Batched, effects.linear_solve(*given, consts=counts, **programs))]


class OfLanes:
    """The rules of a function, under the batch: a forward rule, or the halves of a reverse one.

    The first `held` operands are what the batch of the function mentions, of which rules know
    nothing.
    """

    def __init__(self, rule, xs, held):
        self.rule, self.flags, self.n, self.held = rule, [*map(batched, xs)], lanes(xs), held
        self.optimize_remat = getattr(rule, "optimize_remat", False)

    def full(self, ys):
        return [y if y is None else full(y, self.n) for y in ys]

    def __call__(self, primals, tangents):
        given = (wrapped(ys[self.held :], self.flags) for ys in (primals, tangents))
        return [*map(self.full, Batched.transform(self.rule)(*given))]

    def forward(self, primals, moving):
        run = Batched.transform(lambda xs: self.rule.forward(xs, moving[self.held :]))
        ys, kept = run(wrapped(primals[self.held :], self.flags))
        self.kept = [*map(batched, kept)]
        return self.full(ys), [*map(value, kept)]

    def backward_of(self, moving, wanted):
        rule = self.rule.backward_of(moving, wanted[self.held :])

        def backward(kept, cotangents):
            """Sum the cotangents of operands that the lanes share over the lanes."""
            many = wrapped(cotangents, [True] * len(cotangents))
            given = self.full(Batched.transform(rule)(wrapped(kept, self.kept), many))
            flags = [b for b, w in zip(self.flags, wanted[self.held :], strict=True) if w]
            none, pairs = [None] * sum(wanted[: self.held]), zip(given, flags, strict=True)
            return none + [y if b or y is None else jnp.sum(y, 0) for y, b in pairs]

        backward.memo, backward.symbolic = {}, rule.symbolic
        return backward


@Batched.rule(effects.custom_jvp_call, effects.custom_vjp_call)
def keep_the_rule(*xs, effect, program, rule, name, run):
    staged = in_all(run, program, xs)
    own, given = OfLanes(rule, xs, len(staged.captured)), (*staged.captured, *map(value, xs))
    return [*map(Batched, effect(*given, program=staged.program, rule=own, name=name))]
