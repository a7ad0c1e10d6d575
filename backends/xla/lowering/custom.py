"""Programs with a rule of their own are calls once no one asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from effax.backends.xla.lowering.arrays import array_constant
from effax.backends.xla.lowering.control import lower_call
from effax.backends.xla.lowering.writer import Name, Writer, rule
from effax.effects.program import Program
from effax.effects.rows import custom
from effax.effects.types import ShapedArray
from effax.interpreters.custom_linear import forward


@rule(*custom.RULED)
def lower_custom_call(
    w: Writer, types: Sequence[ShapedArray], *operands: Name, program: Program, **_: Any
) -> list[Name]:
    return lower_call(w, types, *operands, program=program)


@rule(custom.custom_vjp_forward)
def lower_custom_forward(
    w: Writer, types: Sequence[ShapedArray], *operands: Name, forward: Program, **_: Any
) -> list[Name]:
    return lower_call(w, types, *operands, program=forward)


@rule(custom.custom_linear)
def lower_custom_linear(
    w: Writer,
    types: Sequence[ShapedArray],
    *operands: Name,
    residuals: int,
    out_types: tuple[ShapedArray, ...],
    backward: Any,
) -> list[Name]:
    found = forward(residuals, out_types, backward, [x.type for x in operands])
    held = [array_constant(w, np.asarray(x)) for x in found.captured]
    return lower_call(w, types, *held, *operands, program=found.program)
