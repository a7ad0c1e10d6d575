"""Logical effects under batch: the batch axis is one more axis."""

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
from effax.interpreters.batch.batched import elementwise

elementwise(and_, or_, xor, not_, shift_left, shift_right_logical, shift_right_arithmetic)
elementwise(population_count, clz)
