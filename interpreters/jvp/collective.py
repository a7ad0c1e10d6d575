"""Forward mode: what moves data between places, or adds it up, moves and adds up tangents."""

from __future__ import annotations

from typing import Any

import effax.interpreters.composites.ragged_exchange  # noqa: F401  (for handlers without a column)
from effax.effects.effect import Effect
from effax.effects.rows import collective
from effax.effects.rows.comparison import eq
from effax.effects.rows.conversion import convert_element_type
from effax.effects.rows.elementwise import div, mul
from effax.effects.types import typeof
from effax.interpreters.jvp.dual import linear, rule


def _extremum(effect: Effect) -> None:
    """The tangent of the place that has it; the mean of them where several have."""

    @rule(effect, pure=True)
    def extremum_jvp(primals: list[Any], tangents: list[Any], **axes: Any) -> Any:
        (x,), (dx,) = primals, tangents
        best = effect(x, **axes)
        here = convert_element_type(eq(x, best), dtype=typeof(dx).dtype, weak_type=False)
        total = collective.psum(mul(here, dx), **axes)
        return best, div(total, collective.psum(here, **axes))


_extremum(collective.pmax)
_extremum(collective.pmin)

linear(collective.ragged_all_to_all, fixed=4)
