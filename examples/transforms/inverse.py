"""Inverse functions, and densities of what they make: programs run from both ends.

`inverse(f)(y)` is the x with f(x) = y; `inverse_and_ildj(f)(y)` gives the logarithm of its
Jacobian's determinant too, and `log_prob(density, f)` is the log-density of f(x), x having the
density. (The model is oryx's `inverse` and `ildj`, in "Probabilistic programming and nested
transformations" style propagation; change of variables.)

f is staged. Elements of its variables become known, from results and from constants, in any order:
an equation gives a result from its operands, or an operand from result and other operands. Which
elements are known is known statically, so that one half of a vector may be found by means of the
other, as in flows that split them. Slopes are `jvp`'s: only inverses are written down. Programs
inside `cond` and `scan` are run from both ends in turn. What no equation gives is refused.

>>> flow = lambda x: jnp.concatenate([x[:1], x[1:] * jnp.exp(x[0])])
>>> x, ildj = inverse_and_ildj(flow)(flow(jnp.array([0.5, 1.0, 2.0])))
>>> print(x, ildj.round(4))
[0.5 1.  2. ] -1.0
"""

from functools import partial

import numpy as np

import effax as fx
import effax.numpy as jnp
from effax import extend, lax, tree
from effax.effects.errors import EffaxError, describe
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
    effects.logistic: (lambda z: jnp.log(z) - jnp.log1p(-z),),
}
NAMES = "exp log  expm1 log1p  sinh asinh  tanh atanh  erf erf_inv  asin sin  acos cos  atan tan"
both = [getattr(effects, name) for name in f"{NAMES}  neg neg  copy copy  sqrt square".split()]
SOLVED |= {one: (other,) for one, other in zip(both[::2], both[1::2], strict=True)}
SOLVED |= {other: (one,) for one, other in zip(both[:10:2], both[1:10:2], strict=True)}


class NotInvertibleError(EffaxError, ValueError):
    """The result does not say what an argument was."""


class Solver:
    """A program; of each variable, which elements are known, the values, the log-determinants."""

    def __init__(self, program, inputs, results):
        self.program, self.known, self.changed, self.stuck = program, {}, True, None
        for x, found in zip(program.inputs + program.outputs, [*inputs, *results], strict=True):
            if found is not None:
                self.learn(x, True, *found)
        while self.changed:
            self.changed = False
            for e in [*program.equations, *reversed(program.equations)]:
                self.visit(e, [*map(self.whole, e.inputs)], [*map(self.whole, e.outputs)])

    def visit(self, e, operands, results):
        """Use an equation: forward if its operands are known, else as its effect allows."""
        if not all(operands) or not all(results):
            try:
                solver = forward if all(operands) else SOLVERS.get(e.effect, lambda *_: ())
                if not any([self.learn(*x) for x in solver(self, e, operands, results)]):
                    where = f"at {describe(e.frame)}, the result of '{e.effect}'"
                    raise NotInvertibleError(f"{where} does not say what its operands were")
            except NotInvertibleError as error:
                self.stuck = error if all(results) else self.stuck

    def look(self, x):
        """Which elements of a variable are known, the values (others are anything), the ildj."""
        known = not isinstance(x, extend.Variable)
        value = jnp.full(x.type.shape, x.value if known else 0.5, x.type.dtype)
        return self.known.get(x, (np.full(x.type.shape, known), value, jnp.zeros(x.type.shape)))

    def whole(self, x):
        """The values and the ildj of a variable, or None where it is not known as a whole."""
        mask, *found = self.look(x)
        return found if mask.all() else None

    def learn(self, x, mask, value, ildj):
        """Some elements of a variable, of which others may be known; are there any new ones?"""
        old, *parts = self.look(x)
        new = mask & ~old
        if new.any():
            merged = (jnp.where(new, a, b) for a, b in zip((value, ildj), parts, strict=True))
            self.changed, self.known[x] = True, (new | old, *merged)
        return new.any()

    def answer(self):
        """What is known of the inputs: all."""
        found = [*map(self.whole, self.program.inputs)]
        if not all(found):
            raise self.stuck or NotInvertibleError("the results depend on too little")
        return found


def forward(solver, e, operands, results):
    """The results, as all operands are known."""
    ys = tree.leaves(e.effect(*(x for x, _ in operands), **e.attributes))
    return [(x, True, y, 0.0) for x, y in zip(e.outputs, ys, strict=True)]


def solve_elements(solver, e, operands, results):
    """Elements of one operand, where the result and the other operand are known."""
    (mask, z, ildj), xs = solver.look(e.outputs[0]), [solver.look(x) for x in e.inputs]
    for i, x in enumerate(e.inputs if e.attributes.get("y", 1) % 2 else ()):
        others = [y for _, y, _ in xs[:i] + xs[i + 1 :]]
        where = np.all([mask, ~xs[i][0], *(m for m, *_ in xs[:i] + xs[i + 1 :])], 0)
        if where.any():
            y = SOLVED[e.effect][i](z, *others, **e.attributes)
            slope = fx.jvp(partial(at_operand, e, i, others), (y,), (jnp.ones_like(y),))[1]
            yield x, where, y, ildj - jnp.log(jnp.abs(slope))


