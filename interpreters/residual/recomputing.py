"""Recomputation in linear programs, where it costs less than storing a residual.

A comparison of a value that is stored anyway, a broadcast, an iota, a conversion from a narrower
type: XLA fuses them into what uses them, so storing their results costs memory and saves nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final

from effax.effects.effect import Effect
from effax.effects.program import Equation, Variable
from effax.effects.rows import (
    comparison,
    conversion,
    elementwise,
    logical,
    naming,
    selection,
    shape,
)
from effax.effects.types import ShapedArray
from effax.effects.value import surely

STRUCTURAL: Final[frozenset[Effect]] = frozenset(
    {
        comparison.eq,
        comparison.ge,
        comparison.gt,
        comparison.le,
        comparison.lt,
        comparison.ne,
        conversion.convert_element_type,
        elementwise.copy,
        logical.and_,
        logical.not_,
        logical.or_,
        logical.xor,
        naming.annotated,
        naming.named,
        selection.select_n,
        shape.broadcast_in_dim,
        shape.iota,
        shape.reshape,
        shape.rev,
        shape.slice,
        shape.transpose,
    }
)
"""Effects that move elements, or compare them: done again wherever that stores less."""

ARITHMETIC: Final[frozenset[Effect]] = frozenset(
    {
        elementwise.abs,
        elementwise.add,
        elementwise.div,
        elementwise.max,
        elementwise.min,
        elementwise.mul,
        elementwise.neg,
        elementwise.sign,
        elementwise.sub,
    }
)
"""Effects that cost less than writing and reading a result: done again, `MOST` in a row."""
MOST: Final = 4


def recompute(
    equations: Sequence[Equation],
    needed: Sequence[Variable],
    free: Collection[Variable],
) -> tuple[list[Equation], list[Variable]]:
    """Return the equations that are better computed again than stored, and the operands they need.

    `free` are inputs that cost nothing to be kept. An equation is chosen where all that it
    needs and that would not be stored otherwise has fewer bytes than its result.
    """
    costs = _costs(equations, needed, free)
    wanted = dict.fromkeys(needed)
    again: list[Equation] = []
    for e in reversed(equations):
        if len(e.outputs) != 1 or e.outputs[0] not in wanted:
            continue
        cost = costs.again.get(e.outputs[0])
        if cost is None or not is_less(cost, size(e.outputs[0].type)):
            continue
        del wanted[e.outputs[0]]
        wanted.update((x, None) for x in e.inputs if type(x) is Variable)
        again.append(e)
    again.reverse()
    return again, list(wanted)


class _Costs:
    """The bytes to store for a variable in addition: its own, or those to compute it again."""

    __slots__ = ("again", "have", "work")

    def __init__(self) -> None:
        self.have: dict[Variable, int] = {}
        self.again: dict[Variable, int] = {}
        self.work: dict[Variable, int] = {}


def _costs(
    equations: Sequence[Equation], needed: Sequence[Variable], free: Collection[Variable]
) -> _Costs:
    costs = _Costs()
    have = costs.have
    have.update(dict.fromkeys(needed, 0))

    def cost(x: Any) -> int:
        if type(x) is not Variable:
            return 0
        if x not in have:
            have[x] = 0 if x in free else size(x.type)
        return have[x]

    for e in equations:
        arithmetic = e.effect in ARITHMETIC
        if not arithmetic and e.effect not in STRUCTURAL:
            continue
        (output,) = e.outputs
        work = arithmetic + sum(costs.work.get(x, 0) for x in e.inputs if type(x) is Variable)
        if work > MOST:
            continue
        costs.work[output] = work
        costs.again[output] = sum(map(cost, e.inputs))
        if output not in have:
            again = costs.again[output]
            have[output] = again if is_less(again, size(output.type)) else size(output.type)
    return costs


def is_less(cost: Any, other: Any) -> bool:
    """Whether a number of bytes is less than another; of symbolic ones, whether it always is."""
    return surely(lambda: cost < other)


def size(type: ShapedArray) -> int:
    """Return the number of bytes in a value of the type."""
    return type.size * type.dtype.itemsize
