"""Programs that are better compiled in pieces."""

from __future__ import annotations

from typing import Final

from effax.backends.xla.fast.path import taken
from effax.backends.xla.pieces.cutting import Flow
from effax.backends.xla.pieces.flat import flat
from effax.backends.xla.pieces.functions import in_functions
from effax.backends.xla.pieces.fusing import Fusions
from effax.backends.xla.pieces.keeping import most_kept, steps_of
from effax.backends.xla.pieces.letters import Alphabet
from effax.backends.xla.pieces.order import in_layers
from effax.backends.xla.pieces.recomputing import recomputing
from effax.backends.xla.pieces.runs import Run, runs
from effax.effects.program import Equation, Program
from effax.effects.rows.convolution import conv_general_dilated

GROWTH: Final = 3.5
"""Programs whose fusions repeat less stay whole: they gain nothing, or less than pieces cost."""
MUCH: Final = 16.0
"""Programs whose fusions repeat as much are cut whatever the pieces keep: XLA might never end."""
KEPT: Final = 1.25
"""Others stay whole if the pieces would keep as many times what the fusions would."""


def cut(program: Program) -> Program:
    """The program in pieces, if its fusions would repeat much of it."""
    if not taken("pieces"):
        return program
    whole, program = program, flat(program)
    fusions = Fusions(program)
    growth = fusions.growth(MUCH)
    if growth < GROWTH:
        return whole
    alphabet = Alphabet()
    equations, first, last = in_layers(program, alphabet)
    found = _runs(equations, first, last, alphabet)
    equations = recomputing(Flow(equations, program.outputs), found)
    found = _runs(equations, first, last, alphabet)
    made = in_functions(Flow(equations, program.outputs), found, program.name)
    if 2 * len(made) > len(program.equations):  # convolutions stand in the way
        return whole
    pieces = Program(program.inputs, made, program.outputs, program.name)
    if growth < MUCH:
        kept = most_kept(fusions.steps(), program.outputs)
        if most_kept(steps_of(pieces), program.outputs) > KEPT * kept:
            return whole
    return pieces


def _runs(equations: list[Equation], first: int, last: int, alphabet: Alphabet) -> list[Run]:
    letters = alphabet.spell(equations[first : len(equations) - last])
    found = [Run(r.start + first, r.stop + first, r.period) for r in runs(letters)]
    return [
        r
        for r in found
        if all(e.effect is not conv_general_dilated for e in equations[r.start : r.stop])
    ]
