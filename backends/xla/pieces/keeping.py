"""The most memory that is taken at one time by what is kept between the steps of a program."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from effax.effects.program import Program

Step = tuple[Collection[Any], Sequence[Any]]
"""The variables that are read, and those that are written."""


def steps_of(program: Program) -> list[Step]:
    """The equations of a program as steps."""
    return [(e.inputs, e.outputs) for e in program.equations]


def most_kept(steps: Iterable[Step], outputs: Sequence[Any]) -> int:
    """The most bytes of results of steps that later steps, or the outputs, still need."""
    steps = list(steps)
    last = {x: i for i, (reads, _) in enumerate(steps) for x in reads}
    last.update(dict.fromkeys(outputs, len(steps)))
    freed: list[int] = [0] * (len(steps) + 1)
    kept = most = 0
    for i, (_, written) in enumerate(steps):
        for x in written:
            if x in last:
                size = size_of(x)
                kept += size
                freed[last[x]] += size
        most = max(most, kept)
        kept -= freed[i]
    return most


def size_of(x: Any) -> int:
    """The bytes of a value; 0 if its elements have no size."""
    return math.prod(x.type.shape) * getattr(x.type.dtype, "itemsize", 0)
