"""Branches of one `cond`: they take the same operands, and write the same, whichever is taken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from effax.effects.program import Program, Variable


def align_captured(lifted: Sequence[Any]) -> tuple[Program, ...]:
    """Branches that take what every one of them captured, in order, then their own inputs."""
    spare = [[Variable(None, x.type) for x in _captures(one)] for one in lifted]
    programs = []
    for i, one in enumerate(lifted):
        n = len(one.captured)
        inputs: list[Variable] = []
        for j, unused in enumerate(spare):
            inputs += one.program.inputs[:n] if i == j else unused
        inputs += one.program.inputs[n:]
        p = one.program
        programs.append(Program(inputs, p.equations, p.outputs, p.name) if len(spare) > 1 else p)
    if not any(one.captured for one in lifted):
        return tuple(one.program for one in lifted)
    return tuple(programs)


def _captures(lifted: Any) -> Sequence[Variable]:
    return lifted.program.inputs[: len(lifted.captured)]


def same_log(handler: Any, lifted: Sequence[Any]) -> None:
    """Refuse branches that write other things than each other."""
    for one in lifted[1:]:
        if one.log != lifted[0].log:
            raise TypeError(
                f"{type(handler).__name__}: a branch writes {one.log} to the log, and another one "
                f"{lifted[0].log}; all branches must write the same"
            )