def solve_moved(solver, e, operands, results):
    """Elements of operands and of the result, by where numbered elements go."""
    (mask, z, ildj), xs = solver.look(e.outputs[0]), [solver.look(x) for x in e.inputs]
    ends = np.cumsum([0, *(m.size for m, *_ in xs)])
    with fx.ensure_compile_time_eval():
        numbers = [
            jnp.arange(m.size).reshape(m.shape) + n for n, (m, *_) in zip(ends, xs, strict=False)
        ]
        origin = np.real(e.effect(*numbers, **e.attributes)).astype(int)
    known, place = np.concatenate([m.ravel() for m, *_ in xs]), np.full(ends[-1], -1)
    yield e.outputs[0], known[origin], e.effect(*(x for _, x, _ in xs), **e.attributes), 0.0
    place[origin.ravel()] = np.arange(origin.size)
    for x, start, (m, *_) in zip(e.inputs, ends, xs, strict=False):
        at = place[start : start + m.size].reshape(m.shape)
        yield x, (at >= 0) & mask.ravel()[at], jnp.ravel(z)[at], jnp.ravel(ildj)[at]


def at_operand(e, i, others, x):
    """An equation's result as a function of operand i."""
    return tree.leaves(e.effect(*others[:i], x, *others[i:], **e.attributes))[0]


def solve_linear(solver, e, operands, results):
    """The operand that is unknown, by the matrix of the effect, which is linear in it."""
    i, others = operands.index(None), [x for x, _ in filter(None, operands)]
    sizes = {e.inputs[i].type.size, e.outputs[0].type.size}
    if len(others) < len(operands) - 1 or len(sizes) > 1 or not all(results):
        return []
    (z, ildj), f = results[0], partial(at_operand, e, i, others)
    x = jnp.zeros(e.inputs[i].type.shape, z.dtype)
    matrix, rest = fx.jacfwd(f)(x).reshape(z.size, z.size), jnp.ravel(z - f(x))
    ildj = (jnp.sum(ildj) - jnp.linalg.slogdet(matrix)[1]) / z.size
    return [(e.inputs[i], True, jnp.linalg.solve(matrix, rest).reshape(x.shape), ildj)]


def solve_branches(solver, e, operands, results):
    """The operands of a call, or of a `cond` of which it is known what it chooses."""
    n = int(e.effect is effects.cond)
    if None in operands[:n]:
        return []
    programs = e.attributes["branches"] if n else [e.attributes["program"]]
    runs = [partial(lambda p: Solver(p, operands[n:], results).answer(), p) for p in programs]
    found = lax.switch(operands[0][0], runs) if n else runs[0]()
    return [(x, True, *y) for x, y in zip(e.inputs[n:], found, strict=True)]


def solve_scan(solver, e, operands, results):
    """Ahead with what is known of the first carry; then back from the last one, for the rest."""
    n, m, body = e.attributes["consts"], e.attributes["carry"], e.attributes["body"]
    consts, first, rows = operands[:n], operands[n : n + m], (operands[n + m :], results[m:])
    last = [None if known else y for known, y in zip(first, results, strict=False)]
    how = {"length": e.attributes["length"], "reverse": e.attributes["reverse"]}

    def ahead(carry, rows):
        inner = Solver(body, [*consts, *carry, *rows[0]], [None] * m + rows[1])
        ends = [known and inner.whole(x) for known, x in zip(carry, body.outputs, strict=False)]
        return ends, (carry, inner.answer()[n + m :] if all(carry) else None)

    def back(carry, rows):
        given, xs, ys = rows
        found = Solver(body, [*consts, *given, *xs], [*carry, *ys]).answer()[n:]
        return [None if g else f for f, g in zip(found, given, strict=False)], found[m:]

    if not all(consts) or not all(map(any, zip(first, last, strict=True))):
        return []
    _, (given, found) = lax.scan(ahead, first, rows, **how)
    if not all(first):
        how["reverse"] = not how["reverse"]
        end, found = lax.scan(back, last, (given, *rows), **how)
        first = [f or x for f, x in zip(first, end, strict=True)]
    return [(x, True, *y) for x, y in zip(e.inputs[n:], [*first, *found], strict=True)]


SOLVERS = dict.fromkeys(SOLVED, solve_elements) | {effects.scan: solve_scan}
SOLVERS |= dict.fromkeys((e for e in traits.structural if e.family == "shape"), solve_moved)
SOLVERS |= {effects.convert_element_type: solve_moved}
SOLVERS |= dict.fromkeys((*traits.bilinear[1:], effects.gather, effects.cumsum), solve_linear)
SOLVERS |= dict.fromkeys((effects.triangular_solve, effects.linear_solve), solve_linear)
SOLVERS |= dict.fromkeys((effects.call, effects.remat, effects.cond), solve_branches)
SOLVERS |= {getattr(effects, f"custom_{x}_call"): solve_branches for x in ("jvp", "vjp", "vmap")}


def inverse_and_ildj(f, *like):
    """A function of y that gives the x with f(x) = y, and log |det dx/dy|.

    f takes arguments as in `like` (arrays or their types); without it, one argument like y.
    """

    def inverted(y):
        given, arguments = tree.flatten(like or (y,))
        types = [*map(extend.typeof, given)]
        staged = extend.stage(lambda *xs: tree.leaves(f(*tree.unflatten(arguments, xs))), types)
        ends, n = [*staged.captured, *tree.leaves(y)], len(staged.captured)
        ends = [(x, jnp.zeros(x.shape)) for x in map(jnp.asarray, ends)]
        if [x.shape for x, _ in ends[n:]] != [t.shape for t in staged.program.out_types]:
            raise ValueError(f"f gives {staged.program.out_types}, and the result is {y}")
        found = Solver(staged.program, ends[:n] + [None] * len(types), ends[n:]).answer()[n:]
        if sum(x.size for x, _ in found) != sum(x.size for x, _ in ends[n:]):
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
