"""Costs of equations: operations and bytes, from their types alone.

An estimate for pictures: one operation for each element of an elementwise effect, two for each
product of a contraction, the usual counts for matrices, transforms and sorts. Moving data is no
operation. The bytes are those of operands and results. A loop costs its steps, a kernel its points;
`while` counts as one step, `cond` as its dearest branch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from effax.effects.program import Equation, Program
from effax.effects.rows.kernel import points


class Cost(NamedTuple):
    """Operations, and bytes of operands and results."""

    flops: float
    bytes: float


def cost(e: Equation) -> Cost:
    """The cost of an equation, with the programs inside it."""
    inside = [(total(p.equations), times) for p, times in runs(e)]
    if not inside:
        return Cost(operations(e), bytes_moved(e))
    if e.effect.name == "cond":
        return max(one for one, _ in inside)
    flops, moved = (sum(one[i] * times for one, times in inside) for i in range(2))
    return Cost(flops, moved)


def runs(e: Equation) -> list[tuple[Program, int]]:
    """The programs that performing an equation runs, each with how often; all branches of `cond`.

    Programs that belong to other transforms are left out: the transposed solver of a linear solve,
    and the primal program of a call of its forward half.
    """
    name, given = e.effect.name, e.attributes
    if name == "scan":
        return [(given["body"], given["length"])]
    if name == "kernel":
        return [(given["program"], points(given["grid"]))]
    if e.effect.family in ("reduction", "window"):
        return []  # a fold by a program counts as one operation for each element, as any other
    only = _RUN.get(name)
    return [(p, 1) for p in ([given[only]] if only is not None else e.programs())]


_RUN: Final = {
    "custom_vjp_forward": "forward",
    "each_lane": "program",
    "linear_solve": "solve",
}
"""Effects that run one of their programs, and the attribute that it is."""


def operations(e: Equation) -> float:
    """The operations of an equation by its family, as if it had no programs inside."""
    ins, outs = [x.type for x in e.inputs], [x.type for x in e.outputs]
    return _FLOPS.get(e.effect.family, _nothing)(e, ins, outs)


def bytes_moved(e: Equation) -> float:
    """The bytes of an equation's operands and results."""
    types = [x.type for x in (*e.inputs, *e.outputs)]
    return float(sum(t.size * t.dtype.itemsize for t in types))


def total(equations: Sequence[Equation]) -> Cost:
    """The cost of equations one after another."""
    found = list(map(cost, equations))
    return Cost(sum(c.flops for c in found), sum(c.bytes for c in found))


Count = Callable[[Equation, Sequence[Any], Sequence[Any]], float]


def _nothing(e: Equation, ins: Sequence[Any], outs: Sequence[Any]) -> float:
    return 0.0


def _each_result(e: Equation, ins: Sequence[Any], outs: Sequence[Any]) -> float:
    return float(sum(t.size for t in outs))


def _each_operand(e: Equation, ins: Sequence[Any], outs: Sequence[Any]) -> float:
    return float(max(t.size for t in ins))


def _contraction(e: Equation, ins: Sequence[Any], outs: Sequence[Any]) -> float:
    dimensions = e.attributes.get("dimension_numbers")
    if e.effect.name != "dot_general" or dimensions is None:
        return 2.0 * outs[0].size * (ins[0].shape[-1] if ins[0].shape else 1)
    return 2.0 * outs[0].size * math.prod(ins[0].shape[i] for i in dimensions[0][0])


def _convolution(e: Equation, ins: Sequence[Any], outs: Sequence[Any]) -> float:
    features = ins[1].shape[e.attributes["dimension_numbers"][1][0]]
    return 2.0 * outs[0].size * ins[1].size / max(features, 1)


def _matrices(e: Equation, ins: Sequence[Any], outs: Sequence[Any]) -> float:
    shape = ins[0].shape
    return float(ins[0].size * min(shape[-2:])) if len(shape) > 1 else float(ins[0].size)


def _transform(e: Equation, ins: Sequence[Any], outs: Sequence[Any]) -> float:
    return 5.0 * ins[0].size * math.log2(max(math.prod(outs[0].shape[-1:]), 2))


def _sort(e: Equation, ins: Sequence[Any], outs: Sequence[Any]) -> float:
    return ins[0].size * math.log2(max(ins[0].size, 2))


_FLOPS: Final[dict[str, Count]] = {
    **dict.fromkeys(
        ("elementwise", "transcendental", "special", "comparison", "logical", "selection"),
        _each_result,
    ),
    **dict.fromkeys(("complex", "random"), _each_result),
    **dict.fromkeys(("reduction", "cumulative", "window"), _each_operand),
    "contraction": _contraction,
    "convolution": _convolution,
    "linalg": _matrices,
    "condensed": _matrices,
    "fourier": _transform,
    "sorting": _sort,
}
"""Operations by family; those that are not here move data."""
