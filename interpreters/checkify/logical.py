"""Booleans and bits under checkify: nothing can go wrong."""

from __future__ import annotations

from effax.effects import logical as g
from effax.interpreters.checkify.checking import cannot_fail

cannot_fail(g.and_, g.or_, g.xor, g.not_, g.population_count, g.clz)
cannot_fail(g.shift_left, g.shift_right_logical, g.shift_right_arithmetic)
