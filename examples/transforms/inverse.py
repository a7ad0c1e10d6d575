"""Inverse functions, and densities of what they make: programs run from both ends.

`inverse(f)(y)` is the x with f(x) = y; `inverse_and_ildj(f)(y)` gives the logarithm of its
Jacobian's determinant too, and `log_prob(density, f)` is the log-density of f(x), x having the
density. (The model is oryx's `inverse_and_ildj` and `log_prob`.)

f is staged. Elements of its variables become known, from results and from constants, in any order:
an equation gives a result from its operands, or an operand from result and other operands. Which
elements are known is known statically, so that one half of a vector may be found by means of the
other, as in flows that split them. Slopes are `jvp`'s: only inverses are written down. Control flow
is `Propagation`'s, which goes through the steps of a `scan` from both ends. What no equation gives
is refused, with the equation where it is lost.

>>> flow = lambda x: jnp.concatenate([x[:1], x[1:] * jnp.exp(x[0])])
>>> x, ildj = inverse_and_ildj(flow)(flow(jnp.array([0.5, 1.0, 2.0])))
>>> print(x, ildj.round(4))
[0.5 1.  2. ] -1.0
"""

from functools import partial, reduce
from itertools import accumulate
from operator import and_

import effax as fx
import effax.numpy as jnp
from effax import extend, tree
from effax.extend import effects, traits

SOLVED = {  # each operand, from the result and the other operand
    effects.add: (lambda z, y: z - y, lambda z, x: z - x),
    effects.sub: (lambda z, y: z + y, lambda z, x: x - z),
    effects.mul: (lambda z, y: z / y, lambda z, x: z / x),
    effects.div: (lambda z, y: z * y, lambda z, x: x / z),
    effects.pow: (lambda z, y: z ** (1 / y), lambda z, x: jnp.log(z) / jnp.log(x)),
    effects.integer_pow: (lambda z, y: jnp.sign(z) * jnp.abs(z) ** (1 / y),),
    effects.rsqrt: (lambda z: 1 / (z * z),),
    effects.exp2: (jnp.log2,),
    effects.convert_element_type: (lambda z, **_: z,),
    effects.logistic: (lambda z: jnp.log(z) - jnp.log1p(-z),),
}
NAMES = "exp log  expm1 log1p  sinh asinh  tanh atanh  erf erf_inv  asin sin  acos cos  atan tan"
both = [getattr(effects, name) for name in f"{NAMES}  neg neg  copy copy  sqrt square".split()]
SOLVED |= {one: (other,) for one, other in zip(both[::2], both[1::2], strict=True)}
SOLVED |= {other: (one,) for one, other in zip(both[:10:2], both[1:10:2], strict=True)}


MOVES = [e for e in traits.structural if e.family == "shape"]
LINEAR = [effects.gather, effects.cumsum, effects.triangular_solve, effects.linear_solve]


def now(f, *args):
    """An array that is known, also where programs are being staged."""
    with fx.ensure_compile_time_eval():
        return f(*args).__array__()


ALL = now(jnp.asarray, True)


class NotInvertibleError(extend.UndeterminedError, ValueError):
    """The result does not say what an argument was."""


class Inverse(extend.Propagation):
    """Of each variable: which elements are known, the values (others are anything), the ildj."""

    error = NotInvertibleError

    def initial(self, x):
        known = not isinstance(x, extend.Variable)
        value = jnp.full(x.type.shape, x.value if known else 0.5, x.type.dtype)
        return now(jnp.full, x.type.shape, known), value, jnp.zeros(x.type.shape)

    def merge(self, old, new):
        fresh = new[0] & ~old[0]
        parts = (jnp.where(fresh, a, b) for a, b in zip(new[1:], old[1:], strict=True))
        return (fresh | old[0], *parts) if fresh.any() else old

    def leaves(self, fact):
        return fact[1:] if fact[0].all() else None

    def fact(self, leaves):
        return ALL, *leaves

    def visit(self, e):
        operands = [*map(self.whole, e.inputs)]
        if not all(operands):
            return super().visit(e)
        if all(map(self.whole, e.outputs)):
            return []
        ys = tree.leaves(e.effect(*(x for x, _ in operands), **e.attributes))  # pyright: ignore[reportGeneralTypeIssues]
        return [(x, (ALL, y, 0.0)) for x, y in zip(e.outputs, ys, strict=True)]


