"""Selection: one of several values, element by element."""

from __future__ import annotations

from effax.effects.effect import Effect
from effax.effects.facts import SOUND
from effax.effects.signature import ANY, require, same
from effax.effects.types import ShapedArray, is_bool, is_extended, is_integer

FAMILY = "selection"


def _select_type(which: ShapedArray | None, *cases: ShapedArray | None) -> ShapedArray:
    if which is None:
        raise TypeError("select_n: `which` must be an array, not a Python number")
    if not cases:
        raise ValueError("select_n needs at least one case")
    case = same("select_n", cases)
    if not is_bool(which.dtype) and not is_integer(which.dtype):
        raise TypeError(f"select_n: `which` holds Booleans or integers, not {which.str_short()}")
    if is_bool(which.dtype) and len(cases) > 2:
        raise TypeError(f"select_n: a Boolean chooses between two cases, not {len(cases)}")
    if which.shape and which.shape != case.shape:
        raise TypeError(
            f"select_n: `which` must be a scalar or have the cases' shape, but it is "
            f"{which.str_short()} and the cases are {case.str_short()}"
        )
    if not is_extended(case.dtype):
        require("select_n", ANY, case)
    return case


select_n = Effect(
    "select_n", family=FAMILY, typing=_select_type, literals=True, peers=1, facts=SOUND
)
"""`select_n(which, *cases)`: `cases[which]`; with a Boolean, the first case where it is False."""


def _clamp_type(
    lo: ShapedArray | None, x: ShapedArray | None, hi: ShapedArray | None
) -> ShapedArray:
    if x is None:
        raise TypeError("clamp: the number to be clamped must be an array")
    require("clamp", ANY, x)
    weak = x.weak_type
    for bound in (lo, hi):
        if bound is None:
            continue
        if bound.dtype != x.dtype:
            raise TypeError(
                f"clamp needs bounds of the dtype of {x.str_short()}, not {bound.str_short()}"
            )
        if bound.shape and bound.shape != x.shape:
            raise TypeError(
                f"clamp needs bounds that are scalars or of the shape of {x.str_short()}, not "
                f"{bound.str_short()}"
            )
        weak = weak and bound.weak_type
    return x.update(weak_type=weak)


clamp = Effect("clamp", family=FAMILY, typing=_clamp_type, literals=True, peers=1, facts=SOUND)
"""`clamp(lo, x, hi)`: x where it lies between the bounds, else the nearer bound."""
