"""Booleans and bits in StableHLO."""

from __future__ import annotations

from typing import Final

from effax.backends.xla.lowering.elementwise import operation
from effax.backends.xla.lowering.writer import rule
from effax.effects.effect import Effect
from effax.effects.rows import logical

_OPERATIONS: Final[dict[Effect, str]] = {
    logical.and_: "stablehlo.and",
    logical.or_: "stablehlo.or",
    logical.xor: "stablehlo.xor",
    logical.not_: "stablehlo.not",
    logical.shift_left: "stablehlo.shift_left",
    logical.shift_right_logical: "stablehlo.shift_right_logical",
    logical.shift_right_arithmetic: "stablehlo.shift_right_arithmetic",
    logical.population_count: "stablehlo.popcnt",
    logical.clz: "stablehlo.count_leading_zeros",
}

for _effect, _name in _OPERATIONS.items():
    rule(_effect)(operation(_name))
