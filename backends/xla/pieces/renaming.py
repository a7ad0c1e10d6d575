"""Programs with other values in the place of some."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from effax.effects.program import Atom, Equation, Program


def renamed(program: Program, equations: Sequence[Equation], values: Mapping[Any, Atom]) -> Program:
    """The program with other equations, in which `values` stand for what they are keys of."""
    made = [
        Equation(
            e.effect,
            [values.get(x, x) for x in e.inputs],
            e.attributes,
            e.outputs,
            e.frame,
            e.scope,
        )
        for e in equations
    ]
    outputs = [values.get(x, x) for x in program.outputs]
    return Program(program.inputs, made, outputs, program.name)
