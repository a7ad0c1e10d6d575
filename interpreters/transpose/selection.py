"""Transposes of selections: the cotangent goes to what was selected."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from effax.effects.rows.comparison import eq, ge, le
from effax.effects.rows.selection import select_n
from effax.effects.types import is_bool, typeof
from effax.interpreters.transpose.linear import is_linear, rule


@rule(select_n, fixed=(0,))
def select_n_transpose(ct: Any, which: Any, *cases: Any) -> Sequence[Any]:
    """For each case the cotangent where it was selected, zero elsewhere."""
    if len(cases) == 1:
        return None, ct
    if is_bool(typeof(which).dtype):
        return (
            None,
            select_n(which, ct, 0.0) if is_linear(cases[0]) else None,
            select_n(which, 0.0, ct) if is_linear(cases[1]) else None,
        )
    # A number below 0 selects the first case, one beyond the last case that one.
    last = len(cases) - 1
    chosen = [le(which, 0), *(eq(which, i) for i in range(1, last)), ge(which, last)]
    return None, *(
        select_n(here, 0.0, ct) if is_linear(case) else None
        for here, case in zip(chosen, cases, strict=True)
    )
