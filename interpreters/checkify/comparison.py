"""Comparisons under checkify: they give Booleans, also of NaN."""

from __future__ import annotations

from effax.effects.comparison import eq, eq_to, ge, gt, le, le_to, lt, lt_to, ne
from effax.interpreters.checkify.checking import cannot_fail

cannot_fail(eq, ne, lt, le, gt, ge, eq_to, lt_to, le_to)
