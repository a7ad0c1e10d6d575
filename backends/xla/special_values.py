"""`debug_nans` and `debug_infs`: results are looked at, and what made a NaN is found by replay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from effax.backends.xla.array import Array
from effax.effects.config import read
from effax.effects.frames import describe
from effax.effects.program import Program
from effax.effects.types import is_inexact


def look_for_special(
    results: Sequence[Array], program: Program, specs: Sequence[Any], buffers: Sequence[Any]
) -> None:
    """Raise `FloatingPointError` where a result holds what the settings forbid.

    The message names the effect that made it and the user's line: the program is run again, one
    effect at a time, unless it holds one effect only, or its operands were given away.
    """
    found = next((what for what in map(_special, results) if what), None)
    if found is None:
        return
    if len(program.equations) == 1 and not program.equations[0].effect.higher_order:
        e = program.equations[0]
        raise FloatingPointError(
            f"invalid value ({found}) encountered in {e.effect.name}, at {describe(e.frame)}"
        )
    if not any(b.is_deleted() for b in buffers):
        program.run(*(Array(b, s) for b, s in zip(buffers, specs, strict=True)))
    raise FloatingPointError(
        f"invalid value ({found}) encountered in the compiled function {program.name}; its effects "
        "one at a time gave none, so the compiler's rearrangement of them made it"
    )


def _special(array: Array) -> str:
    if not is_inexact(array.dtype):
        return ""
    host = np.asarray(array)
    if host.dtype.kind not in "fc":
        host = host.astype(np.float32)
    if read("debug_nans") and np.isnan(host).any():
        return "nan"
    if read("debug_infs") and np.isinf(host).any():
        return "inf"
    return ""
