"""Selections in StableHLO."""

from __future__ import annotations

from collections.abc import Sequence

from effax.backends.xla.lowering.elementwise import compare, lower_max, lower_min
from effax.backends.xla.lowering.shape import filled
from effax.backends.xla.lowering.writer import Name, Writer, rule
from effax.effects.rows.selection import clamp, select_n
from effax.effects.types import ShapedArray, is_bool, is_complex


@rule(select_n)
def lower_select_n(w: Writer, types: Sequence[ShapedArray], which: Name, *cases: Name) -> Name:
    type = types[0]
    if len(cases) == 1:
        return cases[0]
    if is_bool(which.dtype):
        return w.simple("select", [which, cases[1], cases[0]], type)
    # Indices that are too large choose the last case, negative ones the first.
    result = cases[0]
    for i, case in enumerate(cases[1:], 1):
        reached = compare(w, "GE", which, w.constant(i, which.type))
        result = w.simple("select", [reached, case, result], type)
    return result


@rule(clamp)
def lower_clamp(w: Writer, types: Sequence[ShapedArray], lo: Name, x: Name, hi: Name) -> Name:
    type = types[0]
    ordered = not is_bool(type.dtype) and not is_complex(type.dtype)
    if ordered and lo.shape == hi.shape == ():
        return w.simple("clamp", [lo, x, hi], type)
    # StableHLO requires both bounds to be scalars, or both to be full arrays.
    lo, hi = (b if b.shape == type.shape else filled(w, b, type) for b in (lo, hi))
    if ordered:
        return w.simple("clamp", [lo, x, hi], type)
    return lower_min(w, types, lower_max(w, types, lo, x), hi)