@Inverse.rule(*SOLVED)
def solve_elements(self, e):
    """Elements of one operand, where the result and the other operand are known."""
    (mask, z, ildj), xs = self.look(e.outputs[0]), [self.look(x) for x in e.inputs]
    for i, x in enumerate(e.inputs if e.attributes.get("y", 1) % 2 else ()):
        others = xs[:i] + xs[i + 1 :]
        where = reduce(and_, [mask, ~xs[i][0], *(m for m, *_ in others)])
        if where.any() and jnp.issubdtype(x.type.dtype, jnp.inexact):
            others = [y for _, y, _ in others]
            y = SOLVED[e.effect][i](z, *others, **e.attributes).astype(x.type.dtype)
            slope = fx.jvp(partial(at_operand, e, i, others), (y,), (jnp.ones_like(y),))[1]
            yield x, (where, y, ildj - jnp.log(jnp.abs(slope)))


@Inverse.rule(*MOVES)
def solve_moved(self, e):
    """Elements of operands and of the result, by where numbered elements go."""
    (mask, z, ildj), xs = self.look(e.outputs[0]), [self.look(x) for x in e.inputs]
    starts = [0, *accumulate(m.size for m, *_ in xs)]
    with fx.ensure_compile_time_eval():
        pairs = zip(starts, xs, strict=False)
        numbers = [jnp.arange(n, n + m.size).reshape(m.shape) for n, (m, *_) in pairs]
        origin = e.effect(*numbers, **e.attributes)
        known = jnp.concatenate([jnp.ravel(m) for m, *_ in xs])[origin].__array__()
        place = jnp.full(starts[-1], -1).at[origin.ravel()].set(jnp.arange(origin.size))
        places = [place[n].__array__() for n in numbers]
    yield e.outputs[0], (known, e.effect(*(x for _, x, _ in xs), **e.attributes), 0.0)
    for x, at in zip(e.inputs, places, strict=True):
        yield x, ((at >= 0) & mask.ravel()[at], jnp.ravel(z)[at], jnp.ravel(ildj)[at])


def at_operand(e, i, others, x):
    """An equation's result as a function of operand i."""
    return tree.leaves(e.effect(*others[:i], x, *others[i:], **e.attributes))[0]


@Inverse.rule(*traits.bilinear[1:], *LINEAR)
def solve_linear(self, e):
    """The operand that is unknown, by the matrix of the effect, which is linear in it."""
    operands, result = [*map(self.whole, e.inputs)], self.whole(e.outputs[0])
    i, others = operands.index(None), [x for x, _ in filter(None, operands)]
    x, f = e.inputs[i], partial(at_operand, e, i, others)
    if result and len(others) == len(operands) - 1 and x.type.size == result[0].size:
        zero, (z, ildj) = jnp.zeros(x.type.shape, x.type.dtype), result
        matrix, rest = fx.jacfwd(f)(zero).reshape(z.size, z.size), jnp.ravel(z - f(zero))
        ildj = (jnp.sum(ildj) - jnp.linalg.slogdet(matrix)[1]) / z.size
        yield x, (ALL, jnp.linalg.solve(matrix, rest).reshape(zero.shape), ildj)


def inverse_and_ildj(f, *like):
    """A function of y that gives the x with f(x) = y, and log |det dx/dy|.

    f takes arguments as in `like` (arrays or their types); without it, one argument like y.
    """

    def inverted(y):
        given, arguments = tree.flatten(like or (y,))
        types = [*map(extend.typeof, given)]
        staged = extend.stage(lambda *xs: tree.leaves(f(*tree.unflatten(arguments, xs))), types)
        known = [(ALL, x, 0.0) for x in map(jnp.asarray, staged.captured)]
        ends = [(ALL, x, 0.0) for x in map(jnp.asarray, tree.leaves(y))]
        if [x.shape for _, x, _ in ends] != [t.shape for t in staged.program.out_types]:
            raise ValueError(f"f gives {staged.program.out_types}, and the result is {y}")
        found = Inverse(staged.program, known + [None] * len(types), ends).answer()[len(known) :]
        if sum(x.size for x, _ in found) != sum(x.size for _, x, _ in ends):
            raise NotInvertibleError("results and arguments have different numbers of elements")
        xs = tree.unflatten(arguments, [x for x, _ in found])
        return xs if len(xs) > 1 else xs[0], sum(jnp.sum(ildj) for _, ildj in found)

    return inverted


def inverse(f, *like):
    """The inverse of f."""
    return lambda y: inverse_and_ildj(f, *like)(y)[0]


def log_prob(density, f, *like):
    """The log-density of f(x), where x has the log-density that is given."""
    both = inverse_and_ildj(f, *like)
    return lambda y: density(both(y)[0]) + both(y)[1]
