"""Programs with the functions that they call written out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from effax.effects.program import Atom, Equation, Program, Variable
from effax.effects.rows.control import call

LEAST: Final = 400
"""Programs with fewer equations are short: XLA compiles them in less than half a second."""
_MOST: Final = 100_000
"""Longer ones are not written out: what they share would be lost."""


def is_long(program: Program) -> bool:
    """Whether a program has many equations, when those of functions count at each call."""
    return LEAST <= _length(program, {}) <= _MOST


def _length(program: Program, known: dict[Program, int]) -> int:
    found = known.get(program)
    if found is None:
        found = len(program.equations)
        for e in program.equations:
            if e.effect is call:
                found += _length(e.attributes["program"], known)
        known[program] = found
    return found


def flat(program: Program) -> Program:
    """The program with the equations of functions in the place of their calls."""
    if all(e.effect is not call for e in program.equations):
        return program
    values: dict[Any, Atom] = {}
    made = list(_written_out(program.equations, values, ""))
    outputs = [values.get(x, x) for x in program.outputs]
    return Program(program.inputs, made, outputs, program.name)


def _written_out(
    equations: Sequence[Equation], values: dict[Any, Atom], scope: str
) -> Iterator[Equation]:
    """Yield equations with values of their own, noting which stands for each that was there."""
    for e in equations:
        ins = [values.get(x, x) for x in e.inputs]
        within = "/".join(part for part in (scope, e.scope) if part)
        if e.effect is call:
            inner: Program = e.attributes["program"]
            here: dict[Any, Atom] = dict(zip(inner.inputs, ins, strict=True))
            yield from _written_out(inner.equations, here, within)
            results = [here.get(x, x) for x in inner.outputs]
            values.update(zip(e.outputs, results, strict=True))
        else:
            outs = [Variable(None, x.type) for x in e.outputs]
            values.update(zip(e.outputs, outs, strict=True))
            yield Equation(e.effect, ins, e.attributes, outs, e.frame, within)
