"""Laws of collectives: inside a batch they are what the whole batch is outside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import effax
import effax.numpy as jnp
from effax.effects.rows import reduction, shape
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


def _rows_of(x: Any) -> Any:
    """As many arrays in each lane as there are lanes: the array times 1, 2, ..."""
    return jnp.stack([x * jnp.asarray(k + 1, typeof(x).dtype) for k in range(_N)])


def _exchanged(x: Any) -> Any:
    """One row to each lane, as slices of one row."""
    rows, each = _rows_of(x), jnp.ones(_N, jnp.int32)
    mine = jnp.full(_N, effax.lax.axis_index(_AXIS))
    vectors = jnp.arange(_N), each, mine, each
    return effax.lax.ragged_all_to_all(rows, jnp.zeros_like(rows), *vectors, axis_name=_AXIS)


def _swapped(x: Any) -> Any:
    return jnp.swapaxes(effax.vmap(_rows_of)(x), 0, 1)


def _next(x: Any) -> Any:
    return effax.lax.ppermute(x, _AXIS, [(i, (i + 1) % _N) for i in range(_N)])


def _numbered(x: Any) -> Any:
    return x * jnp.asarray(effax.lax.axis_index(_AXIS), typeof(x).dtype)


def _by_number(x: Any) -> Any:
    numbers = jnp.arange(_N, dtype=typeof(x).dtype)
    return x * numbers.reshape(_N, *[1] * (typeof(x).ndim - 1))


_COLLECTIVES: Final[tuple[tuple[Callable[[Any], Any], Callable[[Any], Any]], ...]] = (
    (lambda x: effax.lax.psum(x, _AXIS), lambda x: _repeated(_summed(x))),
    (lambda x: effax.lax.all_gather(x, _AXIS), _repeated),
    (_next, lambda x: jnp.roll(x, 1, 0)),
    (_numbered, _by_number),
    (lambda x: effax.lax.all_to_all(_rows_of(x), _AXIS, 0, 0), _swapped),
    (_exchanged, _swapped),
    (
        lambda x: effax.lax.psum_scatter(_rows_of(x), _AXIS),
        lambda x: _summed(effax.vmap(_rows_of)(x)),
    ),
)
"""Pairs: a collective performed in each lane, and the same computed on the whole batch."""
_ORDERED: Final[tuple[tuple[Callable[[Any], Any], Callable[[Any], Any]], ...]] = (
    (lambda x: effax.lax.pmax(x, _AXIS), lambda x: _repeated(jnp.max(x, 0))),
    (lambda x: effax.lax.pmin(x, _AXIS), lambda x: _repeated(jnp.min(x, 0))),
)
"""The pairs that have no derivative."""


def _both(c: Case, found: Sequence[Any]) -> tuple[Any, Any]:
    """A function of one lane that speaks to others in these ways, and of the batch."""
    return (
        lambda *xs: tuple(inside(y) for y in c.f(*xs) for inside, _ in found),
        lambda *xs: tuple(outside(y) for y in effax.vmap(c.f)(*xs) for _, outside in found),
    )


@law("collectives inside vmap = the same of the batch")
def collectives_are_of_the_batch(c: Case) -> Any:
    args = c.batch()
    lane, whole = _both(c, (*_COLLECTIVES, *_ORDERED))
    return effax.vmap(lane, axis_name=_AXIS)(*args), whole(*args)


@law("vmap (jvp f) = jvp of the same of the batch, f with collectives")
def collectives_forwards(c: Case) -> Any:
    args, u = tuple(c.batch()), tuple(c.batch(shift=1))
    lane, whole = _both(c, _COLLECTIVES)
    moved = effax.vmap(lambda xs, us: effax.jvp(lane, xs, us), axis_name=_AXIS)
    return moved(args, u), effax.jvp(whole, args, u)


@law("vmap (vjp f) = vjp of the same of the batch, f with collectives", needs="no while")
def collectives_backwards(c: Case) -> Any:
    args = c.batch()
    lane, whole = _both(c, _COLLECTIVES)

    def pulled(f: Any) -> Any:
        def back(*xs: Any) -> Any:
            ys, pull = effax.vjp(f, *xs)
            return pull(tuple(map(jnp.sin, ys)))

        return back

    return effax.vmap(pulled(lane), axis_name=_AXIS)(*args), pulled(whole)(*args)


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
