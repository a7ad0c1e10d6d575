"""Selections under jvp: the tangent of what was selected."""

from __future__ import annotations

from typing import Any

from effax.effects.effect import LITERALS
from effax.effects.rows import shape
from effax.effects.rows.comparison import gt, lt
from effax.effects.rows.logical import and_
from effax.effects.rows.selection import clamp, select_n
from effax.effects.types import typeof
from effax.interpreters.jvp.dual import rule, total


@rule(select_n, pure=True)
def select_n_jvp(primals: list[Any], tangents: list[Any]) -> Any:
    """Linear in the cases; a missing tangent is a literal zero."""
    ans = select_n(*primals)
    cases = tangents[1:]
    if all(t is None for t in cases):
        return ans, None
    return ans, select_n(primals[0], *(0.0 if t is None else t for t in cases))


@rule(clamp, pure=True)
def clamp_jvp(primals: list[Any], tangents: list[Any]) -> Any:
    """The tangent of x inside the bounds, that of a bound outside of it."""
    ans = clamp(*primals)
    x = primals[1]
    lo, hi = _spread(primals[0], x), _spread(primals[2], x)
    dlo, dx, dhi = (None if t is None else _spread(t, x) for t in tangents)
    terms = []
    if dlo is not None:
        terms.append(select_n(and_(gt(lo, x), _below(lo, hi, x)), 0.0, dlo))
    if dx is not None:
        terms.append(select_n(and_(gt(x, lo), lt(x, hi)), 0.0, dx))
    if dhi is not None:
        terms.append(select_n(gt(x, hi), 0.0, dhi))
    return ans, total(terms)


def _spread(bound: Any, x: Any) -> Any:
    """A bound in the shape of x."""
    if type(bound) in LITERALS or typeof(bound).shape == typeof(x).shape:
        return bound
    return shape.broadcast_in_dim(bound, shape=typeof(x).shape, dims=())


def _below(lo: Any, hi: Any, x: Any) -> Any:
    if type(lo) in LITERALS and type(hi) in LITERALS:
        return shape.full(typeof(x).shape, lo < hi, bool)
    return lt(lo, hi)
