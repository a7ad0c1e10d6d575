"""Laws of programs that bring their own derivative: one that is right changes nothing."""

from __future__ import annotations

from typing import Any

import effax
from effax.laws.law import Case, law


def with_own_jvp(c: Case) -> Any:
    """The program, with its own jvp for a rule."""

    @effax.custom_jvp
    def f(*xs: Any) -> Any:
        return c.f(*xs)

    f.defjvp(lambda primals, tangents: effax.jvp(c.f, tuple(primals), tuple(tangents)))
    return f


def with_own_vjp(c: Case) -> Any:
    """The program, with its own vjp for a rule; the arguments are what it keeps."""

    @effax.custom_vjp
    def f(*xs: Any) -> Any:
        return c.f(*xs)

    f.defvjp(lambda *xs: (c.f(*xs), xs), lambda xs, w: effax.vjp(c.f, *xs)[1](w))
    return f


@law("f with jvp f for a rule = f")
def custom_jvp_keeps_values(c: Case) -> Any:
    return with_own_jvp(c)(*c.args), c.f(*c.args)


@law("jvp (f with jvp f for a rule) = jvp f")
def custom_jvp_forward(c: Case) -> Any:
    args, u = tuple(c.args), tuple(c.directions())
    return effax.jvp(with_own_jvp(c), args, u), effax.jvp(c.f, args, u)


@law("vjp (f with jvp f for a rule) = vjp f", needs="no while")
def custom_jvp_backward(c: Case) -> Any:
    w = c.cotangents()
    return effax.vjp(with_own_jvp(c), *c.args)[1](w), effax.vjp(c.f, *c.args)[1](w)


@law("vjp (f with vjp f for a rule) = vjp f", needs="no while")
def custom_vjp_backward(c: Case) -> Any:
    w = c.cotangents()
    return effax.vjp(with_own_vjp(c), *c.args)[1](w), effax.vjp(c.f, *c.args)[1](w)


@law("jvp (f with vjp f for a rule) = jvp f", needs="no while")
def custom_vjp_forward(c: Case) -> Any:
    """Forward mode through a rule for reverse mode: the rule transposed."""
    args, u = tuple(c.args), tuple(c.directions())
    return effax.jvp(with_own_vjp(c), args, u), effax.jvp(c.f, args, u)


@law("vmap (f with jvp f for a rule) = vmap f")
def custom_jvp_batched(c: Case) -> Any:
    args = c.batch()
    return effax.vmap(with_own_jvp(c))(*args), effax.vmap(c.f)(*args)


@law("vmap (vjp (f with vjp f for a rule)) = vmap (vjp f)", needs="no while")
def custom_vjp_batched(c: Case) -> Any:
    args, w = c.batch(), c.cotangents()

    def back(f: Any) -> Any:
        return effax.vmap(lambda *xs: effax.vjp(f, *xs)[1](w))(*args)

    return back(with_own_vjp(c)), back(c.f)
