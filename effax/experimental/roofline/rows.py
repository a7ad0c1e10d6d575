"""The facts of a roofline, a row for each effect or family of effects: operations and bytes.

A row without operations of its own has those of `effax.seeing.costs`. Effects whose family has no
row are unknown: they count as nothing, and a warning says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from effax.effects.effect import Effect
from effax.effects.program import Equation
from effax.effects.rows.indexing import GatherScatterMode
from effax.experimental.roofline.convolutions import products
from effax.seeing.costs import operations

Types = Sequence[Any]
Count = Callable[[Equation, Types, Types], float]
"""A number from an equation and the types of its operands and results, literals being scalars."""


class Row(NamedTuple):
    """Facts of an effect.

    `flops` and `bytes` count its operations and the bytes that it reads and writes. They are
    `fused` where no fusion with its neighbours removes them.
    """

    flops: Count
    bytes: Count
    fused: bool = False


def row_of(effect: Effect) -> Row | None:
    """Return the row of an effect, or of its family; None where there is neither.

    Args:
      effect: the effect.
    """
    return _EFFECTS.get(effect.name) or _FAMILIES.get(effect.family)


def _none(e: Equation, ins: Types, outs: Types) -> int:
    return 0


def _by_family(e: Equation, ins: Types, outs: Types) -> float:
    return operations(e)


def _moved(e: Equation, ins: Types, outs: Types) -> int:
    return _bytes(*ins, *outs)


def _bytes(*types: Any) -> int:
    return sum(t.size * t.dtype.itemsize for t in types)


def _folded(e: Equation, ins: Types, outs: Types) -> int:
    """The sum of n numbers takes n - 1 additions; each result is one."""
    return max(ins[0].size - outs[0].size, 0)


def _axis(e: Equation, ins: Types, outs: Types) -> int:
    return int(ins[0].shape[e.attributes["axis"]])


def _axis_twice(e: Equation, ins: Types, outs: Types) -> int:
    """An exponential and an addition for each element along the axis, and a logarithm."""
    return 2 * _axis(e, ins, outs)


def _convolved(e: Equation, ins: Types, outs: Types) -> int:
    return 2 * products(ins, outs, e.attributes)


def _bounds(e: Equation, ins: Types, outs: Types) -> int:
    """Of a gather that fills: two comparisons, `and` and its fold for each index; a selection."""
    if e.attributes["mode"] is not GatherScatterMode.FILL_OR_DROP:
        return 0
    return int(4 * ins[1].size + outs[0].size)


def _gathered(e: Equation, ins: Types, outs: Types) -> int:
    """The slices are read and written; the rest of the operand is not touched."""
    return 2 * _bytes(outs[0]) + _bytes(ins[1])


def _updates(e: Equation, ins: Types, outs: Types) -> int:
    return int(ins[2].size)


def _scattered(e: Equation, ins: Types, outs: Types) -> int:
    """The updates and the slices that they meet are read, and the slices are written."""
    return 3 * _bytes(ins[2]) + _bytes(ins[1])


def _selected(e: Equation, ins: Types, outs: Types) -> int:
    """Of the cases as many elements are read as there are results, in a fused read."""
    return _bytes(ins[0], *outs)


_COUNTED: Final = Row(_by_family, _moved)
_FREE: Final = Row(_none, _none)
_CUMULATED: Final = Row(_axis, _moved)
_UPDATED: Final = Row(_updates, _scattered)

_FAMILIES: Final[dict[str, Row]] = {
    **dict.fromkeys(("elementwise", "transcendental", "special", "comparison"), _COUNTED),
    **dict.fromkeys(("logical", "complex", "selection", "window", "sorting"), _COUNTED),
    **dict.fromkeys(("linalg", "condensed", "fourier"), _COUNTED),
    "callback": Row(_none, _moved),
    "contraction": Row(_by_family, _moved, fused=True),
    "convolution": Row(_convolved, _moved),
    "cumulative": _CUMULATED,
    "reduction": Row(_folded, _moved),
    # JAX counts random bits, conversions and moved data as nothing: they are fused into others.
    **dict.fromkeys(("accuracy", "check", "collective", "conversion", "indexing"), _FREE),
    **dict.fromkeys(("naming", "random", "shape", "sharding", "state"), _FREE),
}

_EFFECTS: Final[dict[str, Row]] = {
    "copy": _FREE,
    "cumlogsumexp": Row(_axis_twice, _moved),
    "gather": Row(_bounds, _gathered),
    "scatter": Row(_none, _scattered),
    **dict.fromkeys(("scatter_add", "scatter_mul", "scatter_min", "scatter_max"), _UPDATED),
    "select_n": Row(_by_family, _selected),
    "stop_gradient": _FREE,
}
"""Effects that differ from their family."""
