"""Forward mode: `fx.jvp`, written on what anyone may use.

    >>> y, t = jvp(lambda x: x * x if x > 1 else x, (3.0,), (1.0,))
    >>> print(y, t)
    9.0 6.0

Each value carries the direction it moves in; one that does not move is plain. Elementary functions
follow the chain rule over the library's table of derivatives, linear effects do to a tangent what
they do to its value, and a `custom_jvp` or `custom_vjp` is asked for the tangent itself. Python may
branch on values, as the value is a leaf of its own. Calls, branches and loops are the functor's.
(Wengert, "A simple automatic derivative evaluation program", CACM 7, 1964.)
"""

from functools import reduce

import effax as fx
import effax.numpy as jnp
from effax.extend import effects, find_effect, traits, typeof


class Dual(fx.Interpreter, pure=True):
    """A value, and the direction it moves in."""

    value: fx.Leaf(primal=True)  # pyright: ignore[reportCallIssue, reportInvalidTypeForm]
    tangent: fx.Leaf | None


def value(x):
    """The value without its direction."""
    return x.value if isinstance(x, Dual) else x


def tangent(x):
    """The direction, None where there is none."""
    return x.tangent if isinstance(x, Dual) else None


def dual(y, t):
    """A value with a direction, plain where that is None."""
    return y if t is None else Dual(y, t)


def inexact(x):
    """Whether values like this one can move."""
    return jnp.issubdtype(typeof(x).dtype, jnp.inexact)


def still(x):
    """The direction of what does not move, written out."""
    return jnp.zeros(typeof(x).shape, typeof(x).dtype)


def moving(x):
    """The direction of a value, written out; what can't move stays what it is."""
    v, t = value(x), tangent(x)
    return t if t is not None else still(v) if inexact(v) else v


def jvp(f, primals, tangents):
    """The results of f at `primals`, and the directions they move in as these move by `tangents`."""
    ys = Dual.transform(f)(*fx.tree.map(Dual, primals, tangents))
    known = lambda y: isinstance(y, Dual)  # noqa: E731
    return tuple(fx.tree.map(part, ys, is_leaf=known) for part in (value, moving))


UNKNOWN = {e for e, by in traits.partials.items() if all(hasattr(p, "reason") for p in by)}


@Dual.rule(*{*traits.partials} - UNKNOWN, lift=False)
def chain_rule(*xs, effect, **how):
    values = [*map(value, xs)]
    y = effect(*values, **how)
    moved = [(i, t) for i, t in enumerate(map(tangent, xs)) if t is not None]
    terms = [u for i, t in moved if (u := traits.along(effect, i, t, y, values, how)) is not None]
    return dual(y, reduce(effects.add, terms) if terms else None)


SPREADING = effects.fft, effects.reduce_window_sum, effects.scatter_add
PARTS = map(find_effect, ("real", "imag", "conj", "complex"))
LINEAR = {*traits.linear, *traits.structural, *SPREADING, *PARTS} - {*traits.partials}


@Dual.rule(*LINEAR)
def linear(*xs, effect, **how):
    """Linear in all operands that can move, taken together; numbers are lifted to arrays."""
    y = effect(*map(value, xs), **how)
    if all(tangent(x) is None for x in xs) or not inexact(y):
        return y
    how |= {"fill_value": 0} if how.get("fill_value") is not None else {}
    return Dual(y, effect(*map(moving, xs), **how))


@Dual.rule(effects.dot_general, effects.conv_general_dilated, lift=False)
def product(x, y, *, effect, **how):
    terms = [(tangent(x), value(y)), (value(x), tangent(y))]
    terms = [effect(a, b, **how) for a, b in terms if a is not None and b is not None]
    return dual(effect(value(x), value(y), **how), reduce(effects.add, terms) if terms else None)


@Dual.rule(effects.abs, lift=False)
def size(x):
    """A complex number's absolute value moves by the tangent's part along the number."""
    if not jnp.iscomplexobj(value(x)):
        return chain_rule(x, effect=effects.abs)
    y = jnp.abs(x.value)
    return Dual(y, jnp.real(x.tangent * jnp.conj(x.value)) / jnp.where(y == 0, 1, y))


@Dual.rule(effects.clamp, lift=False)
def clamped(lo, x, hi):
    low, v, high = (jnp.broadcast_to(value(y), typeof(value(x)).shape) for y in (lo, x, hi))
    inside = jnp.where((v > low) & (v < high), moving(x), 0)
    bound = jnp.where(v > high, moving(hi), jnp.where((v < low) & (low < high), moving(lo), 0))
    return Dual(effects.clamp(*map(value, (lo, x, hi))), inside + bound)


@Dual.rule(effects.reduce_max, effects.reduce_min)
def extremum(x, *, effect, axes):
    """The average over the places where it is reached."""
    y = effect(x.value, axes=axes)
    if x.tangent is None:
        return y
    there = (x.value == jnp.expand_dims(y, axes)).astype(x.tangent.dtype)
    return Dual(y, jnp.sum(x.tangent * there, axes) / jnp.sum(there, axes))


@Dual.rule(effects.sort, lift=False)
def sort(*xs, dimension, **how):
    """Tangents go where their elements go."""
    places = jnp.arange(typeof(value(xs[0])).shape[dimension])
    shape = [-1 if i == dimension else 1 for i in range(typeof(value(xs[0])).ndim)]
    places = jnp.broadcast_to(places.reshape(shape), typeof(value(xs[0])).shape)
    *ys, places = effects.sort(*map(value, xs), places, dimension=dimension, **how)
    moved = [None if t is None else (t, places) for t in map(tangent, xs)]
    moved = [None if m is None else jnp.take_along_axis(*m, dimension) for m in moved]
    return [*map(dual, ys, moved)]


# Values are those of the effect itself, so who differentiates outside asks the rule, too.


@Dual.rule(effects.custom_jvp_call)
def ask_the_rule(*xs, rule, **how):
    values = [*map(value, xs)]
    ys = effects.custom_jvp_call(*values, rule=rule, **how)
    return [*map(dual, ys, rule(values, [*map(tangent, xs)])[1])]


@Dual.rule(effects.custom_vjp_call)
def ask_the_transpose(*xs, rule, **how):
    """The linear map whose transpose is the backward function."""
    values = [*map(value, xs)]
    ys = effects.custom_vjp_call(*values, rule=rule, **how)
    kept = rule.forward(values, [tangent(x) is not None for x in xs])[1]
    movable, taken = [*map(inexact, ys)], [*map(inexact, values)]
    found = effects.custom_linear(
        *(*kept, *(moving(x) for x, t in zip(xs, taken, strict=True) if t)),
        residuals=len(kept),
        out_types=tuple(typeof(y) for y, m in zip(ys, movable, strict=True) if m),
        backward=rule.backward_of(tuple(i for i, m in enumerate(movable) if m), tuple(taken)),
    )
    rest = iter(found)
    return [dual(y, next(rest) if m else None) for y, m in zip(ys, movable, strict=True)]


@Dual.default
def others(effect, *xs, **how):
    """Perform effects without tangents on values; write out the rest, or refuse it."""
    if effect in traits.composite:
        return NotImplemented
    found = effect(*map(value, xs), **how)
    return NotImplemented if any(map(inexact, fx.tree.leaves(found))) else found
