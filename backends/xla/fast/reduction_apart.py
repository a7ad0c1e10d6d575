"""Folds of what is dear to compute, in functions of their own.

XLA computes a fold's operand inside the fold, and LLVM makes no vectors of it where that is much:
the place of the maximum in 100 000 rows of 16 takes 0.2 ms, the arcsine of as many elements 0.6,
both in one kernel 14; of random numbers 11 instead of 1.6. A function that is not inlined gets its
operand written down.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

from effax.backends.xla.fast.path import PATHS, taken
from effax.backends.xla.lowering.writer import Name, Writer, rules
from effax.effects.dtypes import bit_width
from effax.effects.effect import Effect
from effax.effects.program import Equation, Program
from effax.effects.rows import control, elementwise, reduction, special, transcendental
from effax.effects.types import ShapedArray
from effax.effects.value import is_symbolic
from effax.interpreters.stage import stage

LEAST, MOST = 1 << 14, 1 << 22
"""Elements from which it is worth it, and up to which writing the operand down is not all."""
ONE: Final = frozenset({"elementwise", "comparison", "logical", "selection", "conversion"})
"""Families of effects that cost 1."""
MANY: Final = frozenset({"transcendental", "special", "random"})
"""Families of effects that cost 24, but for these."""
COSTS: Final[dict[Effect, int]] = {
    elementwise.div: 2,
    elementwise.rem: 2,
    elementwise.cbrt: 24,
    elementwise.pow: 24,
    special.erf: 12,
    transcendental.acosh: 12,
    transcendental.atanh: 12,
    transcendental.expm1: 12,
    transcendental.cos: 3,
    transcendental.cosh: 3,
    transcendental.exp: 3,
    transcendental.exp2: 3,
    transcendental.log: 3,
    transcendental.log1p: 3,
    transcendental.logistic: 3,
    transcendental.sin: 3,
    transcendental.tan: 3,
    transcendental.tanh: 3,
}
"""By folds of them and their results, apart and in one kernel, on 1.6 million elements."""


def in_functions(
    cost_of_places: Callable[..., float], cost_of_extrema: Callable[..., float]
) -> None:
    """Put the functions before the rules of these folds, on CPUs.

    The writer, an operand and the attributes give the cost of an element from which a function is
    faster.
    """
    for places in (reduction.argmax, reduction.argmin):
        _in_function(places, cost_of_places)
    for extrema in (reduction.reduce_max, reduction.reduce_min):
        _in_function(extrema, cost_of_extrema)


def _in_function(effect: Effect, limit: Callable[..., float]) -> None:
    within = rules[effect]

    def lower_fold(w: Writer, types: Sequence[ShapedArray], x: Name, **attributes: Any) -> Name:
        if not _known(w, x) or not taken("fold") or not _is_dear(w, limit(w, x, **attributes)):
            return within(w, types, x, **attributes)
        program = _alone(effect, x.type.cut_by(None), tuple(attributes.items()))
        return w.call(w.function(program, effect.name), [x], types, apart=True, own=True)[0]

    rules[effect] = lower_fold
    PATHS["fold"] = effect


def _known(w: Writer, x: Name) -> bool:
    if w.platform != "cpu" or w.plainly or w.mesh is not None or is_symbolic(x.type.shape):
        return False
    if bit_width(x.dtype) < 32:  # written down, its elements are narrowed and widened again
        return False
    return LEAST <= x.type.size <= MOST


@lru_cache(256)
def _alone(effect: Effect, type: ShapedArray, attributes: tuple[tuple[str, Any], ...]) -> Program:
    how = dict(attributes)
    return stage(lambda x: [effect(x, **how)], [type], effect.name).program


def _is_dear(w: Writer, limit: float) -> bool:
    """Whether an element costs so much of the operand of the equation that is being written."""
    if limit == math.inf:
        return False
    if w.makers is None or w.makers[0] is not w.program:
        w.makers = w.program, {x: e for e in w.program.equations for x in e.outputs}
    made = w.makers[1]
    seen: set[Any] = set()
    left, cost = list(w.equation.inputs), 0
    while left and cost < limit:
        e = made.get(left.pop())
        if e is not None and e not in seen and _is_fused(e):
            seen.add(e)
            cost += _cost(e)
            left.extend(e.inputs)
    return cost >= limit


def _is_fused(e: Equation) -> bool:
    """Whether XLA would compute it inside a fold."""
    if e.effect is control.call:
        return not e.attributes.get("apart")
    return e.effect.family in ONE | MANY | {"shape"}


def _cost(e: Equation) -> int:
    if e.effect is control.call:
        return sum(map(_cost, e.attributes["program"].equations))
    family = e.effect.family
    return COSTS.get(e.effect, 1 if family in ONE else 24 if family in MANY else 0)
