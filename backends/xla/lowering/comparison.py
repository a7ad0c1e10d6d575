"""Comparisons in StableHLO."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from effax.backends.xla.lowering.elementwise import compare
from effax.backends.xla.lowering.writer import Name, Writer, rule
from effax.effects.effect import Effect
from effax.effects.rows.comparison import eq, eq_to, ge, gt, le, le_to, lt, lt_to, ne
from effax.effects.types import ShapedArray

_DIRECTIONS: Final = {eq: "EQ", ne: "NE", lt: "LT", le: "LE", gt: "GT", ge: "GE"}
_TOTAL: Final = {eq_to: "EQ", lt_to: "LT", le_to: "LE"}


def _comparison(effect: Effect, direction: str, total: bool) -> None:
    @rule(effect)
    def lower_comparison(w: Writer, types: Sequence[ShapedArray], x: Name, y: Name) -> Name:
        return compare(w, direction, x, y, total)


for _effect, _direction in _DIRECTIONS.items():
    _comparison(_effect, _direction, total=False)
for _effect, _direction in _TOTAL.items():
    _comparison(_effect, _direction, total=True)
