"""Laws of reverse mode, and of derivatives of derivatives."""

from __future__ import annotations

from typing import Any

import effax
from effax.effects.rows import control
from effax.laws.law import Case, dot, law, total


def _scalar(c: Case) -> Any:
    return lambda *xs: total(c.f(*xs))


def _all(c: Case) -> tuple[int, ...]:
    return tuple(range(len(c.f.types)))


@law("<w, J u> = <J' w, u>", needs="no while")
def vjp_is_adjoint(c: Case) -> Any:
    args, u, w = tuple(c.args), tuple(c.directions()), c.cotangents()
    tangents = effax.jvp(c.f, args, u)[1]
    return dot(w, tangents), dot(effax.vjp(c.f, *args)[1](w), u)


@law("vjp f = transpose (linearize f)", needs="no while")
def vjp_is_transposed_linearization(c: Case) -> Any:
    args, w = c.args, c.cotangents()
    linear = effax.linearize(c.f, *args)[1]
    return effax.vjp(c.f, *args)[1](w), tuple(effax.linear_transpose(linear, *args)(w))


@law("transpose (transpose l) = l", needs="no while")
def transpose_is_an_involution(c: Case) -> Any:
    args, u = c.args, c.directions()
    linear = effax.linearize(c.f, *args)[1]
    once = effax.linear_transpose(linear, *args)
    twice = effax.linear_transpose(lambda w: tuple(once(w)), c.cotangents())
    return twice(tuple(u))[0], linear(*u)


@law("vjp (g . f) = vjp f . vjp g", needs="g, no while")
def reverse_chain_rule(c: Case) -> Any:
    args = c.args
    y, back_f = effax.vjp(c.f, *args)
    z, back_g = effax.vjp(c.g, *y)
    composed = effax.vjp(lambda *xs: c.g(*c.f(*xs)), *args)[1]
    return composed(z), back_f(tuple(back_g(z)))


@law("jacfwd f = jacrev f", needs="no while")
def jacobians_agree(c: Case) -> Any:
    args = c.args
    return effax.jacfwd(c.f, argnums=_all(c))(*args), effax.jacrev(c.f, argnums=_all(c))(*args)


@law("grad (jit f) = jit (grad f)", needs="no while")
def grad_commutes_with_jit(c: Case) -> Any:
    f, args = _scalar(c), c.args
    return (
        effax.grad(effax.jit(f), argnums=_all(c))(*args),
        effax.jit(effax.grad(f, argnums=_all(c)))(*args),
    )


@law("the value of value_and_grad f is f", needs="no while")
def value_and_grad_value(c: Case) -> Any:
    f, args = _scalar(c), c.args
    value, gradient = effax.value_and_grad(f, argnums=_all(c))(*args)
    return (value, gradient), (f(*args), effax.grad(f, argnums=_all(c))(*args))


def _gradient(c: Case) -> Any:
    return effax.grad(_scalar(c), argnums=_all(c))


@law("<H u, v> = <H v, u>", needs="no while")
def hessian_is_symmetric(c: Case) -> Any:
    args, u, v = tuple(c.args), tuple(c.directions(1)), tuple(c.directions(2))
    one = effax.jvp(_gradient(c), args, u)[1]
    other = effax.jvp(_gradient(c), args, v)[1]
    return dot(one, v), dot(other, u)


@law("forward over reverse = reverse over forward", needs="no while")
def second_derivatives_agree(c: Case) -> Any:
    args, u = tuple(c.args), tuple(c.directions())
    forward_over_reverse = effax.jvp(_gradient(c), args, u)[1]

    def slope(*xs: Any) -> Any:
        return effax.jvp(_scalar(c), xs, u)[1]

    return forward_over_reverse, effax.grad(slope, argnums=_all(c))(*args)


@law("forward over reverse = reverse over reverse", needs="no while")
def second_derivatives_agree_backwards(c: Case) -> Any:
    args, u = tuple(c.args), tuple(c.directions())
    forward_over_reverse = effax.jvp(_gradient(c), args, u)[1]

    def slope(*xs: Any) -> Any:
        return dot(_gradient(c)(*xs), u)

    return forward_over_reverse, effax.grad(slope, argnums=_all(c))(*args)


def _remat(c: Case) -> Any:
    program = c.f.program()
    return lambda *xs: tuple(
        control.remat(*xs, program=program, policy=None, name="f", prevent_cse=True)
    )


@law("remat f = f")
def remat_is_identity(c: Case) -> Any:
    return _remat(c)(*c.args), c.f(*c.args)


@law("vjp (remat f) = vjp f", needs="no while")
def remat_keeps_gradients(c: Case) -> Any:
    w = c.cotangents()
    return effax.vjp(_remat(c), *c.args)[1](w), effax.vjp(c.f, *c.args)[1](w)
