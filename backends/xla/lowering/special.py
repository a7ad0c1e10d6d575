"""Special functions: CHLO's, which the compiler expands, and those written out in effects."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from effax.backends.xla.lowering.control import while_text
from effax.backends.xla.lowering.elementwise import converted, operation
from effax.backends.xla.lowering.writer import Name, Writer, rule
from effax.effects.effect import Effect
from effax.effects.rows import special
from effax.effects.rows.comparison import eq, gt, lt
from effax.effects.rows.conversion import convert_element_type
from effax.effects.rows.elementwise import add, floor, mul, neg, sub
from effax.effects.rows.logical import and_
from effax.effects.rows.reduction import reduce_or
from effax.effects.types import ShapedArray, float32, int32, typeof
from effax.interpreters.composites.calculus import like
from effax.interpreters.composites.expansions import EXPANSIONS, even, expand, where
from effax.interpreters.composites.gamma_zeros import with_zeros

_OPERATIONS: Final[dict[Effect, str]] = {
    special.erf: "chlo.erf",
    special.erfc: "chlo.erfc",
    special.erf_inv: "chlo.erf_inv",
    special.digamma: "chlo.digamma",
    special.bessel_i1e: "chlo.bessel_i1e",
}

for _effect, _name in _OPERATIONS.items():
    rule(_effect)(operation(_name))


def _expansion(effect: Effect) -> None:
    @rule(effect)
    def lower_expansion(w: Writer, types: Sequence[ShapedArray], *xs: Name) -> Any:
        return w.body(expand(effect, [x.type for x in xs]), xs)[0]


for _effect in EXPANSIONS:
    if _effect.family == special.FAMILY:
        _expansion(_effect)


@rule(special.lgamma)
def lower_lgamma(w: Writer, types: Sequence[ShapedArray], x: Name) -> Name:
    wide = types[0].update(dtype=float32) if x.dtype.itemsize < 4 else types[0]
    x = converted(w, x, wide)
    far = operation("chlo.lgamma")(w, [wide], x)
    return converted(w, w.performed(with_zeros, x, far), types[0])


@rule(special.zeta)
def lower_zeta(w: Writer, types: Sequence[ShapedArray], s: Name, q: Name) -> Name:
    """XLA (0.10.2) adds up nine terms and then a series for q > 0: it is wrong below q = -9.

    There it is taken of three others, as the terms before the first k with q + k > 0 are those of
    `zeta(s, 1 - f)` that `zeta(s, 1 - q)` lacks, but for their signs (f is the fraction of q):
    `zeta(s, q) = zeta(s, f) + (-1)**s * (zeta(s, 1 - f) - zeta(s, 1 - q))`.
    """
    direct = operation("chlo.zeta")
    wide = types[0].update(dtype=float32) if s.dtype.itemsize < 4 else types[0]
    s, q = (converted(w, x, wide) for x in (s, q))

    def step(i: Name, n: Name, s: Name, q: Name, total: Name) -> list[Name]:
        term = direct(w, [wide], s, w.performed(_place, i, q))
        following = w.performed(lambda i: add(i, 1), i)
        return [following, n, s, q, w.performed(_with_term, i, s, q, total, term)]

    n = w.performed(_terms, q)
    carry = [w.constant(0, n.type), n, s, q, w.constant(0, wide)]
    *_, total = while_text(w, carry, lambda i, n, *_: [w.performed(lt, i, n)], step)
    return converted(w, total, types[0])


def _far(q: Any) -> Any:
    return and_(lt(q, -8.0), gt(q, -math.inf))


def _terms(q: Any) -> Any:
    """Return the number of zeta terms: one, unless an element is far below 0."""
    far = reduce_or(_far(q), axes=tuple(range(typeof(q).ndim)))
    return add(mul(convert_element_type(far, dtype=int32), 2), 1)


def _place(i: Any, q: Any) -> Any:
    """Return the argument of the i-th zeta term: f, 1 - f, 1 - q."""
    fraction = sub(q, floor(q))
    return where(eq(i, 0), where(_far(q), fraction, q), sub(1.0, where(eq(i, 1), fraction, q)))


def _with_term(i: Any, s: Any, q: Any, total: Any, term: Any) -> Any:
    sign = where(even(s), like(s, 1.0), where(eq(floor(s), s), like(s, -1.0), like(s, math.nan)))
    signed = mul(where(eq(i, 1), sign, neg(sign)), term)
    more = and_(_far(q), gt(s, 1.0))  # at s = 1 every term is infinite
    return where(eq(i, 0), term, where(more, add(total, signed), total))
