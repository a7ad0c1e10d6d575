"""Reductions under checkify: sums and products may give NaN, choices only pass it on."""

from __future__ import annotations

from effax.effects import reduction as r
from effax.interpreters.checkify.checking import cannot_fail, computes, spreads

computes(r.reduce_sum, r.reduce_prod, r.reduce)
cannot_fail(r.reduce_max, r.reduce_min, r.reduce_and, r.reduce_or, r.reduce_xor, r.argmax, r.argmin)
spreads(r.reduce_sum, r.reduce_prod, r.reduce_max, r.reduce_min)
