"""Programs with the functions that they call written out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from effax.effects.program import Atom, Equation, Program, Variable
from effax.effects.provenance import joined
from effax.effects.rows import custom
from effax.effects.rows.control import call

_OPENED: Final = frozenset({call, *custom.RULED})


def flat(program: Program) -> Program:
    """The program with the equations of functions in the place of their calls."""
    if not any(e.effect in _OPENED for e in program.equations):
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
        within = joined(scope, e.scope)
        if e.effect in _OPENED and "metadata" not in e.attributes:
            inner: Program = e.attributes["program"]
            here: dict[Any, Atom] = dict(zip(inner.inputs, ins, strict=True))
            yield from _written_out(inner.equations, here, within)
            results = [here.get(x, x) for x in inner.outputs]
            values.update(zip(e.outputs, results, strict=True))
        else:
            outs = [Variable(None, x.type) for x in e.outputs]
            values.update(zip(e.outputs, outs, strict=True))
            yield Equation(e.effect, ins, e.attributes, outs, e.frame, within)
