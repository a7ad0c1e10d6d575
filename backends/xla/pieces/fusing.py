"""An estimate of what XLA's fusions repeat."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from effax.effects.program import Equation, Program

ELEMENTWISE: Final = frozenset(
    {"elementwise", "comparison", "logical", "selection", "conversion", "transcendental"}
)
"""The families of effects that are fused into what uses them."""
MOVES: Final = frozenset({"broadcast_in_dim", "reshape", "expand_dims", "squeeze", "iota"})
"""Effects that do no more than place elements."""
_CUTS: Final = frozenset({"slice", "pad", "transpose", "rev", "concatenate"})
_DEAR: Final = frozenset({"div", "rem", "sqrt", "rsqrt", "cbrt", "pow"})


def is_cheap(e: Equation) -> bool:
    """Whether XLA would rather do an operation again than keep its result."""
    if len(e.outputs) != 1 or e.effect.name in _DEAR or e.effect.family == "transcendental":
        return False
    return e.effect.family in ELEMENTWISE or e.effect.name in MOVES


def growth(program: Program) -> float:
    """The operations in the fusions of a program, for each operation in the program itself.

    An operation is repeated in each fusion that uses it, unless it is dear and used several times.
    """
    equations = program.equations
    uses = Counter(x for e in equations for x in set(e.inputs))
    needed: set[Any] = set(program.outputs)
    for e in equations:
        if not _is_fused(e) and e.effect.family != "reduction":
            needed.update(e.inputs)
    size: dict[Any, int] = {}
    total = 0
    for e in equations:
        fused = _is_fused(e)
        own = 1
        if fused or e.effect.family == "reduction":
            own += sum(size.get(x, 0) for x in e.inputs)
        repeated = fused and (is_cheap(e) or e.effect.name in _CUTS or uses[e.outputs[0]] == 1)
        if repeated:
            size[e.outputs[0]] = own
        if not repeated or not needed.isdisjoint(e.outputs):
            total += own
        if total > ENOUGH * len(equations):
            return ENOUGH
    return total / max(1, len(equations))


ENOUGH: Final = 1000.0
"""The largest growth that is told from larger ones."""


def _is_fused(e: Equation) -> bool:
    return len(e.outputs) == 1 and (
        e.effect.family in ELEMENTWISE or e.effect.name in MOVES or e.effect.name in _CUTS
    )
