"""Laws of collectives: inside a batch they are what the whole batch is outside."""

from __future__ import annotations

from typing import Any

import effax
from effax.effects import reduction, shape
from effax.effects.types import typeof
from effax.laws.batching import mapped
from effax.laws.law import Case, law, total

_N = 3
_AXIS = "batch"


def _repeated(x: Any) -> Any:
    type = typeof(x)
    dims = tuple(range(1, type.ndim + 1))
    return shape.broadcast_in_dim(x, shape=(_N, *type.shape), dims=dims)


def _summed(x: Any) -> Any:
    return reduction.reduce_sum(x, axes=(0,))


@law("psum inside vmap = the sum outside")
def psum_is_sum(c: Case) -> Any:
    args = c.batch()
    inside = effax.vmap(
        lambda *xs: tuple(effax.lax.psum(y, _AXIS) for y in c.f(*xs)), axis_name=_AXIS
    )
    return inside(*args), tuple(_repeated(_summed(y)) for y in mapped(c.f, args))


@law("psum (jit f) = jit (psum f)")
def psum_commutes_with_jit(c: Case) -> Any:
    args = c.batch()

    def f(*xs: Any) -> Any:
        return tuple(effax.lax.psum(y, _AXIS) for y in c.f(*xs))

    return (
        effax.vmap(effax.jit(f), axis_name=_AXIS)(*args),
        effax.jit(effax.vmap(f, axis_name=_AXIS))(*args),
    )


@law("all_gather inside vmap = the batch")
def all_gather_is_batch(c: Case) -> Any:
    args = c.batch()
    inside = effax.vmap(
        lambda *xs: tuple(effax.lax.all_gather(y, _AXIS) for y in c.f(*xs)), axis_name=_AXIS
    )
    return inside(*args), tuple(_repeated(y) for y in mapped(c.f, args))


@law("jvp (psum f) = psum (jvp f)")
def psum_is_linear(c: Case) -> Any:
    args, u = tuple(c.batch()), tuple(c.batch(shift=1))

    def f(*xs: Any) -> Any:
        return tuple(effax.lax.psum(y, _AXIS) for y in c.f(*xs))

    def moved(xs: Any, us: Any) -> Any:
        ys, ts = effax.jvp(c.f, xs, us)
        return tuple(tuple(effax.lax.psum(y, _AXIS) for y in part) for part in (ys, ts))

    return (
        effax.jvp(effax.vmap(f, axis_name=_AXIS), args, u),
        effax.vmap(moved, axis_name=_AXIS)(args, u),
    )


@law("grad (sum . vmap (psum f)) = n * grad (sum . vmap f)", needs="no while")
def psum_backwards(c: Case) -> Any:
    """Each of n lanes receives the sum, so each result counts n times."""
    args, numbers = c.batch(), tuple(range(len(c.f.types)))

    def gathered(*xs: Any) -> Any:
        inside = effax.vmap(lambda *ys: effax.lax.psum(total(c.f(*ys)), _AXIS), axis_name=_AXIS)
        return _summed(inside(*xs))

    def plain(*xs: Any) -> Any:
        return total([total(effax.vmap(c.f)(*xs))] * _N)

    return effax.grad(gathered, argnums=numbers)(*args), effax.grad(plain, argnums=numbers)(*args)
