"""`debug_nans` and `debug_infs`: results are looked at, and what made a NaN is found by replay."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any, Final, NamedTuple

import numpy as np

from effax.backends.xla.array import Array
from effax.effects.config import read
from effax.effects.contexts import put
from effax.effects.frames import Frame, describe, user_frame
from effax.effects.program import Equation, Program, Variable
from effax.effects.provenance import source
from effax.effects.rows import control
from effax.effects.types import is_inexact


class Checked(NamedTuple):
    """A program whose results are looked at.

    One that is `shared`, by all calls of an operation or of a public function, was recorded on the
    line of its first caller; of what it makes, the line that calls it is told.
    """

    program: Program
    shared: bool

    @property
    def caller(self) -> Frame | None:
        """The line to be told, whatever the equations say; None where they know it."""
        return _caller.get() or ((source.frame or user_frame()) if self.shared else None)


_caller: Final[ContextVar[Frame | None]] = ContextVar("effax_caller", default=None)
"""The line that called the shared program that is being run again."""


def look_for_special(
    results: Sequence[Array], checked: Checked, specs: Sequence[Any], buffers: Sequence[Any]
) -> None:
    """Raise `FloatingPointError` where a result holds what the settings forbid.

    The message names the effect that made it and the user's line: the program is run again, one
    effect at a time, unless it holds one effect only, or its operands were given away.
    """
    found = special_in(results)
    if found is None:
        return
    program, caller = checked.program, checked.caller
    usable = not any(b.is_deleted() for b in buffers)
    operands = [Array(b, s) for b, s in zip(buffers, specs, strict=True)] if usable else []
    if len(program.equations) == 1:
        e = program.equations[0]
        inner = _inside(program, e, operands) if usable else None
        if inner is not None:
            _run_again(inner[0], inner[1], caller)
        name = e.effect.name
        sharded = f"Invalid value ({found}) encountered in sharded computation ({name})"
        told = f"invalid value ({found}) encountered in {name}" if name != "shard_map" else sharded
        raise FloatingPointError(f"{told}, at {describe(caller or e.frame)}")
    if usable:
        _run_again(program, operands, caller)
    raise FloatingPointError(
        f"invalid value ({found}) encountered in the compiled function {program.name}; its "
        "effects gave none when run one at a time, so the compiler's rearrangement of them made it"
    )


def _run_again(program: Program, operands: Sequence[Any], caller: Frame | None) -> None:
    """Perform a program effect by effect: whose result is special raises `FloatingPointError`."""
    token = put(_caller, caller)
    try:
        program.run(*operands)
    finally:
        _caller.reset(token)


def special_in(results: Sequence[Any]) -> str | None:
    """Find what the settings forbid among the results: "nan", "inf" or None."""
    return next((what for what in map(_special, results) if what), None)


def _inside(
    program: Program, e: Equation, operands: Sequence[Array]
) -> tuple[Program, list[Any]] | None:
    """The program that a call or a branch runs, and what it is given; None for other effects.

    The equation itself would be performed as the program was, and looked at again for ever.
    """
    from effax.effects.rows.custom import RULED

    known = dict(zip(program.inputs, operands, strict=True))
    given = [known[x] if type(x) is Variable else x.value for x in e.inputs]
    if e.effect in (control.call, control.remat, *RULED):
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
