"""Costs of a function: operations and bytes, counted while it runs or estimated from its text.

`cost(f)(*args)` is a pair of f's result and the counts, exact through every loop and branch: they
are the handler's state, which is threaded like any other value. Under `jit` a count that depends on
data is computed with it. `estimate(f)(*args)` reads the program instead and runs nothing: a scan
costs its length times its body, a branch what `branch` makes of all (`max` or `sum`), and a step of
a `while` counts `trips` times, a number or a symbol. `roofline` turns that into seconds.

One operation is one result of elementary arithmetic, two are a term of a product of matrices, and a
matrix of n rows takes n per element to factor; bytes are those of operands and results, so of a
machine that keeps nothing between two effects. (Williams, Waterman & Patterson 2009, "Roofline".)
"""

from math import prod

import effax as fx
import effax.numpy as jnp
from effax.extend import traits, typeof

READ = {"reduction", "cumulative", "window", "sorting"}  # families: many elements make a result
FREE = {*traits.structural, fx.effects.iota, fx.effects.convert_element_type}


@fx.enable_x64(True)
def plus(count, *n):
    return count + jnp.array(n, "int64")


class Cost(fx.Interpreter, every=True):
    """Owns no value, answers every effect, and counts."""

    total: fx.State = lambda: plus(0, 0, 0)


@Cost.default
def tally(effect, *operands, state, **attributes):
    results = effect(*operands, **attributes)
    state.total = plus(state.total, *price(effect, operands, results, attributes))
    return results


cost = Cost.transform  # cost(f)(*args) -> result, {"total": int64[flops, bytes]}


def price(effect, xs, ys, attributes):
    """Operations and bytes of one effect."""
    ins, outs = ([typeof(x) for x in fx.tree.leaves(t) if hasattr(x, "shape")] for t in (xs, ys))
    flops = sum(t.size for t in (ins if effect.family in READ else outs)) * (effect not in FREE)
    if effect is fx.effects.dot_general:
        flops *= 2 * prod(ins[0].shape[i] for i in attributes["dimension_numbers"][0][0])
    if effect is fx.effects.conv_general_dilated:
        flops *= 2 * ins[1].size // outs[0].shape[attributes["dimension_numbers"].out_spec[1]]
    flops *= ins[0].shape[-1] if effect.family == "linalg" else 1
    return flops, sum(t.size * t.dtype.itemsize for t in (*ins, *outs))


def estimate(f, branch=max, trips=1):
    """The operations and bytes of `f(*args)`, from its program."""

    combine = {fx.effects.cond: branch, fx.effects.while_loop: lambda n: trips * sum(n)}

    def walk(program):
        return [sum(column) for column in zip((0, 0), *map(one, program.equations), strict=True)]

    def one(e):
        inner = [walk(p) for p in e.programs()]
        if e.effect in combine:
            return [combine[e.effect](column) for column in zip(*inner, strict=True)]
        if inner:  # of a linear solve, the solver
            return [e.attributes.get("length", 1) * n for n in inner[len(inner) // 2]]
        return price(e.effect, [getattr(x, "value", x) for x in e.inputs], e.outputs, e.attributes)

    return lambda *args: walk(fx.make_program(f)(*args))


def roofline(f, *speeds, **how):
    """A lower bound of the seconds of `f(*args)` at so many operations and bytes a second."""
    return lambda *args: max(n / s for n, s in zip(estimate(f, **how)(*args), speeds, strict=True))
