"""Comparisons under jvp: a Boolean does not move."""

from __future__ import annotations

from effax.effects.comparison import eq, eq_to, ge, gt, le, le_to, lt, lt_to, ne
from effax.interpreters.jvp.dual import fixed

fixed(eq, ne, lt, le, gt, ge, eq_to, lt_to, le_to)
