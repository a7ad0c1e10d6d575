"""Donated operands whose memory no result can take over."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence

from effax.effects.program import Program
from effax.effects.types import ShapedArray


def warn_of_unusable(program: Program, donated: Sequence[int]) -> None:
    """Warn of donated operands that the program reads and that have no result of their size.

    The caller keeps their memory, though the donation was probably meant to save it.
    """
    sizes = Counter(_nbytes(t) for t in program.out_types)
    read = {x for equation in program.equations for x in equation.inputs}
    read.update(program.outputs)
    unusable = []
    for position in donated:
        variable = program.inputs[position]
        size = _nbytes(variable.type)
        if sizes[size]:
            sizes[size] -= 1
        elif variable in read:
            unusable.append(variable.type)
    if unusable:
        listed = ", ".join(f"{t.dtype}[{','.join(map(str, t.shape))}]" for t in unusable)
        warnings.warn(
            f"Some donated buffers were not usable: {listed}. No result has their size, so the "
            "caller keeps them; leave them out of donate_argnums",
            stacklevel=2,
        )


def _nbytes(type: ShapedArray) -> int:
    return type.size * type.dtype.itemsize
