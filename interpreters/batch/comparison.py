"""Comparisons under batch: the batch axis is one more axis."""

from __future__ import annotations

from effax.effects.comparison import (
    eq,
    eq_to,
    ge,
    gt,
    le,
    le_to,
    lt,
    lt_to,
    ne,
)
from effax.interpreters.batch.batched import elementwise

elementwise(eq, ne, lt, le, gt, ge, eq_to, lt_to, le_to)
