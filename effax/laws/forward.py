"""Laws of forward mode."""

from __future__ import annotations

from typing import Any

import numpy as np

import effax
from effax.effects.rows import conversion, elementwise
from effax.laws.law import ROUGH, Case, NotDefined, along, law, total

_STEP = 1e-5


def _jvp(c: Case, u: Any) -> Any:
    return effax.jvp(c.f, tuple(c.args), tuple(u))


@law("the primal of jvp f is f")
def jvp_primal(c: Case) -> Any:
    return _jvp(c, c.directions())[0], c.f(*c.args)


@law("jvp f is linear in the tangent")
def jvp_is_linear(c: Case) -> Any:
    u, v = c.directions(1), c.directions(2)
    apart = along(_jvp(c, u)[1], _jvp(c, v)[1], 2.0, -3.0)
    return list(_jvp(c, along(u, v, 2.0, -3.0))[1]), apart


@law("jvp f x 0 = 0")
def jvp_of_zero(c: Case) -> Any:
    zeros = [elementwise.mul(u, 0.0) for u in c.directions()]
    return _jvp(c, zeros)[1], tuple(elementwise.mul(y, 0.0) for y in c.f(*c.args))


@law("jvp (g . f) = jvp g . jvp f", needs="g")
def chain_rule(c: Case) -> Any:
    args, u = tuple(c.args), tuple(c.directions())
    both = effax.jvp(lambda *xs: c.g(*c.f(*xs)), args, u)
    y, v = effax.jvp(c.f, args, u)
    return both, effax.jvp(c.g, tuple(y), tuple(v))


@law("jvp f = finite differences", relation=ROUGH)
def jvp_is_finite_difference(c: Case) -> Any:
    if c.f.effects() & {elementwise.stop_gradient, conversion.bitcast_convert_type}:
        raise NotDefined(
            "the derivative of a program that stops gradients or looks at bits is not its "
            "function's"
        )
    args, u = c.args, c.directions()
    high, low = c.f(*along(args, u, 1.0, _STEP)), c.f(*along(args, u, 1.0, -_STEP))
    slope = [
        elementwise.div(elementwise.sub(a, b), 2 * _STEP) for a, b in zip(high, low, strict=True)
    ]
    return list(_jvp(c, u)[1]), slope


@law("linearize f x = jvp f x")
def linearize_is_jvp(c: Case) -> Any:
    u = c.directions()
    y, linear = effax.linearize(c.f, *c.args)
    return (y, linear(*u)), _jvp(c, u)


@law("jvp (jit f) = jit (jvp f)")
def jvp_commutes_with_jit(c: Case) -> Any:
    args, u = tuple(c.args), tuple(c.directions())
    staged = effax.jit(lambda xs, us: effax.jvp(c.f, xs, us))
    return effax.jvp(effax.jit(c.f), args, u), staged(args, u)


@law("nested derivatives do not confuse their perturbations")
def no_perturbation_confusion(c: Case) -> Any:
    """d/dt (t * d/ds (s * phi(t))) = d/dt (t * phi(t)), for phi along a line of arguments."""
    args, u = c.args, c.directions()
    one = c.lift(np.float64(1))

    def phi(t: Any) -> Any:
        moved = [elementwise.add(x, _times(v, t)) for x, v in zip(args, u, strict=True)]
        return total(c.f(*moved))

    def nested(t: Any) -> Any:
        inner = effax.jvp(lambda s: elementwise.mul(s, phi(t)), (one,), (one,))[1]
        return elementwise.mul(t, inner)

    flat = effax.jvp(lambda t: elementwise.mul(t, phi(t)), (one,), (one,))
    return effax.jvp(nested, (one,), (one,)), flat


def _times(x: Any, t: Any) -> Any:
    """An array times a scalar."""
    from effax.effects.rows import shape
    from effax.effects.types import typeof

    type = typeof(x)
    t = conversion.convert_element_type(t, dtype=type.dtype)
    return elementwise.mul(x, shape.broadcast_in_dim(t, shape=type.shape, dims=()))
