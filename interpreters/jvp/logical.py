"""Logical effects under jvp: bits do not move."""

from __future__ import annotations

from effax.effects.logical import (
    and_,
    clz,
    not_,
    or_,
    population_count,
    shift_left,
    shift_right_arithmetic,
    shift_right_logical,
    xor,
)
from effax.interpreters.jvp.dual import fixed

fixed(and_, or_, xor, not_, population_count, clz)
fixed(shift_left, shift_right_logical, shift_right_arithmetic)
