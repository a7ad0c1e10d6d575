"""Cumulative reductions under checkify: sums and products may give NaN."""

from __future__ import annotations

from effax.effects.cumulative import cumlogsumexp, cummax, cummin, cumprod, cumsum
from effax.interpreters.checkify.checking import cannot_fail, computes

computes(cumsum, cumprod, cumlogsumexp)
cannot_fail(cummax, cummin)
