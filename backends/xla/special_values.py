"""`debug_nans` and `debug_infs`: results are looked at, and what made a NaN is found by replay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from effax.backends.xla.array import Array
from effax.effects.config import read
from effax.effects.frames import describe
from effax.effects.program import Equation, Program, Variable
from effax.effects.rows import control
from effax.effects.types import is_inexact


def look_for_special(
    results: Sequence[Array], program: Program, specs: Sequence[Any], buffers: Sequence[Any]
) -> None:
    """Raise `FloatingPointError` where a result holds what the settings forbid.

    The message names the effect that made it and the user's line: the program is run again, one
    effect at a time, unless it holds one effect only, or its operands were given away.
    """
    found = special_in(results)
    if found is None:
        return
    usable = not any(b.is_deleted() for b in buffers)
    operands = [Array(b, s) for b, s in zip(buffers, specs, strict=True)] if usable else []
    if len(program.equations) == 1:
        e = program.equations[0]
        inner = _inside(program, e, operands) if usable else None
        if inner is not None:
            inner[0].run(*inner[1])
        name = e.effect.name
        sharded = f"Invalid value ({found}) encountered in sharded computation ({name})"
        told = f"invalid value ({found}) encountered in {name}" if name != "shard_map" else sharded
        raise FloatingPointError(f"{told}, at {describe(e.frame)}")
    if usable:
        program.run(*operands)
    raise FloatingPointError(
        f"invalid value ({found}) encountered in the compiled function {program.name}; its "
        "effects gave none when run one at a time, so the compiler's rearrangement of them made it"
    )


def special_in(results: Sequence[Any]) -> str | None:
    """Find what the settings forbid among the results: "nan", "inf" or None."""
    return next((what for what in map(_special, results) if what), None)


def _inside(
    program: Program, e: Equation, operands: Sequence[Array]
) -> tuple[Program, list[Any]] | None:
    """The program that a call or a branch runs, and what it is given; None for other effects.

    The equation itself would be performed as the program was, and looked at again for ever.
    """
    known = dict(zip(program.inputs, operands, strict=True))
    given = [known[x] if type(x) is Variable else x.value for x in e.inputs]
    if e.effect is control.call or e.effect is control.remat:
        return e.attributes["program"], given
    if e.effect is control.cond:
        branches = e.attributes["branches"]
        return branches[min(max(int(given[0]), 0), len(branches) - 1)], given[1:]
    return None


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
