"""Contraction in StableHLO."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from effax.backends.xla.lowering.writer import Name, Writer, rule, tensor
from effax.effects import contraction
from effax.effects.types import ShapedArray


def precision_names(precision: Any) -> str:
    """The precision of both operands, in StableHLO's words."""
    return ", ".join(precision) if precision else "DEFAULT, DEFAULT"


def widened(w: Writer, *operands: Name) -> list[Name]:
    """Operands as XLA multiplies them: on the CPU, narrow floats are widened first."""
    if w.platform != "cpu":
        return list(operands)
    wide = np.dtype(np.float32)
    return [
        w.simple("convert", [x], x.type.update(dtype=wide))
        if x.dtype.name.startswith(("float8_", "float6_", "float4_"))
        else x
        for x in operands
    ]


@rule(contraction.dot_general)
def lower_dot_general(
    w: Writer,
    types: Sequence[ShapedArray],
    lhs: Name,
    rhs: Name,
    *,
    dimension_numbers: Any,
    precision: Any,
    preferred_element_type: Any,
) -> Name:
    (type,) = types
    lhs, rhs = widened(w, lhs, rhs)
    contracting, batching = (
        " x ".join(f"[{', '.join(map(str, side))}]" for side in pair) for pair in dimension_numbers
    )
    batch = f"batching_dims = {batching}, " if dimension_numbers[1][0] else ""
    return w.op(
        f"stablehlo.dot_general {lhs}, {rhs}, {batch}contracting_dims = {contracting}, "
        f"precision = [{precision_names(precision)}] : ({lhs.text}, {rhs.text}) -> {tensor(type)}",
        type,
    )
